"""The official conformance suite, direct and with `entreat gateway` in between.

In the same version, every scenario must come out as it does direct, check by check. Crossed, the
server speaks the other version only, and what comes out differently is listed with its reason.
"""

import collections
import json
import pathlib
import subprocess
import sys

from places import HttpServer, NPM, gateway_of
from record import Wrong, environment, say
from same import example_over_http
from scripts import L6, L11, M

SUITE = NPM / "conformance/dist/index.js"
PATIENCE = 480

JSON = "the gateway responds in JSON where nothing comes before the response, so there is no stream to check"
# What the suite can't ask of something that stands in between, by version.
SAME = {
    L11: {"server-sse-multiple-streams": JSON, "server-sse-polling": JSON},
    M: {
        "server-sse-multiple-streams": JSON,
        "input-required-result-capability-check": "the gateway asks by a link what the client can't show",
    },
}
KEYS = "a server of 2025 gives its questions no keys; they are the gateway's"
UNDECLARED = "a server of 2025 has no error for what a client has not declared; its tool fails instead"
# By scenario, or by check.
CROSSED = {
    L11: SAME[L11],
    M: {
        **SAME[M],
        "input-required-result-basic-elicitation": KEYS,
        "input-required-result-ignore-extra-params": KEYS,
        "sep-2575-server-rejects-undeclared-capability": UNDECLARED,
        "sep-2575-missing-capability-http-400": UNDECLARED,
    },
}


def run(setting) -> None:
    conforming = [setting.node, str(NPM.parent.parent / "servers/conforming.mjs"), "--port", "{port}"]
    servers = {"conforming": HttpServer(conforming), "example": example_over_http(setting)}
    direct: dict[str, dict] = {}
    for name, server in servers.items():
        with server as url, gateway_of(setting, {"peer": {"url": url}}) as front:
            for version in (L6, L11, M):
                direct[version] = suite(setting, url, version) if name == "conforming" else direct[version]
                plain = direct[version] if name == "conforming" else suite(setting, url, version)

                def same(version=version, plain=plain) -> str:
                    return compare(plain, suite(setting, f"{front}/peer", version), SAME.get(version, {}))

                setting.tried("conformance", f"{name}, {version}, as direct", same)
    for version, other, only in ((L11, M, "modern"), (M, L11, "legacy")):
        with HttpServer([*conforming, only]) as url, gateway_of(setting, {"peer": {"url": url}}) as front:

            def crossed(version=version) -> str:
                found = suite(setting, f"{front}/peer", version)
                return compare(direct[version], found, CROSSED[version])

            setting.tried("conformance", f"conforming, {version} on a server of {other}", crossed)


def suite(setting, url: str, version: str) -> dict[str, dict[str, collections.Counter]]:
    """Runs all scenarios; returns what came of each check, by scenario and status."""
    folder = setting.scratch()
    command = [setting.node, str(SUITE), "server", "--url", url, "--suite", "all"]
    command += ["--spec-version", version, "--output-dir", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    found: dict[str, dict[str, collections.Counter]] = {}
    for file in sorted(folder.rglob("checks.json")):
        # The folder is named after the scenario and the time.
        name = file.parent.name.removeprefix("server-").split("-20")[0]
        counts = found.setdefault(name, collections.defaultdict(collections.Counter))
        for check in json.loads(file.read_text()):
            if check["status"] != "INFO":
                words = f"{check['id']}: {check.get('errorMessage', '')}"
                counts[check["status"]][words] += 1
    if not found:
        raise Wrong(f"the suite wrote no results:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return found


def compare(direct: dict, through: dict, excepted: dict[str, str]) -> str:
    """Fails if a scenario came out worse than direct; says what passed."""
    worse = []
    for name in sorted({*direct, *through} - {*excepted}):
        before, after = direct.get(name, {}), through.get(name, {})
        lost = ids(before, "SUCCESS") - ids(after, "SUCCESS")
        for check in excepted:
            del lost[check]
        if lost:
            words = [word for status, all in after.items() if status != "SUCCESS" for word in all]
            worse.append(f"{name}: {counted(before)}, through {counted(after)}: {words or lost}")
    if worse:
        raise Wrong("\n  ".join([f"{len(worse)} of {len(direct)} scenarios came out worse", *worse]))
    for name, reason in excepted.items():
        say(f"  not comparable: {name}: {reason}")
    total = sum((collections.Counter(counted(each)) for each in through.values()), collections.Counter())
    return f"{len(through)} scenarios, {dict(total)}"


def ids(scenario: dict, status: str) -> collections.Counter:
    """How often each check came out so."""
    found: collections.Counter = collections.Counter()
    for words, times in scenario.get(status, {}).items():
        found[words.partition(":")[0]] += times
    return found


def counted(scenario: dict) -> dict[str, int]:
    return {status: sum(checks.values()) for status, checks in scenario.items()}


# Scenarios for clients: `entreat wrap URL` is the client, and a small one without elicitation is in
# front of it, by the version of the suite and that of the small client. The number is that of the
# checks in a complete run.
AS_CLIENT = [
    ("initialize", L11, L11, 1),
    ("tools_call", L11, L11, 2),
    ("elicitation-sep1034-client-defaults", L11, L11, 5),
    ("sse-retry", L11, L11, 3),
    ("json-schema-2020-12-preservation", L11, L11, 9),
    ("tools_call", M, L11, 2),
    ("tools_call", M, M, 2),
    ("sep-2322-client-request-state", M, L11, 5),
    ("sep-2322-client-request-state", M, M, 5),
    ("request-metadata", M, M, 6),
    ("http-standard-headers", M, M, 9),
    ("http-custom-headers", M, M, 18),
    ("http-invalid-tool-headers", M, M, 12),
    ("json-schema-ref-no-deref", M, L11, 1),
    ("json-schema-ref-no-deref", M, M, 1),
    ("json-schema-2020-12-preservation", M, L11, 9),
    ("json-schema-2020-12-preservation", M, M, 9),
]
OLD = "a client of 2026-07-28 sends no such request"
UNDECLARED_HERE = "the small client does not declare it, and the gateway adds elicitation only"
# Checks that the suite skips, with the reason.
NOT_MADE = {
    "ClientDeclaresRootsCapability": UNDECLARED_HERE,
    "ClientDeclaresSamplingCapability": UNDECLARED_HERE,
    "ClientMcpMethodHeader_initialize": OLD,
    "ClientMcpMethodHeader_notifications_initialized": OLD,
}


def as_client(setting) -> None:
    wanted = AS_CLIENT if setting.all else [AS_CLIENT[2], AS_CLIENT[7], AS_CLIENT[11]]
    for scenario, version, spoken, checks in wanted:

        def work(scenario=scenario, version=version, spoken=spoken, checks=checks) -> str:
            return tried_as_client(setting, scenario, version, spoken, checks)

        setting.tried("as client", f"{scenario}, {version}, behind a client of {spoken}", work)


def tried_as_client(setting, scenario: str, version: str, spoken: str, expected: int) -> str:
    folder = setting.scratch()
    client = f"{sys.executable} {pathlib.Path(__file__).parent / 'small_client.py'} {spoken}"
    command = [setting.node, str(SUITE), "client", "--command", client, "--scenario", scenario]
    command += ["--spec-version", version, "--output-dir", str(folder)]
    env = environment(ENTREAT=str(setting.entreat))
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL, env=env)
    files = list(folder.rglob("checks.json"))
    if not files:
        raise Wrong(f"the suite wrote no results:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    checks = [check for check in json.loads(files[0].read_text()) if check["status"] != "INFO"]
    left = [check for check in checks if check["name"] not in NOT_MADE or check["status"] != "SKIPPED"]
    for name in [check["name"] for check in checks if check not in left]:
        say(f"  not made: {name}: {NOT_MADE[name]}")
    wrong = [f"{it['status']} {it['name']}: {it.get('errorMessage', '')}" for it in left if it["status"] != "SUCCESS"]
    if wrong or len(left) < expected or done.returncode != 0:
        counted = f"{len(left)} of {expected} checks, the suite ended with {done.returncode}"
        raise Wrong("\n  ".join([counted, *wrong, done.stdout[-1500:], done.stderr[-1500:]]))
    return f"{len(left)} checks"
