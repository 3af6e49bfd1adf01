"""One tool call that asks one form, with FastMCP: how many a second, one at a time.

    fastmcp_rival.py [SECONDS]     measures; a JSON line for each transport and era
    fastmcp_rival.py serve         is the server over stdio

The server asks as each era's own guide says; the person answers at once.
"""

import asyncio
import json
import logging
import sys
import time
from typing import Annotated, Literal

from fastmcp import Client, Context, FastMCP
from fastmcp.client.transports import StdioTransport
from mcp.server.elicitation import render_elicitation_schema
from mcp_types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from pydantic import BaseModel, EmailStr, Field

ERAS = {"2025-11-25": "legacy", "2026-07-28": "2026-07-28"}
MESSAGE = "Who are you?"


class Form(BaseModel):
    """The form of `ask_form`, as an author of a FastMCP server writes it."""

    name: Annotated[str, Field(title="Name", min_length=2, max_length=20)]
    age: Annotated[int, Field(ge=0, le=150)]
    # Optional by a default: FastMCP takes no `None` in a form.
    mail: EmailStr = ""
    color: Literal["r", "g"] = "g"
    tags: Annotated[list[Literal["a", "b", "c"]], Field(min_length=1, max_length=2)] = []
    ok: bool = True


ANSWER = {"name": "Ada", "age": 36, "mail": "ada@example.com", "color": "r"}
QUESTION = ElicitRequest(
    params=ElicitRequestFormParams(
        message=MESSAGE, requested_schema=render_elicitation_schema(Form)
    )
)

server = FastMCP("bench")


@server.tool
async def ask_form(ctx: Context) -> str | InputRequiredResult:
    """Asks one form."""
    if ctx.request_context.protocol_version < "2026":
        answer = await ctx.elicit(MESSAGE, Form)
        return f"form:{answer.action}:{answer.data.name}"
    given = (ctx.input_responses or {}).get("form")
    if not isinstance(given, ElicitResult):
        return InputRequiredResult(input_requests={"form": QUESTION})
    return f"form:{given.action}:{Form.model_validate(given.content).name}"


async def person(_message, _kind, _params, _context) -> ElicitResult:
    return ElicitResult(action="accept", content=ANSWER)


async def measure(transport, era: str, seconds: float) -> float:
    """Calls for so many seconds, after a quarter of that to get going."""
    async with Client(transport, elicitation_handler=person, mode=ERAS[era]) as client:
        assert client.protocol_version == era, client.protocol_version

        async def run(limit: float) -> float:
            calls, start = 0, time.perf_counter()
            while time.perf_counter() - start < limit:
                result = await client.call_tool("ask_form", {})
                assert result.content[0].text == "form:accept:Ada", result
                calls += 1
            return calls / (time.perf_counter() - start)

        await run(seconds / 4)
        return await run(seconds)


async def main(seconds: float) -> None:
    ways = {
        "in-process": lambda: server,
        "stdio": lambda: StdioTransport(sys.executable, [__file__, "serve"]),
    }
    for transport, way in ways.items():
        for era in ERAS:
            rate = round(await measure(way(), era, seconds))
            line = {"rival": "fastmcp", "transport": transport, "era": era}
            line["calls_per_second"] = rate
            print(json.dumps(line, separators=(",", ":")), flush=True)


logging.disable(logging.INFO)
if sys.argv[1:] == ["serve"]:
    server.run(show_banner=False)
else:
    asyncio.run(main(float(sys.argv[1]) if sys.argv[1:] else 3.0))
