"""Runs clients against servers, and compares what two runs of one script were sent."""

import base64
import collections
import contextlib
import dataclasses
import difflib
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
PATIENCE = 120

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIMES = [
    re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?"),
    # As JavaScript and Python print them.
    re.compile(r"\w{3} \w{3} \d\d \d{4} \d\d:\d\d:\d\d GMT[+-]\d{4} \([^)]*\)"),
    re.compile(r"\d{1,2}:\d\d:\d\d( [AP]M)?"),
]
# A commit has its time in it.
COMMIT = re.compile(r"\b[0-9a-f]{40}\b|\b[0-9a-f]{7}\b")


class Wrong(Exception):
    """Something is not as it has to be."""


@dataclasses.dataclass(frozen=True)
class Client:
    """A client of others, in one version of the protocol."""

    name: str
    program: tuple[str, ...]
    version: str

    def run(self, server: dict, script: list[dict], capabilities: dict, answers: dict, env=None) -> list:
        """Carries out a script; returns every message, with the steps in between."""
        text = json.dumps(
            {
                "version": self.version,
                "capabilities": capabilities,
                "answers": answers,
                "steps": script,
                "env": env or {},
                **server,
            }
        )
        command = list(self.program)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, cwd=HERE.parent, **pipes)
        try:
            printed, said = process.communicate(text, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            _, said = process.communicate()
            raise Wrong(f"{self}: no end after {PATIENCE} s\n{said[-2000:]}") from None
        try:
            record = json.loads(printed)
        except ValueError:
            raise Wrong(f"{self} printed {printed[-500:]!r}\n{said[-2000:]}") from None
        if record["failed"]:
            tail = "\n".join(json.dumps(entry)[:400] for entry in record["log"][-6:])
            raise Wrong(f"{self}: {record['failed']}\n{tail}\n{said[-2000:]}")
        return record["log"]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class Plain:
    """Replaces what differs from run to run: ids by the order in which they appear, and times."""

    def __init__(self, replaced: dict[str, str]) -> None:
        self.replaced = replaced
        self.ids: dict[str, str] = {}

    def text(self, value: str) -> str:
        for known, name in self.replaced.items():
            value = value.replace(known, name)
        value = UUID.sub(lambda found: self.ids.setdefault(found[0], f"<id {len(self.ids)}>"), value)
        for pattern in TIMES:
            value = pattern.sub("<time>", value)
        return COMMIT.sub("<commit>", value)

    def value(self, value: object, key: str = "") -> object:
        if isinstance(value, dict):
            return {name: self.value(inner, name) for name, inner in value.items()}
        if key == "blob":
            with contextlib.suppress(ValueError):
                return self.text(base64.b64decode(value).decode())
        if isinstance(value, list):
            return [self.value(inner) for inner in value]
        if key in ("elicitationId", "taskId", "progressToken", "requestState"):
            return "<id>"
        return self.text(value) if isinstance(value, str) else value


def received(log: list, replaced: dict[str, str] | None = None) -> list[str]:
    """What a client was sent, a line each. A response is named after its request."""
    plain = Plain(replaced or {})
    asked: dict[str, str] = {}
    step = 0
    lines = []
    for entry in log:
        message = entry["message"]
        if entry["dir"] == "step":
            step += 1
        elif entry["dir"] == "out":
            if "method" in message and "id" in message:
                named = message.get("params", {}).get("name", "")
                asked[json.dumps(message["id"])] = f"{step} {message['method']} {named}".strip()
        elif "method" in message:
            kind = "request" if "id" in message else "notification"
            rest = json.dumps(plain.value(message.get("params")), ensure_ascii=False)
            lines.append(f"{kind} {message['method']} {rest}")
        else:
            to = asked.get(json.dumps(message.get("id")), f"unknown id {message.get('id')}")
            rest = plain.value({key: message[key] for key in message if key not in ("jsonrpc", "id")})
            lines.append(f"response to {to}: {json.dumps(rest, ensure_ascii=False)}")
    return lines


def compare(direct: list[str], through: list[str], *, ordered: bool) -> None:
    """Fails unless both runs were sent the same. Streams over HTTP have no order, and servers that
    let clients resume them may send a message again: there, it may come at most as often as direct.
    """
    if not ordered:
        often = [line for line, times in collections.Counter(through).items() if times > direct.count(line) > 0]
        if often:
            raise Wrong("\n".join(["sent too often:", *(line[:500] for line in often)]))
        direct, through = sorted(set(direct)), sorted(set(through))
    if direct != through:
        lines = [
            line
            for kind, a, b, c, d in difflib.SequenceMatcher(a=direct, b=through, autojunk=False).get_opcodes()
            if kind != "equal"
            for line in apart(direct[a:b], through[c:d])
        ]
        raise Wrong("\n".join(["the messages differ", *lines]))


def apart(direct: list[str], through: list[str]) -> list[str]:
    """Lines that differ, each from shortly before the place where it begins to."""
    start = 0
    if len(direct) == len(through) == 1:
        start = max(len(os.path.commonprefix([direct[0], through[0]])) - 60, 0)
    shown = [("direct ", line) for line in direct] + [("through", line) for line in through]
    return [f"  {side} {line[:40] + '... ' if start > 40 else ''}{line[start:start + 500]}" for side, line in shown]


def results(log: list) -> list[tuple[str, object]]:
    """What came of each step that asks, without what versions add."""
    found = []
    for line in received(log):
        if line.startswith("response to ") and "initialize" not in line and "discover" not in line:
            to, _, rest = line.partition(": ")
            found.append((to, unversioned(json.loads(rest))))
    return found


def unversioned(response: dict) -> dict:
    """A response without the members that only some versions have."""
    result = response.get("result")
    if isinstance(result, dict):
        for member in ("resultType", "ttlMs", "cacheScope", "_meta"):
            result.pop(member, None)
    return response


def questions(log: list) -> list[object]:
    """What a client was asked, in whichever way its version has."""
    asked = []
    for entry in log:
        message = entry["message"]
        if entry["dir"] != "in":
            continue
        if message.get("method") == "elicitation/create":
            asked.append(message["params"])
        result = message.get("result")
        if isinstance(result, dict) and result.get("resultType") == "input_required":
            for inner in (result.get("inputRequests") or {}).values():
                if inner["method"] == "elicitation/create":
                    asked.append(inner["params"])
    return asked


def say(line: str) -> None:
    print(line, flush=True)
    sys.stdout.flush()


def pinned(version: str, command: list[str]) -> list[str]:
    """A server on stdio that speaks one version only."""
    return [sys.executable, str(HERE / "pin.py"), version, *command]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, **more}
