"""Calls servers of other people with `entreat call`, and answers what they ask.

    answers.py ENTREAT EVERYTHING NODE

Every server over stdio and HTTP, in both eras, answered from a file and by lines typed into a
pseudo-terminal. Prints one table; the first cell that is wrong ends the run.
"""

import contextlib
import http.server
import json
import os
import pathlib
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

ENTREAT, EVERYTHING, NODE = sys.argv[1:4]
HERE = pathlib.Path(__file__).parent
PATIENCE = 60
LEGACY, ROUNDS = "legacy", "2026-07-28"

PERSON = {"name": "Ada", "age": 36, "mail": "a+b@example.technology", "tags": ["a", "c"]}
WHOLE = {**PERSON, "color": "g", "ok": True}
SENT = json.dumps(WHOLE, sort_keys=True, separators=(",", ":"))


def accept(content=None):
    return {"action": "accept"} if content is None else {"action": "accept", "content": content}


DECLINE, CANCEL = {"action": "decline"}, {"action": "cancel"}


class Canary(http.server.BaseHTTPRequestHandler):
    """A page that counts its visitors."""

    hits = 0

    def do_GET(self):
        Canary.hits += 1
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


canary = http.server.HTTPServer(("127.0.0.1", 0), Canary)
threading.Thread(target=canary.serve_forever, daemon=True).start()
PAGE = f"http://127.0.0.1:{canary.server_port}/page?a=1"

# name, tool, arguments, answers, typed lines, what is printed, exit code, eras
FORM_LINES = ["Ada", "36", "a+b@example.technology", "", "a,c", "", "y"]
CASES = [
    ("form", "ask_form", {}, [accept(PERSON)], FORM_LINES, f"form:accept:{SENT}", 0, (LEGACY, ROUNDS)),
    ("decline", "ask_form", {}, [DECLINE], [":decline"], "form:decline:{}", 3, (LEGACY, ROUNDS)),
    ("cancel", "ask_form", {}, [CANCEL], [":cancel"], "form:cancel:{}", 4, (LEGACY, ROUNDS)),
    ("two rounds", "ask_two", {}, [accept({"name": "Ada"}), accept({"color": "red"})], ["Ada", "red"], "two:Ada:red", 0, (LEGACY, ROUNDS)),
    ("url", "ask_url", {"url": PAGE}, [accept()], ["open", "done"], "url:accept", 0, (LEGACY, ROUNDS)),
    ("url declined", "ask_url", {"url": PAGE}, [DECLINE], [":decline"], "url:decline", 3, (LEGACY, ROUNDS)),
    ("-32042", "url_error", {}, [accept()], ["open", "done"], "url_error:done", 0, (LEGACY,)),
    ("-32042 twice", "url_error", {"times": 2}, [accept(), accept()], ["open", "done", "open", "done"], "url_error:done", 0, (LEGACY,)),
]
# Entreat's own server sends nobody to this machine, and its page has to be filled in first.
ELSEWHERE = {"url": "https://example.com/page"}
OURS = [
    (name, tool, ELSEWHERE if arguments else arguments, *rest)
    for name, tool, arguments, *rest in CASES
    if tool != "url_error"
]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def served(command, port, environment=None):
    """A server over HTTP, for as long as it is needed."""
    env = {**os.environ, **(environment or {})}
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=env)
    try:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield [f"http://127.0.0.1:{port}/mcp"]
    finally:
        process.kill()
        process.wait()


def from_file(case, era, target):
    _, tool, arguments, answers, *_ = case
    command = [ENTREAT, "call", "--era", era, "--answers", "-", "--args", json.dumps(arguments), tool]
    done = subprocess.run(
        command + target, input=json.dumps(answers), capture_output=True, text=True, timeout=PATIENCE
    )
    return done.stdout, done.returncode, done.stderr


def typed(case, era, target):
    _, tool, arguments, _, lines, *_ = case
    command = [ENTREAT, "call", "--plain", "--era", era, "--args", json.dumps(arguments), tool]
    return in_terminal(command + target, lines)


def in_terminal(command, lines):
    """Runs a program in a pseudo-terminal and types a line at each prompt."""
    child, master = pty.fork()
    if child == 0:
        # Nothing here opens a browser: there is no screen.
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"):
            os.environ.pop(name, None)
        os.execv(command[0], command)
    seen, answered, left = "", 0, list(lines)
    end = time.monotonic() + PATIENCE
    try:
        while time.monotonic() < end:
            if not select.select([master], [], [], 0.1)[0]:
                continue
            try:
                got = os.read(master, 1 << 16)
            except OSError:
                break
            if not got:
                break
            seen += got.decode(errors="replace")
            unanswered = seen[answered:]
            if unanswered.endswith("> ") and left:
                answered = len(seen)
                os.write(master, left.pop(0).encode() + b"\n")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL if time.monotonic() >= end else 0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return seen.replace("\r\n", "\n"), code, f"{len(left)} lines were not asked for" if left else ""


def on_page(tool, arguments, era, target, presses):
    """Answers on the pages that `--ui browser` serves, as a browser without scripts would."""
    command = [ENTREAT, "call", "--ui", "browser", "--era", era, "--args", json.dumps(arguments), tool]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command + target, text=True, **pipes)
    try:
        seen = set()
        for fields, button in presses:
            link = None
            while link is None or link in seen:
                line = process.stderr.readline()
                if not line:
                    sys.exit(f"{tool}: no page to press {button} on")
                found = re.search(r"http://127\.0\.0\.1\S+", line)
                link = found and found.group()
            seen.add(link)
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            page = browser.open(link, timeout=PATIENCE).read().decode()
            token = re.search(r'name="_csrf" value="([^"]+)"', page).group(1)
            here = urllib.parse.urljoin(link, re.search(r'action="([^"]+)"', page).group(1))
            body = urllib.parse.urlencode({"_csrf": token, "_f": "0", **fields, "_do": button})
            request = urllib.request.Request(here, body.encode(), {"Origin": "null"})
            browser.open(request, timeout=PATIENCE).read()
        printed, _ = process.communicate(timeout=PATIENCE)
        return printed, process.returncode
    finally:
        process.kill()


def pages():
    """The browser: each decision is what it is, for forms and addresses."""
    target = ["--", sys.executable, str(HERE / "servers/everything_peer.py"), "stdio"]
    two = [({"f.name": "Ada"}, "send"), ({"f.color": "red"}, "send")]
    then = [({}, "send")]
    for era in (LEGACY, ROUNDS):
        for tool, arguments, presses, printed, code in [
            ("ask_two", {}, two, "two:Ada:red", 0),
            ("ask_form", {}, [({}, "decline")], "form:decline:{}", 3),
            ("ask_form", {}, [({}, "cancel")], "form:cancel:{}", 4),
            ("ask_url", {"url": PAGE}, then, "url:accept", 0),
            ("ask_url", {"url": PAGE}, [({}, "decline")], "url:decline", 3),
            ("ask_url", {"url": "javascript:alert(1)"}, then, "url:cancel", 4),
        ]:
            got = on_page(tool, arguments, era, target, presses)
            table.append(("python", "stdio", era, "page", tool, "ok" if got == (printed + "\n", code) else "WRONG"))
            if table[-1][-1] != "ok":
                sys.exit(f"{table[-1]}: {got}")
    # The server says that the page is done, which takes the second page away.
    got = on_page("url_error", {}, LEGACY, target, then)
    if got != ("url_error:done\n", 0):
        sys.exit(f"a page that is done ends its card: {got}")


table = []


def check(server, way, how, case, era, target):
    name, *_, printed, code, eras = case
    if era not in eras:
        return
    got, exit_code, words = (from_file if how == "file" else typed)(case, era, target)
    good = exit_code == code and (got == printed + "\n" if how == "file" else printed in got)
    table.append((server, way, era, how, name, "ok" if good else "WRONG"))
    if not good:
        sys.exit(f"{table[-1]}: exit code {exit_code}, printed {got!r}, said {words!r}")


def try_all(server, way, target, cases, eras):
    for era in eras:
        for case in cases:
            for how in ("file", "typed"):
                check(server, way, how, case, era, target)


def hostile():
    """What a server that means no good gets, and what its person sees of it."""
    target = ["--", sys.executable, str(HERE / "servers/hostile.py")]

    def tried(name, era, arguments, answers, lines):
        case = (name, name, arguments, answers, lines)
        for how in ("file", "typed"):
            if (answers if how == "file" else lines) is None:
                continue
            began = time.monotonic()
            got, code, words = (from_file if how == "file" else typed)(case, era, target)
            table.append(("hostile", "stdio", era, how, name, "ok"))
            # The person is told nothing that a terminal would act on, nor anything turned around.
            shown = got if how == "typed" else words
            for trick in ("\x1b", "\x07", "\x08", "\x9b", "\u202e", "\u2066", "\u200b", "\ufeff"):
                if trick in shown:
                    sys.exit(f"{table[-1]}: {trick!r} came through: {shown!r}")
            if time.monotonic() - began > 20:
                sys.exit(f"{table[-1]}: took {time.monotonic() - began:.0f} s")
            yield got, code, words

    def expect(holds, *what):
        if not holds:
            sys.exit(f"{table[-1]}: {what}")

    for era in (LEGACY, ROUNDS):
        for got, code, words in tried("escapes", era, {}, [DECLINE], [":decline"]):
            expect('"decline"' in got and code == 3, got, code, words)
        for got, code, words in tried("huge", era, {}, [accept({"pick": "value 9999"})], ["value 9999", "y"]):
            expect('"value 9999"' in got and code == 0, got[-500:], code, words[-500:])
        for got, code, words in tried("ref", era, {"page": PAGE}, [accept({"near": "x"})], ["", "x", "y"]):
            expect('{"near": "x"}' in got and code == 0, got, code, words)
        for bad in ("javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "https://a@b.example/"):
            for got, code, words in tried("url", era, {"url": bad}, [accept()], ["open", ":decline"]):
                told = got + words
                expect("accept" not in got and code in (2, 3), got, code, words)
                expect("web address" in told or "before the @" in told, told)
        # Each thing to be said of an address is said before it is opened.
        odd = "http://xn--80ak6aa92e.com.a.b.c.d.127.0.0.1.nip.example:8123/?token=abc"
        for got, code, words in tried("url", era, {"url": odd}, None, [":cancel"]):
            expect(got.count("Careful:") >= 4 and odd in got.replace("\n", "") and code == 4, got)
    for got, code, words in tried("storm", LEGACY, {}, [accept({"word": "x"})] * 20, None):
        expect(got.count("accept") == 20 and got.count("decline") == 10 and code == 3, got, code)
    for got, code, words in tried("duplicate", LEGACY, {}, None, ["x"]):
        expect('"word": "x"' in got and got.count("Again?") == 1 and code == 0, got, code)
    for got, code, words in tried("rounds", ROUNDS, {}, [accept({"word": "x"})] * 10, ["x"] * 10):
        expect("10 rounds" in got + words and code == 2, got, code, words)


def main():
    pages()
    hostile()
    both = (LEGACY, ROUNDS)
    peers = [
        ("entreat", [EVERYTHING], OURS),
        ("python", [sys.executable, str(HERE / "servers/everything_peer.py")], CASES),
        ("typescript", [NODE, str(HERE / "servers/everything_peer.mjs")], CASES),
    ]
    for name, command, cases in peers:
        try_all(name, "stdio", ["--", *command, "stdio"], cases, both)
        port = free_port()
        with served([*command, "--port", str(port)], port) as target:
            try_all(name, "HTTP", target, cases, both)
    # The project's own sample server, which nobody here wrote a line of.
    everything = HERE / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    person = {"name": "Ada"}
    sample = [
        ("form", "trigger-elicitation-request", {}, [accept(person)], None, r"Ada", 0, (LEGACY,)),
        ("decline", "trigger-elicitation-request", {}, [DECLINE], [":decline"], r"declined", 3, (LEGACY,)),
        ("url", "trigger-url-elicitation", {"url": PAGE}, [accept()], ["open", "done"], r"(?i)accept|complet", 0, (LEGACY,)),
    ]
    port = free_port()
    web = {"PORT": str(port), "HOST": "127.0.0.1"}
    with served([NODE, str(everything), "streamableHttp"], port, web) as url:
        for way, target in (("stdio", ["--", NODE, str(everything), "stdio"]), ("HTTP", url)):
            for case in sample:
                name, *_, lines, pattern, code, _ = case
                for how in ("file", "typed"):
                    if how == "typed" and lines is None:
                        continue
                    got, exit_code, words = (from_file if how == "file" else typed)(case, LEGACY, target)
                    good = exit_code == code and re.search(pattern, got)
                    table.append(("server-everything", way, LEGACY, how, name, "ok" if good else "WRONG"))
                    if not good:
                        sys.exit(f"{table[-1]}: exit code {exit_code}, printed {got!r}, said {words!r}")
    if Canary.hits:
        sys.exit(f"the page was fetched {Canary.hits} times, and nobody had opened it")
    for row in table:
        print("{:<18}{:<7}{:<12}{:<7}{:<14}{}".format(*row))
    print(f"{len(table)} calls as they should be, 0 fetches of a page that nobody opened")


main()
