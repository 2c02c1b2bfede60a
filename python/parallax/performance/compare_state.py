"""Comparison of the state of the machine in which runs took place: frequencies, throttling, temperature, other programs.

The counters are those of diagnose.csv (docs/probe.md, "Monitors"). A quantity is named where its difference is larger than its
scatter, by Welch's interval at 95 % for all quantities together (Bonferroni): between runs if there are several of each,
otherwise between parts of the two runs. Otherwise the state is no reason for a difference in time, and nothing is named.
Example to read: tests/performance/test_compare_state.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

import numpy as np

from ..intervals import level, mean, welch
from ..text import trimmed
from .compare_measured import Section
from .diagnosis import Evidence

most_blocks = 10  # neighbouring samples resemble each other: the scatter is that of the means of blocks
fewest_blocks = 3
governors = ("/system{", "}/cpu/governor")


@dataclass
class Quantity:
    """A counter and how it is shown. grows: its increase per second counts. least: smaller differences are of no importance, as
    a number, or relative to the larger value."""

    name: str
    counter: str
    show: Callable
    grows: bool = False
    least: float = 0.0
    relative: bool = False


quantities = (
    Quantity("mean frequency", "/system{total}/cpu/frequency", lambda v: f"{trimmed(v / 1e9)} GHz", least=0.01, relative=True),
    Quantity("throttled cores", "/system/throttles/core", lambda v: f"{trimmed(v)} per s", grows=True),
    Quantity("throttled packages", "/system/throttles/package", lambda v: f"{trimmed(v)} per s", grows=True),
    Quantity("temperature", "/system/temperature/processor", lambda v: f"{trimmed(v)} °C", least=2.0),
    Quantity("used by other programs", "/system/cpu/others", lambda v: f"{trimmed(v)} cores", grows=True, least=0.05),
    Quantity("taken by other machines", "/system/cpu/steal", lambda v: f"{trimmed(v)} cores", grows=True, least=0.05),
)


def compare_state(a: Evidence | None, b: Evidence | None):
    """The state during two runs; None if neither has any."""
    if a is None or b is None:
        return None
    return _section([blocks_of(a)], [blocks_of(b)], [a], [b])


def compare_repeated_state(first: list[Evidence], second: list[Evidence]):
    """The state during two sets of runs, several in at least one; None if neither has any."""
    return _section(*([blocks_of(e) for e in runs] for runs in (first, second)), first, second)


def blocks_of(e: Evidence) -> dict:
    """{name of a quantity: its mean in consecutive parts of the run}, of those that the run has."""
    found = {}
    for q in quantities:
        series = e.series(q.counter)
        values = _blocks(*series, q.grows) if series is not None else []
        if values:
            found[q.name] = values
    return found


def _blocks(times, values, grows: bool) -> list:
    times, values = np.asarray(times, float), np.asarray(values, float)
    usable = np.isfinite(values)
    times, values = times[usable], values[usable]
    if not grows:
        return [float(np.mean(part)) for part in np.array_split(values, min(most_blocks, len(values))) if len(part)]
    # Increases between equally many samples, per second; a counter is one of the machine and has no other begin than its first.
    edges = np.unique(np.linspace(0, len(values) - 1, min(most_blocks, max(1, len(values) - 1)) + 1).astype(int)) if len(values) else []
    spans = [(times[j] - times[i], values[j] - values[i]) for i, j in zip(edges[:-1], edges[1:])]
    return [float(grown / s) for s, grown in spans if s > 0]


def _section(ours: list, theirs: list, first: list, second: list):
    """ours, theirs: blocks_of() each run."""
    section = Section("Machine state", header=["", "a", "b", "b / a"])
    alone = len(ours) == len(theirs) == 1
    common = [q for q in quantities if all(q.name in run for run in (*ours, *theirs))]
    together = 1 - (1 - level) / max(1, len(common))
    named = []
    for q in quantities:
        means = [[mean(run[q.name]) for run in runs if q.name in run] for runs in (ours, theirs)]
        shown = [mean(m) if m else None for m in means]
        if shown[0] is None and shown[1] is None or q.grows and not any(shown):
            continue
        ratio = f"{shown[1] / shown[0]:.3f}" if shown[0] and shown[1] is not None else ""
        section.rows.append((q.name, *("-" if v is None else q.show(v) for v in shown), ratio))
        samples = [ours[0][q.name], theirs[0][q.name]] if alone and q in common else means
        if q in common and _differs(q, *samples, together):
            named.append(f"{q.name} {q.show(shown[0])} in a and {q.show(shown[1])} in b")
    texts = [{governor_of(e) for e in runs} for runs in (first, second)]
    if any(texts[0] | texts[1]):
        section.rows.append(("governor", *(", ".join(sorted(filter(None, t))) or "-" for t in texts), ""))
        if "" not in texts[0] | texts[1] and not texts[0] & texts[1]:
            named.append(f"governor {section.rows[-1][1]} in a and {section.rows[-1][2]} in b")
    if not section.rows:
        return None
    if named:
        section.sentences.append(f"the machine's state differs by more than its scatter: {'; '.join(named)}")
    return section


def _differs(q: Quantity, ours: list, theirs: list, confidence: float) -> bool:
    enough = min(len(ours), len(theirs)) >= fewest_blocks
    i = welch(ours, theirs, confidence)
    least = q.least * max(abs(mean(ours)), abs(mean(theirs))) if q.relative else q.least
    return enough and i.excludes_zero and abs(i.difference) >= least


def governor_of(e: Evidence) -> str:
    """The governors at the end of a run, as in "performance" or "performance 6, powersave 2"; "" if unknown."""
    begin, end = governors
    found = {name[len(begin) : -len(end)]: e.last(name) for name in e.names(begin, end)}
    used = {name: n for name, n in sorted(found.items()) if n}
    return next(iter(used)) if len(used) == 1 else ", ".join(f"{name} {n:.0f}" for name, n in used.items())
