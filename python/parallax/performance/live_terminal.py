"""The terminal of `parallax top`: raw keys in, lines of (style, text) out, and everything as it was before at the end."""

from __future__ import annotations

import os
import queue
import select
import shutil
import signal
import sys
import termios
import threading
import tty

from . import top
from .live import Address, Gone, LiveError, LiveRun

STYLES = {
    "": "",
    "bold": "1",
    "dim": "2",
    "reverse": "7",
    **{name: str(31 + i) for i, name in enumerate(("red", "green", "yellow", "blue", "magenta", "cyan"))},
    **{"bright_" + name: str(91 + i) for i, name in enumerate(("red", "green", "yellow", "blue", "magenta"))},
}
KEYS = {
    b"\x1b[A": "up",
    b"\x1b[B": "down",
    b"\x1bOA": "up",
    b"\x1bOB": "down",
    b"\x1b[5~": "pageup",
    b"\x1b[6~": "pagedown",
    b"\x1b": "escape",
    b"\r": "enter",
    b"\n": "enter",
    b"\x7f": "backspace",
    b"\x08": "backspace",
}


def once(address: Address) -> str:
    """The text for a pipe: two answers, so that there are numbers per second."""
    run, state = LiveRun(address), top.State()
    for fields in ({}, {"wait": 1}):
        data = run.get("/poll.json", parts="counters,tasks,timeline", window_s=2, **fields)
        state.take(data)
        if data["state"] == "ended":
            break
    run.close()
    return top.plain(state)


class _Asker(threading.Thread):
    """Asks again and again, and wakes the terminal with each answer."""

    def __init__(self, address: Address, wake: int):
        super().__init__(daemon=True)
        self.answers: queue.SimpleQueue = queue.SimpleQueue()
        self.ended = threading.Event()
        self._run = LiveRun(address)
        self._wake = wake

    def run(self) -> None:
        wait = {}
        catalog = -1
        while not self.ended.is_set():
            try:
                data = self._run.get(
                    "/poll.json", parts="counters,tasks,timeline", window_s=2, catalog=catalog, **wait
                )
                catalog, wait = data["catalog"], {"wait": 1}
                self._tell(data)
                if data["state"] == "ended":
                    return
            except LiveError as error:
                wait, catalog = {}, -1
                self._tell(error)
                self.ended.wait(1)

    def _tell(self, what) -> None:
        self.answers.put(what)
        os.write(self._wake, b"!")


class Screen:
    """The alternate screen in raw mode, while in a `with`."""

    def __init__(self):
        self.input, self.output = sys.stdin.fileno(), sys.stdout.fileno()
        self.ascii_only = "utf" not in (sys.stdout.encoding or "").lower()
        self.color = not os.environ.get("NO_COLOR")
        self._size = None

    def __enter__(self) -> Screen:
        self._before = termios.tcgetattr(self.input)
        tty.setcbreak(self.input)
        self._write("\x1b[?1049h\x1b[?25l\x1b[2J")
        return self

    def __exit__(self, *_) -> None:
        self._write("\x1b[0m\x1b[?25h\x1b[?1049l")
        termios.tcsetattr(self.input, termios.TCSADRAIN, self._before)

    def draw(self, state: top.State) -> None:
        size = os.get_terminal_size(self.output) if os.isatty(self.output) else shutil.get_terminal_size()
        width, height = max(20, size.columns or 80), max(4, size.lines or 24)
        text = "\x1b[2J" if size != self._size else ""
        self._size = size
        for row, line in enumerate(top.frame(state, width, height, self.ascii_only), 1):
            text += f"\x1b[{row};1H" + "".join(self._styled(*piece) for piece in line) + "\x1b[0m\x1b[K"
        self._write(text)

    def _styled(self, style: str, text: str) -> str:
        code = STYLES.get(style, "")
        if not self.color and style not in ("reverse", "bold"):
            code = ""
        text = "".join(c if c.isprintable() else "?" for c in text)  # a task's name must not steer the terminal
        return f"\x1b[0;{code}m{text}" if code else f"\x1b[0m{text}"

    def _write(self, text: str) -> None:
        data = text.encode(sys.stdout.encoding or "utf-8", "replace")
        while data:
            data = data[os.write(self.output, data) :]

    def keys(self) -> list:
        """Those that were pressed; no waiting."""
        data = os.read(self.input, 1024)
        if not data:
            return ["q"]  # the terminal has gone
        found = []
        while data:
            name = next((k for k in sorted(KEYS, key=len, reverse=True) if data.startswith(k)), None)
            if name is None and data.startswith((b"\x1b[", b"\x1bO")):
                return found  # a key that means nothing here
            length = len(name) if name else 1
            found.append(KEYS[name] if name else data[:1].decode("latin-1"))
            data = data[length:]
        return found


def watch(address: Address) -> int:
    """Shows the program until a key ends it. The exit code."""
    run = LiveRun(address)
    run.get("/poll.json", parts="none")  # what is wrong from the beginning is said before the screen changes
    run.close()
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGWINCH, lambda *_: None)  # only wakes
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # through __exit__
    state, asker = top.State(), _Asker(address, wake_write)
    asker.start()
    try:
        with Screen() as screen:
            return _loop(screen, state, asker, wake_read)
    finally:
        asker.ended.set()
        signal.set_wakeup_fd(-1)


def _loop(screen: Screen, state: top.State, asker: _Asker, wake_read: int) -> int:
    while True:
        screen.draw(state)
        ready, _, _ = select.select([screen.input, wake_read], [], [])
        if wake_read in ready:
            os.read(wake_read, 4096)
            while not asker.answers.empty():
                _take(state, asker.answers.get())
        if screen.input in ready and not all(top.press(state, key) for key in screen.keys()):
            return 0


def _take(state: top.State, answer) -> None:
    if isinstance(answer, LiveError):
        state.state = "lost"
        state.problem = "trying again" if isinstance(answer, Gone) else str(answer)
    elif not state.paused or answer["state"] == "ended":
        state.paused, state.problem = False, ""
        state.take(answer)
