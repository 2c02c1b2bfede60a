"""Whether the process that a run.json names still runs.

A run writes the status "running" when it begins and its result when it ends. A run that is killed, or runs out of
memory, leaves the status "running". run.json identifies the root process of the run: its process id, its start time, the
boot, and the pid namespace (a container has its own).
Example to read: tests/test_process.py.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

PROC = Path("/proc")


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def started_ticks(pid: int, proc: Path = PROC) -> int | None:
    """When a process started, in clock ticks since the boot; None when there is none, or only its exit code is left."""
    stat = _text(proc / str(pid) / "stat")
    if stat is None:
        return None
    fields = stat.rpartition(")")[2].split()  # the name before may hold anything
    if len(fields) < 20 or fields[0] in ("Z", "X"):
        return None
    return int(fields[19])


def is_gone(process: object, host: object, proc: Path = PROC) -> bool:
    """True when it is certain that the process has ended: it ran here, and is not here any more."""
    if not isinstance(process, dict) or host != socket.gethostname():
        return False
    boot = _text(proc / "sys" / "kernel" / "random" / "boot_id")
    if boot is None or not process.get("boot"):
        return False
    try:
        pid, started = int(process["pid"]), int(process["started_ticks"])
        if process["boot"] != boot:
            return True  # the machine has rebooted since
        numbers = os.readlink(proc / "self" / "ns" / "pid")
    except (OSError, KeyError, TypeError, ValueError):
        return False
    if process.get("numbers") != numbers:
        return False
    now = started_ticks(pid, proc)
    return now != started and not (now is None and _is_hidden(pid))


def _is_hidden(pid: int) -> bool:
    """The process is there, but /proc shows none of other users (hidepid)."""
    try:
        if pid > 0:
            os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        pass
    return False


def corrected(summary: dict, folder: object) -> dict:
    """The summary; if it says "running" but the process is gone, a copy with status "was interrupted" and a message."""
    if summary.get("status") != "running":
        return summary
    machine = summary.get("machine")
    host = machine.get("host") if isinstance(machine, dict) else None
    process = summary.get("process")
    if not is_gone(process, host):
        return summary
    message = (
        f"its process {process['pid']} ended without writing a result: killed, or out of memory; "
        f"to continue from its last checkpoint, if it has one: plx-star --resume {folder}"
    )
    return {**summary, "status": "was interrupted", "message": message}
