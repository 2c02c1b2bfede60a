"""The slices and projections that a run writes for [[output.series]]: RUN/series/NAME.00000.h5.

    from parallax.star.pixels import read_pixels
    image = read_pixels("run/series/slice_1.00003.h5")
    plt.imshow(image.values["density"], origin="lower", extent=image.extent)

Example to read: tests/star/test_pixels.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from .. import ReadError
from .athdf import yt_units


@dataclass
class Pixels:
    """values: {variable: [second axis][first axis]} in code units, row 0 at the bottom; units: {variable: "g cm^-3" or
    "code"}, and factors: {variable: what makes a value one in that unit}; coordinates: {axis: centres of the pixels}; extent: x0, x1, y0, y1; position: of a slice along `normal`, or None;
    weight: of a projection, "none" or "mass"; code_units: as for yt, {} if the run has none."""

    path: Path
    kind: str
    axes: tuple
    normal: str
    position: float | None
    weight: str
    time: float
    step: int
    values: dict
    units: dict
    factors: dict
    coordinates: dict
    extent: tuple
    code_units: dict

    def with_unit(self, variable: str) -> tuple:
        """The values in CGS with the name of the unit, or in code units if the run has no [units]."""
        return self.values[variable] * self.factors[variable], self.units[variable]


def read_pixels(path: str | Path) -> Pixels:
    """Reads a whole file. Raises ReadError."""
    path = Path(path)
    try:
        with h5py.File(path, "r") as file:
            return _read(path, file)
    except FileNotFoundError:
        raise ReadError(path, "no such file") from None
    except (KeyError, OSError, ValueError, TypeError, IndexError) as error:
        raise ReadError(path, f"not a file of a slice or projection as expected ({error})") from None


def _text(value) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _read(path: Path, file) -> Pixels:
    a = file.attrs
    names = [_text(name) for name in a["VariableNames"]]
    axes = tuple(_text(axis) for axis in a["Axes"])
    edges = [np.array(file[f"{axis}_edges"]) for axis in axes]
    shape = (len(edges[1]) - 1, len(edges[0]) - 1)
    values = {name: np.array(file[name], dtype=float) for name in names}
    for name, value in values.items():
        if value.shape != shape:
            raise ReadError(path, f"dataset '{name}': expected shape {shape}, found {value.shape}")
    return Pixels(
        path=path,
        kind=_text(a["Kind"]),
        axes=axes,
        normal=_text(a["Normal"]),
        position=float(a["Position"]) if "Position" in a else None,
        weight=_text(a["Weight"]) if "Weight" in a else "",
        time=float(a["Time"]),
        step=int(a["Step"]),
        values=values,
        units=dict(zip(names, (_text(unit) for unit in a["VariableUnits"]))),
        factors=dict(zip(names, (float(factor) for factor in a["VariableFactors"]))),
        coordinates={axis: np.array(file[axis]) for axis in axes},
        extent=tuple(float(edge) for each in edges for edge in (each[0], each[-1])),
        code_units=yt_units(a),
    )
