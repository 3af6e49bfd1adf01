"""Clients that can't ask, or won't: server-everything's form is answered on a page."""

import json
import subprocess
import sys

import scripts
from people import Chromium, Desktop, Terminal, page
from places import BIN, HERE, NPM, PYTHON, clients, wrapped
from record import Wrong, environment, received
from scripts import ALL, L11, M, NOTHING

# A person leaves out what is shown with a default.
ENTERED = {"name": "Ada Lovelace", "email": "ada@example.com", "integer": "36"}
TOLD = ["Name: Ada Lovelace", "Email: ada@example.com", "Favorite Integer: 36", "Favorite Number: 3.14"]


def run(setting) -> None:
    command = [setting.node, str(NPM / "server-everything/dist/index.js"), "stdio"]
    chromium = Chromium()
    try:
        setting.tried("silent", "Inspector --cli, in Chromium", lambda: inspector(setting, command, chromium))
        if setting.all:
            setting.tried("silent", "Inspector --tui, in Chromium", lambda: inspector_tui(setting, command, chromium))
    finally:
        chromium.close()
    if setting.all:
        setting.tried("silent", "mcporter", lambda: mcporter(setting, command))
    for way in ("without elicitation", "with elicitation") if setting.all else ("without elicitation",):
        setting.tried("silent", f"FastMCP {way}", lambda way=way: fastmcp(setting, command, way))
    wanted = [client for client in clients(setting) if setting.all or client.name == "typescript 2"]
    for client in wanted:
        setting.tried("silent", f"{client} without elicitation", lambda: without(setting, client, command))
    checking = [client for client in clients(setting) if setting.all or client.name in ("python", "typescript 1")]
    for client in checking:
        setting.tried("silent", f"{client} that checks results", lambda: checked(setting, client))
    # Each takes half a minute, which is how long a client may be silent.
    # A client of 2026-07-28 that answers nothing does not come back for the result either.
    for client in [client for client in wanted if setting.all and client.version < M]:
        setting.tried("silent", f"{client} that never answers", lambda: mute(setting, client, command))


def inspector(setting, command, chromium) -> str:
    desktop = Desktop(setting.scratch())
    line = [setting.node, str(BIN / "mcp-inspector"), "--cli", "--method", "tools/call"]
    line += ["--tool-name", "trigger-elicitation-request"]
    # It starts servers without most of its own environment.
    for name, value in desktop.environment.items():
        line += ["-e", f"{name}={value}"]
    line += ["--", *wrapped(setting, command)]
    env = environment(**desktop.environment, HOME=str(setting.folder))
    with desktop.answering(chromium.fills(**ENTERED)):
        done = subprocess.run(line, env=env, capture_output=True, text=True, timeout=90)
    told(done.stdout + done.stderr)
    return "filled in and sent"


def inspector_tui(setting, command, chromium) -> str:
    """It declares elicitation, and never answers: the page opens after half a minute."""
    desktop = Desktop(setting.scratch())
    line = [setting.node, str(BIN / "mcp-inspector"), "--tui"]
    for name, value in desktop.environment.items():
        line += ["-e", f"{name}={value}"]
    line += ["--", *wrapped(setting, command)]
    with Terminal(line, environment(**desktop.environment, HOME=str(setting.folder))) as terminal:
        terminal.wait("not connected")
        terminal.press("c")
        terminal.wait("● connected")
        terminal.press("t")
        terminal.wait("Tools (")
        terminal.press("\t")
        for _ in range(40):
            if "▶ trigger-elicitation-request" in terminal.new():
                break
            terminal.press("\x1b[B")
        terminal.press("\r")
        terminal.wait("Submit form")
        terminal.press("\x1b[B")
        with desktop.answering(chromium.fills(**ENTERED)):
            terminal.press("\r")
        terminal.wait("Favorite Integer: 36")
    return "filled in and sent, after a while"


def mcporter(setting, command) -> str:
    desktop = Desktop(setting.scratch())
    program, *arguments = wrapped(setting, command)
    server = {"command": program, "args": arguments, "env": desktop.environment}
    config = setting.scratch() / "mcporter.json"
    config.write_text(json.dumps({"mcpServers": {"everything": server}}))
    line = [setting.node, str(BIN / "mcporter"), "--config", str(config), "call"]
    line += ["everything.trigger-elicitation-request", "--timeout", "120000"]
    with desktop.answering(page("send", **ENTERED)):
        env = environment(**desktop.environment, HOME=str(setting.folder))
        done = subprocess.run(line, env=env, capture_output=True, text=True, timeout=90)
    told(done.stdout + done.stderr)
    return "one page"


def fastmcp(setting, command, way) -> str:
    desktop = Desktop(setting.scratch())
    line = [sys.executable, str(HERE / "fastmcp_client.py"), way.split()[0], json.dumps(ENTERED)]
    line += wrapped(setting, command)
    # It answers by itself if it has elicitation.
    pages = [page("send", **ENTERED)] if way == "without elicitation" else []
    with desktop.answering(*pages):
        env = environment(**desktop.environment)
        done = subprocess.run(line, env=env, capture_output=True, text=True, timeout=90)
    missing = TOLD[:3] if not pages else TOLD
    told(done.stdout + done.stderr, missing)
    return f"{len(pages)} pages"


def without(setting, client, command) -> str:
    desktop = Desktop(setting.scratch())
    script = [scripts.call("trigger-elicitation-request")]
    with desktop.answering(page("send", **ENTERED)):
        log = client.run({"command": wrapped(setting, command)}, script, NOTHING, {}, desktop.environment)
    told("\n".join(received(log)))
    return "one page"


def checked(setting, client) -> str:
    """A tool with an output schema: the SDK drops a result that has the link and no structured content."""
    command = [PYTHON, str(HERE.parent / "servers/greeter.py")]
    # The Python SDK's servers ask in 2025 only.
    options = ["--era", "legacy"] if client.version == M else []
    script = [{**scripts.call("greet"), "checked": True}]
    # Without a display, there is no browser.
    log = client.run({"command": wrapped(setting, command, *options)}, script, NOTHING, {})
    told("\n".join(received(log)), ["open this link: http", "This is not a failure"])
    return "a link"


def mute(setting, client, command) -> str:
    desktop = Desktop(setting.scratch())
    script = [scripts.call("trigger-elicitation-request")]
    with desktop.answering(page("send", **ENTERED)):
        log = client.run({"command": wrapped(setting, command)}, script, ALL, {}, desktop.environment)
    told("\n".join(received(log)))
    return "one page, after a while"


def told(text: str, wanted: list[str] = TOLD) -> None:
    missing = [words for words in wanted if words not in text]
    if missing:
        raise Wrong(f"{missing} is missing in {text[-3000:]}")
