"""Chains of gateways."""

import shlex

import scripts
import silent
from crossed import asked, expect, said
from people import Desktop, page
from places import BIN, HttpServer, MCP_PROXY, NPM, clients, gateway_of, wrapped
from record import compare, pinned, received
from same import asking_servers
from scripts import ALL, L11, M


def run(setting) -> None:
    wanted = [client for client in clients(setting) if setting.all or client.name == "typescript 2"]
    for client in wanted:
        setting.tried("chains", f"{client}, entreat wrap, entreat wrap, everything", lambda: twice(setting, client))
        if client.version == L11:
            setting.tried(
                "chains", f"{client}, entreat wrap, supergateway, server-everything", lambda: super(setting, client)
            )
        if client.version == L11 and setting.all:
            name = f"{client}, mcp-proxy over HTTP, entreat wrap, server-everything"
            setting.tried("chains", name, lambda: behind_proxy(setting, client))
            name = f"{client}, mcp-proxy, entreat gateway, server-everything"
            setting.tried("chains", name, lambda: through_proxy(setting, client))
        setting.tried(
            "chains", f"{client}, mcp-remote, entreat gateway, a server of 2026-07-28", lambda: remote(setting, client)
        )


def twice(setting, client) -> str:
    command = asking_servers(setting)["example"]
    script = scripts.asking()
    answers = scripts.answers(scripts.accept(scripts.PERSON))
    runs = [
        received(client.run({"command": way}, script[:-1], ALL, answers))
        for way in (command, wrapped(setting, wrapped(setting, command)))
    ]
    compare(*runs, ordered=True)
    # Each hop translates: the server speaks the other era.
    other = L11 if client.version == M else M
    far = wrapped(setting, wrapped(setting, pinned(other, command)))
    direct = client.run({"command": command}, script[1:-1], ALL, answers)
    through = client.run({"command": far}, script[1:-1], ALL, answers)
    expect(said(through), said(direct), "results")
    expect(asked(through), asked(direct), "questions")
    return f"{len(runs[0])} messages"


def super(setting, client) -> str:
    everything = f"{setting.node} {NPM / 'server-everything/dist/index.js'} stdio"
    gateway = [setting.node, str(BIN / "supergateway"), "--stdio", everything, "--outputTransport"]
    gateway += ["streamableHttp", "--stateful", "--port", "{port}", "--logLevel", "none"]
    gateway[1:1] = ["--import", str(NPM.parent.parent / "gateway/loopback.mjs")]
    script = [step for step in scripts.everything() if not step.get("cancel")]
    answers = scripts.answers(scripts.accept(scripts.WHOLE))
    with HttpServer(gateway) as url:
        runs = [
            received(client.run(server, script, ALL, answers), {setting.node: "<node>"})
            for server in ({"url": url}, {"command": wrapped(setting, [], url)})
        ]
    # Supergateway sends these before a client that is slower than ours has a stream for them.
    early = "notification notifications/tools/list_changed"
    compare(*([line for line in run if not line.startswith(early)] for run in runs), ordered=False)
    return f"{len(runs[0])} messages"


def behind_proxy(setting, client) -> str:
    """The proxy passes no questions on, so a page has them."""
    command = [setting.node, str(NPM / "server-everything/dist/index.js"), "stdio"]
    desktop = Desktop(setting.scratch())
    # It drops every `--`, also that of the command.
    wrap = shlex.join(wrapped(setting, command))
    proxy = [str(MCP_PROXY), "--port", "{port}", "--pass-environment", "sh", "--", "-c", f"exec {wrap}"]
    with HttpServer(proxy, env=desktop.environment) as url:
        return one_page(client, {"url": url}, desktop)


def through_proxy(setting, client) -> str:
    command = [setting.node, str(NPM / "server-everything/dist/index.js"), "stdio"]
    desktop = Desktop(setting.scratch())
    with gateway_of(setting, {"peer": {"command": command}}, env=desktop.environment) as front:
        proxy = [str(MCP_PROXY), "--transport", "streamablehttp", f"{front}/peer"]
        return one_page(client, {"command": proxy}, desktop)


def one_page(client, server: dict, desktop) -> str:
    script = [scripts.call("echo", message="hello"), scripts.call("trigger-elicitation-request")]
    with desktop.answering(page("send", **silent.ENTERED)):
        log = client.run(server, script, ALL, scripts.answers(scripts.accept(scripts.WHOLE)))
    silent.told("\n".join(received(log)))
    return "one page"


def remote(setting, client) -> str:
    command = asking_servers(setting)["example"]
    script = scripts.asking(rounds=False)[1:]
    answers = scripts.answers(scripts.accept(scripts.PERSON))
    direct = client.run({"command": command}, script, ALL, answers)
    with gateway_of(setting, {"peer": {"command": pinned(M, command)}}) as front:
        relay = [setting.node, str(BIN / "mcp-remote"), f"{front}/peer", "--allow-http"]
        through = client.run({"command": relay}, script, ALL, answers, {"HOME": str(setting.folder)})
    expect(said(through), said(direct), "results")
    expect(asked(through), asked(direct), "questions")
    return f"{len(said(through))} results"
