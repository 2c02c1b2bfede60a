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


class Course:
    """The first pair of stars of a run, over the time in initial periods.

    separation, lighter    over the first value; `lighter` is the mass of the star that begins with less
    momentum_at, momentum  the total angular momentum along z less that of driving, as a change of its first value
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
        self.turns = float(np.interp(self.disruption * self.period, orbits.time, orbits.turns)) if star > 0 else None
        self.momentum_at, self.momentum = self._momentum(folder)

    def _momentum(self, folder: Path) -> tuple:
        history = read_table(folder / "history.csv")
        names = ("total_angular_momentum_z", "angular_momentum_z")
        name = next((name for name in names if name in history), None)
        if name is None:
            return np.zeros(0), np.zeros(0)
        momentum = history.numbers(name)
        if "driving_angular_momentum" in history:
            momentum = momentum - history.numbers("driving_angular_momentum")
        known = np.flatnonzero(np.isfinite(momentum))
        if len(known) == 0:
            return np.zeros(0), np.zeros(0)
        return history.numbers("time")[known] / self.period, momentum[known] / momentum[known[0]] - 1.0

    @property
    def label(self) -> str:
        return self.name if self.level is None else f"{self.name}, level {self.level}"


def table_of(courses: list) -> list:
    """Lines for the terminal."""
    width = max(len("run"), *(len(course.label) for course in courses))
    lines = [f"{'run':<{width}}  {'periods':>8}  {'separation':>10}  {'lighter star':>12}  {'ang. momentum':>13}  disruption"]
    for course in courses:
        end = "none"
        if course.disruption is not None:
            end = f"star {course.disrupted} after {course.disruption:.2f} periods, {course.turns:.2f} orbits"
        separation = course.separation[np.isfinite(course.separation)]
        momentum = f"{100 * course.momentum[-1]:+.3g} %" if len(course.momentum) else "-"
        lines.append(
            f"{course.label:<{width}}  {course.time[-1]:8.2f}  {separation[-1] if len(separation) else np.nan:10.3f}  "
            f"{course.lighter[-1]:12.3f}  {momentum:>13}  {end}"
        )
    lines.append("separation and mass of the lighter star over their first values; total angular momentum less that of driving")
    return lines


def study_picture(courses: list) -> Picture:
    def draw(figure, theme) -> None:
        panels = figure.subplots(1, 3)
        for course, colour in zip(courses, theme.series * (1 + len(courses) // len(theme.series))):
            panels[0].plot(course.time, course.separation, color=colour, label=course.label)
            panels[1].plot(course.time, course.lighter, color=colour)
            panels[2].plot(course.momentum_at, 100 * np.abs(course.momentum), color=colour)
            if course.disruption is not None:
                at = np.interp(course.disruption, course.time, course.lighter)
                panels[1].plot([course.disruption], [at], "o", color=colour, markersize=5)
        titles = ("separation / initial", "mass of the lighter star / initial", "|angular momentum gained| (%)")
        # Bounds without what follows the disruption, when a remnant is taken for a star.
        before = [course.separation[course.time <= (course.disruption or np.inf)] for course in courses]
        low, high = (f([f(s[np.isfinite(s)]) for s in before]) for f in (min, max))
        panels[0].set_ylim(low - 0.05 * (high - low) - 1e-6, high + 0.05 * (high - low) + 1e-6)
        if any(np.any(course.momentum != 0) for course in courses):
            panels[2].set_yscale("log")
            largest = 100 * max(np.max(np.abs(course.momentum), initial=0) for course in courses)
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
    courses = [Course(folder) for folder in folders]
    if out:
        out.write_bytes(render(study_picture(courses), light))
    return table_of(courses)
