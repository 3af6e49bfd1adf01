"""Lets a server on stdio speak one version of the protocol only: `pin.py VERSION COMMAND...`.

What a client sends in another version is answered here as a server would that doesn't know it.
"""

import json
import subprocess
import sys
import threading

VERSION, *COMMAND = sys.argv[1:]
META = "io.modelcontextprotocol/protocolVersion"
IS_MODERN = VERSION >= "2026"
child = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
lock = threading.Lock()


def reply(line: bytes) -> None:
    with lock:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


def relay() -> None:
    for line in child.stdout:
        reply(line)


def error(message: dict, code: int, words: str, data: object = None) -> None:
    failed = {"code": code, "message": words, **({"data": data} if data else {})}
    reply(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": failed}).encode() + b"\n")


back = threading.Thread(target=relay)
back.start()
for line in sys.stdin.buffer:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params") or {}
    offered = (params.get("_meta") or {}).get(META)
    if IS_MODERN and method == "initialize":
        data = {"supported": [VERSION], "requested": params.get("protocolVersion")}
        error(message, -32022, "unsupported protocol version", data)
        continue
    if not IS_MODERN and "id" in message and (method == "server/discover" or offered):
        error(message, -32601, f"unknown method: {method}")
        continue
    if method == "initialize" and params["protocolVersion"] != VERSION:
        params["protocolVersion"] = VERSION
        line = json.dumps(message).encode() + b"\n"
    child.stdin.write(line)
    child.stdin.flush()
child.stdin.close()
back.join()
sys.exit(child.wait())
