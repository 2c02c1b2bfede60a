"""Draws the measurements of bench_coalescing: python bench/harness/coalescing_plot.py coalescing.csv FOLDER. Needs matplotlib.

One picture per experiment that the file holds: coalescing-toy, -change, -rotation, -bandwidth, -phases and -parquet.png.
"""

from __future__ import annotations

import math
import statistics
import sys
from pathlib import Path

import bench_plot
import coalescing_data as data
import matplotlib
from bench_plot import COLOURS, INK, SOFT

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.colors import LogNorm  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator, PercentFormatter  # noqa: E402

MARKS = ["o", "s", "^", "D", "v", "P", "X"]
OWN = {"self": ("self-clocking", "#009E73", "D"), "adaptive": ("adaptive", "#D55E00", "*")}
DASHES = {"self": (0, (5, 2)), "adaptive": (0, (1, 1.5))}


def span_text(us: float) -> str:
    return f"{us / 1000:g} ms" if us >= 1000 else f"{us:g} µs"


def seconds_text(s: float, _position: object = 0) -> str:
    return f"{s:.3g} s" if s >= 1 else f"{s * 1e3:.3g} ms" if s >= 1e-3 else f"{s * 1e6:.3g} µs"


def titled(axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=11, color=INK, fontweight="bold", pad=8)


def plain(axes) -> None:
    bench_plot.plain(axes)
    axes.set_axisbelow(True)
    axes.xaxis.label.set_color(SOFT)
    axes.yaxis.label.set_color(SOFT)


def of_counts(axes, counts: list[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(counts))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.set_xlabel("n: parcels in a message at most")


def headed(figure, title: str, text: str) -> None:
    height = figure.get_size_inches()[1]
    figure.text(0.012, 1 - 0.28 / height, title, fontsize=15, fontweight="bold", color=INK, va="center")
    figure.text(0.012, 1 - 0.58 / height, text, fontsize=9.5, color=SOFT, va="center")


def save(figure, path: Path) -> Path:
    figure.savefig(path, dpi=100, facecolor="white")
    plt.close(figure)
    return path


# ------------------------------------------------------------------------------------------------------------------ toy


def scatter(axes, points: list[dict]) -> None:
    """Time over overhead, a mark for each setting, by interval."""
    for i, us in enumerate(sorted({p["interval_us"] for p in points})):
        some = [p for p in points if p["interval_us"] == us]
        axes.plot([p["ratio"] for p in some], [p["time_s"] for p in some], MARKS[i], ms=6, color=COLOURS[i], mec="white",
                  mew=0.7, label=span_text(us))  # fmt: skip

    def by(some: list[dict]) -> float:
        return data.correlation([p["ratio"] for p in some], [p["time_s"] for p in some])

    some = data.of_short_intervals(points)
    if abs(by(some) - by(points)) > 0.05:
        titled(axes, f"correlation {by(points):.3f} ({by(some):.3f} up to {span_text(max(p['interval_us'] for p in some))})")
    else:
        titled(axes, f"time over overhead: correlation {by(points):.3f}")
    axes.set_xlabel("network overhead: messages over tasks")
    axes.set_ylabel("time, s")
    axes.set_ylim(0, 1.06 * axes.get_ylim()[1])
    axes.set_xlim(left=0)
    plain(axes)


def over_counts(axes, points: list[dict], what: str, own: dict[str, dict]) -> None:
    for i, us in enumerate(sorted({p["interval_us"] for p in points})):
        some = sorted((p for p in points if p["interval_us"] == us), key=lambda p: p["n"])
        axes.plot([p["n"] for p in some], [p[what] for p in some], MARKS[i] + "-", ms=5, lw=1.6, color=COLOURS[i],
                  label=span_text(us))  # fmt: skip
    for setting, point in own.items():
        name, colour, _ = OWN[setting]
        axes.axhline(point[what], color=colour, lw=1.5, ls=DASHES[setting], zorder=1, label=name)
    of_counts(axes, sorted({p["n"] for p in points}))
    axes.set_ylim(0, 1.06 * axes.get_ylim()[1])
    plain(axes)


def own_points(rows: list[dict]) -> dict[str, dict]:
    points = data.per_setting(rows)
    return {s: points[s] for s in OWN if s in points}


def draw_toy(rows: list[dict], path: Path) -> Path:
    points, own = data.static_points(rows), own_points(rows)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4.6))
    over_counts(left, points, "time_s", own)
    titled(left, "time")
    left.set_ylabel("time of all calls, s")
    over_counts(middle, points, "overhead", own)
    titled(middle, "network overhead, as a share")
    middle.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    left.legend(title="interval", fontsize=8.5, title_fontsize=9, frameon=False, ncols=2)
    scatter(right, points)
    some = points[0]
    headed(figure, "Two localities call each other with one complex double",
           f"{some['parcels'] / 4 / 1e6:.3g} million calls in each direction, in four phases; median of {some['turns']} turns. "
           f"Lower is better.")  # fmt: skip
    figure.subplots_adjust(left=0.052, right=0.99, top=0.79, bottom=0.125, wspace=0.2)
    return save(figure, path)


def draw_change(rows: list[dict], path: Path) -> Path:
    figure, panels = plt.subplots(1, 2, figsize=(13, 3.9), sharey=True)
    for axes, variant in zip(panels, sorted({r["variant"] for r in rows}, key=lambda v: -int(v.split(",")[0]))):
        some = data.select(rows, variant=variant)
        rounds: dict[int, list[dict]] = {}
        for turn in sorted({r["turn"] for r in some}):
            for i, r in enumerate(data.select(some, turn=turn)):
                rounds.setdefault(i, []).append(r)
        thousands = statistics.median(r["parcels"] for r in some) / 4000  # calls of a round, in each direction
        xs = [(i + 0.5) * thousands for i in rounds]
        ys = [statistics.median(r["overhead"] for r in one) for one in rounds.values()]
        axes.fill_between(xs, [min(r["overhead"] for r in one) for one in rounds.values()],
                          [max(r["overhead"] for r in one) for one in rounds.values()], color=COLOURS[5], alpha=0.3, lw=0)  # fmt: skip
        axes.plot(xs, ys, "-", color=COLOURS[0], lw=1.6)
        for phase in sorted({r["phase"] for r in some}):
            mine = [i for i, one in rounds.items() if one[0]["phase"] == phase]
            setting = rounds[mine[0]][0]["setting"]
            axes.axvline(mine[0] * thousands, color=SOFT, lw=0.9, ls=(0, (2, 2)))
            axes.text(mine[0] * thousands, 0.99, f"  n = {setting.split(',')[0]}", transform=axes.get_xaxis_transform(), fontsize=9.5,
                      color=INK, va="top")  # fmt: skip
        first, last = rounds[0][0]["setting"].split(",")[0], setting.split(",")[0]
        titled(axes, f"from n = {first} to n = {last}")
        axes.set_xlabel("thousand calls made")
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axes.set_ylim(0, 1)
        plain(axes)
    panels[0].set_ylabel("network overhead of a round")
    calls = int(statistics.median(r["parcels"] for r in rows) / 4)
    headed(figure, "The counter after changes of the setting",
           f"Network overhead of rounds of {calls:,} calls in each direction; line: median of the turns, band: their range.")  # fmt: skip
    figure.subplots_adjust(left=0.055, right=0.99, top=0.74, bottom=0.14, wspace=0.06)
    return save(figure, path)


# ------------------------------------------------------------------------------------------------------------- rotation


def heat(axes, points: list[dict]) -> None:
    counts, intervals = sorted({p["n"] for p in points}), sorted({p["interval_us"] for p in points})
    time = {(p["n"], p["interval_us"]): p["time_s"] for p in points}
    least = min(time.values())
    grid = [[time.get((n, us), math.nan) / least for n in counts] for us in intervals]
    most = max(v for line in grid for v in line if v == v)
    norm = LogNorm(1, max(1.5, most))
    axes.imshow(grid, origin="lower", aspect="auto", cmap="cividis_r", norm=norm)
    best = min(time, key=time.get)
    for y, us in enumerate(intervals):
        for x, n in enumerate(counts):
            v = grid[y][x]
            if v == v:
                dark = norm(v) > 0.5
                axes.text(x, y, f"{v:.2f}", ha="center", va="center", fontsize=7.5, color="white" if dark else INK,
                          fontweight="bold" if (n, us) == best else "normal")  # fmt: skip
    axes.set_xticks(range(len(counts)), [f"{n}" for n in counts])
    axes.set_yticks(range(len(intervals)), [span_text(us) for us in intervals])
    axes.set_xlabel("n: parcels in a message at most")
    axes.tick_params(length=0, labelsize=8.5, colors=SOFT)
    axes.xaxis.label.set_color(SOFT)
    for side in axes.spines.values():
        side.set_visible(False)
    titled(axes, f"over the best: {seconds_text(least)} at n = {best[0]}, {span_text(best[1])}")


ROTATION = (
    "Four localities exchange the rows of a tensor",
    "8 Nc² independent parcels of Nc complex doubles; median of the turns. Left: time over that of the best setting.",
)
PARQUET = (
    "Two processes iterate the parquet equations",
    "Time of an iteration, whose rotations send rows as parcels; median of the turns. Left: over that of the best setting.",
)


def draw_rotation(rows: list[dict], path: Path, part: str = "rotation", heading: tuple[str, str] = ROTATION) -> Path:
    sizes = data.rotation_sizes(rows, part)
    figure, grid = plt.subplots(len(sizes), 2, figsize=(13, 3.15 * len(sizes) + 1.1), squeeze=False,
                                gridspec_kw={"width_ratios": [1.75, 1]})  # fmt: skip
    for i, (size, (left, right)) in enumerate(zip(sizes, grid)):
        points = data.static_points(data.select(rows, size=size))
        heat(left, points)
        left.set_ylabel(f"Nc = {size}\ninterval", color=SOFT)
        scatter(right, points)
        own = own_points(data.select(rows, size=size))
        for setting, point in own.items():
            name, colour, mark = OWN[setting]
            right.plot([point["ratio"]], [point["time_s"]], mark, ms=9, color=colour, mec="black", mew=0.9, label=name)
        if i == 0:
            right.legend(fontsize=8, frameon=False, loc="best", ncols=2)
        if i + 1 < len(sizes):
            left.set_xlabel("")
            right.set_xlabel("")
    height = figure.get_size_inches()[1]
    headed(figure, *heading)
    figure.subplots_adjust(left=0.075, right=0.985, top=1 - 1.05 / height, bottom=0.5 / height, wspace=0.16, hspace=0.36)
    return save(figure, path)


def draw_bandwidth(rows: list[dict], path: Path) -> Path:
    rates = data.bandwidths(rows)
    figure, axes = plt.subplots(figsize=(8.6, 4.4))
    styles = {
        "row parcels": (COLOURS[4], "v", "-"),
        "coalesced": (COLOURS[0], "o", "-"),
        "self-clocking": (COLOURS[2], "D", "-"),
        "packed": (COLOURS[1], "s", "-"),
        "transport": (COLOURS[6], "X", (0, (4, 2))),
    }
    names = {
        "row parcels": "rows, one in each message",
        "coalesced": "rows, best n and interval",
        "self-clocking": "rows, self-clocking",
        "packed": "packed by hand, all-to-all",
        "transport": "transport alone, messages of one row",
    }
    for variant, (colour, mark, dashes) in styles.items():
        by_size = rates.get(variant, {})
        if by_size:
            axes.plot(list(by_size), [v / 1e9 for v in by_size.values()], marker=mark, color=colour, ls=dashes, lw=1.8, ms=6,
                      label=names[variant])  # fmt: skip
    large = rates.get("transport, 1 MiB", {})
    for value in large.values():
        axes.axhline(value / 1e9, color=COLOURS[6], lw=1.2, ls=(0, (1, 2)), label="transport alone, pieces of 1 MiB")
    sizes = sorted({s for by_size in rates.values() for s in by_size if s})
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.set_xlabel("Nc (a row has 16 Nc bytes)")
    axes.set_ylabel("GB/s, all localities together")
    axes.set_yscale("log", base=2)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.legend(fontsize=8.5, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    plain(axes)
    headed(figure, "Rows of a tensor: bytes per second", "Four processes on one host. Higher is better.")
    figure.subplots_adjust(left=0.085, right=0.66, top=0.82, bottom=0.13)
    return save(figure, path)


# --------------------------------------------------------------------------------------------------------------- phases


def strip(axes, rows: list[dict], settled_s: float) -> None:
    """For each kind of traffic: every static setting as a mark, and those without numbers, over the best static one."""
    for y, kind in enumerate(reversed(data.KINDS)):
        times = data.unit_times(data.select(rows, phase=kind), settled_s)
        static = {s: t for s, t in times.items() if data.is_static(s)}
        if not static:
            continue
        best = data.best_static(times)
        ratios = [t / static[best] for t in static.values()]
        axes.plot(ratios, [y] * len(ratios), "|", ms=13, mew=1.1, color="#8a8a8a", zorder=2)
        for setting, (_, colour, mark) in OWN.items():
            if setting in times:
                ratio = times[setting] / static[best]
                up = setting == "self"
                axes.plot([ratio], [y], mark, ms=10 if mark == "*" else 7, color=colour, mec="black", mew=0.7, zorder=4)
                axes.text(ratio, y + (0.2 if up else -0.2), f"{ratio:.2f}", color=colour, fontsize=9, ha="center",
                          va="bottom" if up else "top", fontweight="bold")  # fmt: skip
        n, us = best.split(",")
        axes.text(1.0, y + 0.36, f"{kind}: best n = {n}, {span_text(float(us))}: {seconds_text(static[best])} a unit", fontsize=9,
                  color=INK, transform=axes.get_yaxis_transform(), ha="right", va="center")  # fmt: skip
    axes.axvspan(0.5, 1.05, color=COLOURS[5], alpha=0.18, lw=0)
    axes.set_xscale("log")
    axes.set_ylim(-0.55, 2.6)
    axes.yaxis.set_major_locator(NullLocator())
    left, right = axes.get_xlim()
    axes.set_xlim(max(left, 0.4), right)
    axes.xaxis.set_major_locator(FixedLocator([t for t in (0.5, 1, 2, 5, 10, 100, 1000) if t <= right]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.set_xlabel("time over the best setting of numbers")
    plain(axes)
    axes.grid(axis="y", visible=False)


def series(axes, rows: list[dict]) -> None:
    """Units of the settings without numbers, in their order within a phase, relative to the best static setting."""
    shown = [s for s in OWN if data.select(rows, setting=s)]
    for setting in shown[-1:]:  # the one that learns
        for i, kind in enumerate(data.KINDS):
            static = [t for s, t in data.unit_times(data.select(rows, phase=kind)).items() if data.is_static(s)]
            some = data.select(rows, setting=setting, phase=kind)
            if not static or not some:
                continue
            units = data.select(some, turn=max(r["turn"] for r in some))
            xs, ys = [u["at_s"] for u in units], [u["time_s"] / min(static) for u in units]
            width = max(1, len(xs) // 60)
            xs = [statistics.fmean(xs[j : j + width]) for j in range(0, len(xs), width)]
            ys = [statistics.median(ys[j : j + width]) for j in range(0, len(ys), width)]
            axes.plot(xs, ys, "-", lw=1.3, color=COLOURS[i], label=kind)
        titled(axes, f"{OWN[setting][0]}, from the start of a phase")
    axes.axhspan(0.5, 1.05, color=COLOURS[5], alpha=0.18, lw=0)
    axes.set_yscale("log")
    bottom, top = axes.get_ylim()
    axes.set_ylim(max(0.6, bottom), max(2, top))
    axes.yaxis.set_major_locator(FixedLocator([t for t in (0.7, 1, 1.5, 2, 3, 5, 10, 30, 100) if t <= axes.get_ylim()[1]]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.set_xlabel("time since the phase began, s")
    axes.set_ylabel("unit over the best")
    axes.legend(fontsize=9, frameon=False, loc="upper right", ncols=3)
    plain(axes)


def draw_phases(rows: list[dict], path: Path) -> Path:
    kinds = [v for v in ("toy", "rotation") if data.select(rows, variant=v)]
    figure, grid = plt.subplots(len(kinds), 2, figsize=(13, 3.5 * len(kinds) + 1.0), squeeze=False)
    for variant, (left, right) in zip(kinds, grid):
        some = data.select(rows, variant=variant)
        strip(left, some, data.SETTLED_S)
        titled(left, f"{variant}: every setting")
        series(right, some)
    handles = [plt.Line2D([], [], ls="", marker="|", ms=12, color="#8a8a8a", label="a setting of numbers")]
    handles += [plt.Line2D([], [], ls="", marker=mark, ms=8, color=colour, mec="black", mew=0.7, label=name)
                for setting, (name, colour, mark) in OWN.items() if data.select(rows, setting=setting)]  # fmt: skip
    height = figure.get_size_inches()[1]
    figure.legend(handles=handles, loc="upper right", ncols=len(handles), frameon=False, fontsize=9.5,
                  bbox_to_anchor=(0.99, 1 - 0.02 / height))  # fmt: skip
    headed(figure, "Dense, sparse and bursty traffic",
           "Time of a unit of traffic over that of the best setting of numbers for it, medians; shaded: up to 5 % more than the best.")  # fmt: skip
    figure.subplots_adjust(left=0.02, right=0.985, top=1 - 1.05 / height, bottom=0.5 / height, wspace=0.1, hspace=0.4)
    return save(figure, path)


def draw(rows: list[dict], folder: Path) -> list[Path]:
    made = []
    pictures = {"toy": draw_toy, "change": draw_change, "rotation": draw_rotation, "phases": draw_phases}
    for part, picture in pictures.items():
        some = data.select(rows, part=part)
        if part == "rotation":
            some = data.select(some, variant="rows") if data.rotation_sizes(some) else []
        if some:
            made.append(picture(some, folder / f"coalescing-{part}.png"))
    if data.rotation_sizes(rows, "parquet"):
        made.append(draw_rotation(data.select(rows, part="parquet"), folder / "coalescing-parquet.png", "parquet", PARQUET))
    if data.bandwidths(rows):
        made.append(draw_bandwidth(rows, folder / "coalescing-bandwidth.png"))
    return made


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print("usage: coalescing_plot.py coalescing.csv FOLDER", file=sys.stderr)
        return 2
    try:
        rows = data.read(arguments[0])
    except (OSError, ValueError) as error:
        print(f"coalescing_plot.py: {error}", file=sys.stderr)
        return 2
    for path in draw(rows, Path(arguments[1])):
        print(f"picture: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
