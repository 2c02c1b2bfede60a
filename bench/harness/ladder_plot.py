"""Draws the ladder of bench_gpu_ladder: python bench/harness/ladder_plot.py LADDER.csv PICTURE.png. Needs matplotlib.

The file has a line per rung and number of workers: rung, workers, ms_per_step. One row of dots per rung, a dot per number
of workers, milliseconds per step on a logarithmic axis; the number beside each row is that of most workers.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: E402

INK, SOFT, FAINT = "#222222", "#555555", "#d9d9d9"
# Okabe and Ito's colours, distinguishable with any colour vision; markers differ, too.
COLOURS = ["#56B4E9", "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#E69F00"]
MARKS = ["o", "s", "D", "^", "v", "P"]
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


def read(path: Path) -> dict[str, dict[int, float]]:
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


def draw(steps: dict[str, dict[int, float]], picture: Path) -> None:
    rungs = [name for name in [*RUNGS, *steps] if name in steps]
    rungs = list(dict.fromkeys(rungs))
    counts = sorted({count for row in steps.values() for count in row})
    figure, axes = plt.subplots(figsize=(8.4, 0.5 * len(rungs) + 1.5))
    for y, name in enumerate(rungs):
        row = steps[name]
        axes.plot([min(row.values()), max(row.values())], [y, y], color=FAINT, lw=3, zorder=1)
        for count, ms in row.items():
            i = counts.index(count) % len(COLOURS)
            axes.plot([ms], [y], MARKS[i], ms=8, color=COLOURS[i], mec="white", mew=1, zorder=3)
        axes.text(1.01, y, f"{row[max(row)]:.3g} ms", transform=axes.get_yaxis_transform(), va="center", fontsize=9, color=INK)
    axes.set_yticks(range(len(rungs)), [RUNGS.get(name, name) for name in rungs])
    axes.set_ylim(len(rungs) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("ms per step", color=SOFT)
    axes.grid(axis="x", color=FAINT, lw=0.7, zorder=0)
    axes.tick_params(length=0, labelsize=9, colors=SOFT)
    axes.tick_params(which="minor", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    handles = [
        plt.Line2D([], [], marker=MARKS[i % len(MARKS)], ls="", ms=8, color=COLOURS[i % len(COLOURS)], mec="white",
                   label=f"{count} worker{'s' if count != 1 else ''}")
        for i, count in enumerate(counts)
    ]
    axes.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=len(counts), frameon=False, fontsize=9)
    figure.savefig(picture, dpi=130, bbox_inches="tight")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: python bench/harness/ladder_plot.py LADDER.csv PICTURE.png")
    draw(read(Path(sys.argv[1])), Path(sys.argv[2]))
