"""The numbers of a report: drift of conserved totals, shares of time, cost per cell update, exact-solution errors.

Pure functions of tables and meshes; nothing is drawn or printed. Example to read: tests/test_analysis.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

# ---- conserved totals ----


def conserved_names(history) -> list:
    """The conserved totals that a history has, in a fixed order."""
    fixed = ["mass", "momentum_x", "momentum_y", "momentum_z", "energy"]
    species = [name for name in history.names() if name.startswith("species_")]
    return [name for name in fixed + species if name in history]


def drift(history, name: str) -> np.ndarray:
    """Relative drift [n_row] of a conserved total: (Q(t) + what left through the boundaries - Q(0)) / scale.

    scale is |Q(0)|; for momentum, whose total is often zero, it is sqrt(2 M E) at t = 0, an upper bound of the momentum
    that this mass and energy can carry. What left is the column out_<name> where the history has one.
    """
    total = history.numbers(name)
    if f"out_{name}" in history:
        lost = history.numbers(f"out_{name}")
        total = total + (lost - lost[:1])
    if len(total) == 0:
        return total
    return (total - total[0]) / _scale(history, name, abs(total[0]))


def _scale(history, name: str, own: float) -> float:
    if name.startswith("momentum") and "mass" in history and "energy" in history:
        own = np.sqrt(2 * abs(history.numbers("mass")[0] * history.numbers("energy")[0]))
    return own if own > 0 else 1.0


def boundary_losses(history) -> dict:
    """{name: share of the initial total that left through the boundaries}, for totals that lost anything."""
    losses = {}
    for name in conserved_names(history):
        if f"out_{name}" in history and len(history):
            lost = history.numbers(f"out_{name}")
            share = (lost[-1] - lost[0]) / _scale(history, name, abs(history.numbers(name)[0]))
            if share != 0:
                losses[name] = float(share)
    return losses


def floor_hits(history) -> int:
    """How often floors were applied in the whole run (columns floors_*, counts since the start)."""
    names = [name for name in history.names() if name.startswith("floors_")]
    return int(sum(history.numbers(name)[-1] for name in names)) if len(history) else 0


# ---- time ----

time_uses = ("tasks", "overhead", "background", "idle")


def time_shares(workers) -> dict:
    """Share of all workers' time by use: {"tasks": 0.93, ...}, summing to one."""
    sums = {use: float(np.sum(workers.numbers(f"{use}_s"))) for use in time_uses}
    whole = sum(sums.values())
    return {use: value / whole if whole > 0 else 0.0 for use, value in sums.items()}


def throughput(summary, history) -> float | None:
    """Mean cell updates per second: run.json's own figures, else the mean of the history weighted by wall time."""
    summary = summary or {}
    seconds = summary.get("simulation_s") or summary.get("wall_s")
    if summary.get("cell_updates") and seconds:
        return float(summary["cell_updates"]) / float(seconds)
    if history is None or "cell_updates_per_s" not in history or len(history) == 0:
        return None
    rate, wall = history.numbers("cell_updates_per_s"), history.numbers("wall_s")
    spent = np.diff(wall, prepend=0.0)
    return float(np.sum(rate * spent) / np.sum(spent)) if np.sum(spent) > 0 else float(np.mean(rate))


def cost_per_update(mesh, previous_cycle: int | None) -> np.ndarray | None:
    """Seconds per cell update and block [n_block], NaN where a block did nothing; None when the file has no cost.

    Cost is the seconds spent on the block since the previous file. The updates behind it are the file's own count
    (dataset Updates: steps the block took part in) or else the steps between the two files.
    """
    cost = mesh.block_values("Cost")
    if cost is None or not np.any(cost > 0):
        return None
    steps = mesh.block_values("Updates")
    if steps is None:
        between = mesh.cycle - (previous_cycle or 0)
        steps = np.full(mesh.n_blocks, float(between if between > 0 else 1))
    cells = float(np.prod(mesh.block_size))
    with np.errstate(divide="ignore", invalid="ignore"):
        per_update = cost / (steps * cells)
    return np.where(np.isfinite(per_update) & (per_update > 0), per_update, np.nan)


# ---- profiles against the exact solution ----


@dataclass
class Profile:
    """Cells along one coordinate (r from the centre, or x), and what the exact solution says.

    coordinate  'r' or 'x';  names: the variables, first 'rho', then the velocity along the coordinate, and 'press'
    cells       a deterministic selection: {"coordinate", "level", and each name: [n]}
    bins        mean over volume in bins as wide as the finest cell: {"coordinate", each name: [m]}
    l1          {name: mean over the volume of |cell - exact at the cell's centre|}
    shock       radius of the shock in the cells and in the exact solution (r only), or None
    """

    coordinate: str
    names: list
    cells: dict = field(default_factory=dict)
    bins: dict = field(default_factory=dict)
    l1: dict = field(default_factory=dict)
    shock: float | None = None
    shock_exact: float | None = None
    time: float = 0.0


def centre_of(run, mesh) -> np.ndarray:
    """Centre of the blast: the option <problem>.center / centre, else the middle of the mesh."""
    for key, value in (run.config or {}).items():
        if key.split(".")[-1] in ("center", "centre") and isinstance(value, list) and len(value) == 3:
            return np.array(value, dtype=float)
    return 0.5 * (mesh.domain_lower + mesh.domain_upper)


def profile(run, mesh, exact, limit: int = 30000) -> Profile:
    """Gathers the cells of a mesh along the coordinate of the exact solution's table (None: r).

    limit: how many cells, about, are kept for drawing.
    """
    radial = exact is None or "r" in exact
    result = Profile("r" if radial else "x", ["rho", "vel", "press"], time=mesh.time)
    centre = centre_of(run, mesh) if radial else np.zeros(3)
    needed = ["rho", "vel1", "press"] + (["vel2", "vel3"] if radial else [])
    width = float(mesh.cell_width[:, 0].min())
    reference = _reference(exact, result.coordinate)
    low = 0.0 if radial else float(mesh.domain_lower[0])
    sums = _Sums(low, width, result.names)
    stride = max(1, mesh.n_cells // limit)
    for begin, end in mesh.batches():
        positions, volumes, values = mesh.points(needed, begin, end)
        where, vel = _along(positions - centre, values, radial)
        values = {"rho": values["rho"], "vel": vel, "press": values["press"]}
        sums.add(where, volumes, values, reference)
        levels = np.repeat(mesh.levels[begin:end], int(np.prod(mesh.block_size)))
        pick = _selection(levels, stride, mesh.n_cells)
        kept = {"coordinate": where[pick], "level": levels[pick], **{n: v[pick] for n, v in values.items()}}
        for name, value in kept.items():
            result.cells.setdefault(name, []).append(value)
    result.cells = {name: np.concatenate(parts) for name, parts in result.cells.items()}
    result.bins, result.l1 = sums.means(), sums.errors()
    if radial:
        result.shock = shock_position(result.bins["coordinate"], result.bins["rho"])
        if exact is not None:
            result.shock_exact = jump_position(exact.numbers("r"), exact.numbers("rho"))
    return result


def _along(offset, values, radial: bool):
    if not radial:
        return offset[:, 0], values["vel1"]
    radius = np.sqrt(np.sum(offset**2, axis=1))
    dot = sum(offset[:, a] * values[f"vel{a + 1}"] for a in range(3))
    return radius, dot / np.where(radius > 0, radius, 1.0)


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


def _reference(exact, coordinate: str):
    """{name: function of the coordinate} from the exact solution's table."""
    if exact is None:
        return {}
    x = exact.numbers(coordinate)
    order = np.argsort(x, kind="stable")
    names = [name for name in ("rho", "vel", "press") if name in exact]
    return {name: partial(np.interp, xp=x[order], fp=exact.numbers(name)[order]) for name in names}


class _Sums:
    """Running sums over batches: volume-weighted bins, and L1 errors."""

    def __init__(self, low: float, width: float, names: list):
        self.low, self.width = low, width
        self.volume = np.zeros(0)
        self.total = {name: np.zeros(0) for name in names}
        self.coordinate = np.zeros(0)
        self.error, self.whole = {}, 0.0

    def add(self, where, volumes, values, reference) -> None:
        index = np.maximum(0, ((where - self.low) / self.width).astype(np.int64))
        size = max(len(self.volume), int(index.max(initial=0)) + 1)
        self.volume = self._grown(self.volume, index, volumes, size)
        self.coordinate = self._grown(self.coordinate, index, volumes * where, size)
        for name in self.total:
            self.total[name] = self._grown(self.total[name], index, volumes * values[name], size)
        for name, at in reference.items():
            difference = np.sum(volumes * np.abs(values[name] - at(where)))
            self.error[name] = self.error.get(name, 0.0) + float(difference)
        self.whole += float(np.sum(volumes))

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
            **{name: total[filled] / volume for name, total in self.total.items()},
        }

    def errors(self) -> dict:
        return {name: value / self.whole for name, value in self.error.items()}


def shock_position(r: np.ndarray, rho: np.ndarray) -> float | None:
    """Radius where the shell mean of the density falls most steeply, refined by a parabola through three slopes.

    A shock that the scheme smears symmetrically keeps its steepest point at its true place.
    """
    if len(r) < 4:
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


def jump_position(r: np.ndarray, rho: np.ndarray) -> float | None:
    """Radius of the largest drop between neighbouring points of the exact profile."""
    if len(r) < 2:
        return None
    i = int(np.argmin(np.diff(rho)))
    return float(0.5 * (r[i] + r[i + 1])) if rho[i + 1] < rho[i] else None
