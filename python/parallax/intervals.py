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


def t_tail(t: float, freedom: float) -> float:
    """The probability that Student's t exceeds t >= 0, to a relative 1e-10 however small it is.

    Source: the incomplete beta function as a continued fraction, by Lentz's method; Press et al., Numerical Recipes, 6.4.
    """
    if t <= 0:
        return 0.5
    # I_x(a, 1/2) / 2. The fraction converges fast for x below (a + 1) / (a + 5/2); above, I_x(a, b) = 1 - I_{1-x}(b, a).
    x, y, a = freedom / (freedom + t * t), t * t / (freedom + t * t), freedom / 2
    low = x < (a + 1) / (a + 2.5)
    return _beta(x, y, a, 0.5) / 2 if low else (1 - _beta(y, x, 0.5, a)) / 2


def _beta(x: float, y: float, a: float, b: float) -> float:
    """I_x(a, b), with y = 1 - x."""
    factor = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(y)) / a
    tiny = 1e-300
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or tiny)
    value = d
    for m in range(1, 300):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d, c = 1 / (1 + term * d or tiny), 1 + term / c or tiny
            value *= c * d
        if abs(c * d - 1) < 1e-13:
            break
    return factor * value


def mean(x: list) -> float:
    return sum(x) / len(x)


def _variance(x: list) -> float:
    middle = mean(x)
    return sum((v - middle) ** 2 for v in x) / (len(x) - 1)
