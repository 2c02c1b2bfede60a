"""A run folder as plx-dca writes it: every file by name, read when asked for. A missing file is None.

Example to read: tests/qmc/test_dca_report.py.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np

from .. import ReadError
from ..star.run import Run
from ..tables import csv_property, read_json


def is_dca_run(folder: Path) -> bool:
    return (folder / "cluster.json").exists()


class DcaRun(Run):
    """
    iterations     per iteration: mu, density, sign, order, ...       temperatures   per temperature: results with errors
    green          G and Sigma over frequencies                       momenta        occupation and correlations
    sites          correlations between two sites                     cluster        vectors, momenta, shape of a patch
    result         T_c, or None
    """

    iterations, temperatures = csv_property("iterations.csv"), csv_property("temperatures.csv")
    green, momenta, sites = csv_property("green.csv"), csv_property("momenta.csv"), csv_property("sites.csv")

    @cached_property
    def cluster(self):
        return read_json(self.folder / "cluster.json")

    @cached_property
    def result(self):
        return read_json(self.folder / "result.json")

    @cached_property
    def transition(self):
        """(T_c, its error), or None."""
        found = (self.result or {}).get("t_c")
        return (float(found["value"]), float(found["error"])) if isinstance(found, dict) else None

    def of_last_temperature(self, table) -> dict:
        """The rows of a table at its last temperature, as arrays by column."""
        t = table.numbers("t")
        if len(t) == 0:
            raise ReadError(table.path, "no rows")
        here = t == t[-1]
        return {name: np.asarray(table[name])[here] for name in table.names()}


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
