"""Pictures of what a person gets from servers that know nothing of Entreat.

    pictures.py ENTREAT NODE FOLDER

A client that shows nothing calls the form of server-everything, and a tool of server-filesystem
that has to be approved; Chromium draws both pages.
"""

import contextlib
import os
import pathlib
import sys
import tempfile
import threading

from people import Chromium, Desktop
from places import NPM
from record import Wrong, say
from scripts import L11
from small_client import Client

ENTREAT, NODE, FOLDER = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
# Beside the usual width, that of a small phone.
WIDTHS = {"": 900, "-narrow": 360}
TOO_WIDE = "return document.documentElement.scrollWidth > innerWidth"


def picture(chromium: Chromium, name: str, options: list[str], server: list[str], call: dict) -> None:
    with tempfile.TemporaryDirectory() as folder:
        desktop = Desktop(pathlib.Path(folder))
        command = [ENTREAT, "wrap", *options, "--", NODE, *server]
        client = Client(L11, command, {**os.environ, **desktop.environment})
        client.begin()
        client.result("tools/list", {})

        def ask() -> None:
            # Nobody answers: it ends with the connection.
            with contextlib.suppress(SystemExit):
                client.ask("tools/call", call)

        waiting = threading.Thread(target=ask, daemon=True)
        waiting.start()
        link = desktop.next()
        for suffix, width in WIDTHS.items():
            chromium.resize(width)
            chromium.call("POST", f"{chromium.session}/url", {"url": link})
            chromium.find("form")
            if chromium.evaluate(TOO_WIDE):
                raise Wrong(f"{name} is wider than {width} pixels")
            chromium.draw(FOLDER / f"{name}{suffix}.png")
            say(f"{name}{suffix}.png")
        client.process.terminate()
        client.process.wait(30)
        waiting.join(30)


def main() -> None:
    chromium = Chromium()
    try:
        everything = [str(NPM / "server-everything/dist/index.js"), "stdio"]
        picture(chromium, "gateway-question", [], everything, {"name": "trigger-elicitation-request"})
        # The page shows it, so it has to be the same each time.
        folder = pathlib.Path("/tmp/notes")
        folder.mkdir(exist_ok=True)
        call = {"name": "write_file", "arguments": {
            "path": str(folder / "todo.md"),
            "content": "# To do\n\n- call Grace\n- [x] delete the old backups\n",
        }}
        filesystem = [str(NPM / "server-filesystem/dist/index.js"), str(folder)]
        options = ["--name", "files", "--approve", "write_*"]
        picture(chromium, "gateway-approval", options, filesystem, call)
    finally:
        chromium.close()


main()
