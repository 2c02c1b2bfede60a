"""Draws the curves of bench_metg, or the ladder of bench_gpu_ladder: python bench/harness/bench_plot.py FILE PICTURE.png,
where FILE is CURVES.json or LADDER.csv. Needs matplotlib.

Curves: one panel per pattern of task graphs: the efficiency over the grain of the tasks. A dot marks where a curve falls below
50 %: the grain there is half of METG, which the legend of each panel gives.
Ladder: a line of the file per rung and number of workers: rung, workers, ms_per_step. One row of dots per rung, a dot per
number of workers, milliseconds per step on a logarithmic axis; the number beside each row is that of most workers.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import (  # noqa: E402
    FixedLocator,
    FuncFormatter,
    LogLocator,
    NullFormatter,
    NullLocator,
    PercentFormatter,
)

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
INK, SOFT, FAINT = "#222222", "#555555", "#d9d9d9"
# Okabe and Ito's colours, distinguishable with any colour vision; markers differ, too.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000"]


def plain(axes, size: float = 9, which: str = "both") -> None:
    """A light grid, no ticks, and of the frame the lower side alone."""
    axes.grid(axis=which, color=FAINT, lw=0.7, zorder=0)
    axes.tick_params(length=0, labelsize=size, colors=SOFT)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


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
    plain(axes, 8.5)
    axes.tick_params(labelleft=first, labelbottom=last)
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
        axes.text(-0.02, -i, name.replace("_", " "), transform=axes.get_yaxis_transform(), ha="right", va="center", fontsize=8.5, color=SOFT)
    axes.set_title("METG(50 %), left is better", loc="left", fontsize=11, color=INK, pad=7, fontweight="bold")
    axes.set_xscale("log")
    axes.set_ylim(-len(names) + 0.4, 0.6)
    axes.yaxis.set_major_locator(NullLocator())
    axes.xaxis.set_major_locator(FixedLocator([0.1, 1.0, 10.0, 100.0]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(tick_text))
    axes.set_xlim(0.04, 200)
    plain(axes, 8.5, "x")
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
                "  In each panel: METG(50 %), core time per task where half is lost (dot).", fontsize=10, color=SOFT, va="center")
    figure.legend(handles=handles, loc="upper right", bbox_to_anchor=(0.99, 1 - 0.06 / height), ncols=len(present), frameon=False, fontsize=10,
                  handlelength=2.4, columnspacing=1.6)
    figure.text(0.5, 0.33 / height, "work in one task", fontsize=10, color=SOFT, ha="center", va="center")
    figure.text(0.012, 0.12 / height, data.get("caption", ""), fontsize=8, color="#888888", va="center")
    figure.savefig(picture, dpi=130, facecolor="white")


# ---- the ladder

LADDER_COLOURS, LADDER_MARKS = [COLOURS[i] for i in (5, 0, 2, 4, 3, 1)], ["o", "s", "D", "^", "v", "P"]
RUNGS = {  # as bench_gpu_ladder names them
    "cpu": "CPU only",
    "anew": "GPU, new buffers and streams",  # words: ok
    "buffers": "+ buffers recycled",
    "streams": "+ streams recycled: one for all",
    "streams16": "+ 16 streams",
    "slices16": "+ up to 16 launches as one",
    "futures": "+ asynchronous futures",
    "graph": "all blocks a launch, as a graph",
}


def read_ladder(path: Path) -> dict[str, dict[int, float]]:
    """Milliseconds per step by rung and number of workers. Errors: SystemExit with one line."""
    steps: dict[str, dict[int, float]] = {}
    try:
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                steps.setdefault(row["rung"], {})[int(row["workers"])] = float(row["ms_per_step"])
    except (OSError, KeyError, TypeError, ValueError) as wrong:
        raise SystemExit(f"{path}: expected lines of rung,workers,ms_per_step as bench_gpu_ladder --csv writes them: {wrong!r}")
    if not steps:
        raise SystemExit(f"{path}: expected lines of rung,workers,ms_per_step, found none")
    return steps


def draw_ladder(steps: dict[str, dict[int, float]], picture: Path) -> None:
    rungs = [name for name in [*RUNGS, *steps] if name in steps]
    rungs = list(dict.fromkeys(rungs))
    counts = sorted({count for row in steps.values() for count in row})
    figure, axes = plt.subplots(figsize=(8.4, 0.5 * len(rungs) + 1.5))
    for y, name in enumerate(rungs):
        row = steps[name]
        axes.plot([min(row.values()), max(row.values())], [y, y], color=FAINT, lw=3, zorder=1)
        for count, ms in row.items():
            i = counts.index(count) % len(LADDER_COLOURS)
            axes.plot([ms], [y], LADDER_MARKS[i], ms=8, color=LADDER_COLOURS[i], mec="white", mew=1, zorder=3)
        axes.text(1.01, y, f"{row[max(row)]:.3g} ms", transform=axes.get_yaxis_transform(), va="center", fontsize=9, color=INK)
    axes.set_yticks(range(len(rungs)), [RUNGS.get(name, name) for name in rungs])
    axes.set_ylim(len(rungs) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("ms per step", color=SOFT)
    plain(axes, 9, "x")
    axes.tick_params(which="minor", length=0)
    handles = [
        plt.Line2D([], [], marker=LADDER_MARKS[i % len(LADDER_MARKS)], ls="", ms=8, color=LADDER_COLOURS[i % len(LADDER_COLOURS)], mec="white",
                   label=f"{count} worker{'s' if count != 1 else ''}")
        for i, count in enumerate(counts)
    ]
    axes.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=len(counts), frameon=False, fontsize=9)
    figure.savefig(picture, dpi=130, bbox_inches="tight")


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print("usage: bench_plot.py CURVES.json|LADDER.csv PICTURE.png", file=sys.stderr)
        return 2
    file, picture = map(Path, arguments)
    if file.suffix == ".csv":
        draw_ladder(read_ladder(file), picture)
    else:
        draw(json.loads(file.read_text()), picture)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
