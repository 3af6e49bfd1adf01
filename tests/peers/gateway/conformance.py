"""The official conformance suite, direct and with `entreat gateway` in between.

In the same version, every scenario must come out as it does direct, check by check. Crossed, the
server speaks the other version only, and what comes out differently is listed with its reason.
"""

import collections
import json
import pathlib
import subprocess

from places import HttpServer, NPM, gateway_of
from record import Wrong, pinned, say
from same import asking_servers, example_over_http
from scripts import L6, L11, M

SUITE = NPM / "conformance/dist/index.js"
PATIENCE = 480

# What the suite can't ask of a gateway whose server speaks the other version.
CROSSED = {}


def run(setting) -> None:
    conforming = [setting.node, str(NPM.parent.parent / "servers/conforming.mjs")]
    servers = {
        "conforming": (lambda _: HttpServer([*conforming, "--port", "{port}"]), [*conforming, "stdio"]),
        "example": (example_over_http, asking_servers(setting)["example"]),
    }
    for name, (start, command) in servers.items():
        with start(setting) as url, gateway_of(setting, {"peer": {"url": url}}) as front:
            direct = {}
            for version in (L6, L11, M):
                direct[version] = suite(setting, url, version)

                def same(version=version) -> str:
                    return compare(direct[version], suite(setting, f"{front}/peer", version), {})

                setting.tried("conformance", f"{name}, {version}, as direct", same)
        for version, other in ((L11, M), (M, L11)):

            def crossed(version=version, other=other) -> str:
                with gateway_of(setting, {"peer": {"command": pinned(other, command)}}) as front:
                    found = suite(setting, f"{front}/peer", version)
                return compare(direct[version], found, CROSSED.get(version, {}))

            setting.tried("conformance", f"{name}, {version} on a server of {other}", crossed)


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
    """Fails unless each scenario came out as it does direct; says what passed."""
    differences = []
    for name in sorted({*direct, *through}):
        if name in excepted:
            continue
        before, after = (counted(run.get(name, {})) for run in (direct, through))
        if before != after:
            words = [word for status, all in through.get(name, {}).items() if status != "SUCCESS" for word in all]
            differences.append(f"{name}: direct {before}, through {after} {words}")
    if differences:
        raise Wrong("\n  ".join([f"{len(differences)} of {len(direct)} scenarios differ", *differences]))
    for name, reason in excepted.items():
        say(f"  not comparable: {name}: {reason}")
    total = sum((collections.Counter(counted(each)) for each in through.values()), collections.Counter())
    return f"{len(through)} scenarios, {dict(total)}"


def counted(scenario: dict) -> dict[str, int]:
    return {status: sum(checks.values()) for status, checks in scenario.items()}
