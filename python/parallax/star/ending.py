"""Which mesh files of a run folder belong to the run that run.json describes, and which one is its end.

A run that is continued from a checkpoint may leave files behind that were written after that checkpoint: their number is
higher than that of the run's last file, but their time is earlier; or the run ended before them. Files of another time
than the end are never compared with the exact solution, which is of the end. Cost: opens each mesh file for two
attributes. Example to read: tests/star/test_ending.py.
"""

from __future__ import annotations

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
