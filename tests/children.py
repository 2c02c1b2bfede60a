"""Programs and jobs that tests start, watch, stop and kill. conftest.py kills those that a test leaves behind."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

_started = []


def start(words, **more) -> subprocess.Popen:
    """Starts a command, with pipes for its output in text; `more` goes to subprocess."""
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | more
    child = subprocess.Popen([str(word) for word in words], **how)
    _started.append(child)
    return child


def _shrink(pipe: int) -> int:
    """Has a pipe hold 4096 bytes, or a page if that is larger. Returns how many it holds."""
    fcntl.fcntl(pipe, getattr(fcntl, "F_SETPIPE_SZ", 1031), 4096)  # named since Python 3.10
    return fcntl.fcntl(pipe, getattr(fcntl, "F_GETPIPE_SZ", 1032))


def small_pipes():
    """For preexec_fn: the pipes of stdout and stderr hold 4096 bytes. A program that prints more waits until they are read. Skips
    the test where the pages of memory, and so the pipes, are larger."""
    ends = os.pipe()
    size = _shrink(ends[1])
    for end in ends:
        os.close(end)
    if size > 4096:
        pytest.skip(f"pipes hold at least {size} bytes here")
    return lambda: [_shrink(stream) for stream in (1, 2)]


def catches(child, which: signal.Signals) -> bool:
    """Whether a handler of the process is installed for the signal."""
    status = Path(f"/proc/{child.pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (which - 1) & 1)


def children_of(pid: int) -> list:
    """The numbers of the processes that a process has started itself."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            if int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) == pid:
                found.append(int(entry.name))
    return found


def kill(child) -> tuple:
    """Kills a process and those that it has started, as a launcher does. Returns what is left of its output and errors."""
    started = children_of(child.pid) if child.poll() is None else []
    for pid in started:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    if child.poll() is None:
        child.kill()
    output = None, None
    with contextlib.suppress(subprocess.TimeoutExpired, ValueError):  # ValueError: its pipes are closed already
        output = child.communicate(timeout=600)
    deadline = time.monotonic() + 600
    while any(map(runs, started)) and time.monotonic() < deadline:  # the kernel closes a GPU of a killed process after a while
        time.sleep(0.002)
    return output


def runs(pid: int) -> bool:
    """Whether a thread of a process has not ended yet, seen from any other process."""
    for task in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError, IndexError):
            if task.read_text().rsplit(")", 1)[1].split()[0] not in "ZX":
                return True
    return False


def kill_those_left():
    while _started:
        child = _started.pop()
        if child.poll() is None:
            kill(child)


def wait_for(child, condition, s=600):
    """Waits until the condition holds. The test fails, with the child's output, if the child ends before or s seconds pass."""
    deadline = time.monotonic() + s
    while not condition():
        ended = child.poll() is not None
        if ended and condition():
            break
        if ended or time.monotonic() > deadline:
            why = f"ended with code {child.returncode}" if ended else f"did not get so far within {s} s"
            pytest.fail("{} {}:\n{}\n{}".format(child.args, why, *kill(child)))
        time.sleep(0.002)


def end_of(child, s=600) -> tuple:
    """Output and errors of a child that ends on its own. The test fails if it does not within s seconds."""
    try:
        return child.communicate(timeout=s)
    except subprocess.TimeoutExpired:
        pytest.fail("{} did not end within {} s:\n{}\n{}".format(child.args, s, *kill(child)))
