"""The vertices of a run in vertices/F8.h5 (docs/plx-parquet.md, "Vertices in HDF5"), of which one transfer at a time is read.

With several processes, F8.h5 shows the slabs of their files F8-R.h5 as one dataset; HDF5 reads NaN where one is missing.
Example to read: tests/parquet/test_parquet_vertices.py.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import h5py
import numpy as np

from .. import ReadError
from .run import channels
from .vertex import Slab


def vertices_file(folder: Path):
    """vertices/F8.h5 of the largest number of frequencies that a run has; None without such a file."""
    found = [(int(name[1]), path) for path in (folder / "vertices").glob("F*.h5") if (name := re.fullmatch(r"F(\d+)\.h5", path.name))]
    return max(found, default=(0, None))[1]


def parts_alone(folder: Path) -> list:
    """The files of processes, F8-R.h5, where no F8.h5 shows them."""
    parts = (folder / "vertices").glob("F*-*.h5")
    return sorted(path for path in parts if not path.with_name(path.name.split("-")[0] + ".h5").exists())


class VertexHdf5:
    """The slabs at w = 0 of a file. Cost of slab(): 64 (2 N F)^2 bytes are read. Errors: ReadError, also if the file of a
    process is missing or damaged."""

    def __init__(self, path: Path):
        self.path = path
        with self._open() as file:
            self.frequencies = int(file.attrs["Frequencies"])
            self.momenta = [(float(x), float(y)) for x, y in file["Momenta"][:]]
            self.channels = [name.decode() if isinstance(name, bytes) else str(name) for name in file.attrs["Channels"]]
            # The first fermionic number at w = 0, by channel.
            first = [int(np.atleast_1d(file.attrs[f"FirstParticle{kind}"])[0]) for kind in ("Hole", "Particle")]
            self.shape, n_momenta = file["F_w0"].shape, len(self.momenta)
        self.first = dict(zip(channels, (first[0], first[0], first[1], first[1])))
        rows = self.shape[-2] if len(self.shape) == 5 else 0
        whole = (n_momenta, len(channels), rows, rows, 2)
        if self.shape != whole or n_momenta == 0 or rows < 1 + n_momenta or (rows - 1) % n_momenta:
            raise ReadError(path, f"F_w0 has the shape {self.shape}, expected [Q][{len(channels)}][k'][k][2] for {n_momenta} momenta")
        if missing := [c for c in channels if c not in self.channels]:
            raise ReadError(path, f"no channel '{missing[0]}', found: {', '.join(self.channels)}")
        if first[0] != first[1]:
            raise ReadError(path, f"the channels begin at frequencies {first[0]} and {first[1]} at w = 0, expected one")

    def _open(self):
        return _Reading(self.path)

    def slab(self, transfer: tuple) -> Slab:
        """F at the momentum next to `transfer`."""
        at = min(range(len(self.momenta)), key=lambda i: sum(abs(a - b) for a, b in zip(self.momenta[i], transfer)))
        n_k = len(self.momenta)
        n_w = (self.shape[2] - 1) // n_k
        values = {}
        with self._open() as file:
            dataset = file["F_w0"]
            for c in channels:
                both = self._values(dataset, at, self.channels.index(c))
                # [k'][k] without the limits of large frequencies -> [K][n][K'][n']
                f = (both[..., 0] + 1j * both[..., 1])[:-1, :-1].reshape(n_w, n_k, n_w, n_k)
                values[c] = f.transpose(3, 2, 1, 0)
        return Slab(self.momenta[at], self.momenta, self.first[channels[0]] + np.arange(n_w), values)

    def _values(self, dataset, momentum: int, channel: int) -> np.ndarray:
        """[k'][k][2]"""
        try:
            both = dataset[momentum, channel]
            if not np.any(np.isnan(both)):
                return both
            why = "F_w0 has values that are no numbers"
        except OSError as error:
            why = f"F_w0 cannot be read: {_short(error)}"
        for source in dataset.virtual_sources() if dataset.is_virtual else []:
            part = self.path.parent / source.file_name
            if not os.path.exists(part):
                why = f"{part.name} is missing, which has vertices of one of the processes"
            elif not _is_readable(part):
                why = f"{part.name} is damaged, which has vertices of one of the processes"
        raise ReadError(self.path, why)


def _is_readable(path: Path) -> bool:
    try:
        h5py.File(path, "r").close()
        return True
    except OSError:
        return False


class _Reading:
    """A file that is open for reading. Exceptions of h5py for a damaged file become a ReadError."""

    def __init__(self, path: Path):
        self.path, self.file = path, None

    def __enter__(self):
        try:
            self.file = h5py.File(self.path, "r")
        except OSError as error:
            raise ReadError(self.path, f"not readable as HDF5: {_short(error)}") from None
        return self.file

    def __exit__(self, kind, error, trace) -> None:
        self.file.close()
        if isinstance(error, (OSError, LookupError, ValueError, TypeError, RuntimeError, AttributeError, ArithmeticError, MemoryError)) and not isinstance(error, ReadError):
            raise ReadError(self.path, f"no vertices of plx-parquet: {_short(error)}") from None


def _short(error: Exception) -> str:
    return " ".join(str(error.args[0] if error.args else error).split())[:200]
