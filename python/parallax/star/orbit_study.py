"""The orbits of several runs side by side, such as one binary on meshes of several levels: separation, mass transfer, angular
momentum, and when a star is disrupted. Example: tests/star/test_orbit_study.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .. import ReadError
from ..picture import Picture, light, render
from ..tables import read_table
from .orbits import read_orbits
from .run import Run


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
            panels[0].plot(run.time, run.separation, color=colour, label=run.label)
            panels[1].plot(run.time, run.lighter, color=colour)
            panels[2].plot(run.momentum_at, 100 * np.abs(run.momentum), color=colour)
            if run.disruption is not None:
                at = np.interp(run.disruption, run.time, run.lighter)
                panels[1].plot([run.disruption], [at], "o", color=colour, markersize=5)
        titles = ("separation / initial", "mass of the lighter star / initial", "|angular momentum gained| (%)")
        # Bounds without what follows the disruption, when a remnant is taken for a star.
        before = np.concatenate([run.separation[run.time <= (run.disruption or np.inf)] for run in histories])
        known = before[np.isfinite(before)]
        if len(known):
            margin = 0.05 * (known.max() - known.min()) + 1e-6
            panels[0].set_ylim(known.min() - margin, known.max() + margin)
        if any(np.any(run.momentum != 0) for run in histories):
            panels[2].set_yscale("log")
            largest = 100 * max(np.max(np.abs(run.momentum), initial=0) for run in histories)
            panels[2].set_ylim(1e-4 * largest, 2 * largest)
        for axes, title in zip(panels, titles):
            axes.set_title(title)
            axes.set_xlabel("time (initial periods)")
            axes.grid(True)
            axes.margins(x=0)
        panels[0].legend(loc="best")

    caption = "Circles: a star has lost half of its mass. Angular momentum that driving has removed does not count as lost."
    return Picture("orbits", "Orbits", caption, (12.0, 3.6), draw, "Separation, mass and angular momentum of several runs over time.")


def write_study(folders: list, out: Path | None) -> list:
    """Writes the picture (PNG) if `out` is given. Returns the lines of the table. Raises NotARun, ReadError."""
    histories = [OrbitHistory(folder) for folder in folders]
    if out:
        out.write_bytes(render(study_picture(histories), light))
    return table_of(histories)
