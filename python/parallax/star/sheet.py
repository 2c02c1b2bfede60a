"""`parallax film run/ --sheet N`: N frames of a run in one PNG: density in the orbital plane, and below the cost of blocks.

The frames are mesh files at equal distances, the last one included, and have one range of colours. Cost: some 0.3 s per frame.
Example to read: tests/star/test_film.py.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..folders import complete_file
from ..picture import dark
from .film import Frame, Ranges, Units, View, draw_scale_bar, eos_of, frames_of, mesh_files_of, ranges_of, title_of, view_of
from .orbits import read_orbits
from .run import Run

WIDTH, WIDEST, LEFT, RIGHT, TOP, GAP = 12.8, 4.4, 0.1, 0.95, 0.6, 0.05  # inches; at most, of the picture and of a plane
DPI = 125


def _draw(title: str, units: Units, view: View, ranges: Ranges, frames: list, captions: list) -> Figure:
    rows = ["density"] + (["cost"] if ranges.cost else [])
    edge = min(WIDEST, (WIDTH - LEFT - RIGHT - GAP * (len(frames) - 1)) / len(frames))
    width = LEFT + RIGHT + len(frames) * edge + GAP * (len(frames) - 1)
    tall = edge * view.half[1] / view.half[0]
    height = TOP + len(rows) * (tall + GAP) + LEFT
    figure = Figure(figsize=(width, height), dpi=DPI)
    FigureCanvasAgg(figure)

    def place(x, y, w, h):
        return figure.add_axes((x / width, (height - y - h) / height, w / width, h / height))

    factor, density_label = units.density
    norms = {"density": LogNorm(*(factor * v for v in ranges.density)), "cost": Normalize(*(ranges.cost or (0, 1)))}
    labels = {"density": density_label, "cost": "cost of blocks\n(µs per cell update)"}
    figure.text(LEFT / width, 1 - 0.1 / height, title, fontsize=13, va="top", weight="bold")
    for r, name in enumerate(rows):
        y = TOP + r * (tall + GAP)
        for c, (frame, caption) in enumerate(zip(frames, captions)):
            axes = place(LEFT + c * (edge + GAP), y, edge, tall)
            colours = colormaps["inferno" if name == "density" else "viridis"]
            image = axes.imshow(
                (factor if name == "density" else 1.0) * frame.images.get((name, "face"), np.full((2, 2), np.nan)),
                origin="lower", norm=norms[name], cmap=colours.with_extremes(bad=colours(0.0)), aspect="auto",
                extent=frame.extents["face"], interpolation="bilinear" if name == "density" else "nearest",
                interpolation_stage="data",
            )
            x0, x1, y0, y1 = view.limits("face")
            axes.set(xlim=(x0, x1), ylim=(y0, y1), xticks=[], yticks=[])
            for spine in axes.spines.values():
                spine.set(visible=True, color="#3a4454")
            if name == "cost":
                lines = LineCollection(frame.outlines, colors="#ffffff", linewidths=0.35, alpha=0.45)
                axes.add_collection(lines, autolim=False)
            else:
                axes.set_title(caption, fontsize=9, loc="left", pad=4)
                if c == 0:
                    draw_scale_bar(axes, units, (x0, x1, y0, y1))
        bar = figure.colorbar(image, cax=place(width - RIGHT + 0.1, y + 0.05 * tall, 0.1, 0.9 * tall))
        bar.set_label(labels[name], fontsize=8.5)
        bar.ax.tick_params(labelsize=7.5)
        bar.outline.set_linewidth(0.4)
        if name == "cost":
            bar.ax.yaxis.set_major_locator(MaxNLocator(5))
    return figure


def write_sheet(
    run: Run, count: int, out: Path | None = None, width: float | None = None, title: str | None = None
) -> Path:
    """Writes the picture (default: sheet.png in the folder of the run) and returns its path. width: of the planes, code lengths.
    title: default that of the problem.

    Raises NotARun without mesh files, ReadError for a file that cannot be read or a name of the picture that is not NAME.png.
    """
    files = mesh_files_of(run)
    first = min(1, files - 1)  # no cost of blocks is known of the start
    indices = sorted({round(float(i)) for i in np.linspace(files - 1, first, min(count, files))})
    out = out or run.folder / "sheet.png"
    with complete_file(out) as part:
        view = view_of(run, indices, width)
        orbits = read_orbits(run.folder)
        frames: list[Frame] = list(frames_of(run, indices, view, orbits))
        ranges = ranges_of(frames)
        with run.mesh(0) as mesh:
            units = Units(mesh, eos_of(run))
        captions = [orbits.at(f.time) if orbits is not None else f"t = {f.time:.4g}" for f in frames]
        with matplotlib.rc_context({**dark.rc(), "figure.constrained_layout.use": False}):
            _draw(title_of(run) if title is None else title, units, view, ranges, frames, captions).savefig(part, format="png")
    return out
