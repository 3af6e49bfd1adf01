"""Where clients and servers are: the programs, and servers over HTTP."""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

from record import Client, Wrong
from scripts import L6, L11, M

HERE = pathlib.Path(__file__).parent
NPM = HERE.parent / "node_modules/@modelcontextprotocol"
BIN = HERE.parent / "node_modules/.bin"
PYTHON = sys.executable
MCP_PROXY = HERE.parent / "venv-mcp-proxy/bin/mcp-proxy"
PATIENCE = 30


def clients(setting) -> list[Client]:
    """The clients of others, each in every version that it can speak."""
    typescript = (setting.node, str(HERE / "client.mjs"))
    python = (PYTHON, str(HERE / "client.py"))
    return [
        Client("typescript 1", (*typescript, "1"), L6),
        Client("typescript 1", (*typescript, "1"), L11),
        Client("typescript 2", (*typescript, "2"), L11),
        Client("typescript 2", (*typescript, "2"), M),
        Client("python", python, L11),
        Client("python", python, M),
    ]


def wrapped(setting, command: list[str], *options: str) -> list[str]:
    """A command behind `entreat wrap`."""
    return [setting.entreat, "wrap", *options, *(["--", *command] if command else [])]


class HttpServer:
    """A server over HTTP while it is needed; `{port}` in its command is its port."""

    def __init__(self, command: list[str], *, path: str = "/mcp", port_variable: str = "", env=None) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
        self.command = [word.replace("{port}", str(self.port)) for word in command]
        self.env = {**os.environ, **(env or {})}
        if port_variable:
            self.env[port_variable] = str(self.port)
        self.path = path
        self.said: list[str] = []

    def __enter__(self) -> str:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
        self.process = subprocess.Popen(self.command, text=True, env=self.env, **pipes)

        def listen() -> None:
            for line in self.process.stdout:
                self.said.append(line)

        threading.Thread(target=listen, daemon=True).start()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with socket.create_connection(("127.0.0.1", self.port), 1):
                    return f"http://127.0.0.1:{self.port}{self.path}"
            except OSError:
                time.sleep(0.05)
        raise Wrong(f"{self.command} did not start:\n{''.join(self.said)}")

    def __exit__(self, *_) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def gateway_of(setting, upstreams: dict[str, dict], env=None, more: str = "") -> HttpServer:
    """`entreat gateway` in front of servers; its URLs end in the names of the servers."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=setting.folder))
    tables = [more]
    for name, target in upstreams.items():
        lines = [f"{key} = {json.dumps(value)}" for key, value in target.items()]
        tables.append("\n".join(["[[upstream]]", f'name = "{name}"', *lines]))
    (folder / "entreat.toml").write_text("\n\n".join(tables))
    command = [setting.entreat, "gateway", "--config", str(folder / "entreat.toml")]
    command += ["--listen", "127.0.0.1:{port}", "--store", "memory"]
    return HttpServer(command, env=env)
