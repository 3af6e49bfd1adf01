"""A person on this machine: pages that Entreat opens, answered with and without a browser."""

import base64
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time
import urllib.parse
import urllib.request

from record import Wrong

PATIENCE = 60


class Desktop:
    """A machine with a screen, whose browser writes down what it is to open."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.opened = folder / "opened"
        self.opened.write_text("")
        programs = folder / "programs"
        programs.mkdir()
        for name in ("xdg-open", "wslview"):
            program = programs / name
            program.write_text(f'#!/bin/sh\necho "$1" >> {self.opened}\n')
            program.chmod(0o755)
        self.environment = {"DISPLAY": ":0", "PATH": f"{programs}:{os.environ['PATH']}"}
        self.seen = 0

    def next(self) -> str:
        """Waits for the next page."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            pages = self.opened.read_text().splitlines()
            if len(pages) > self.seen:
                self.seen += 1
                return pages[self.seen - 1]
            time.sleep(0.05)
        raise Wrong("no page opened")

    @contextlib.contextmanager
    def answering(self, *answers):
        """Answers pages in a thread while something else waits for that."""
        failed: list[BaseException] = []

        def work() -> None:
            try:
                for answer in answers:
                    answer(self.next())
            except BaseException as error:  # for the thread that waits
                failed.append(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        yield
        thread.join(PATIENCE)
        if failed:
            raise failed[0]
        if thread.is_alive():
            raise Wrong(f"{len(answers)} pages were expected, {self.seen} opened")


def fields_of(html: str) -> dict[str, list[str]]:
    """What a form that is sent as it is shown sends: defaults included."""
    values: dict[str, list[str]] = {}
    for tag in re.findall(r"<input\b[^>]*>", html):
        attribute = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        name, kind = attribute.get("name"), attribute.get("type", "text")
        if name and (kind not in ("checkbox", "radio") or re.search(r"\bchecked\b", tag)):
            values.setdefault(name, []).append(unescape(attribute.get("value", "on")))
    for name, inner in re.findall(r'<select\b[^>]*name="([^"]+)"[^>]*>(.*?)</select>', html, re.S):
        chosen = re.findall(r'<option\b[^>]*value="([^"]*)"[^>]*\bselected', inner)
        values.setdefault(unescape(name), []).extend(unescape(value) for value in chosen)
    for name, inner in re.findall(r'<textarea\b[^>]*name="([^"]+)"[^>]*>(.*?)</textarea>', html, re.S):
        values.setdefault(unescape(name), []).append(unescape(inner))
    return values


def unescape(text: str) -> str:
    import html

    return html.unescape(text)


def page(press: str, **entered) -> object:
    """Answers a page without a browser, as one without scripts would. `press` is a button."""

    def answer(link: str) -> None:
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        html = browser.open(link, timeout=PATIENCE).read().decode()
        values = fields_of(html)
        for name, value in entered.items():
            several = value if isinstance(value, list) else [value]
            values[f"f.{name}"] = [str(each) for each in several]
        here = urllib.parse.urljoin(link, re.search(r'<form[^>]*action="([^"]+)"', html).group(1))
        pairs = [(name, value) for name, several in values.items() for value in several]
        body = urllib.parse.urlencode([*pairs, ("_do", press)])
        request = urllib.request.Request(here, body.encode(), {"Origin": "null"})
        try:
            after = browser.open(request, timeout=PATIENCE).read().decode()
        except (urllib.error.URLError, ConnectionError) as error:
            # The last answer ends the client, and the program with its pages: maybe before the
            # page that follows is read. An answer that did not arrive leaves the call waiting.
            if not isinstance(getattr(error, "reason", error), ConnectionError):
                raise
            return
        if "went wrong" in after or 'class="error' in after:
            raise Wrong(f"the page was not accepted: {after[:3000]}")

    return answer


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        self.command = command
        self.env = {**env, "TERM": "xterm-256color"}
        self.shown = ""
        self.seen = 0

    def __enter__(self) -> "Terminal":
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.execvpe(self.command[0], self.command, self.env)
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 140, 0, 0))
        return self

    def __exit__(self, *_) -> None:
        # It is a session of its own, and so are its programs.
        os.close(self.end)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def press(self, keys: str) -> None:
        """Presses a key, and lets the program draw."""
        self.seen = len(self.shown)
        os.write(self.end, keys.encode())
        self.read(0.5)

    def read(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if select.select([self.end], [], [], left)[0]:
                try:
                    drawn = os.read(self.end, 1 << 16).decode(errors="replace")
                except OSError:
                    raise Wrong(f"{self.command} has ended:\n{self.shown[-3000:]}") from None
                self.shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", drawn)

    def new(self) -> str:
        """What was drawn since the last key."""
        return self.shown[self.seen:]

    def wait(self, text: str) -> None:
        """Waits until something was drawn since the last key."""
        until = time.monotonic() + PATIENCE
        while text not in self.new():
            if time.monotonic() > until:
                raise Wrong(f"{text!r} is not shown:\n{self.new()[-3000:]}")
            self.read(0.2)


class Chromium:
    """Chromium through chromedriver."""

    def __init__(self) -> None:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], text=True, **pipes)
        port = None
        for line in self.driver.stdout:
            if found := re.search(r"successfully on port (\d+)", line):
                port = int(found.group(1))
                break
        self.url = f"http://127.0.0.1:{port}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        options = {"browserName": "chrome", "goog:chromeOptions": {"args": arguments}}
        made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": options}})
        self.session = f"/session/{made['sessionId']}"

    def call(self, method: str, path: str, body: dict | None = None) -> object:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            raise Wrong(f"{path}: {error.read().decode()[:500]}") from None

    def find(self, css: str) -> str:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                found = self.call("POST", f"{self.session}/element", {"using": "css selector", "value": css})
                return next(iter(found.values()))
            except Wrong:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def text(self) -> str:
        return self.call("GET", f"{self.session}/element/{self.find('body')}/text")

    def devtools(self, command: str, **params) -> dict:
        return self.call("POST", f"{self.session}/goog/cdp/execute", {"cmd": command, "params": params})

    def resize(self, width: int) -> None:
        self.devtools("Emulation.setScrollbarsHidden", hidden=True)
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)

    def evaluate(self, script: str) -> object:
        return self.call("POST", f"{self.session}/execute/sync", {"script": script, "args": []})

    def draw(self, path: pathlib.Path) -> None:
        """Saves a picture of the whole page."""
        drawn = self.devtools("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(drawn["data"]))

    def fills(self, **entered) -> object:
        """Answers a page by typing and clicking: all answers, then the review."""

        def answer(link: str) -> None:
            self.call("POST", f"{self.session}/url", {"url": link})
            for name, value in entered.items():
                field = self.find(f'[name="f.{name}"]')
                self.call("POST", f"{self.session}/element/{field}/clear", {})
                self.call("POST", f"{self.session}/element/{field}/value", {"text": str(value)})
            for button in ("review", "send"):
                self.click(f'button[value="{button}"]:not(.default)')
            self.find("body")

        return answer

    def click(self, css: str) -> None:
        """Clicks an element once it is there and can be clicked."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self.call("POST", f"{self.session}/element/{self.find(css)}/click", {})
            except Wrong:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.call("DELETE", self.session)
        self.driver.terminate()
        self.driver.wait(PATIENCE)
