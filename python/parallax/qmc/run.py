"""A run folder as plx-dca writes it: every file by name, read when asked for. A missing file is None.

Example to read: tests/qmc/test_dca_report.py.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path

import numpy as np

from .. import ReadError
from ..star.run import Run
from ..tables import csv_property, read_json


def is_dca_run(folder: Path) -> bool:
    return os.path.exists(folder / "cluster.json")  # false also where the folder may not be read


class DcaRun(Run):
    """
    iterations     per iteration: mu, density, sign, order, ...       temperatures   per temperature: results with errors
    green          G and Sigma over frequencies                       momenta        occupation and correlations
    sites          correlations between two sites                     cluster        vectors, momenta, shape of a patch
    result         T_c, or None                                       four_points    susceptibilities with transfers
    """

    iterations, temperatures = csv_property("iterations.csv"), csv_property("temperatures.csv")
    green, momenta, sites = csv_property("green.csv"), csv_property("momenta.csv"), csv_property("sites.csv")
    four_points = csv_property("four_points.csv")

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
