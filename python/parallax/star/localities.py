"""Blocks and idle rates of the localities over a run, from its mesh files.

Example to read: tests/star/test_localities.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import ReadError
from ..picture import Picture
from .athdf import Mesh

MOST_FILES = 200  # that are opened: 5 to 20 ms each
MOST_LOCALITIES = 1 << 20


@dataclass
class LocalitySeries:
    """Per mesh file: its time [file], and of each locality [file, locality] the number of its blocks and its idle rate since
    the mesh file before (0 to 1; NaN if it has no block, or in the first file)."""

    time: np.ndarray
    blocks: np.ndarray
    idle: np.ndarray


def read_localities(paths: list[Path]) -> LocalitySeries:
    """Of mesh files in the order of time; of more than MOST_FILES, as many at equal distances. Files without the datasets
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
