"""A run folder as plx-parquet writes it: every file by name, read when asked for. A missing file is None.

Example to read: tests/parquet/test_parquet_report.py.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from .. import ReadError
from ..hubbard.momenta import column
from ..star.run import Run
from ..tables import csv_property, read_json, read_text

channels = ("density", "magnetic", "singlet", "triplet")


def is_parquet_run(folder: Path) -> bool:
    """By the program in run.json; where that is missing or broken, by files that no other program writes."""
    try:
        program = (read_json(folder / "run.json") or {}).get("program")
        if program:
            return program == "plx-parquet"
    except (ReadError, OSError):  # Run() says what is wrong
        pass
    try:
        options = read_text(folder / "config.toml")
    except (ReadError, OSError):
        options = ""
    return os.path.exists(folder / "eigenvalues.csv") or "sigma_frequencies" in options


class ParquetRun(Run):
    """
    iterations     per iteration: residual, eigenvalues, time        self_energy      G and Sigma over frequencies
    susceptibility per Q and w: charge, spin, pairs                  eigenvalues      per channel and Q
    extrapolated   in the number of frequencies, with errors         result           residuals, convergence
    """

    iterations, self_energy = csv_property("iterations.csv"), csv_property("self_energy.csv")
    susceptibility, eigenvalues = csv_property("susceptibility.csv"), csv_property("eigenvalues.csv")
    extrapolated = csv_property("extrapolated.csv")

    @cached_property
    def result(self):
        return read_json(self.folder / "result.json")

    @cached_property
    def converged(self) -> dict:
        """{number of frequencies: whether the loop converged}, of those that result.json knows."""
        runs = (self.result or {}).get("runs")
        return {int(run["frequencies"]): bool(run["converged"]) for run in runs} if isinstance(runs, list) else {}


def by_frequencies(table) -> dict:
    """{number of frequencies: its rows, as arrays by column}, ascending."""
    n = table.numbers("frequencies")
    if len(n) == 0:
        raise ReadError(table.path, "no rows")
    return {int(each): {name: np.asarray(table[name])[n == each] for name in table.names()} for each in np.unique(n)}


def last_of(table) -> tuple:
    """(the largest number of frequencies, its rows)"""
    return list(by_frequencies(table).items())[-1]


def _order(k: tuple) -> tuple:
    """By energy; then momenta without negative components, those along x first."""
    x, y = (math.remainder(round(c, 9), 2 * math.pi) for c in k)
    x, y = (abs(c) if abs(abs(c) - math.pi) < 1e-6 else c for c in (x, y))
    return -round(math.cos(x) + math.cos(y), 9), x < -1e-6 or y < -1e-6, -round(x, 6), round(y, 6)


@dataclass
class Group:
    """Momenta that symmetries relate. x, y: of one of them; rows: its rows; points: all of them."""

    x: float
    y: float
    rows: np.ndarray
    points: list


def groups(rows: dict, x: str, y: str, compared: tuple) -> list:
    """The momenta in columns x and y, those with equal entries in the columns `compared` together, by energy."""
    kx, ky = column(rows, x), column(rows, y)
    values = [column(rows, name) for name in compared if name in rows]
    scale = [max(float(np.nanmax(np.abs(v), initial=0.0)), 1e-300) for v in values]
    found: dict = {}
    for at in sorted(set(zip(kx, ky)), key=_order):
        here = (kx == at[0]) & (ky == at[1])
        star = tuple(sorted(round(math.cos(k), 6) + 0.0 for k in at))
        key = (star, *(tuple(np.round(v[here] / s, 6) + 0.0) for v, s in zip(values, scale)))
        found.setdefault(key, Group(*at, here, [])).points.append(at)
    return list(found.values())
