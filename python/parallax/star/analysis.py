"""The numbers of a report: drift of conserved totals, throughput, cost per cell update.

Pure functions of tables and meshes; nothing is drawn or printed. Example to read: tests/star/test_analysis.py.
"""

from __future__ import annotations

import numpy as np

# ---- conserved totals ----


def conserved_names(history) -> list:
    """The conserved totals that a history has, in a fixed order."""
    fixed = ["mass", "momentum_x", "momentum_y", "momentum_z", "energy"]
    # A species may have any name; its mass, like all conserved totals, has a column of the outflow.
    others = {*fixed, *(f"total_angular_momentum_{axis}" for axis in "xyz")}
    known = history.names()
    species = [name for name in known if name.startswith("species_") or (f"out_{name}" in known and name not in others)]
    turns = ["total_angular_momentum_z", "angular_momentum_z"] if _rotates(history) else []
    turns = [name for name in turns if name in history]
    return [name for name in fixed + species if name in history] + turns


def _rotates(history) -> bool:
    """Whether the angular momentum along z is more than rounding: than 1e-9 of energy times time."""
    if "angular_momentum_z" not in history or "energy" not in history or len(history) == 0:
        return False
    known = history.numbers("angular_momentum_z")
    action = abs(history.numbers("energy")[0]) * history.numbers("time")[-1]
    return bool(np.any(np.abs(known[np.isfinite(known)]) > 1e-9 * action))


def drift(history, name: str) -> np.ndarray:
    """Relative drift [n_row] of a conserved total: (Q(t) + cumulative outflow - added by floors - Q(0)) / scale.

    scale is |Q(0)|; for momentum, whose total is often zero, it is sqrt(2 M E) at t = 0, an upper bound of the momentum
    that this mass and energy can carry. The outflow through the boundaries is the column out_<name>, what floors have
    added is from_floors_<name>, if the history has them. With
    self-gravity, the energy E is that of the gas and of gravity; the scale is the sum of the sizes of both. Energy and
    angular momentum that driving has added are omitted. total_angular_momentum_z, with hydro.spin, is conserved to
    rounding; angular_momentum_z, that of the velocities, begins with its first known row, and has no outflow.
    """
    total = history.numbers(name)
    if name == "energy" and "gravity_energy" in history:
        total = total + gravity_energy(history)
    if name == "energy":
        for driven in ("driving_work", "driving_heat"):  # what driving has added since the start
            total = total - history.numbers(driven) if driven in history else total
    if name.endswith("angular_momentum_z") and "driving_angular_momentum" in history:
        total = total - history.numbers("driving_angular_momentum")
    if f"out_{name}" in history:
        lost = history.numbers(f"out_{name}")
        total = total + (lost - lost[:1])
    if f"from_floors_{name}" in history:
        added = history.numbers(f"from_floors_{name}")
        total = total - (added - added[:1])
    if len(total) == 0:
        return total
    start = total[0]
    if name == "energy" and "gravity_energy" in history and np.isnan(start):  # not known: compared with the next row
        start = total[0] = total[1] if len(total) > 1 else 0.0
    if name == "angular_momentum_z" and np.isnan(start):
        total = total.copy()
        start = total[0] = total[1] if len(total) > 1 else 0.0
        return (total - start) / (abs(start) or 1.0)
    return (total - start) / _scale(history, name, abs(history.numbers(name)[0]))


def gravity_energy(history) -> np.ndarray:
    """The potential energy [n_row] as far as the gas has exchanged it: without its changes by regrids.

    A regrid between two steps changes the potential energy of the same gas, by gravity_energy_start minus
    gravity_energy of the step before: known if the history has a row for each step, else the change stays in. The
    initial state has no value of its own: its row takes that at the start of step 1, or nan without a row of step 1.
    """
    energy, step = history.numbers("gravity_energy").copy(), history.numbers("step")
    start = history.numbers("gravity_energy_start")
    if len(energy) and step[0] == 0:
        energy[0] = start[1] if len(energy) > 1 and step[1] == 1 else np.nan
    jumps = np.where(np.diff(step) == 1, start[1:] - energy[:-1], 0.0)
    return energy - np.concatenate([[0.0], np.cumsum(jumps)])


def _scale(history, name: str, own: float) -> float:
    if name == "energy":
        own = _energy_scale(history)
    if name.startswith("momentum") and "mass" in history and "energy" in history:
        own = np.sqrt(2 * abs(history.numbers("mass")[0]) * _energy_scale(history))
    return own if own > 0 else 1.0


def _energy_scale(history) -> float:
    """|energy of the gas| at the start, and with self-gravity the first |potential energy| that is known."""
    scale = abs(history.numbers("energy")[0])
    if "gravity_energy" in history:
        known = gravity_energy(history)
        known = known[np.isfinite(known)]
        scale += abs(known[0]) if len(known) else 0.0
    return scale


def boundary_losses(history) -> dict:
    """{name: share of the initial total that left through the boundaries}, for totals that lost anything."""
    return _shares(history, "out_")


def floor_additions(history) -> dict:
    """{name: what floors have added, as a share of the initial total}, for totals that they have changed."""
    return _shares(history, "from_floors_")


def _shares(history, prefix: str) -> dict:
    shares = {}
    for name in conserved_names(history):
        if prefix + name in history and len(history):
            part = history.numbers(prefix + name)
            share = (part[-1] - part[0]) / _scale(history, name, abs(history.numbers(name)[0]))
            if share != 0:
                shares[name] = float(share)
    return shares


def floor_hits(history) -> int:
    """How often floors were applied in the whole run (columns floors_*, counts since the start)."""
    names = [name for name in history.names() if name.startswith("floors_")]
    return int(sum(history.numbers(name)[-1] for name in names)) if len(history) else 0


# ---- time ----


def throughput(summary, history) -> float | None:
    """Mean cell updates per second: run.json's own figures, else the mean of the history weighted by wall time."""
    known = {key: value for key, value in (summary or {}).items() if isinstance(value, (int, float)) and value > 0}
    seconds = known.get("simulation_s") or known.get("wall_s")
    if seconds and "cell_updates" in known:
        return float(known["cell_updates"]) / float(seconds)
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
