"""Columns of tables over momenta, and names of momenta. Example to read: tests/qmc/test_dca_report.py."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np


def column(rows: dict, name: str) -> np.ndarray:
    """A column of numbers; NaN where a cell is empty."""
    values = rows.get(name)
    if values is None:
        raise LookupError(f"no column '{name}'")
    return np.array([float(v) if str(v) != "" else math.nan for v in values])


def momentum_text(kx: float, ky: float) -> str:
    """(pi, 0), (pi/2, -pi/2), ..."""

    def one(k: float) -> str:
        k = (k + math.pi - 1e-9) % (2 * math.pi) - math.pi + 1e-9
        part = Fraction(k / math.pi).limit_denominator(64)
        if part == 0:
            return "0"
        top = {1: "π", -1: "-π"}.get(part.numerator, f"{part.numerator}π")
        return top if part.denominator == 1 else f"{top}/{part.denominator}"

    return f"({one(kx)}, {one(ky)})"


def different_momenta(rows: dict) -> list:
    """One of each set of momenta that symmetries relate, by energy: [(kx, ky, rows of this momentum)]."""
    kx, ky, w = (column(rows, name) for name in ("kx", "ky", "w"))
    found: dict = {}
    for x, y in sorted(set(zip(kx, ky)), key=lambda k: (-math.cos(k[0]) - math.cos(k[1]), k)):
        here = (kx == x) & (ky == y)
        first = here & (w == w.min())
        key = tuple(float(f"{column(rows, name)[first][0]:.6g}") for name in ("g_re", "g_im"))
        found.setdefault((round(-math.cos(x) - math.cos(y), 6), key), (x, y, here))
    return list(found.values())
