"""Clients that can't ask, or won't: server-everything's form is answered on a page."""

import json
import subprocess

import scripts
from people import Chromium, Desktop, page
from places import BIN, NPM, clients, wrapped
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
    finally:
        chromium.close()
    wanted = [client for client in clients(setting) if setting.all or client.name == "typescript 2"]
    for client in wanted:
        setting.tried("silent", f"{client} without elicitation", lambda: without(setting, client, command))
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


def without(setting, client, command) -> str:
    desktop = Desktop(setting.scratch())
    script = [scripts.call("trigger-elicitation-request")]
    with desktop.answering(page("send", **ENTERED)):
        log = client.run({"command": wrapped(setting, command)}, script, NOTHING, {}, desktop.environment)
    told("\n".join(received(log)))
    return "one page"


def mute(setting, client, command) -> str:
    desktop = Desktop(setting.scratch())
    script = [scripts.call("trigger-elicitation-request")]
    with desktop.answering(page("send", **ENTERED)):
        log = client.run({"command": wrapped(setting, command)}, script, ALL, {}, desktop.environment)
    told("\n".join(received(log)))
    return "one page, after a while"


def told(text: str) -> None:
    missing = [words for words in TOLD if words not in text]
    if missing:
        raise Wrong(f"{missing} is missing in {text[-3000:]}")
