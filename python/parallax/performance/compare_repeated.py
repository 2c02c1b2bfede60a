"""Comparison of the times of two programs, with intervals from repeated runs, and the parts of a difference.

Worker time is the length of the run times its workers: tasks, searching, polling, idle (by the task type that the idle time is
charged to: docs/probe.md, "Blame for idle time"). Its difference between two runs is the
sum of the differences of these parts, and a task type's is split into what its number of calls and what its time per call
changed, each with the mean of the other: both sums are exact. With repeated runs, a difference of two means has an interval by
Welch (1947). Task types are many, so what names one as a cause is an interval at 95 % for all of them together (Bonferroni).
Example to read: tests/performance/test_compare_repeated.py.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

from .. import NotARun
from ..intervals import Interval, level, mean, welch
from ..text import count, percent, plural, seconds
from .compare_measured import Section, tasks_of
from .compare_state import compare_repeated_state
from .diagnosis import Evidence
from .diagnosis.evidence import files as measured_files

most_parts = 15


@dataclass
class Part:
    """A part of the difference in worker time, in seconds; the sum of by_count and by_time is difference."""

    name: str
    difference: float
    by_count: float = 0.0
    by_time: float = 0.0


# ---- two runs: parts that add up ----


def parts_of(first: Evidence, second: Evidence) -> list[Part]:
    """The parts of the difference in worker time, the largest first. Their sum is that difference."""
    ours, theirs = tasks_of(first) or {}, tasks_of(second) or {}
    parts = []
    for name in sorted({*ours, *theirs}):
        (a_s, a_calls), (b_s, b_calls) = ours.get(name, (0.0, 0.0)), theirs.get(name, (0.0, 0.0))
        a_mean, b_mean = a_s / a_calls if a_calls else None, b_s / b_calls if b_calls else None
        # A type that one run lacks differs in the number of its calls alone.
        a_mean, b_mean = (b_mean if a_mean is None else a_mean), (a_mean if b_mean is None else b_mean)
        by_count = (b_calls - a_calls) * ((a_mean or 0.0) + (b_mean or 0.0)) / 2
        parts.append(Part(name, b_s - a_s, by_count, b_s - a_s - by_count))
    listed = sum(s for s, _ in theirs.values()) - sum(s for s, _ in ours.values())
    parts.append(Part("(tasks without a type)", second.tasks_s - first.tasks_s - listed))
    ours, theirs = _time_outside_tasks(first), _time_outside_tasks(second)
    if ("(idle)" in ours) != ("(idle)" in theirs):  # only one of the runs has blame
        ours, theirs = _uses_of(first), _uses_of(second)
    parts += [Part(name, theirs.get(name, 0.0) - ours.get(name, 0.0)) for name in dict.fromkeys([*ours, *theirs])]
    return sorted((p for p in parts if p.difference or p.by_count), key=lambda p: (-abs(p.difference), p.name))


_uses = (("(searching)", "overhead_s"), ("(polling)", "background_s"), ("(idle)", "idle_s"), ("(between tasks)", "unplaced_s"))


def _uses_of(e: Evidence) -> dict:
    return {name: getattr(e, use) for name, use in _uses}


def _time_outside_tasks(e: Evidence) -> dict:
    """{part: seconds} of a run's worker time outside tasks; idle time by the task type it is charged to, if known."""
    parts = _uses_of(e)
    if e.idle_blame is None:
        return parts
    idle_s = parts.pop("(idle)")
    blamed = {f"(idle, charged to {name})": s for name, s in e.idle_blame.items() if s > 0}
    return {**parts, **blamed, "(idle, no task ran)": idle_s - sum(blamed.values())}


def compare_parts(first: Evidence | None, second: Evidence | None):
    """The table of parts_of(); None without workers."""
    if first is None or second is None or not (first.has_workers and second.has_workers):
        return None
    section = Section("Parts of the difference in worker time", header=["part", "b - a", "by calls", "by time per call"])
    parts = parts_of(first, second)
    for p in parts[:most_parts]:
        section.rows.append((p.name, _signed(p.difference), *_split(p)))
    if len(parts) > most_parts:
        rest = parts[most_parts:]
        section.rows.append((f"({plural(len(rest), 'smaller part')})", _signed(sum(p.difference for p in rest)), "", ""))
    section.rows.append(("sum", _signed(second.worker_time_s - first.worker_time_s), "", ""))
    return section


def _split(p: Part) -> tuple:
    return ("", "") if p.name.startswith("(") else (_signed(p.by_count), _signed(p.by_time))


def _signed(s: float) -> str:
    return f"{'-' if s < 0 else '+'}{seconds(abs(s))}"


# ---- repeated runs: intervals ----


def runs_in(folder: Path) -> list[Path]:
    """The runs of a folder: the folders in it that hold measurements, in order of their names, or itself. The folders of one
    job's processes (rank-*) are no repetitions."""
    def is_run(path: Path) -> bool:
        return any(os.path.exists(path / name) for name in measured_files)

    if is_run(folder) or not os.path.isdir(folder) or not os.access(folder, os.R_OK, effective_ids=True):
        return [folder]
    return sorted(p for p in folder.iterdir() if not p.name.startswith("rank-") and is_run(p)) or [folder]


@dataclass
class Repeated:
    """Times of two sets of runs."""

    length: Interval  # of the run, relative to the mean of the first set
    section: Section
    state: Section | None  # of the machine


def compare_repeated(first: list[Path], second: list[Path]) -> Repeated:
    """Compares repeated runs of two programs. Errors: NotARun if a folder has no measurements of workers."""
    a, b = ([_with_workers(path) for path in paths] for paths in (first, second))
    scale = mean([e.wall_s for e in a])
    length = welch([e.wall_s / scale for e in a], [e.wall_s / scale for e in b])
    section = Section(f"Time of {plural(len(a), 'run')} (a) and {plural(len(b), 'run')} (b)")
    section.sentences.append(_length_sentence(length, scale))
    outside = _time_outside_tasks if all(e.idle_blame is not None for e in (*a, *b)) else _uses_of
    parts = [[_times(e, outside) for e in runs] for runs in (a, b)]
    names = sorted({name for runs in parts for times in runs for name in times})
    samples = {name: tuple([times.get(name, 0.0) for times in runs] for runs in parts) for name in names}
    together = 1 - (1 - level) / max(1, len(samples))
    found = {name: welch(*pair, together) for name, pair in samples.items()}
    causes = sorted((n for n, i in found.items() if i.excludes_zero), key=lambda n: -abs(found[n].difference))
    section.header = ["worker time of", "a", "b", "b - a", "from", "to"]
    for name in causes:
        i, (ours, theirs) = found[name], samples[name]
        section.rows.append((name, *(seconds(mean(x)) for x in (ours, theirs)), *map(_signed, (i.difference, i.low, i.high))))
    if not causes:
        section.header = []
        section.sentences.append("no part of the worker time differs by more than its scatter between runs")
    elif len(causes) < len(samples):
        section.sentences.append(
            f"{count(len(samples) - len(causes))} of {count(len(samples))} parts differ by no more than their scatter between runs"
        )
    return Repeated(length, section, compare_repeated_state(a, b))


def _with_workers(path: Path) -> Evidence:
    e = Evidence(path)
    if not e.has_workers:
        raise NotARun(f"{path}: expected workers.csv or threads.csv with the time of workers, found neither")
    return e


def _times(e: Evidence, outside) -> dict:
    """{part of the worker time: seconds} of a run; outside(e): those outside tasks."""
    return {**{name: s for name, (s, _) in (tasks_of(e) or {}).items()}, **outside(e)}


def _length_sentence(i: Interval, scale: float) -> str:
    if math.isinf(i.high):
        return f"b takes {_change(i.difference)}; at least two runs of each are needed for an interval"
    span = f"({100 * level:.0f} % interval {_change(i.low)} to {_change(i.high)}, of {seconds(scale)})"
    if not i.excludes_zero:
        return f"no difference in length beyond the scatter between runs: b takes {_change(i.difference)} {span}"
    return f"b takes {_change(i.difference)} {span}"


def _change(share: float) -> str:
    return f"{percent(abs(share))} {'less' if share < 0 else 'more'} time"
