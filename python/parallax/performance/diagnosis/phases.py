"""Phases of a run: intervals in which few, or many, workers had work.

The intervals between samples are divided by two-means of the idle share (the threshold that leaves the least scatter within
the two groups); neighbours of one group are a phase, and phases shorter than a twentieth of the run, or of one interval alone, join the one before.
Example to read: python/tests/performance/test_diagnosis_phases.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...text import seconds, trimmed
from .evidence import Evidence
from .idle import bins_of

least_bins = 10  # of a run that is divided
least_step = 0.25  # of the workers: between the means of the two groups
least_length = 0.05  # of the run
most_phases = 6  # more are no phases but a pattern


@dataclass
class RunPhase:
    """An interval of the run and the mean number of workers with work in it."""

    begin_s: float
    end_s: float
    busy: float


def phases_of(e: Evidence) -> list:
    """In order of time; empty where the run has no phases, or no samples of them."""
    bins = bins_of(e) if e.has_workers and e.lived_equally and e.n_workers > 1 else None
    if bins is None or len(bins[0]) <= least_bins:
        return []
    edges, total, idle = bins
    length = np.diff(edges)
    busy = (total - idle) / np.maximum(total, 1e-300)
    many = _two_means(busy, length)
    if many is None:
        return []
    starts = [0, *(np.flatnonzero(np.diff(many)) + 1).tolist()]
    kept: list = []
    group = None
    for start, end in zip(starts, [*starts[1:], len(many)]):
        short = edges[end] - edges[start] < least_length * (edges[-1] - edges[0]) or end - start < 2
        if short or many[start] == group:  # joins the one before, as does what then continues that one
            continue
        kept.append(start if kept else 0)
        group = many[start]
    if not 2 <= len(kept) <= most_phases:
        return []
    found = []
    for start, end in zip(kept, [*kept[1:], len(many)]):
        weight = length[start:end]
        mean = float(np.sum((busy * total * length)[start:end]) / np.sum(weight))
        found.append(RunPhase(float(edges[start]), float(edges[end]), mean))
    return found


def _two_means(values: np.ndarray, weight: np.ndarray):
    """Whether each value is in the upper group [n]; None where the groups are too similar."""
    order = np.argsort(values, kind="stable")
    v, w = values[order], weight[order]
    below_w, below_s = np.cumsum(w)[:-1], np.cumsum(w * v)[:-1]
    above_w, above_s = np.sum(w) - below_w, np.sum(w * v) - below_s
    between = below_s**2 / below_w + above_s**2 / above_w  # the scatter within is a constant less this
    cut = int(np.argmax(between))
    if above_s[cut] / above_w[cut] - below_s[cut] / below_w[cut] < least_step:
        return None
    return values > v[cut]


def words_of(phases: list) -> str:
    """A clause for the headline."""
    if not phases:
        return ""
    parts = [f"{trimmed(p.busy, 2)} from {seconds(p.begin_s) if p.begin_s > 0 else '0 s'} to {seconds(p.end_s)}" for p in phases]
    return f"; workers with work: {', '.join(parts)}"
