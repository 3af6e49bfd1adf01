"""Asks a person which environment to deploy to, from Python with its standard library alone.

    python3 examples/ask.py http://127.0.0.1:7171

`entreat serve` has to run there. Set ENTREAT_KEY if it wants a key.
"""

import itertools
import json
import os
import sys
import urllib.error
import urllib.request


class Entreat:
    """A service that asks people."""

    def __init__(self, url, key=None):
        self._url = f"{url}/rpc"
        self._headers = {"Content-Type": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._ids = itertools.count(1)

    def call(self, method, **params):
        """The result of a method; raises what the service refused it for."""
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        request = urllib.request.Request(self._url, json.dumps(message).encode(), self._headers)
        try:
            with urllib.request.urlopen(request) as response:
                answer = json.load(response)
        except urllib.error.HTTPError as refused:
            answer = json.load(refused)
        if "error" in answer:
            raise RuntimeError(f"{answer['error']['code']}: {answer['error']['message']}")
        return answer["result"]


def main():
    entreat = Entreat(sys.argv[1], os.environ.get("ENTREAT_KEY"))
    form = {
        "id": "deploy",
        "title": "Deploy",
        "fields": [
            {
                "id": "target",
                "type": "select",
                "label": "Where to?",
                "required": True,
                "options": ["staging", "production"],
            }
        ],
    }
    asked = entreat.call("elicitation/create", message="The build is green.", formDefinition=form)
    print("asked:", asked["elicitationId"], file=sys.stderr)
    settled = entreat.call("elicitation/await", elicitationId=asked["elicitationId"])
    if settled["status"] == "completed":
        print("deploying to", settled["result"]["target"])
    else:
        print("nobody decided:", settled["status"])


main()
