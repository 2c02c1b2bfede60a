"""How sure a finding is: clear, likely or possible. docs/why-slow.md has the rules.

A cause of idle time is judged by the scatter of the intervals between samples: the run is resampled 200 times from blocks of
neighbouring intervals (a tenth of the run each), which keeps phases together. P is the share of resamples in which the cause
takes at least its threshold. Source: Kunsch, Annals of Statistics 17, 1217 (1989). Deterministic.
Example to read: python/tests/performance/test_diagnosis_confidence.py.
"""

from __future__ import annotations

import numpy as np

resamples = 200
least_bins = 10  # of a run that can be resampled
clear_from, possible_from = 0.95, 0.2  # P
least_possible = 0.7  # times the threshold: below that nothing is reported
margin = 1.25  # times the threshold: a figure of the whole run is clear from there on
least_disturbed = 0.05  # of the workers' time, ready to run without a core: then nothing else is clear


def of_bins(claimed: np.ndarray, capacity: np.ndarray, least: float) -> str:
    """claimed, capacity: worker-seconds of the cause, and of all workers, in each interval [n]; least: a share. "" if the
    cause is not to be reported."""
    whole = float(np.sum(capacity))
    share = float(np.sum(claimed)) / whole if whole > 0 else 0.0
    if share < least_possible * least:
        return ""
    if len(claimed) < least_bins:
        return "likely" if share >= least else ""
    p = float(np.mean(_shares(claimed, capacity) >= least))
    if share >= least:
        return "clear" if p >= clear_from else "likely"
    return "possible" if p >= possible_from else ""


def _shares(claimed: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    n = len(claimed)
    length = max(1, n // 10)
    starts = np.random.default_rng(1).integers(0, n, size=(resamples, -(-n // length)))
    chosen = (starts[:, :, None] + np.arange(length)) % n  # the run as a circle: all intervals are equally likely
    return claimed[chosen].sum(axis=(1, 2)) / np.maximum(capacity[chosen].sum(axis=(1, 2)), 1e-300)


def of_figure(share: float, least: float) -> str:
    """share: a figure of the whole run, at least `least`."""
    return "clear" if share >= margin * least else "likely"
