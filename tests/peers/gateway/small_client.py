"""A small client for the conformance suite, with `entreat wrap URL` between it and the suite's server.

    small_client.py VERSION URL

It speaks one version of the protocol, declares nothing and shows nothing: what the server asks is
answered on a page. It lists everything, calls each tool, and reads each resource and prompt. The
program is in ENTREAT; the suite says in MCP_CONFORMANCE_CONTEXT which calls it wants.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

from people import Desktop, page
from scripts import M

META = "io.modelcontextprotocol/"
NO_METHOD = -32601
# How often a call is continued that has nothing but its state.
ROUNDS = 20


class Client:
    """One connection, and the requests on it."""

    def __init__(self, version: str, command: list[str], env: dict[str, str]) -> None:
        self.version = version
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, text=True, env=env, **pipes)
        self.last = 0

    def send(self, message: dict) -> None:
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict) -> dict:
        """Sends a request and returns its response."""
        if self.version == M:
            about = {"protocolVersion": M, "clientInfo": {"name": "small", "version": "1"}, "clientCapabilities": {}}
            params = {**params, "_meta": {META + name: value for name, value in about.items()}}
        self.last += 1
        self.send({"id": self.last, "method": method, "params": params})
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.last and "method" not in message:
                return message
            if "method" in message and "id" in message:
                self.send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
        raise SystemExit(f"the connection ended before a response to {method}")

    def result(self, method: str, params: dict) -> dict:
        """The result of a request, after all of its rounds."""
        more: dict = {}
        for _ in range(ROUNDS):
            response = self.ask(method, {**params, **more})
            if response.get("error", {}).get("code") == NO_METHOD and method == "tools/call":
                # One of the suite's servers only lists its tools.
                return {}
            if "error" in response:
                raise SystemExit(f"{method} {params.get('name', '')}: {response['error']}")
            result = response["result"]
            if result.get("resultType", "complete") == "complete":
                return result
            if result.get("inputRequests"):
                raise SystemExit(f"{method} asks what was not declared: {result}")
            more = {"requestState": result["requestState"]}
        raise SystemExit(f"{method} did not end")

    def begin(self) -> dict:
        """Makes acquaintance; returns the server's capabilities."""
        if self.version == M:
            return self.result("server/discover", {})["capabilities"]
        about = {"protocolVersion": self.version, "capabilities": {}, "clientInfo": {"name": "small", "version": "1"}}
        result = self.result("initialize", about)
        self.send({"method": "notifications/initialized"})
        return result["capabilities"]


def arguments(tool: dict, tools: list[dict]) -> dict:
    """Something for each argument that a tool requires."""
    examples = {"string": "x", "integer": 1, "number": 1.5, "boolean": True, "array": ["x"], "null": None}
    schema = tool["inputSchema"]
    values = {}
    for name in schema.get("required", []):
        kind = schema["properties"][name].get("type", "string")
        # A tool that takes a schema wants the one that was listed, as it was.
        values[name] = tools[0]["inputSchema"] if kind == "object" else examples[kind]
    return values


def main() -> None:
    version, url = sys.argv[1:]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    with tempfile.TemporaryDirectory() as folder:
        desktop = Desktop(pathlib.Path(folder))

        def person() -> None:
            # Nothing is filled in: what is sent is what the server has filled in.
            while True:
                page("send")(desktop.next())

        threading.Thread(target=person, daemon=True).start()
        env = {**os.environ, **desktop.environment}
        client = Client(version, [os.environ["ENTREAT"], "wrap", url], env)
        can = client.begin()
        tools = client.result("tools/list", {})["tools"]
        tools = [tool for tool in tools if tool["name"] != "resume_question"]
        calls = context.get("toolCalls") or [
            {"name": tool["name"], "arguments": arguments(tool, tools)} for tool in tools
        ]
        for call in calls:
            client.result("tools/call", call)
        if "resources" in can:
            for resource in client.result("resources/list", {})["resources"]:
                client.result("resources/read", {"uri": resource["uri"]})
        if "prompts" in can:
            for prompt in client.result("prompts/list", {})["prompts"]:
                client.result("prompts/get", {"name": prompt["name"]})
        client.process.stdin.close()
        client.process.wait(30)


if __name__ == "__main__":
    main()
