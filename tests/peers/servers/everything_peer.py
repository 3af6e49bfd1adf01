"""A server of the Python SDK in both eras: `everything_peer.py stdio` or `--port N`.

Its tools answer as those of Entreat's own example `everything` do, so that one client can try
both.
"""

import asyncio
import json
import pathlib
import socket
import sys

import jsonschema
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
)

FORM = json.loads((pathlib.Path(__file__).parent.parent / "form.json").read_text())
CHECK = jsonschema.Draft202012Validator(FORM["requestedSchema"])

server = MCPServer("python-peer", version="1.0.0")
counts = {"refused": 0, "done": 0}


def is_modern(ctx: Context) -> bool:
    return ctx.request_context.protocol_version >= "2026-07-28"


async def ask(
    ctx: Context, key: str, message: str, schema: dict, state: str | None = None
) -> ElicitResult | InputRequiredResult:
    """Asks by the way of the client's era; the caller passes on what is not an answer."""
    declared = ctx.client_capabilities
    if declared is None or declared.elicitation is None:
        data = {"requiredCapabilities": {"elicitation": {"form": {}}}}
        raise MCPError(-32021 if is_modern(ctx) else -32602, "the client has no elicitation", data)
    if not is_modern(ctx):
        session = ctx.request_context.session
        return await session.elicit_form(message, schema, ctx.request_id)
    answer = (ctx.input_responses or {}).get(key)
    if isinstance(answer, ElicitResult):
        return answer
    params = ElicitRequestFormParams(message=message, requested_schema=schema)
    return InputRequiredResult(
        input_requests={key: ElicitRequest(params=params)}, request_state=state
    )


def one(name: str) -> dict:
    """A schema of one required text."""
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


@server.tool()
async def ask_form(ctx: Context) -> str | InputRequiredResult:
    """Asks one form."""
    message = FORM["message"]
    while True:
        answer = await ask(ctx, "form", message, FORM["requestedSchema"])
        if isinstance(answer, InputRequiredResult):
            return answer
        problems = list(CHECK.iter_errors(answer.content)) if answer.action == "accept" else []
        if not problems:
            content = json.dumps(answer.content or {}, sort_keys=True, separators=(",", ":"))
            return f"form:{answer.action}:{content}"
        message = f"{FORM['message']} {problems[0].message}"
        if is_modern(ctx):
            params = ElicitRequestFormParams(
                message=message, requested_schema=FORM["requestedSchema"]
            )
            return InputRequiredResult(input_requests={"form": ElicitRequest(params=params)})


@server.tool()
async def ask_two(ctx: Context) -> str | InputRequiredResult:
    """Asks for a name, then for a color."""
    name = ctx.request_state
    if name is None:
        first = await ask(ctx, "name", "What is your name?", one("name"))
        if isinstance(first, InputRequiredResult):
            return first
        name = str((first.content or {}).get("name", first.action))
    second = await ask(ctx, "color", "Which color?", one("color"), name)
    if isinstance(second, InputRequiredResult):
        return second
    return f"two:{name}:{(second.content or {}).get('color', second.action)}"


@server.tool()
async def ask_url(ctx: Context, url: str) -> str | InputRequiredResult:
    """Sends the person to an address."""
    message = "Please open this page"
    if not is_modern(ctx):
        answer = await ctx.elicit_url(message, url, "peer-page")
        return f"url:{answer.action}"
    given = (ctx.input_responses or {}).get("page")
    if isinstance(given, ElicitResult):
        return f"url:{given.action}"
    params = ElicitRequestURLParams(message=message, url=url)
    return InputRequiredResult(input_requests={"page": ElicitRequest(params=params)})


@server.tool()
async def url_error(ctx: Context, times: int = 1) -> str:
    """Refuses until the person was at an address; 2025 only."""
    if is_modern(ctx):
        raise ValueError("this era has no such error")
    if counts["refused"] >= times:
        counts["refused"] = 0
        return "url_error:done"
    counts["refused"] += 1
    number = counts["refused"]
    session = ctx.request_context.session

    async def told() -> None:
        await asyncio.sleep(0.3)
        await session.send_elicit_complete(f"peer-{number}")

    keep.add(asyncio.create_task(told()))
    raise UrlElicitationRequiredError(
        [
            ElicitRequestURLParams(
                message="Please connect your account",
                url=f"https://example.com/connect/{number}",
                elicitation_id=f"peer-{number}",
            )
        ]
    )


keep: set[asyncio.Task] = set()


@server.tool()
async def ask_once(ctx: Context) -> str | InputRequiredResult:
    """Counts before it asks."""
    count = ctx.request_state
    if count is None:
        counts["done"] += 1
        count = str(counts["done"])
    answer = await ask(ctx, "go", "Go on?", one("word"), count)
    return answer if isinstance(answer, InputRequiredResult) else f"once:{count}"


def main() -> None:
    match sys.argv[1:]:
        case ["stdio"]:
            server.run()
        case ["--port", port]:
            listener = socket.create_server(("127.0.0.1", int(port)))
            number = listener.getsockname()[1]
            print(f"listening on http://127.0.0.1:{number}/mcp", file=sys.stderr, flush=True)
            config = uvicorn.Config(server.streamable_http_app(), log_level="warning")
            uvicorn.Server(config).run(sockets=[listener])
        case _:
            sys.exit("usage: everything_peer.py stdio | --port N")


main()
