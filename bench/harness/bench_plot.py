"""Draws the curves of `bench_metg`: python bench/harness/bench_plot.py CURVES.json PICTURE.png. Needs matplotlib.

One panel per pattern of task graphs: the efficiency over the grain of the tasks. A dot marks where a curve falls below
50 %: the grain there is half of METG, which the legend of each panel gives.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator, PercentFormatter  # noqa: E402

STYLES = {  # colour, width, dashes, label
    "plx": ("#0b6e4f", 2.8, "-", "plx"),
    "plx-graph": ("#5fbf9b", 1.5, (0, (4, 1.5)), "plx, futures"),
    "tbb": ("#1f5fa8", 2.0, "-", "oneTBB"),
    "tbb-graph": ("#86b3e0", 1.5, (0, (4, 1.5)), "oneTBB, flow graph"),
    "omp": ("#c8553d", 2.0, "-", "OpenMP, depend"),
    "serial": ("#9a9a9a", 1.2, (0, (1, 1.5)), "serial, one core"),
}
TITLES = {
    "trivial": "trivial: no inputs",
    "stencil": "stencil: 3 neighbours",
    "fft": "fft: butterflies",
    "tree": "tree: from the parent",
    "nearest": "nearest: 5 neighbours",
    "spread": "spread: 5, far apart",
    "random": "random: up to 3, anywhere",
    "all_to_all": "all to all",
    "stencil/busy_wait": "stencil, busy-wait kernel",
    "stencil/memory": "stencil, memory kernel",
    "stencil/imbalance": "stencil, imbalanced tasks",
}
INK, FAINT = "#222222", "#d9d9d9"


def half_grain(points: list) -> float | None:
    """The grain at which the efficiency falls below one half, as bench_metg finds it; None if it never does."""
    above = [i for i, (_, efficiency) in enumerate(points) if efficiency >= 0.5]
    if not above or above[-1] + 1 == len(points):
        return None
    (g0, e0), (g1, e1) = points[above[-1]], points[above[-1] + 1]
    return g0 * (g1 / g0) ** ((e0 - 0.5) / (e0 - e1))


def time_text(us: float) -> str:
    return f"{us * 1000:.0f} ns" if us < 1 else f"{us:.2g} µs" if us < 10 else f"{us:.0f} µs"


def tick_text(us: float, _position: int = 0) -> str:
    return f"{us * 1000:.0f} ns" if us < 1 else f"{us:g} µs"


def draw_panel(axes, name: str, libraries: dict) -> None:
    entries = []
    for library, (colour, width, dashes, label) in reversed(STYLES.items()):
        points = libraries.get(library)
        if not points:
            continue
        order = 5 if library == "plx" else 3
        grains, efficiencies = zip(*points)
        axes.plot(grains, [min(e, 1.04) for e in efficiencies], color=colour, lw=width, ls=dashes, zorder=order,
                  solid_capstyle="round", dash_capstyle="round")
        half = half_grain(points)
        if half and library != "serial":
            axes.plot([half], [0.5], "o", ms=6 if library == "plx" else 4.5, color=colour, mec="white", mew=1, zorder=6)
        if library != "serial":
            below = all(e < 0.5 for _, e in points)
            text = f"> {time_text(2 * points[0][0])}" if below else time_text(2 * half) if half else f"< {time_text(points[-1][0])}"
            entries.append((label, text, colour))
    axes.set_title(TITLES.get(name, name), loc="left", fontsize=11, color=INK, pad=7, fontweight="bold")
    for i, (label, text, colour) in enumerate(reversed(entries)):
        y = 0.415 - 0.071 * i
        axes.text(0.985, y, text, transform=axes.transAxes, ha="right", va="center", fontsize=8.5, color=colour,
                  fontweight="bold", bbox=dict(facecolor="white", alpha=0.75, edgecolor="none", pad=0.8), zorder=7)
        axes.text(0.80, y, label, transform=axes.transAxes, ha="right", va="center", fontsize=8, color=colour,
                  bbox=dict(facecolor="white", alpha=0.75, edgecolor="none", pad=0.8), zorder=7)


def style_axes(axes, low: float, high: float, first: bool, last: bool) -> None:
    axes.set_xscale("log")
    axes.set_xlim(low / 1.15, high * 1.15)
    axes.set_ylim(0, 1.06)
    axes.axhline(0.5, color=INK, lw=0.8, ls=(0, (2, 2)), zorder=1)
    ticks = [g for g in (0.1, 1.0, 10.0, 100.0) if low <= g <= high]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(tick_text))
    axes.yaxis.set_major_locator(FixedLocator([0, 0.25, 0.5, 0.75, 1]))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.grid(color=FAINT, lw=0.7, zorder=0)
    axes.tick_params(length=0, labelsize=8.5, colors="#555555", labelleft=first, labelbottom=last)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#888888")


def draw_summary(axes, curves: dict) -> None:
    """METG of the three libraries by pattern, in the remaining panel."""
    names = [name for name in curves if "/" not in name]
    for i, name in enumerate(names):
        found = {k: half_grain(curves[name][k]) for k in ("plx", "tbb", "omp") if k in curves[name]}
        values = {k: 2 * half for k, half in found.items() if half}
        if values:
            axes.plot([min(values.values()), max(values.values())], [-i, -i], color=FAINT, lw=2, zorder=1)
        for k, value in values.items():
            axes.plot([value], [-i], "o", ms=7.5 if k == "plx" else 6, color=STYLES[k][0], mec="white", mew=1, zorder=3)
        axes.text(-0.02, -i, name.replace("_", " "), transform=axes.get_yaxis_transform(), ha="right", va="center", fontsize=8.5, color="#555555")
    axes.set_title("METG(50 %), left is better", loc="left", fontsize=11, color=INK, pad=7, fontweight="bold")
    axes.set_xscale("log")
    axes.set_ylim(-len(names) + 0.4, 0.6)
    axes.yaxis.set_major_locator(NullLocator())
    axes.xaxis.set_major_locator(FixedLocator([0.1, 1.0, 10.0, 100.0]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(tick_text))
    axes.set_xlim(0.04, 200)
    axes.grid(axis="x", color=FAINT, lw=0.7, zorder=0)
    axes.tick_params(length=0, labelsize=8.5, colors="#555555")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#888888")
    box = axes.get_position()
    axes.set_position([box.x0 + 0.15 * box.width, box.y0, 0.85 * box.width, box.height])


def draw(data: dict, picture: Path) -> None:
    curves = {name: data["curves"][name] for name in [*TITLES, *data["curves"]] if name in data["curves"]}
    columns = min(4, len(curves))
    rows = math.ceil(len(curves) / columns)
    figure, grid = plt.subplots(rows, columns, figsize=(4.1 * columns, 3.05 * rows + 1.35), squeeze=False)
    grains = [g for libraries in curves.values() for points in libraries.values() for g, _ in points]
    panels = list(grid.flat)
    for i, (axes, (name, libraries)) in enumerate(zip(panels, curves.items())):
        style_axes(axes, min(grains), max(grains), i % columns == 0, i + columns >= len(curves))
        draw_panel(axes, name, libraries)
    left_over = panels[len(curves) :]
    for axes in left_over[1:]:
        axes.set_axis_off()
    present = [k for k in STYLES if any(k in libraries for libraries in curves.values())]
    handles = [plt.Line2D([], [], color=STYLES[k][0], lw=STYLES[k][1] + 0.4, ls=STYLES[k][2], label=STYLES[k][3]) for k in present]
    height = figure.get_size_inches()[1]
    figure.subplots_adjust(left=0.045 * 4 / columns, right=0.985, top=1 - 1.15 / height, bottom=0.72 / height, wspace=0.09, hspace=0.24)
    if left_over:
        draw_summary(left_over[0], curves)
    figure.text(0.012, 1 - 0.32 / height, "How small may tasks be?", fontsize=17, fontweight="bold", color=INK, va="center")
    figure.text(0.012, 1 - 0.63 / height, "Share of the processors' time that goes into the tasks' own work, over the work in one task."
                "  In each panel: METG(50 %), core time per task where half is lost (dot).", fontsize=10, color="#555555", va="center")
    figure.legend(handles=handles, loc="upper right", bbox_to_anchor=(0.99, 1 - 0.06 / height), ncols=len(present), frameon=False, fontsize=10,
                  handlelength=2.4, columnspacing=1.6)
    figure.text(0.5, 0.33 / height, "work in one task", fontsize=10, color="#555555", ha="center", va="center")
    figure.text(0.012, 0.12 / height, data.get("caption", ""), fontsize=8, color="#888888", va="center")
    figure.savefig(picture, dpi=130, facecolor="white")


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print("usage: bench_plot.py CURVES.json PICTURE.png", file=sys.stderr)
        return 2
    draw(json.loads(Path(arguments[0]).read_text()), Path(arguments[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
