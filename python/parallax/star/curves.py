"""Curves: profiles against the exact solution, conserved totals, throughput, the light of a run (light_curve.csv), blocks and
idle rates of the localities (tests/star/test_localities.py)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.ticker import EngFormatter

from .. import ReadError
from ..picture import Picture
from ..tables import read_table
from .analysis import conserved_names, drift
from .athdf import Mesh

_labels = {"rho": "density ρ", "vel": "velocity", "press": "pressure p"}
MOST_FILES = 200  # that are opened: 5 to 20 ms each
MOST_LOCALITIES = 1 << 20


def profile_picture(profile) -> Picture:
    """Cells coloured by level, bin means, and the exact solution: density large, velocity and pressure beside."""
    radial = profile.coordinate == "r"

    def draw(figure, theme) -> None:
        panels = figure.subplot_mosaic([["rho", "vel"], ["rho", "press"]], width_ratios=[1.75, 1])
        for name, axes in panels.items():
            dots = _draw_profile(axes, profile, name, theme)
            label = "radial velocity" if radial and name == "vel" else _labels[name]
            axes.set_title(f"{label} at t = {profile.time:.5g}" if name == "rho" else label)
            if name != "vel":
                axes.set_xlabel("radius r (code units)" if radial else "x (code units)")
        main = panels["rho"]
        main.set_ylabel("ρ (code units)")
        if profile.reference or radial:
            main.legend(loc="upper left" if radial else "best")
        bar = figure.colorbar(dots, ax=main, location="bottom", aspect=45, shrink=0.7, label="level of the cell")
        bar.set_ticks(np.unique(profile.cells["level"]))
        bar.ax.minorticks_off()
        bar.outline.set_linewidth(0.5)

    caption = f"Each dot is a cell ({len(profile.cells['rho']):,} shown). "
    if radial:
        caption += (
            "Their spread at one radius shows how round the blast is; the line through them is the mean per shell. "
        )
    caption += "Thin line: exact solution." if profile.reference else "No exact solution (exact.csv) of this time."
    title = "Radial profile" if radial else "Profile along x"
    return Picture("profile", title, caption, (9.6, 5.2), draw, f"{title} of density, velocity and pressure.")


def _draw_profile(axes, profile, name, theme):
    where, level = profile.cells["coordinate"], profile.cells["level"].astype(int)
    low, high = level.min(), level.max()
    n = high - low + 1
    dark_paper = theme.name == "dark"
    shades = colormaps["viridis"](np.linspace(0.45, 0.95, n) if dark_paper else np.linspace(0.75, 0.15, n))
    order = np.argsort(level, kind="stable")
    planar = profile.coordinate == "x"  # many cells at one place
    size = 7.0 if planar else float(np.clip(12000 / max(1, len(where)), 0.6, 12))
    dots = axes.scatter(
        where[order], profile.cells[name][order], s=size, c=level[order], cmap=ListedColormap(shades), linewidths=0,
        norm=BoundaryNorm(np.arange(low - 0.5, high + 1), n), alpha=0.75, zorder=2, rasterized=True,
    )
    if profile.coordinate == "r":
        axes.plot(
            profile.bins["coordinate"], profile.bins[name], color=theme.series[1], linewidth=1.3, zorder=4,
            label="mean over the shell",
        )
    end = float(where.max())
    if name in profile.reference:
        curve = profile.reference[name]
        axes.plot(curve.x, curve.y, color=theme.ink, linewidth=1.2, zorder=3, label="exact")
        if profile.coordinate == "r" and profile.shock_exact:
            end = min(end, 1.35 * profile.shock_exact)
    start = 0.0 if profile.coordinate == "r" else float(where.min())
    axes.set_xlim(start, end)
    axes.grid(True)
    return dots


def conserved_picture(history) -> Picture:
    """Relative drift of each conserved total, with what left through the boundaries counted."""
    names = conserved_names(history)
    time = history.numbers("time")

    def draw(figure, theme) -> None:
        axes = figure.add_subplot()
        floor = 2.0**-53
        top = floor
        for i, name in enumerate(names):
            values = np.abs(drift(history, name))
            top = max(top, float(np.max(values, initial=0.0)))
            axes.plot(
                time, np.maximum(values, floor / 2), color=theme.series[i % len(theme.series)], linewidth=1.2,
                label=name.replace("_", " "),
            )
        axes.axhline(2.0**-52, color=theme.muted, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        axes.annotate(
            "one rounding", (1, 2.0**-52), (-3, 3), xycoords=("axes fraction", "data"), fontsize=7.5,
            textcoords="offset points", ha="right", color=theme.muted,
        )
        axes.set_yscale("log")
        axes.set_ylim(floor / 3, max(1e-13, 4 * top))
        axes.set_xlim(time[0], time[-1] if time[-1] > time[0] else time[0] + 1)
        axes.set_xlabel("time t (code units)")
        axes.set_ylabel("|relative drift|")
        axes.grid(True)
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0)

    return Picture(
        "conserved", "Conserved totals", "", (9.6, 3.5), draw, "Relative drift of conserved totals over time."
    )


def throughput_picture(history) -> Picture:
    """Cell updates per second and number of blocks, over wall time."""
    timed = "wall_s" in history
    at = history.numbers("wall_s" if timed else "step")
    rate, blocks = history.numbers("cell_updates_per_s"), history.numbers("blocks")
    real = rate > 0
    window = max(1, int(np.count_nonzero(real)) // 60)

    def draw(figure, theme) -> None:
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[1.5, 1])
        smooth = _running_median(rate[real], window)
        top.plot(at[real], rate[real], color=theme.series[0], linewidth=0.8, alpha=0.35 if window > 1 else 1)
        if window > 1:
            top.plot(at[real], smooth, color=theme.series[0], linewidth=1.7)
        top.set_ylim(0, 1.15 * float(np.max(smooth, initial=1.0)))
        top.yaxis.set_major_formatter(EngFormatter(sep=" "))
        top.set_ylabel("cell updates / s")
        bottom.step(at, blocks, where="post", color=theme.series[1])
        bottom.set_ylim(0, 1.15 * float(np.max(blocks, initial=1.0)))
        bottom.set_ylabel("blocks")
        bottom.set_xlabel("wall time (s)" if timed else "step")
        for axes in (top, bottom):
            axes.grid(True)
        if len(at) and at[-1] > at[0]:
            bottom.set_xlim(at[0], at[-1])
        figure.align_ylabels()

    caption = "A cell update is one full time step of one cell, all stages."
    if window > 1:
        caption += f" Thin: every step; thick: running median of {2 * window + 1} steps."
    return Picture(
        "throughput", "Throughput", caption, (9.6, 3.9), draw, "Cell updates per second and blocks over time."
    )


def _running_median(values, window: int):
    if window <= 1 or len(values) == 0:
        return values
    padded = np.pad(values, window, mode="edge")
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * window + 1), axis=1)


def read_light(folder):
    """The table light_curve.csv of a run, or None if it is missing or has no rows. Raises ReadError."""
    path = folder / "light_curve.csv"
    if not path.exists():
        return None
    table = read_table(path)
    if "luminosity" not in table:
        raise ReadError(path, "no column 'luminosity', expected a table of light_curve.interval")
    return table if len(table) > 0 else None


def directions_of(table) -> list:
    """The observers: [("+x", "plus_x"), ...], the direction and the end of the names of its columns."""
    ends = [name.removeprefix("luminosity_") for name in table.names() if name.startswith("luminosity_")]
    return [(end.replace("plus_", "+").replace("minus_", "-"), end) for end in ends]


def light_picture(table, orbits=None) -> Picture:
    """Luminosity and effective temperature over time, in orbits where `orbits` (star.orbits.Orbits) has them."""
    time = table.numbers("time")
    label = "time (code units)"
    if orbits is not None and orbits.turns is not None:
        time, label = np.interp(time, orbits.time, orbits.turns), "time (orbits)"

    def draw(figure, theme) -> None:
        left, right = figure.subplots(1, 2, sharex=True)
        for direction, end in directions_of(table):
            style = {"color": theme.series["xyz".index(direction[1])], "linestyle": "-" if direction[0] == "+" else ":"}
            left.plot(time, table.numbers(f"luminosity_{end}"), label=f"from {direction}", **style)
            right.plot(time, table.numbers(f"temperature_{end}"), **style)
        left.plot(time, table.numbers("luminosity"), color=theme.ink, linewidth=1.0, label="mean")
        for axes, title in ((left, "luminosity (erg/s)"), (right, "effective temperature (K)")):
            axes.set_title(title)
            axes.grid(True)
            axes.margins(x=0)
            axes.set_xlabel(label)
            values = np.concatenate([line.get_ydata() for line in axes.get_lines()])
            known = values[np.isfinite(values) & (values > 0)]
            if len(known) > 0 and known.max() > 20 * known.min():
                axes.set_yscale("log")
        left.legend(loc="best", ncols=2)

    caption = (
        "From light_curve.csv. The gas absorbs by one opacity and emits as a black body of its own temperature; it is not "
        "cooled by this light."
    )
    return Picture("light", "Light curve", caption, (9.6, 3.2), draw, "Luminosity and effective temperature over time.")


@dataclass
class LocalitySeries:
    """Per mesh file: its time [file], and of each locality [file, locality] the number of its blocks and its idle rate since
    the mesh file before (0 to 1; NaN if it has no block, or in the first file)."""

    time: np.ndarray
    blocks: np.ndarray
    idle: np.ndarray


def read_localities(paths: list[Path]) -> LocalitySeries:
    """Reads mesh files in the order of time; if there are more than MOST_FILES, as many at equal distances. Files without the datasets
    `Locality` and `LocalityIdleRate` are of one process: its blocks count for locality 0, with an idle rate of NaN.
    Raises ReadError for a file that cannot be read."""
    if len(paths) > MOST_FILES:
        paths = [paths[i] for i in np.linspace(0, len(paths) - 1, MOST_FILES).round().astype(int)]
    times, owners, rates = [], [], []
    for path in paths:
        with Mesh(path) as mesh:
            owner = mesh.block_values("Locality")
            rate = mesh.block_values("LocalityIdleRate")
            alone = owner is None or rate is None
            if not alone and not np.all((owner >= 0) & (owner < MOST_LOCALITIES)):
                raise ReadError(path, f"Locality: expected numbers from 0 to {MOST_LOCALITIES - 1}")
            times.append(mesh.time)
            owners.append(np.zeros(mesh.n_blocks, dtype=int) if alone else owner.astype(int))
            rates.append(np.full(mesh.n_blocks, np.nan) if alone else rate)
    n = 1 + max((int(owner.max(initial=0)) for owner in owners), default=0)
    blocks, idle = np.zeros((len(times), n), dtype=int), np.full((len(times), n), np.nan)
    for i, (owner, rate) in enumerate(zip(owners, rates)):
        blocks[i] = np.bincount(owner, minlength=n)
        idle[i, owner] = rate
    if len(times):
        idle[0] = np.nan  # of the time before the first step
    return LocalitySeries(np.array(times), blocks, idle)


def localities_over_time(series: LocalitySeries) -> Picture:
    """A line per locality, and the mean over the localities."""
    names = [f"locality {k}" for k in range(series.blocks.shape[1])]

    def draw(figure, theme) -> None:
        top, bottom = figure.subplots(2, 1, sharex=True)
        few = len(names) <= len(theme.series)
        for k, name in enumerate(names):
            style = {"color": theme.series[k] if few else theme.muted, "linewidth": 1.0, "alpha": 1.0 if few else 0.5}
            top.plot(series.time, 100 * series.idle[:, k], marker="." if len(series.time) < 40 else "", **style)
            bottom.step(series.time, series.blocks[:, k], where="post", label=name if few else "", **style)
        known = ~np.isnan(series.idle).all(axis=1)
        top.plot(series.time[known], 100 * np.nanmean(series.idle[known], axis=1), color=theme.ink, linewidth=1.8, label="mean")
        bottom.plot(series.time, series.blocks.mean(axis=1), color=theme.ink, linewidth=1.8)
        top.set_ylim(0, 100)
        top.set_ylabel("idle rate (%)")
        bottom.set_ylim(0, 1.15 * max(1, series.blocks.max(initial=1)))
        bottom.set_ylabel("blocks")
        bottom.set_xlabel("time (code units)")
        for axes in (top, bottom):
            axes.grid(True)
            axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0)
        if len(series.time) > 1:
            bottom.set_xlim(series.time[0], series.time[-1])
        figure.align_ylabels()

    caption = (
        "Above: share of the workers' time without work between one mesh file and the next. Below: blocks that each locality owns. "
        "Thick: mean over the localities."
    )
    return Picture(
        "localities-over-time", "Localities over the run", caption, (9.6, 4.2), draw, "Idle rate and blocks of each locality over time."
    )
