"""Cells along one coordinate, against the exact solution: profiles, L1 errors, the radius of a shock.

The coordinate is that of exact.csv: `r`, the distance from the centre of a blast, or `x`, the distance from the plane
through the middle of the box along the problem's direction. Meshes are read in batches of blocks.

A scheme spreads a shock over two or three cells, and the density behind that of a blast falls within as many: peaks, half
heights and slopes of the smeared profile are off by up to a cell. The moments of the shell are not: they change only with
the square of the smearing. Example to read: tests/star/test_profiles.py, tests/star/test_shock.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np


@dataclass
class Curve:
    """A tabulated function; `at(coordinate)` interpolates linearly."""

    x: np.ndarray
    y: np.ndarray
    at: object


@dataclass
class Profile:
    """Cells along one coordinate (r from the centre, or x), and what the exact solution says.

    coordinate  'r' or 'x';  names: the variables, first 'rho', then the velocity along the coordinate, and 'press'
    cells       a deterministic selection: {"coordinate", "level", and each name: [n]}
    bins        mean over volume in bins as wide as the finest cell: {"coordinate", "volume", each name: [m]}
    reference   {name: Curve} of the exact solution
    l1          {name: mean over the volume of |cell - exact at the cell's centre|}
    shock, shock_exact, shock_method: radius of the shock in the cells and in the exact solution (r only), or None
    """

    coordinate: str
    names: list
    cells: dict = field(default_factory=dict)
    bins: dict = field(default_factory=dict)
    reference: dict = field(default_factory=dict)
    l1: dict = field(default_factory=dict)
    shock: float | None = None
    shock_exact: float | None = None
    shock_method: str = ""
    time: float = 0.0


class Radial:
    """Distance from the centre: the option <problem>.centre, or else the middle of the box."""

    name = "r"

    def __init__(self, problem: str, config: dict, mesh):
        centre = config.get(f"{problem}.centre", config.get(f"{problem}.center"))
        middle = 0.5 * (mesh.domain_lower + mesh.domain_upper)
        self.centre = np.array(centre, dtype=float) if _is_vector(centre) else middle

    def along(self, positions, velocity):
        """(coordinate, velocity along it) of cells at positions [n][3] with velocities [n][3]."""
        offset = positions - self.centre
        radius = np.sqrt(np.sum(offset**2, axis=1))
        return radius, np.sum(offset * velocity, axis=1) / np.where(radius > 0, radius, 1.0)


class Planar:
    """Distance from the plane through the middle of the box, along the option <problem>.direction.

    The direction counts wavelengths along each axis of the box; where all its sides are periodic, so is the coordinate.
    """

    name = "x"

    def __init__(self, problem: str, config: dict, mesh):
        turns = config.get(f"{problem}.direction")
        turns = np.array(turns if _is_vector(turns) and any(turns) else [1, 0, 0], dtype=float)
        slope = turns / (mesh.domain_upper - mesh.domain_lower)
        self.wavelength = float(1 / np.linalg.norm(slope))
        self.normal = slope * self.wavelength
        self.middle = 0.5 * (mesh.domain_lower + mesh.domain_upper)
        sides = config.get("mesh.sides", [])
        self.wraps = len(sides) == 6 and all(sides[2 * a] == "periodic" for a in range(3) if turns[a])

    def along(self, positions, velocity):
        distance = (positions - self.middle) @ self.normal
        if self.wraps:
            distance = distance - self.wavelength * np.round(distance / self.wavelength)
        return distance, velocity @ self.normal


def _is_vector(value) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(isinstance(v, (int, float)) for v in value)


def profile(run, mesh, exact, limit: int = 30000) -> Profile:
    """Gathers the cells of a mesh along the coordinate of the exact solution's table (None: r).

    limit: how many cells, about, are kept for drawing.
    """
    kind = Radial if exact is None or "r" in exact else Planar
    line = kind(run.problem, run.config or {}, mesh)
    result = Profile(line.name, ["rho", "vel", "press"], time=mesh.time)
    result.reference = _reference(exact, line)
    sums = _Sums(float(mesh.cell_width.min()), result.names)
    fine = _Sums(0.25 * sums.width, ["rho"]) if line.name == "r" else None
    stride = max(1, mesh.n_cells // limit)
    for begin, end in mesh.batches():
        positions, volumes, values = mesh.points(["rho", "vel1", "vel2", "vel3", "press"], begin, end)
        velocity = np.stack([values[f"vel{axis}"] for axis in (1, 2, 3)], axis=1)
        where, along = line.along(positions, velocity)
        values = {"rho": values["rho"], "vel": along, "press": values["press"]}
        sums.add(where, volumes, values, result.reference)
        if fine:
            fine.add(where, volumes, values, {})
        levels = np.repeat(mesh.levels[begin:end], int(np.prod(mesh.block_size)))
        pick = _selection(levels, stride, mesh.n_cells)
        kept = {"coordinate": where[pick], "level": levels[pick], **{n: v[pick] for n, v in values.items()}}
        for name, value in kept.items():
            result.cells.setdefault(name, []).append(value)
    result.cells = {name: np.concatenate(parts) for name, parts in result.cells.items()}
    result.bins, result.l1 = sums.means(), sums.errors()
    if fine:
        _find_shock(result, line, mesh, fine.means())
    return result


def _find_shock(result: Profile, line: Radial, mesh, shells: dict) -> None:
    where, rho = shells["coordinate"], shells["rho"]
    result.shock, result.shock_method = (steepest_fall(where, rho), "where the shell mean of the density falls most")
    curve = result.reference.get("rho")
    result.shock_exact = jump(curve.x, curve.y) if curve else None
    if result.shock_exact:
        share = share_in_box(line.centre, mesh.domain_lower, mesh.domain_upper, 1.1 * result.shock_exact)
        found = radius_of_shell(where, rho, shells["volume"], curve, result.shock_exact, share)
        if found is not None:
            result.shock = found
            result.shock_method = "radius of the exact blast whose shell has the second moment found in the cells"


def _reference(exact, line) -> dict:
    """{name: curve at a coordinate} of the exact solution's table."""
    if exact is None:
        return {}
    x = exact.numbers(line.name)
    order = np.argsort(x, kind="stable")
    columns = {name: exact.numbers(name) for name in ("rho", "vel", "press") if name in exact}
    if "vel" not in columns and line.name == "x" and all(f"vel{axis}" in exact for axis in (1, 2, 3)):
        columns["vel"] = sum(exact.numbers(f"vel{axis + 1}") * line.normal[axis] for axis in range(3))
    period = {"period": line.wavelength} if getattr(line, "wraps", False) else {}
    return {
        name: Curve(x[order], y[order], partial(np.interp, xp=x[order], fp=y[order], **period))
        for name, y in columns.items()
    }


def _selection(levels, stride: int, n_cells: int) -> np.ndarray:
    """Every stride-th cell; of levels with few cells more, so that each level is seen."""
    if stride == 1:
        return np.arange(len(levels))
    chosen = []
    for level in np.unique(levels):
        mine = np.flatnonzero(levels == level)
        share = len(mine) / n_cells
        step = max(1, int(stride * min(1.0, 4 * share)))
        chosen.append(mine[:: step if step % 2 else step + 1])  # odd: not in step with the cells of a block
    return np.sort(np.concatenate(chosen))


class _Sums:
    """Running sums over batches: volume-weighted bins, and L1 errors."""

    def __init__(self, width: float, names: list):
        self.width, self.low = width, None
        self.volume = np.zeros(0)
        self.total = {name: np.zeros(0) for name in names}
        self.coordinate = np.zeros(0)
        self.error, self.whole = {}, 0.0

    def add(self, where, volumes, values, reference) -> None:
        index = np.floor(where / self.width).astype(np.int64)
        self._shift(int(index.min()))
        index -= self.low
        size = max(len(self.volume), int(index.max(initial=0)) + 1)
        self.volume = self._grown(self.volume, index, volumes, size)
        self.coordinate = self._grown(self.coordinate, index, volumes * where, size)
        for name in self.total:
            self.total[name] = self._grown(self.total[name], index, volumes * values[name], size)
        for name, curve in reference.items():
            difference = np.sum(volumes * np.abs(values[name] - curve.at(where)))
            self.error[name] = self.error.get(name, 0.0) + float(difference)
        self.whole += float(np.sum(volumes))

    def _shift(self, lowest: int) -> None:
        """Makes room for bins below those there are."""
        low = lowest if self.low is None else min(self.low, lowest)
        if self.low is not None and low < self.low:
            room = np.zeros(self.low - low)
            self.volume, self.coordinate = np.concatenate([room, self.volume]), np.concatenate([room, self.coordinate])
            self.total = {name: np.concatenate([room, total]) for name, total in self.total.items()}
        self.low = low

    @staticmethod
    def _grown(sums, index, weights, size):
        added = np.bincount(index, weights=weights, minlength=size)
        added[: len(sums)] += sums
        return added

    def means(self) -> dict:
        filled = self.volume > 0
        volume = self.volume[filled]
        return {
            "coordinate": self.coordinate[filled] / volume,
            "volume": volume,
            **{name: total[filled] / volume for name, total in self.total.items()},
        }

    def errors(self) -> dict:
        return {name: value / self.whole for name, value in self.error.items()}


def radius_of_shell(r, rho, volume, exact, exact_radius: float, share: float | None) -> float | None:
    """Radius of the exact blast whose shell has the moment found: the integral of (rho - rho_0) r^2 dV grows with R^5.

    exact: curve of the density, x: r, y: rho, its last value the density ahead; share: of the sphere inside the box.
    None when the blast is not wholly inside (share is None), or nothing was swept up.
    """
    if share is None or not np.all(np.isfinite(rho)):
        return None
    ahead = exact.y[-1]
    found = float(np.sum((rho - ahead) * r**2 * volume))
    integrand = 4 * np.pi * exact.x**4 * (exact.y - ahead)
    known = share * float(np.sum(0.5 * (integrand[1:] + integrand[:-1]) * np.diff(exact.x)))
    if found <= 0 or known <= 0:
        return None
    return exact_radius * (found / known) ** 0.2


def share_in_box(centre, lower, upper, reach: float) -> float | None:
    """Share of the sphere's directions that the box holds: halved for each side through the centre (a mirror).

    None when a sphere of radius `reach` leaves the box through another side.
    """
    share = 1.0
    for axis in range(3):
        for distance in (centre[axis] - lower[axis], upper[axis] - centre[axis]):
            if abs(distance) <= 1e-9 * reach:
                share *= 0.5
            elif distance < reach:
                return None
    return share


def steepest_fall(r: np.ndarray, rho: np.ndarray) -> float | None:
    """Radius where the density falls most steeply, refined by a parabola. Needs no exact solution."""
    if len(r) < 4 or not np.all(np.isfinite(rho)):
        return None
    slope, middle = np.diff(rho) / np.diff(r), 0.5 * (r[1:] + r[:-1])
    i = int(np.argmin(slope))
    if slope[i] >= 0:
        return None
    if 0 < i < len(slope) - 1:
        a, b, c = slope[i - 1 : i + 2]
        curvature = a - 2 * b + c
        if curvature > 0:
            return float(middle[i] + 0.5 * (a - c) / curvature * 0.5 * (middle[i + 1] - middle[i - 1]))
    return float(middle[i])


def jump(r: np.ndarray, rho: np.ndarray) -> float | None:
    """Radius of the largest drop between neighbouring points of the exact profile."""
    if len(r) < 2:
        return None
    i = int(np.argmin(np.diff(rho)))
    return float(0.5 * (r[i] + r[i + 1])) if rho[i + 1] < rho[i] else None
