"""Carries out a script with the client of the Python SDK, and prints every message.

    client.py < script.json

The script is that of `client.mjs`. Messages are recorded as they pass the transport, before the
SDK reads them.
"""

import asyncio
import json
import sys
from contextlib import asynccontextmanager

import anyio
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

SCRIPT = json.load(sys.stdin)
VERSION = SCRIPT["version"]
ANSWERS = SCRIPT.get("answers", {})
LOG = []


def plain(message) -> dict:
    return json.loads(message.message.model_dump_json(by_alias=True, exclude_unset=True))


class Reader:
    """Records what is received."""

    def __init__(self, inner):
        self.inner = inner

    async def receive(self):
        got = await self.inner.receive()
        if not isinstance(got, Exception):
            LOG.append({"dir": "in", "message": plain(got)})
        return got

    async def aclose(self):
        await self.inner.aclose()

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def __aiter__(self):
        return self

    async def __anext__(self):
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self):
        await self.inner.__aenter__()
        return self

    async def __aexit__(self, *why):
        return await self.inner.__aexit__(*why)


class Writer:
    """Records what is sent."""

    def __init__(self, inner):
        self.inner = inner

    async def send(self, message):
        LOG.append({"dir": "out", "message": plain(message)})
        await self.inner.send(message)

    def __getattr__(self, name):
        return getattr(self.inner, name)

    async def aclose(self):
        await self.inner.aclose()

    async def __aenter__(self):
        await self.inner.__aenter__()
        return self

    async def __aexit__(self, *why):
        return await self.inner.__aexit__(*why)


@asynccontextmanager
async def transport():
    if url := SCRIPT.get("url"):
        inner = streamable_http_client(url)
    else:
        command, *args = SCRIPT["command"]
        inner = stdio_client(StdioServerParameters(command=command, args=args, env=SCRIPT.get("env")))
    async with inner as (reader, writer, *_):
        yield Reader(reader), Writer(writer)


async def elicit(_context, params):
    prepared = ANSWERS.get("elicitation/create")
    if prepared is None:
        await anyio.sleep_forever()
    # As long as it takes to read: what comes sooner is not believed to be a person's.
    await anyio.sleep(0.35)
    mode = getattr(params, "mode", None) or "form"
    return types.ElicitResult.model_validate(prepared.get(mode, prepared))


async def sample(_context, _params):
    return types.CreateMessageResult.model_validate(ANSWERS["sampling/createMessage"])


async def roots(_context):
    return types.ListRootsResult.model_validate(ANSWERS["roots/list"])


async def carry_out(client: Client, step: dict) -> None:
    params = step.get("params") or {}
    match step.get("method"):
        case None if "sleep" in step:
            await anyio.sleep(step["sleep"] / 1000)
        case "tools/call":
            progress = (lambda *_: asyncio.sleep(0)) if step.get("progress") else None
            call = client.call_tool(params["name"], params.get("arguments"), progress_callback=progress)
            if wait := step.get("cancel"):
                with anyio.move_on_after(wait / 1000):
                    await call
            else:
                await call
        case "prompts/get":
            await client.get_prompt(params["name"], params.get("arguments"))
        case "resources/read":
            await client.read_resource(params["uri"])
        case "resources/subscribe":
            await client.subscribe_resource(params["uri"])
        case "resources/unsubscribe":
            await client.unsubscribe_resource(params["uri"])
        case "tools/list":
            await client.list_tools(cache_mode="bypass")
        case "prompts/list":
            await client.list_prompts(cache_mode="bypass")
        case "resources/list":
            await client.list_resources(cursor=params.get("cursor"), cache_mode="bypass")
        case "resources/templates/list":
            await client.list_resource_templates(cache_mode="bypass")
        case "ping":
            await client.send_ping()
        case "logging/setLevel":
            await client.set_logging_level(params["level"])
        case "completion/complete":
            kinds = {"ref/prompt": types.PromptReference, "ref/resource": types.ResourceTemplateReference}
            ref = kinds[params["ref"]["type"]].model_validate(params["ref"])
            await client.complete(ref, params["argument"])
        case other:
            raise ValueError(f"no such step: {other}")


async def run() -> None:
    wanted = SCRIPT.get("capabilities", {})
    callbacks = {}
    if "elicitation" in wanted:
        callbacks["elicitation_callback"] = elicit
    if "sampling" in wanted:
        callbacks["sampling_callback"] = sample
    if "roots" in wanted:
        callbacks["list_roots_callback"] = roots
    mode = VERSION if VERSION >= "2026" else "legacy"
    info = types.Implementation(name="recorder", version="1.0.0")
    async with Client(transport(), mode=mode, client_info=info, **callbacks) as client:
        for step in SCRIPT["steps"]:
            LOG.append({"dir": "step", "message": step})
            try:
                await carry_out(client, step)
            except MCPError:
                pass
        LOG.append({"dir": "end", "message": {}})


def main() -> None:
    failed = None
    try:
        asyncio.run(run())
    except (Exception, BaseExceptionGroup) as error:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        # How it disconnects is not compared.
        if not LOG or LOG[-1]["dir"] != "end":
            failed = f"{type(error).__name__}: {error}"
    print(json.dumps({"failed": failed, "log": LOG}))


main()
