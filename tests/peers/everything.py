"""Drives a server by the client of the Python SDK: stdio and HTTP, both eras.

    everything.py [--peer] URL COMMAND [ARGUMENT...]

The server is Entreat's example `everything`. With `--peer` it is one of `servers/`, which has
nothing for clients without elicitation. One line a check; the first that fails ends it with 1.
"""

import asyncio
import json
import pathlib
import re
import sys
from collections.abc import Callable
from contextlib import asynccontextmanager

from mcp import Client, MCPError, StdioServerParameters
from mcp_types import ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult

FORM = json.loads((pathlib.Path(__file__).parent / "form.json").read_text())
FULL = {
    "name": "Ada",
    "age": 36,
    "mail": "ada@example.com",
    "color": "r",
    "tags": ["a", "c"],
    "ok": False,
}
PAGE = "https://example.com/connect?from=python&to=%C3%A9"
LIMIT = 30
ERAS = {"2025-11-25": "legacy", "2026-07-28": "auto"}

Params = ElicitRequestFormParams | ElicitRequestURLParams
Answerer = Callable[[Params], ElicitResult]


class Wrong(Exception):
    """Something is not as it has to be."""


def expect(holds: bool, found: object) -> None:
    if not holds:
        raise Wrong(f"found {found!r}")


def accept(content: dict | None) -> Answerer:
    return lambda _: ElicitResult(action="accept", content=content)


def refuse(action: str) -> Answerer:
    return lambda _: ElicitResult(action=action)


class Person:
    """Answers with what was prepared, and remembers what was asked."""

    def __init__(self, *answers: Answerer) -> None:
        self.answers = list(answers)
        self.asked: list[Params] = []

    async def __call__(self, _context: object, params: Params) -> ElicitResult:
        self.asked.append(params)
        expect(len(self.answers) > 0, params)
        return self.answers.pop(0)(params)


class Place:
    """A server over one transport, in one era."""

    def __init__(self, era: str, transport: str, server: object, is_peer: bool) -> None:
        self.era = era
        self.transport = transport
        self.server = server
        self.is_peer = is_peer

    @property
    def is_modern(self) -> bool:
        return ERAS[self.era] == "auto"

    @asynccontextmanager
    async def connect(self, person: Person | None):
        mode = ERAS[self.era]
        async with Client(self.server, mode=mode, elicitation_callback=person) as client:
            expect(client.protocol_version == self.era, client.protocol_version)
            yield client

    async def call(self, person: Person | None, tool: str, arguments: dict | None = None) -> str:
        """What the tool answers, once everything that was prepared has been asked for."""
        async with self.connect(person) as client:
            text = words(await client.call_tool(tool, arguments or {}))
        if person is not None:
            expect(person.answers == [], f"{len(person.answers)} questions too few: {text}")
        return text


def words(result) -> str:
    expect(not result.is_error, result)
    return "".join(part.text for part in result.content if part.type == "text")


def holds(found: object, wanted: object) -> bool:
    """Whether all that is wanted is there; there may be more."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            key in found and holds(found[key], value) for key, value in wanted.items()
        )
    return found == wanted


async def accepted(place: Place) -> None:
    person = Person(accept(FULL))
    text = await place.call(person, "ask_form")
    kind, action, content = text.split(":", 2)
    expect([kind, action] == ["form", "accept"], text)
    expect(list(json.loads(content).items()) == sorted(FULL.items()), text)
    [asked] = person.asked
    expect(asked.mode == "form" and asked.message.startswith(FORM["message"]), asked)
    schema = asked.requested_schema
    expect(holds(schema, FORM["requestedSchema"]), schema)
    expect(list(schema["properties"]) == list(FORM["requestedSchema"]["properties"]), schema)


async def refused(place: Place) -> None:
    for action in ["decline", "cancel"]:
        text = await place.call(Person(refuse(action)), "ask_form")
        expect(text.startswith(f"form:{action}:"), text)


async def corrected(place: Place) -> None:
    person = Person(accept({**FULL, "name": "A", "age": 200}), accept(FULL))
    text = await place.call(person, "ask_form")
    expect(text.startswith("form:accept:"), text)
    first, second = (asked.message for asked in person.asked)
    expect(len(second) > len(first) and FORM["message"] in second, [first, second])


async def two_rounds(place: Place) -> None:
    def answer(params: Params) -> ElicitResult:
        [name] = params.requested_schema["properties"]
        return ElicitResult(action="accept", content={name: {"name": "Ada", "color": "blue"}[name]})

    text = await place.call(Person(answer, answer), "ask_two")
    expect(text == "two:Ada:blue", text)


async def page(place: Place) -> None:
    for action in ["accept", "decline", "cancel"]:
        person = Person(refuse(action))
        text = await place.call(person, "ask_url", {"url": PAGE})
        expect(text == f"url:{action}", text)
        [asked] = person.asked
        expect(asked.mode == "url" and asked.url == PAGE and asked.message != "", asked)
        expect((asked.elicitation_id is None) == place.is_modern, asked)


async def page_by_error(place: Place) -> None:
    async with place.connect(Person()) as client:
        try:
            result = await client.call_tool("url_error", {})
        except MCPError as refusal:
            error = refusal.error
        else:
            raise Wrong(f"found no error but {result!r}")
    expect(error.code == -32042, error)
    elicitations = error.data["elicitations"]
    expect(len(elicitations) > 0, elicitations)
    for each in elicitations:
        expect(each["mode"] == "url" and each["message"] != "", each)
        expect(each["url"].startswith("http") and each["elicitationId"] != "", each)


async def once(place: Place) -> None:
    def answer(params: Params) -> ElicitResult:
        return ElicitResult(action="accept", content=filled(params.requested_schema))

    text = await place.call(Person(answer), "ask_once")
    [count] = re.findall(r"\d+", text) or ["none"]
    # A server over HTTP has run before; one over stdio was started for this call.
    expect(count == "1" or place.transport == "http", text)
    text = await place.call(Person(answer), "ask_once")
    [again] = re.findall(r"\d+", text) or ["none"]
    expect(int(again) - int(count) in (0, 1), [count, again])


def filled(schema: dict) -> dict:
    """Some answer to any form of required fields."""
    some = {"boolean": True, "integer": 1, "number": 1, "string": "yes", "array": []}
    properties = schema["properties"]
    return {name: some[properties[name]["type"]] for name in schema.get("required", properties)}


async def without_elicitation(place: Place) -> None:
    async with place.connect(None) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        expect("ask_form" in tools, tools)
        expect(place.is_peer or "resume_question" in tools, tools)
        try:
            result = await client.call_tool("ask_form", {})
        except MCPError as error:
            expect("elicitation" in error.error.message.lower(), error.error)
            expected = place.is_peer or not place.is_modern
            expect(expected or error.error.code == -32021, error.error)
            return
    said = "".join(part.text for part in result.content if part.type == "text")
    link = re.search(r"https?://\S+", said)
    expect(link is not None or (result.is_error and "elicit" in said.lower()), result)


CHECKS = {
    "a form is asked and its answer arrives": accepted,
    "a decline is a decline, a cancel a cancel": refused,
    "an invalid answer is asked for again, with what is wrong": corrected,
    "two questions come one after the other": two_rounds,
    "a page is asked for": page,
    "a page is asked for by error -32042": page_by_error,
    "what happens once happens once": once,
    "a client without elicitation learns what to do": without_elicitation,
}


def first(error: BaseException) -> BaseException:
    """What went wrong, taken out of the groups that tasks wrap it in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def main() -> int:
    arguments = sys.argv[1:]
    is_peer = arguments[0] == "--peer"
    url, command, *rest = arguments[1:] if is_peer else arguments
    servers = {"stdio": StdioServerParameters(command=command, args=rest), "http": url}
    for era in ERAS:
        for transport, server in servers.items():
            place = Place(era, transport, server, is_peer)
            for name, check in CHECKS.items():
                if check is page_by_error and place.is_modern:
                    continue
                line = f"python {era} {transport:5}: {name}"
                try:
                    await asyncio.wait_for(check(place), LIMIT)
                except (Exception, BaseExceptionGroup) as error:
                    print(f"{line}: FAILED: {type(first(error)).__name__} {first(error)}")
                    return 1
                print(line, flush=True)
    return 0


sys.exit(asyncio.run(main()))
