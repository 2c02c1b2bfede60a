"""Stars in orbit, from diagnostics.csv: pictures of one run over time (separation, masses, angular momentum, gravitational
waves), and several runs side by side, such as one binary on meshes of several levels.

Time is in orbits where the table has the turns of a pair. Examples to read: tests/star/test_film.py, test_orbits.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.ticker import MaxNLocator

from .. import ReadError
from ..picture import Picture, light, render
from ..tables import read_table
from .run import Run


class Orbits:
    """The table diagnostics.csv of a run. `turns`: time in orbits of the first pair, or None; `stars`: how many."""

    def __init__(self, table, units: dict):
        """units: {column: (name of its unit, factor from code units to it)}"""
        self.table, self.units = table, units
        self.time = table.numbers("time")
        names = table.names()
        self.stars = sum(1 for name in names if name.startswith("star_") and name.endswith("_mass") and "lobe" not in name)
        pairs = [name.removeprefix("separation") for name in names if name.startswith("separation_")]
        self.pair = pairs[0] if pairs else None
        turns = table.numbers(f"orbits{self.pair}") if self.pair else np.full(len(self.time), np.nan)
        # A pair that has merged has no phase: time continues at the mean rate.
        self.turns = _continued(self.time, turns) if np.count_nonzero(np.isfinite(turns)) > 1 and turns[-1] != 0 else None

    def at(self, time: float) -> str:
        """'3.42 orbits', or 't = 1.234' if the orbits are not known."""
        if self.turns is None:
            return f"t = {time:.4g}"
        return f"{np.interp(time, self.time, self.turns):.2f} orbits"

    @property
    def axis(self) -> tuple:
        """(values, label) of the time axis."""
        return (self.time, "time (code units)") if self.turns is None else (self.turns, "time (orbits)")

    def phase(self, time: float) -> float:
        """The angle of the line of centres of the first pair in the x-y plane of the mesh; 0 without a pair."""
        if self.pair is None or "star_1_centre_x" not in self.table:
            return 0.0
        a, b = self.pair.strip("_").split("_")
        d = [self.table.numbers(f"star_{b}_centre_{axis}") - self.table.numbers(f"star_{a}_centre_{axis}") for axis in "xy"]
        known = np.isfinite(d[0])
        if not np.any(known):
            return 0.0
        angle = np.unwrap(np.arctan2(d[1][known], d[0][known]) + np.pi)
        return float(np.interp(time, self.time[known], angle))

    def unit(self, name: str) -> str:
        unit = self.units.get(name, ("code", 1.0))[0]
        return "code units" if unit == "code" else unit

    def column(self, name: str) -> np.ndarray:
        """In the unit of unit()."""
        return self.table.numbers(name) * self.units.get(name, ("code", 1.0))[1]

    @property
    def disruption(self):
        """(star, time on the axis), or None."""
        star = self.column("disrupted_star")[-1]
        if not star > 0:
            return None
        time = self.table.numbers("disruption_time")[-1]
        return int(star), float(np.interp(time, self.time, self.axis[0]))


def _continued(time, turns):
    known = np.isfinite(turns)
    t, n = time[known], turns[known]
    rate = (n[-1] - n[0]) / (t[-1] - t[0])
    return np.where(time > t[-1], n[-1] + rate * (time - t[-1]), np.interp(time, t, n))


def read_orbits(folder):
    """The Orbits of a run's folder, or None if it has no rows of diagnostics. Raises ReadError."""
    path = folder / "diagnostics.csv"
    if not path.exists():
        return None
    table = read_table(path)
    if len(table) == 0:
        return None
    if "star_1_mass" not in table:
        raise ReadError(path, "no column 'star_1_mass', expected a table of diagnostics.stars")
    columns = folder / "diagnostics_columns.csv"
    units = {}
    if columns.exists():
        names = read_table(columns)
        rows = zip(names["name"], names["unit"], names.numbers("factor"))
        units = {str(name): (str(unit), float(factor)) for name, unit, factor in rows}
    return Orbits(table, units)


def _panel(axes, title, unit) -> None:
    axes.set_title(f"{title} ({unit})" if unit else title)
    axes.grid(True)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.margins(x=0)


def orbit_picture(orbits: Orbits) -> Picture:
    """Separation, masses, angular momentum and Roche-lobe filling of the first pair and of all stars."""
    x, label = orbits.axis
    column, stars = orbits.column, range(1, orbits.stars + 1)

    def draw(figure, theme) -> None:
        rows = [["separation", "momentum"], ["mass", "loss"]] if orbits.pair else [["mass", "loss"]]
        panels = figure.subplot_mosaic(rows, sharex=True)
        if orbits.pair:
            axes = panels["separation"]
            axes.plot(x, column(f"separation{orbits.pair}"), color=theme.series[0], label="separation")
            axes.plot(
                x, column(f"semi_major_axis{orbits.pair}"), color=theme.muted, linewidth=1.0, label="semi-major axis"
            )
            a = column(f"separation{orbits.pair}")
            low, high = np.nanmin(a), np.nanmax(a)
            margin = max(0.08 * (high - low), 0.01 * high)
            axes.set_ylim(low - margin, high + margin)
            _panel(axes, "separation", orbits.unit(f"separation{orbits.pair}"))
            axes.legend(loc="best")
            axes = panels["momentum"]
            orbit = column(f"orbital_angular_momentum{orbits.pair}")
            total = orbit.copy()
            for s in stars:
                spin = column(f"star_{s}_spin_z")
                total = total + np.nan_to_num(spin)
                axes.plot(x, spin, color=theme.series[s % len(theme.series)], label=f"spin of star {s}")
            axes.plot(x, orbit, color=theme.series[0], label="orbit")
            axes.plot(x, total, color=theme.ink, linewidth=1.0, label="sum")
            _panel(axes, "angular momentum", orbits.unit(f"orbital_angular_momentum{orbits.pair}"))
            axes.legend(loc="best", ncols=2)
        for s in stars:
            mass = column(f"star_{s}_mass")
            colour = theme.series[s % len(theme.series)]
            panels["mass"].plot(x, mass, color=colour, label=f"star {s}")
            start = mass[0] if mass[0] > 0 else np.nan
            panels["loss"].plot(x, 100 * (mass / start - 1), color=colour, label=f"star {s}")
        unbound = column("unbound_mass")
        panels["mass"].plot(x, unbound, color=theme.muted, linewidth=1.0, label="unbound")
        _panel(panels["mass"], "mass", orbits.unit("star_1_mass"))
        panels["mass"].legend(loc="best")
        _panel(panels["loss"], "change of mass", "%")
        end = orbits.disruption
        for axes in panels.values():
            if end:
                axes.axvline(end[1], color=theme.series[1], linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)
        for name in ("mass", "loss"):
            panels[name].set_xlabel(label)

    caption = "From diagnostics.csv."
    if orbits.disruption:
        star, when = orbits.disruption
        caption += f" Dashed: star {star} is disrupted at {when:.2f} on this axis."
    title = "Orbit and masses" if orbits.pair else "Masses"
    size = (9.6, 5.6) if orbits.pair else (9.6, 3.0)
    return Picture("orbits", title, caption, size, draw, "Separation, angular momentum and masses over time.")


def wave_picture(orbits: Orbits) -> Picture:
    """Gravitational waves seen along the z axis."""
    x, label = orbits.axis
    name = "strain" if "strain_plus" in orbits.table else "wave"

    def draw(figure, theme) -> None:
        axes = figure.subplots()
        axes.plot(x, orbits.column(f"{name}_plus"), color=theme.series[0], label="$h_+$")
        axes.plot(x, orbits.column(f"{name}_cross"), color=theme.series[1], label=r"$h_\times$")
        _panel(axes, "strain" if name == "strain" else r"strain × distance × $c^4/G$", "" if name == "strain" else "code units")
        axes.set_xlabel(label)
        axes.legend(loc="upper right", ncols=2)

    caption = "Quadrupole formula, for an observer on the z axis."
    return Picture("waves", "Gravitational waves", caption, (9.6, 2.8), draw, "Strain of gravitational waves over time.")


class OrbitHistory:
    """The first pair of stars of a run, over the time in initial periods.

    separation, lighter    over the first value; `lighter` is the mass of the star that begins with less
    momentum_at, momentum  the total angular momentum along z less that of driving, with hydro.spin also with that of the
                           outflow, as a relative change since its first value; empty if that is 0 or unknown
    """

    def __init__(self, folder: Path):
        run = Run(folder)
        orbits = read_orbits(folder)
        if orbits is None or orbits.pair is None:
            raise ReadError(folder, "no pair of stars, expected a run with diagnostics.stars = 2 or more")
        self.name = folder.resolve().name
        self.level = (run.config or {}).get("mesh.max_level")
        summary = run.summary or {}
        a, b = (int(star) for star in orbits.pair.strip("_").split("_"))
        masses = [orbits.column(f"star_{star}_mass") for star in (a, b)]
        self.period = float((summary.get("references") or {}).get("period") or orbits.column(f"orbital_period{orbits.pair}")[0])
        self.time = orbits.time / self.period
        lighter = min(masses, key=lambda mass: mass[0])
        self.lighter = lighter / lighter[0]
        separation = orbits.column(f"separation{orbits.pair}")
        self.separation = separation / separation[0]
        star = orbits.table.numbers("disrupted_star")[-1]
        self.disrupted = int(star) if star > 0 else None
        self.disruption = float(orbits.table.numbers("disruption_time")[-1]) / self.period if star > 0 else None
        self.turns = None  # of the orbit until then
        if star > 0 and orbits.turns is not None:
            self.turns = float(np.interp(self.disruption * self.period, orbits.time, orbits.turns))
        self.momentum_at, self.momentum = self._momentum(folder)

    def _momentum(self, folder: Path) -> tuple:
        history = read_table(folder / "history.csv")
        if "total_angular_momentum_z" in history:  # hydro.spin
            momentum = history.numbers("total_angular_momentum_z") + history.numbers("out_total_angular_momentum_z")
        elif "angular_momentum_z" in history:
            momentum = history.numbers("angular_momentum_z")
        else:
            return np.zeros(0), np.zeros(0)
        if "driving_angular_momentum" in history:
            momentum = momentum - history.numbers("driving_angular_momentum")
        known = np.flatnonzero(np.isfinite(momentum))
        if len(known) == 0 or momentum[known[0]] == 0:
            return np.zeros(0), np.zeros(0)
        return history.numbers("time")[known] / self.period, momentum[known] / momentum[known[0]] - 1.0

    @property
    def largest_drift(self) -> np.ndarray:
        """The largest |momentum| until each time; nan while it is 0."""
        largest = np.maximum.accumulate(np.abs(self.momentum))
        return np.where(largest > 0, largest, np.nan)

    @property
    def label(self) -> str:
        return self.name if self.level is None else f"{self.name}, level {self.level}"


def table_of(histories: list) -> list:
    """Lines for the terminal."""
    width = max(len("run"), *(len(run.label) for run in histories))
    lines = [f"{'run':<{width}}  {'periods':>8}  {'separation':>10}  {'lighter star':>12}  {'ang. momentum':>13}  disruption"]
    for run in histories:
        end = "none"
        if run.disruption is not None:
            end = f"star {run.disrupted} after {run.disruption:.2f} periods"
            if run.turns is not None:
                end += f", {run.turns:.2f} orbits"
        separation = run.separation[np.isfinite(run.separation)]
        momentum = f"{100 * run.momentum[-1]:+.3g} %" if len(run.momentum) else "-"
        lines.append(
            f"{run.label:<{width}}  {run.time[-1]:8.2f}  {separation[-1] if len(separation) else np.nan:10.3f}  "
            f"{run.lighter[-1]:12.3f}  {momentum:>13}  {end}"
        )
    lines.append("separation and mass of the lighter star over their first values; total angular momentum less that of driving")
    return lines


def study_picture(histories: list) -> Picture:
    def draw(figure, theme) -> None:
        panels = figure.subplots(1, 3)
        for run, colour in zip(histories, theme.series * (1 + len(histories) // len(theme.series))):
            pair = run.time <= (run.disruption or np.inf)  # then a remnant is taken for a star
            panels[0].plot(run.time[pair], run.separation[pair], color=colour, label=run.label)
            panels[1].plot(run.time, run.lighter, color=colour)
            panels[2].plot(run.momentum_at, run.largest_drift, color=colour)
            if run.disruption is not None:
                at = np.interp(run.disruption, run.time, run.lighter)
                panels[1].plot([run.disruption], [at], "o", color=colour, markersize=5)
        titles = ("separation / initial", "mass of the lighter star / initial", "angular momentum: largest |change| / initial")
        if any(np.any(run.momentum != 0) for run in histories):
            panels[2].set_yscale("log")
            largest = max(np.max(np.abs(run.momentum), initial=0) for run in histories)
            panels[2].set_ylim(1e-3 * largest, 2 * largest)
        for axes, title in zip(panels, titles):
            axes.set_title(title)
            axes.set_xlabel("time (initial periods)")
            axes.grid(True)
            axes.margins(x=0)
            axes.set_xlim(0, max(run.time[-1] for run in histories))
        figure.legend(loc="outside lower center", ncols=min(5, len(histories)))

    caption = "Circles: a star has lost half of its mass. Angular momentum that driving has removed does not count as lost."
    return Picture("orbits", "Orbits", caption, (12.0, 4.0), draw, "Separation, mass and angular momentum of several runs over time.")


def write_study(folders: list, out: Path | None) -> list:
    """Writes the picture (PNG) if `out` is given. Returns the lines of the table. Raises NotARun, ReadError."""
    histories = [OrbitHistory(folder) for folder in folders]
    if out:
        out.write_bytes(render(study_picture(histories), light))
    return table_of(histories)
