"""Calls server-everything's form with the client of FastMCP, and prints what comes of it.

    fastmcp_client.py with|without CONTENT COMMAND...
"""

import asyncio
import json
import os
import sys

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport

WAY, CONTENT, COMMAND, *ARGUMENTS = sys.argv[1:]


async def answer(_message, _kind, _params, _context):
    # As long as it takes to read: what comes sooner is not believed to be a person's.
    await asyncio.sleep(0.35)
    content = {**json.loads(CONTENT), "integer": 36}
    return ElicitResult(action="accept", content=content)


async def main() -> None:
    handler = {"elicitation_handler": answer} if WAY == "with" else {}
    transport = StdioTransport(COMMAND, ARGUMENTS, env=dict(os.environ))
    async with Client(transport, **handler) as client:
        result = await client.call_tool("trigger-elicitation-request", {})
        print("\n".join(block.text for block in result.content))


asyncio.run(main())
