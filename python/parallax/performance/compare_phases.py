"""Comparison of the phases of two runs: how long those that correspond took, and which part of that changed.

Phases are those of the diagnosis (diagnosis/phases.py): intervals in which many, or few, workers had work. Two correspond if both
are of many or both of few workers, if the task type with most time in them is the same (from traces, by plx-trace stats; a type
that is unknown fits any), and if their order is the same: of all such assignments the one with most pairs, and of those the one
with the most similar lengths. The length of a phase is the sum of work (workers that are not idle, over all workers) and of idle
time by cause (diagnosis/idle.py), over all workers. The rows of the table sum to the difference in length of the runs.
Example to read: tests/performance/test_compare_phases.py.
"""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from dataclasses import dataclass

import numpy as np

from ..text import plural, seconds, short
from .compare_measured import Section
from .diagnosis import Evidence
from .diagnosis.idle import bins_of, idle_time
from .diagnosis.phases import RunPhase, phases_of

longest_s = 60.0  # of one call of plx-trace
causes = {
    "queued": "idle beside queued tasks", "locked": "idle, tasks wait for locks", "device": "idle, a device is busy",
    "calls": "idle, calls have no answer", "alone": "idle beside one worker with work", "rest": "idle, too few tasks",
}  # fmt: skip


@dataclass
class ComparedPhase:
    """many: whether it is of the many workers; main: the task type with most time, "" if unknown; parts: {what: seconds}, which
    sum to the length."""

    interval: RunPhase
    many: bool
    main: str
    parts: dict

    @property
    def length_s(self) -> float:
        return self.interval.end_s - self.interval.begin_s

    @property
    def name(self) -> str:
        """`many workers, "flux"`"""
        return f"{'many' if self.many else 'few'} workers" + (f', "{short(self.main)}"' if self.main else "")

    def fits(self, other: ComparedPhase) -> bool:
        return self.many == other.many and (not self.main or not other.main or self.main == other.main)


def compared_phases_of(e: Evidence) -> list:
    """The phases of a run, in order of time; empty where it has none. Cost: with a trace, a pass over it for each phase."""
    found = phases_of(e)
    if not found:
        return []
    edges = bins_of(e)[0]
    idle_of = {name: bins / e.n_workers for name, bins in idle_time(e).bins.items() if name != "capacity"}
    middle = (min(p.busy for p in found) + max(p.busy for p in found)) / 2
    phases = []
    for p in found:
        inside = (edges[:-1] >= p.begin_s) & (edges[1:] <= p.end_s)
        parts = {causes[name]: float(np.sum(bins[inside])) for name, bins in idle_of.items()}
        parts["work"] = p.end_s - p.begin_s - sum(parts.values())
        phases.append(ComparedPhase(p, p.busy > middle, _main_type(e, p), parts))
    return phases


def _main_type(e: Evidence, p: RunPhase) -> str:
    """The task type with most time in a phase; "" without a trace, without slices in it, or without plx-trace."""
    trace, program = e.folder / "trace.plxt", shutil.which("plx-trace")
    if program is None or not trace.exists():
        return ""
    part = ["--from", f"{p.begin_s:.6f}", "--to", f"{p.end_s:.6f}", "--rows", "1"]
    try:
        done = subprocess.run([program, "stats", str(trace), *part], capture_output=True, text=True, timeout=longest_s, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = iter(done.stdout.splitlines())
    header = next((line for line in lines if line.startswith("task type ")), None)
    row = re.match(r"(.*\S)\s+[\d,]+\s+[\d.,]+ \S+\s+[\d.]+%\s", next(lines, "")) if header else None
    return row[1] if row else ""


def pairs_of(first: list, second: list) -> list:
    """[(phase of the first run or None, phase of the second or None)] in order of time."""
    # best[i][j]: (pairs, -differences of logarithms of lengths) of first[i:] and second[j:].
    best = [[(0, 0.0)] * (len(second) + 1) for _ in range(len(first) + 1)]

    def paired(i: int, j: int):
        if not first[i].fits(second[j]):
            return None
        pairs, likeness = best[i + 1][j + 1]
        return pairs + 1, likeness - abs(math.log(first[i].length_s / second[j].length_s))

    for i in reversed(range(len(first))):
        for j in reversed(range(len(second))):
            best[i][j] = max(paired(i, j) or (-1, 0.0), best[i + 1][j], best[i][j + 1])
    found, i, j = [], 0, 0
    while i < len(first) or j < len(second):
        if i < len(first) and j < len(second) and paired(i, j) == best[i][j]:
            found.append((first[i], second[j]))
            i, j = i + 1, j + 1
        elif i < len(first) and (j == len(second) or best[i + 1][j] == best[i][j]):
            found.append((first[i], None))
            i += 1
        else:
            found.append((None, second[j]))
            j += 1
    return found


def compare_phases(first: Evidence | None, second: Evidence | None):
    """The table of phases; None if neither run has any."""
    if first is None or second is None:
        return None
    ours, theirs = compared_phases_of(first), compared_phases_of(second)
    if not ours and not theirs:
        return None
    section = Section("Phases")
    for name, other, phases, others in (("a", "b", ours, theirs), ("b", "a", theirs, ours)):
        if not phases:
            section.sentences.append(
                f"{name} has no phases, so the {plural(len(others), 'phase')} of {other} {'has' if len(others) == 1 else 'have'} no "
                f"counterpart: {name} has too few samples (PLX_DIAGNOSE=1), or its number of workers with work is too even or changes "
                "too often"
            )
    if section.sentences:
        return section
    section.header = ["phase", "a", "b", "b - a", "b / a", "most of the change"]
    pairs = pairs_of(ours, theirs)
    section.sentences = _sentences(ours, theirs, pairs)
    total_s = 0.0
    for a, b in pairs:
        a_s, b_s = (p.length_s if p else 0.0 for p in (a, b))
        total_s += b_s - a_s
        both = a is not None and b is not None
        name = (a if both and a.main or b is None else b).name
        section.rows.append((
            name, *("-" if p is None else seconds(p.length_s) for p in (a, b)), _signed(b_s - a_s), f"{b_s / a_s:.3f}" if both else "",
            _most_of(a, b) if both else f"only in {'a' if b is None else 'b'}",
        ))  # fmt: skip
    whole_s = second.wall_s - first.wall_s
    section.rows.append(("(not sampled)", "", "", _signed(whole_s - total_s), "", ""))
    section.rows.append(("length of the run", seconds(first.wall_s), seconds(second.wall_s), _signed(whole_s), "", ""))
    return section


def _sentences(ours: list, theirs: list, pairs: list) -> list:
    found = []
    unknown = [name for name, phases in (("a", ours), ("b", theirs)) if not all(p.main for p in phases)]
    if unknown:
        found.append(
            f"the main task type of phases is unknown in {' and '.join(unknown)} (PLX_TRACE=1 and plx-trace show it): these are "
            "matched by their order and by many or few workers with work"
        )
    for name, alone in (("a", [a for a, b in pairs if b is None]), ("b", [b for a, b in pairs if a is None])):
        if alone:
            times = ", ".join(f"{p.name} from {_moment(p.interval.begin_s)} to {seconds(p.interval.end_s)}" for p in alone)
            found.append(f"{plural(len(alone), 'phase')} of {name} without a counterpart, whose length counts in full: {times}")
    return found


def _most_of(a: ComparedPhase, b: ComparedPhase) -> str:
    """The part of the length with the largest change."""
    changes = {name: b.parts.get(name, 0.0) - a.parts.get(name, 0.0) for name in {**a.parts, **b.parts}}
    most = max(changes, key=lambda name: abs(changes[name]))
    return f"{most} {_signed(changes[most])}" if abs(changes[most]) >= 1e-9 else ""


def _moment(time_s: float) -> str:
    return seconds(time_s) if time_s > 0 else "0 s"


def _signed(s: float) -> str:
    s = round(s, 9)  # less than 1 ns is rounding
    return f"{'-' if s < 0 else '+'}{seconds(abs(s))}"
