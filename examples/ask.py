"""Asks a person which environment to deploy to, using only Python's standard library.

    python3 examples/ask.py [URL]

`entreat serve` must be running, by default at http://127.0.0.1:7171. If it requires a key, set
ENTREAT_KEY.
"""

import itertools
import json
import os
import sys
import urllib.error
import urllib.request


class Entreat:
    """A client for an Entreat service."""

    def __init__(self, url, key=None):
        self._url = f"{url}/rpc"
        self._headers = {"Content-Type": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._ids = itertools.count(1)

    def call(self, method, **params):
        """Returns the result of a method; raises an exception if the service returns an error."""
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
    url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:7171"
    entreat = Entreat(url, os.environ.get("ENTREAT_KEY"))
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
    print("open this link to answer:", asked["page"], file=sys.stderr)
    settled = entreat.call("elicitation/await", elicitationId=asked["elicitationId"])
    if settled["status"] == "completed":
        print("deploying to", settled["result"]["target"])
    else:
        print("nobody decided:", settled["status"])


main()
