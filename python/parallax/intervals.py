"""Intervals of the difference of two means, from few samples of each.

Source: Welch, Biometrika 34, 28 (1947). Needs the standard library alone. Example to read:
tests/performance/test_compare_repeated.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

level = 0.95


@dataclass
class Interval:
    """A difference of two means with an interval; bounds are infinite where there are too few runs."""

    difference: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0


def welch(a: list, b: list, confidence: float = level) -> Interval:
    """Interval of mean(b) - mean(a) of independent samples with different variances."""
    difference = mean(b) - mean(a)
    if min(len(a), len(b)) < 2:
        return Interval(difference, -math.inf, math.inf)
    va, vb = _variance(a) / len(a), _variance(b) / len(b)
    if va + vb == 0:
        return Interval(difference, difference, difference)
    freedom = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    half = t_quantile(0.5 + confidence / 2, freedom) * math.sqrt(va + vb)
    return Interval(difference, difference - half, difference + half)


def t_quantile(p: float, freedom: float) -> float:
    """The quantile of Student's t distribution, p > 0.5: bisection on Simpson's rule in t = sqrt(freedom) tan(angle)."""
    norm = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)

    def above_half(angle: float) -> float:
        n = 100
        h = angle / n
        weights = (1 if i in (0, n) else 4 if i % 2 else 2 for i in range(n + 1))
        return norm * h / 3 * sum(w * math.cos(i * h) ** (freedom - 1) for i, w in enumerate(weights))

    low, high = 0.0, math.pi / 2 * (1 - 1e-12)
    for _ in range(48):
        middle = (low + high) / 2
        low, high = (middle, high) if above_half(middle) < p - 0.5 else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def mean(x: list) -> float:
    return sum(x) / len(x)


def _variance(x: list) -> float:
    middle = mean(x)
    return sum((v - middle) ** 2 for v in x) / (len(x) - 1)
