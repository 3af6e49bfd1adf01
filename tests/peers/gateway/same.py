"""Differential runs: a script direct and through the gateway, whose messages must be the same."""

import pathlib
import shutil
import subprocess
import sys

import scripts
from places import HttpServer, NPM, PYTHON, clients, gateway_of, wrapped
from record import compare, received
from scripts import ALL, L6, L11, M, NOTHING


def stdio(setting) -> None:
    """Over stdio, behind `entreat wrap`."""
    for client in clients(setting):
        # A draw has all servers with one client, and all clients with one server.
        # The gateway presents a client of 2025-06-18 as a newer one, to let the server ask more.
        alone = ["--no-fulfil"] if client.version == L6 else []
        is_main = setting.all or (client.name, client.version) == ("typescript 1", L11)
        if client.version == M:
            for name in asking_servers(setting) if setting.all else [client.name.split()[0]]:
                asking(setting, client, name)
        else:
            everything(setting, client, ALL, *alone)
            if is_main:
                everything(setting, client, NOTHING, "--no-fulfil")
                for name in asking_servers(setting):
                    asking(setting, client, name, *alone)
                if client.name != "python":
                    tasks(setting, client, *alone)
                filesystem(setting, client, ALL, *alone)
                filesystem(setting, client, NOTHING, "--no-fulfil")
                memory(setting, client, *alone)
        if setting.all or (client.name, client.version) == ("python", M):
            time(setting, client, *alone)
            git(setting, client, *alone)
            fetch(setting, client, *alone)


def both(setting, client, name, command, script, capabilities, answers, *options, env=None, fresh=None):
    """Runs a script against a server on stdio, direct and behind `entreat wrap`."""

    def work() -> str:
        runs = []
        for way in (command, wrapped(setting, command, *options)):
            if fresh:
                fresh()
            log = client.run({"command": way}, script, capabilities, answers, env)
            runs.append(received(log, {setting.node: "<node>"}))
        compare(*runs, ordered=True)
        return f"{len(runs[0])} messages"

    setting.tried("same over stdio", f"{client}, {name} {' '.join(options)}".strip(), work)


def everything(setting, client, capabilities, *options) -> None:
    url_mode = "elicitation" in capabilities
    script = scripts.everything(url_mode)
    if client.name != "python":
        script = [*script, *scripts.unknown("roots" in capabilities)]
    command = [setting.node, str(NPM / "server-everything/dist/index.js"), "stdio"]
    for answer in answers_of(setting, capabilities):
        both(setting, client, "server-everything", command, script, capabilities, answer, *options)


def answers_of(setting, capabilities) -> list[dict]:
    ways = [scripts.accept(scripts.WHOLE)]
    if "elicitation" in capabilities and setting.all:
        ways += [scripts.refuse("decline"), scripts.refuse("cancel")]
    return [scripts.answers(way) for way in ways]


def tasks(setting, client, *options) -> None:
    command = [setting.node, str(NPM / "server-everything/dist/index.js"), "stdio"]
    both(setting, client, "server-everything's tasks", command, scripts.tasks(), ALL, scripts.answers({}), *options)


def asking(setting, client, name, *options) -> None:
    command = asking_servers(setting)[name]
    script = scripts.asking(rounds=False)
    ways = [scripts.accept(scripts.PERSON), scripts.refuse("decline")]
    for way in ways if setting.all else ways[:1]:
        both(setting, client, f"everything in {name}", command, script, ALL, scripts.answers(way), *options)


def asking_servers(setting) -> dict[str, list[str]]:
    servers = pathlib.Path(__file__).parent.parent / "servers"
    return {
        "example": [setting.everything, "stdio"],
        "python": [PYTHON, str(servers / "everything_peer.py"), "stdio"],
        "typescript": [setting.node, str(servers / "everything_peer.mjs"), "stdio"],
    }


def filesystem(setting, client, capabilities, *options) -> None:
    folder = setting.scratch()
    command = [setting.node, str(NPM / "server-filesystem/dist/index.js"), str(folder)]

    def fresh() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()

    script = scripts.filesystem(str(folder))
    answers = scripts.answers({}, str(folder))
    both(setting, client, "server-filesystem", command, script, capabilities, answers, *options, fresh=fresh)


def memory(setting, client, *options) -> None:
    file = setting.scratch() / "memory.jsonl"
    command = [setting.node, str(NPM / "server-memory/dist/index.js")]

    def fresh() -> None:
        file.unlink(missing_ok=True)

    env = {"MEMORY_FILE_PATH": str(file)}
    both(setting, client, "server-memory", command, scripts.memory(), ALL, scripts.answers({}), *options, env=env, fresh=fresh)


def time(setting, client, *options) -> None:
    command = [PYTHON, "-m", "mcp_server_time", "--local-timezone", "UTC"]
    both(setting, client, "mcp-server-time", command, scripts.time(), ALL, scripts.answers({}), *options)


def git(setting, client, *options) -> None:
    folder = setting.scratch()
    command = [PYTHON, "-m", "mcp_server_git", "--repository", str(folder)]
    env = {"GIT_CONFIG_GLOBAL": "/dev/null", "HOME": str(setting.folder)}
    for role in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{role}_NAME": "Ada", f"GIT_{role}_EMAIL": "ada@example.com"}

    def fresh() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main", folder], check=True)
        (folder / "note.txt").write_text("one\n")

    script = scripts.git(str(folder))
    answers = scripts.answers({}, str(folder))
    both(setting, client, "mcp-server-git", command, script, ALL, answers, *options, env=env, fresh=fresh)


def fetch(setting, client, *options) -> None:
    folder = setting.scratch()
    (folder / "page.html").write_text("<html><body><h1>Hello</h1><p>A page.</p></body></html>")
    pages = [PYTHON, "-m", "http.server", "{port}", "--bind", "127.0.0.1", "--directory", str(folder)]
    with HttpServer(pages, path="/page.html") as url:
        command = [PYTHON, "-m", "mcp_server_fetch", "--ignore-robots-txt"]
        both(setting, client, "mcp-server-fetch", command, scripts.fetch(url), ALL, scripts.answers({}), *options)


def http(setting) -> None:
    """The same over Streamable HTTP: behind `entreat wrap URL` and behind `entreat gateway`."""
    servers = {"server-everything": everything_over_http, "everything in example": example_over_http}
    if setting.all:
        servers["everything in typescript"] = peer_over_http
    for name, start in servers.items():
        with start(setting) as url, gateway_of(setting, {"peer": {"url": url}}) as front:
            for client in clients(setting):
                is_first = name == "server-everything"
                if client.version == L6 or is_first and client.version == M:
                    continue
                if not setting.all and client.name != "typescript 2":
                    continue
                script = scripts.everything() if is_first else scripts.asking(rounds=False)
                content = scripts.WHOLE if is_first else scripts.PERSON
                answers = scripts.answers(scripts.accept(content))
                ways = {
                    "entreat gateway": {"url": f"{front}/peer"},
                    "entreat wrap URL": {"command": wrapped(setting, [], url)},
                }
                for way, through in ways.items():

                    def work(client=client, through=through) -> str:
                        runs = [
                            received(client.run(server, script, ALL, answers), {setting.node: "<node>"})
                            for server in ({"url": url}, through)
                        ]
                        compare(*runs, ordered=False)
                        return f"{len(runs[0])} messages"

                    setting.tried("same over HTTP", f"{client}, {name} behind {way}", work)


def everything_over_http(setting) -> HttpServer:
    loopback = str(pathlib.Path(__file__).parent / "loopback.mjs")
    command = [setting.node, "--import", loopback, str(NPM / "server-everything/dist/index.js"), "streamableHttp"]
    return HttpServer(command, port_variable="PORT")


def example_over_http(setting) -> HttpServer:
    return HttpServer([setting.everything, "--port", "{port}"])


def peer_over_http(setting) -> HttpServer:
    servers = pathlib.Path(__file__).parent.parent / "servers"
    return HttpServer([setting.node, str(servers / "everything_peer.mjs"), "--port", "{port}"])
