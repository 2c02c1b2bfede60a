"""A headless Chromium for tests, controlled through the DevTools protocol over a pipe: no other package is needed."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def executable() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return os.environ.get("CHROMIUM") or next((path for path in map(shutil.which, names) if path), None)


# The browser reads commands from descriptor 3 and writes answers to 4; pass_fds does not renumber descriptors, so an
# intermediate program does.
LAUNCH = (
    "import os, sys; ends = [os.dup(int(n)) for n in sys.argv[1:3]];"
    "[(os.dup2(end, n), os.set_inheritable(n, True)) for end, n in zip(ends, (3, 4))]; os.execv(sys.argv[3], sys.argv[3:])"
)


class PageError(Exception):
    """The page's script failed, or an expected value did not appear."""


class Chromium:
    """A browser with one page; a context manager."""

    def __init__(self, width: int = 1366, height: int = 768, dark: bool = False):
        self.profile = tempfile.mkdtemp(prefix="plx-chromium-")
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        command = [
            sys.executable,
            "-c",
            LAUNCH,
            str(to_browser),
            str(from_browser),
            executable(),
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            f"--user-data-dir={self.profile}",
            f"--window-size={width},{height}",
            "about:blank",
        ]
        self._process = subprocess.Popen(
            command,
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._session = None
        self.events: list[dict] = []
        try:
            page = self._first_page()
            self._session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.call(f"{domain}.enable")
            self.size(width, height)
            self.dark(dark)
        except BaseException:
            self.close()
            raise

    def _first_page(self, timeout_s: float = 300) -> dict:
        """The browser answers before it has opened its page."""
        deadline = time.monotonic() + timeout_s
        while True:
            for target in self.call("Target.getTargets")["targetInfos"]:
                if target["type"] == "page":
                    return target
            if time.monotonic() > deadline:
                raise PageError(f"no page within {timeout_s} s")
            time.sleep(0.1)

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _read(self, deadline: float) -> dict:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            more = os.read(self._in, 1 << 16) if ready else b""
            if not more:
                raise PageError("the browser does not answer" if not ready else "the browser has ended")
            self._buffer += more
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method: str, timeout_s: float = 3000, **parameters) -> dict:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + timeout_s
        while True:
            answer = self._read(deadline)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise PageError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def size(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )

    def dark(self, on: bool) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if on else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def value(self, expression: str):
        """The value of a JavaScript expression; promises are awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise PageError(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")

    def wait(self, expression: str, timeout_s: float = 300):
        """The first true value of the expression."""
        deadline = time.monotonic() + timeout_s
        while True:
            value = self.value(expression)
            if value:
                return value
            if time.monotonic() > deadline:
                raise PageError(f"waited {timeout_s} s for {expression}")
            time.sleep(0.1)

    def click(self, selector: str, timeout_s: float = 300) -> None:
        """Clicks the mouse in the middle of the element. It may move between the look and the click, which is then repeated."""
        name = json.dumps(selector)
        deadline = time.monotonic() + timeout_s
        while True:
            box = self.value(
                f"(e => {{ window.was_clicked = false; document.addEventListener('click', c => {{ window.was_clicked ||="
                f" c.target.closest({name}) !== null; }}, {{capture: true, once: true}});"
                " e.scrollIntoView({block: 'nearest'}); const b = e.getBoundingClientRect();"
                f" return [b.x + b.width / 2, b.y + b.height / 2]; }})(document.querySelector({name}))"
            )
            for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
                self.mouse(kind, *box)
            if self.value("window.was_clicked"):
                return
            if time.monotonic() > deadline:
                raise PageError(f"clicks missed {selector} for {timeout_s} s")

    def mouse(self, kind: str, x: float, y: float) -> None:
        button = "none" if kind == "mouseMoved" else "left"
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=0 if button == "none" else 1)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def key(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **text)

    def screenshot(self, path: str | Path) -> None:
        data = self.call("Page.captureScreenshot", format="png")["data"]
        Path(path).write_bytes(base64.b64decode(data))

    def complaints(self) -> list[str]:
        """Errors that the browser has logged: of scripts, of blocked resources, of failed requests."""
        self.value("0")  # receives pending events
        found = []
        for event in self.events:
            parameters = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                found.append(details.get("exception", {}).get("description") or details["text"])
            elif event["method"] == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(parameters["entry"]["text"])
        return found
