"""FastMCP's proxy in front of a server, as its guide says.

    fastmcp_proxy.py stdio COMMAND...   over stdio, in front of a command
    fastmcp_proxy.py http PORT URL      over HTTP, in front of a URL
"""

import logging
import sys

from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy

logging.disable(logging.WARNING)
kind, *rest = sys.argv[1:]
if kind == "stdio":
    create_proxy(StdioTransport(rest[0], rest[1:])).run(show_banner=False)
else:
    port, url = rest
    proxy = create_proxy(url)
    proxy.run(
        transport="http",
        port=int(port),
        path="/mcp",
        show_banner=False,
        uvicorn_config={"log_level": "error"},
    )
