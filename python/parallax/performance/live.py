"""A running program's live page in the terminal: a client that finds its address and reads its JSON, and the terminal of
`parallax top`: raw keys in, lines of (style, text) out, and everything as it was before at the end. Needs only the
standard library.
"""

from __future__ import annotations

import http.client
import json
import os
import queue
import select
import shutil
import signal
import socket
import struct
import sys
import termios
import threading
import tty
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

from . import top


class LiveError(Exception):
    """The live page cannot be reached or refuses the request. One line for the user."""


class Gone(LiveError):
    """The program does not answer, or no longer answers."""


@dataclass(frozen=True)
class Address:
    host: str
    port: int
    token: str


def _of_url(text: str, where: str) -> Address:
    try:
        parts = urlsplit(text.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    token = parse_qs(parts.query).get("token", [""])[0] if host else ""
    if not host or not port or parts.scheme != "http":
        raise LiveError(f"{where}: expected http://HOST:PORT/?token=..., as the program printed it")
    return Address(host, port, token)


def _files() -> list:
    """live.url of the runs in this folder, the newest first."""
    found = {p for pattern in ("live.url", "*/live.url", "*/*/live.url") for p in Path().glob(pattern)}
    return sorted(found, key=lambda p: p.stat().st_mtime, reverse=True)


LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def _same(a: str, b: str) -> bool:
    return a == b or {a, b} <= LOOPBACK


def of_process(process: int) -> tuple[Address, socket.socket]:
    """The live page of a running program with a runtime, which begins to serve one if it does not (session/attach_server.hpp).
    It ends with the last connection of those that are returned.
    """
    try:
        owner = os.stat(f"/proc/{process}").st_uid
        name = Path(f"/proc/{process}/comm").read_text(encoding="utf-8", errors="replace").strip()
        name = "".join(c if c.isprintable() else "?" for c in name)
    except OSError:
        raise LiveError(f"there is no process {process}") from None
    if os.geteuid() not in (0, owner):
        raise LiveError(f"process {process} ({name}) belongs to another user, or is set-user-id")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(10)
    try:
        connection.connect(f"\0parallax/{process}")
        peer = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        if peer != process:
            raise ConnectionRefusedError  # another process has taken the name
        connection.send(b"parallax 1\nserve")
        word, _, text = connection.recv(4096).decode("utf-8", "replace").partition("\n")
    except (TimeoutError, BlockingIOError):
        raise LiveError(f"process {process} ({name}) does not answer: it is stopped, or writes files") from None
    except OSError:
        raise LiveError(
            f"process {process} ({name}) does not accept attachments: expected a program with a runtime of Parallax, without "
            "attach=0, in the same network and PID namespace"
        ) from None
    text = "".join(c if c.isprintable() else "?" for c in text)  # it must not steer the terminal
    if word != "ok":
        raise LiveError(f"process {process} ({name}): {text or 'it has just ended'}")
    address = _of_url(text, f"process {process}")
    if address.host not in LOOPBACK:  # the program must not direct its reader to other machines
        raise LiveError(f"process {process} ({name}) serves its page at {address.host} only: give its URL, as the program printed it")
    return address, connection


def find(target: str | None, token: str | None = None) -> Address:
    """The address that a user means by a URL, HOST:PORT, the folder of a run, or nothing (the newest run here)."""
    token = token or os.environ.get("PLX_TOKEN")
    if target and target.startswith(("http://", "https://")):
        found = _of_url(target, target)
        return Address(found.host, found.port, token or found.token)
    if target is None or Path(target).is_dir():
        folder = Path(target or ".")
        files = [p for p in (folder / "live.url", folder / "plx-run" / "live.url") if p.is_file()]
        files += _files() if target is None else []
        if not files:
            raise LiveError(
                f"{folder}: no live.url here; give the process id of the program, or start it with --plx:serve=1 (or "
                "PLX_SERVE=1) and give its folder (plx-run where none was named), or the URL that it prints"
            )
        return _of_url(files[0].read_text(encoding="utf-8"), str(files[0]))
    host, colon, port = target.rpartition(":")
    if not colon or not port.isdigit() or not 0 < int(port) < 65536:
        raise LiveError(f"'{target}': expected a process id, a URL, HOST:PORT, or the folder of a run")
    host = host.strip("[]") or "127.0.0.1"
    if token:
        return Address(host, int(port), token)
    for file in _files():
        known = _of_url(file.read_text(encoding="utf-8"), str(file))
        if known.port == int(port) and _same(known.host, host):
            return Address(host, int(port), known.token)
    raise LiveError(
        f"{target}: its token is not known; give the whole URL, --token or PLX_TOKEN, or run this command in the "
        "folder that has the run's live.url"
    )


class LiveRun:
    """One connection to a running program."""

    def __init__(self, address: Address, timeout_s: float = 10):
        self._address = address
        self._timeout_s = timeout_s
        self._connection = None

    def close(self) -> None:
        if self._connection:
            self._connection.close()
        self._connection = None

    def get(self, path: str, **fields):
        """The JSON of a page. Raises Gone if the program does not answer, LiveError if it refuses."""
        if self._connection is None:
            self._connection = http.client.HTTPConnection(
                self._address.host, self._address.port, timeout=self._timeout_s
            )
        headers = {"Authorization": f"Bearer {self._address.token}", "Host": self._host()}
        try:
            self._connection.request("GET", f"{path}?{urlencode(fields)}", headers=headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Gone(f"{self._host()}: no answer ({getattr(error, 'strerror', None) or error})") from error
        if answer.status != 200:
            raise LiveError(f"{self._host()}: {text.decode('utf-8', 'replace').strip()}")
        try:
            return json.loads(text)
        except ValueError as error:
            raise LiveError(
                f"{self._host()}: the answer is not JSON; expected the live page of a program that uses Parallax"
            ) from error

    def _host(self) -> str:
        host = self._address.host
        return f"[{host}]:{self._address.port}" if ":" in host else f"{host}:{self._address.port}"


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
                data = self._run.get("/poll.json", parts="counters,tasks,timeline", window_s=2, catalog=catalog, **wait)
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
    run.get("/poll.json", parts="none")  # what is wrong from the beginning is reported before the screen changes
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
