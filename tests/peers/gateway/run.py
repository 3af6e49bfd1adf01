"""Runs clients and servers of others with the gateway in between.

    run.py [--all] [--only PART] ENTREAT EVERYTHING NODE

Differential runs, clients that cannot ask, and chains of gateways; each part prints what it tried.
The first that is wrong ends it with 1. Without `--all`, a draw of a minute.
"""

import argparse
import collections
import pathlib
import sys
import tempfile

import chains
import conformance
import crossed
import same
import silent
from record import Wrong, say

PARTS = {
    "stdio": same.stdio,
    "http": same.http,
    "crossed": crossed.run,
    "silent": silent.run,
    "chains": chains.run,
    "client": conformance.as_client,
}
# Takes minutes.
LONG = {"conformance": conformance.run}


class Setting:
    """Where everything is, and how much is tried."""

    def __init__(self, arguments: argparse.Namespace, folder: pathlib.Path) -> None:
        self.entreat = arguments.entreat
        self.everything = arguments.everything
        self.node = arguments.node
        self.all = arguments.all
        self.keep_going = arguments.keep_going
        self.folder = folder
        self.counts: collections.Counter[str] = collections.Counter()
        self.wrong: list[str] = []

    def scratch(self) -> pathlib.Path:
        """A new folder."""
        return pathlib.Path(tempfile.mkdtemp(dir=self.folder))

    def tried(self, part: str, name: str, work) -> None:
        """Tries one thing, and says so."""
        try:
            note = work()
        except Wrong as error:
            say(f"{part}: {name}: FAILED: {error}")
            if not self.keep_going:
                raise
            self.wrong.append(f"{part}: {name}")
        else:
            self.counts[part] += 1
            say(f"{part}: {name}" + (f": {note}" if note else ""))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", choices=[*PARTS, *LONG])
    parser.add_argument("--keep-going", action="store_true")
    for name in ("entreat", "everything", "node"):
        parser.add_argument(name)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="entreat-gateway-") as folder:
        setting = Setting(arguments, pathlib.Path(folder))
        try:
            parts = {**PARTS, **LONG} if arguments.all or arguments.only else PARTS
            for name, part in parts.items():
                if arguments.only in (None, name):
                    part(setting)
        except Wrong:
            return 1
    say("")
    for part, count in setting.counts.items():
        say(f"{part}: {count} passed")
    for line in setting.wrong:
        say(f"FAILED: {line}")
    return 1 if setting.wrong else 0


sys.exit(main())
