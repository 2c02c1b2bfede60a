"""The histories of tracers that a run writes for [[output.series]] of the kind tracers: RUN/series/NAME.00000.csv.

    from parallax.star.tracers import read_tracers
    tracers = read_tracers("run")
    plt.plot(tracers["x"][:, 7], tracers["y"][:, 7])       # the path of tracer 7

Example to read: tests/star/test_tracers.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .. import ReadError
from ..picture import Picture
from ..tables import read_table
from ..text import plural


class Tracers:
    """times: [n]; tracers["x"]: a column as [time][tracer], NaN after a tracer has left the domain, except for its place;
    star: where each began, counted from 1, 0: none; species: counted from 0, -1: none."""

    def __init__(self, name: str, tables: list):
        self.name = name
        self.times = np.array([table.numbers("time")[0] for table in tables])
        shared = ("step", "time", "tracer", "star", "species")
        self.columns = {
            column: np.array([table.numbers(column) for table in tables])
            for column in tables[0].names() if column not in shared
        }
        self.star, self.species = (tables[0].numbers(column).astype(int) for column in ("star", "species"))

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def __len__(self) -> int:
        return len(self.star)

    @property
    def origin(self) -> tuple:
        """([tracer]: a number, {number: its name}): the species, else the star, else all the same."""
        for values, word, first in ((self.species, "species", 0), (self.star, "star", 1)):
            if np.any(values >= first):
                return values, {k: f"{word} {k}" if k >= first else "elsewhere" for k in np.unique(values)}
        return np.zeros(len(self), int), {0: "tracers"}


def series_of(folder: Path) -> dict:
    """{name: files by number} of the tracers of a run."""
    found: dict = {}
    for path in (Path(folder) / "series").glob("*.csv"):
        name, _, number = path.name[:-4].rpartition(".")
        if not number.isdigit():
            continue
        with path.open(encoding="utf-8", errors="replace") as file:
            if file.readline().startswith("step,time,tracer,"):
                found.setdefault(name, []).append((int(number), path))
    return {name: [path for _, path in sorted(paths)] for name, paths in sorted(found.items())}


def read_tracers(folder: str | Path, name: str | None = None) -> Tracers:
    """The tracers of a run; `name`: of the series, if there are several. Raises ReadError."""
    folder = Path(folder)
    series = series_of(folder)
    if name is None and len(series) == 1:
        name = next(iter(series))
    if name not in series:
        wanted = "one series of the kind tracers" if name is None else f"the series '{name}'"
        raise ReadError(folder / "series", f"expected {wanted}, found {', '.join(series) or 'none'}")
    tables = [table for table in map(read_table, series[name]) if len(table)]
    if not tables:
        raise ReadError(folder / "series", f"no rows in the files of '{name}'")
    for table in tables[1:]:
        if len(table) != len(tables[0]) or table.names() != tables[0].names():
            raise ReadError(table.path, f"expected {plural(len(tables[0]), 'tracer')} with the columns of {tables[0].path.name}")
    return Tracers(name, tables)


def tracers_picture(tracers: Tracers, most_paths: int = 200) -> Picture:
    """The first and the last places in the x-y plane, coloured by origin, and the paths of some between them."""
    kind, names = tracers.origin
    x, y = tracers["x"], tracers["y"]
    shown = np.unique(np.linspace(0, len(tracers) - 1, min(len(tracers), most_paths)).astype(int))

    def draw(figure, theme) -> None:
        figure.set_layout_engine("compressed")
        pair = figure.subplots(1, 2, sharex=True, sharey=True)
        for axes, row, paths in zip(pair, (0, -1), (False, True)):
            for n, (number, label) in enumerate(names.items()):
                colour = theme.series[n % len(theme.series)]
                if paths:
                    some = shown[kind[shown] == number]
                    axes.plot(x[:, some], y[:, some], color=colour, linewidth=0.3, alpha=0.4, zorder=1)
                these = kind == number
                axes.plot(
                    x[row, these], y[row, these], ".", color=colour, markersize=2.0, markeredgewidth=0, label=label, zorder=2
                )
            axes.set_title(f"t = {tracers.times[row]:.4g}")
            axes.set_aspect("equal")
            axes.set_xlabel("x")
        pair[0].set_ylabel("y")
        pair[0].legend(markerscale=4)

    caption = (
        f"{plural(len(tracers), 'tracer')} of the gas, seen along z: at the start and at the end, with the paths of "
        f"{len(shown)} between {plural(len(tracers.times), 'file')}. Colours are where they began."
    )
    return Picture(
        f"tracers_{tracers.name}", tracers.name.replace("_", " "), caption, (9.6, 4.9), draw,
        "Tracers at the start and at the end.",
    )
