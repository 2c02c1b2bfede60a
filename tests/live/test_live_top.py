"""`parallax top` in a terminal of 80 by 24, connected to a running plx-star."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import children

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-B", "-m", "parallax", "top"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PYTHONIOENCODING": "utf-8", "TERM": "xterm"}


class Terminal:
    """A program in a terminal whose screen contents can be read line by line."""

    def __init__(self, arguments: list, cwd: Path):
        self.master, slave = pty.openpty()
        self.resize(24, 80)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.process = children.start(arguments, cwd=cwd, stdin=slave, stdout=slave, stderr=slave, env=ENVIRONMENT)
        self.rows: dict = {}
        self.all = b""

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self) -> None:
        while select.select([self.master], [], [], 0.05)[0]:
            self.all += os.read(self.master, 65536)
        for row, text in re.findall(r"\x1b\[(\d+);1H(.*?)(?=\x1b\[\d+;1H|\x1b\[\?|\Z)", self.all.decode(errors="ignore"), re.S):
            self.rows[int(row)] = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)

    def wait(self, pattern: str, timeout_s: float = 300) -> None:
        end = time.monotonic() + timeout_s
        while not re.search(pattern, "\n".join(v for _, v in sorted(self.rows.items()))):
            assert time.monotonic() < end, f"waited for {pattern}; the screen is\n" + "\n".join(self.rows.values())
            self.read()

    def wait_for_last_line(self, number: int, timeout_s: float = 300) -> None:
        """Until the screen ends with this line, and a picture of it has arrived completely."""
        end = time.monotonic() + timeout_s
        while max(self.rows, default=0) != number or "q quit" not in self.rows[number]:
            assert time.monotonic() < end, f"waited for line {number}; the screen is\n" + "\n".join(self.rows.values())
            self.read()

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def close(self) -> int:
        code = self.process.wait(timeout=600)
        self.read()
        assert termios.tcgetattr(self.slave) == self.before, "the terminal's settings are restored"
        assert self.all.rstrip().endswith(b"\x1b[?1049l") and b"\x1b[?25h" in self.all
        os.close(self.master)
        os.close(self.slave)
        return code


def test_it_shows_the_program_and_handles_keys(run):
    terminal = Terminal([*COMMAND, "run"], run.folder)
    terminal.wait(r"plx-star  running")
    terminal.wait(r"■ star\.stage +[\d.]+( [kM])? +[\d.]+( [kM])? ")
    terminal.wait_for_last_line(24)
    assert all(len(line) <= 80 for line in terminal.rows.values())
    terminal.type("c")
    terminal.wait("/machine/memory/resident|/live/")
    terminal.type("/wait mutex\r")
    terminal.wait(r"/ wait mutex")
    terminal.type("\x1b")
    terminal.wait(r"/ filter *$")
    terminal.type("c")
    terminal.wait(r"star\.stage")
    terminal.resize(30, 120)
    terminal.process.send_signal(signal.SIGWINCH)
    terminal.wait_for_last_line(30)
    terminal.type("q")
    assert terminal.close() == 0


def test_it_remains_when_the_run_ends_and_reports_it(run):
    terminal = Terminal([*COMMAND, run.url], run.folder)
    terminal.wait("running")
    terminal.wait(r"star\.stage")
    run.interrupt()
    terminal.wait("run ended")
    terminal.wait(r"star\.stage")
    terminal.type("q")
    assert terminal.close() == 0


def test_it_waits_for_a_program_that_was_killed(run):
    terminal = Terminal([*COMMAND, run.url], run.folder)
    terminal.wait("running")
    run.close()
    terminal.wait("connection lost  trying again")
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.close() == 143


def test_a_pipe_receives_the_screen_once(run):
    for _ in range(3000):
        if "star.stage" in run.get("/tasks.json")[2]:
            break
        time.sleep(0.1)
    done = subprocess.run([*COMMAND, "run"], cwd=run.folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("plx-star  running") and "star.stage" in done.stdout and "\x1b" not in done.stdout
