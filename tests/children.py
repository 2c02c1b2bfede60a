"""Programs and jobs that tests start, watch, stop and kill. conftest.py kills those that a test leaves behind."""

from __future__ import annotations

import contextlib
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
    if child.poll() is None:
        for pid in children_of(child.pid):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        child.kill()
    with contextlib.suppress(subprocess.TimeoutExpired, ValueError):  # ValueError: its pipes are closed already
        return child.communicate(timeout=60)
    return None, None


def kill_those_left():
    while _started:
        child = _started.pop()
        if child.poll() is None:
            kill(child)


def wait_for(child, condition, s=300):
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


def end_of(child, s=120) -> tuple:
    """Output and errors of a child that ends on its own. The test fails if it does not within s seconds."""
    try:
        return child.communicate(timeout=s)
    except subprocess.TimeoutExpired:
        pytest.fail("{} did not end within {} s:\n{}\n{}".format(child.args, s, *kill(child)))
