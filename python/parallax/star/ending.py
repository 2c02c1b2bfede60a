"""How a run ended: whether the process that run.json names still runs, which mesh files are of the run that run.json
describes, and which one is its end.

A run writes the status "running" when it begins and its result when it ends. A run that is killed, or runs out of
memory, leaves the status "running". run.json identifies the root process of the run: its process id, its start time, the
boot, and the pid namespace (a container has its own).

A run that is continued from a checkpoint may leave files behind that were written after that checkpoint: their number is
higher than that of the run's last file, but their time is earlier; or the run ended before them. Files of another time
than the end are never compared with the exact solution, which is of the end. Cost: opens each mesh file for two
attributes. Example to read: tests/star/test_ending.py.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np

from ..text import trimmed

ended = ("finished", "interrupted", "failed")  # states in which run.json has the time and step of the end
rounding = 1e-9  # relative; times are written with all digits


@dataclass
class Ending:
    """files: those of the run, in the order of their numbers, also those that cannot be read; foreign: [(path, why)];
    time, step: of the end, or None where run.json does not have them."""

    files: list = field(default_factory=list)
    foreign: list = field(default_factory=list)
    time: float | None = None
    step: int | None = None


def ending(paths: list, summary: dict | None) -> Ending:
    """paths: the mesh files, in the order of their numbers; summary: run.json, or None."""
    found = Ending()
    if (summary or {}).get("status") in ended and _is_number(summary.get("time")):
        found.time = float(summary["time"])
        found.step = int(summary["steps"]) if _is_number(summary.get("steps")) else None
    latest = None  # (time, step, name) of the latest file so far
    for path in paths:
        moment = _moment(path)
        if moment is None:
            found.files.append(path)  # opening it says what is wrong
            continue
        time, step = moment
        at = f"is of t = {trimmed(time, 6)}, step {step}"
        if found.time is not None and time > found.time and not _same(time, found.time):
            why = f"{at}, later than the end of the run (t = {trimmed(found.time, 6)}, step {found.step})"
            found.foreign.append((path, why))
        elif latest is not None and time < latest[0] and not _same(time, latest[0]):
            why = f"{at}, earlier than {latest[2]} (step {latest[1]}): it is left from before the run was resumed"
            found.foreign.append((path, why))
        else:
            latest = (time, step, path.name)
            found.files.append(path)
    return found


def _moment(path: Path):
    """(time, step) of a mesh file, or None when it cannot be read."""
    try:
        with h5py.File(path, "r") as file:
            return float(np.ravel(file.attrs["Time"])[0]), int(np.ravel(file.attrs["NumCycles"])[0])
    except (OSError, KeyError, ValueError, TypeError, IndexError, RuntimeError):
        return None


def _is_number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and np.isfinite(value)


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= rounding * max(abs(a), abs(b))


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
    program = summary.get("program") or "plx-star"
    instead = f"to continue from its last checkpoint, if it has one: {program} --resume {folder}"
    if program == "plx-parquet":
        instead = f"there are no checkpoints; to repeat it: plx-parquet {folder}/config.toml --out NEW_FOLDER"
    message = f"its process {process['pid']} ended without writing a result: killed, or out of memory; {instead}"
    return {**summary, "status": "was interrupted", "message": message}
