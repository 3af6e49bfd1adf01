"""A server of the Python SDK whose tool asks, and whose results have a schema."""

from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("greeter")


class Who(BaseModel):
    name: str


@server.tool()
async def greet(ctx: Context) -> str:
    answer = await ctx.elicit(message="Who are you?", schema=Who)
    return f"Hello, {answer.data.name}" if answer.action == "accept" else answer.action


server.run()
