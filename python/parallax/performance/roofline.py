"""The roofline of a run: how near its task types come to the limits of the machine.

From profile.csv (flops, bytes: the work that the program states; perf:cache-misses) and measurement.json (limits). A rate is
the work of a type over the time in its tasks, times the workers: that of all workers, if all ran this type. Limits are
those of as many threads. Example to read: python/tests/performance/test_roofline.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..picture import Picture
from ..tables import Table, read_json
from ..text import percent, plural, short, trimmed

cache_line = 64  # bytes that a miss reads
most_points = 8
from_caches = 1.1  # times the limit of memory: more is only possible from caches, or on few workers at a time


@dataclass(frozen=True)
class Point:
    """A task type. `at_least`: the bytes are those of counted cache misses, not stated ones."""

    name: str
    share: float  # of the time in tasks
    flops_per_s: float
    bytes_per_s: float
    of_flops: float  # shares of the limits
    of_memory: float
    at_least: bool = False

    @property
    def intensity(self) -> float:
        return self.flops_per_s / self.bytes_per_s


@dataclass(frozen=True)
class Roofline:
    threads: int
    flops_per_s: float
    bytes_per_s: float
    vector_bits: int
    points: list  # the largest share first

    @property
    def drawn(self) -> list:
        return [p for p in self.points if p.flops_per_s > 0 and p.bytes_per_s > 0][:most_points]


def roofline_of(folder: Path, profile: Table | None) -> Roofline | None:
    """None if the run was not measured with PLX_ROOFLINE=1, or no task type has work."""
    limits = (read_json(folder / "measurement.json") or {}).get("limits")
    keys = ("threads", "flops_per_s", "bytes_per_s", "vector_bits")
    if profile is None or "flops" not in profile or not isinstance(limits, dict):
        return None
    threads, most_flops, most_bytes, bits = (limits.get(key) for key in keys)
    if not all(isinstance(v, (int, float)) and v > 0 for v in (threads, most_flops, most_bytes, bits)):
        return None
    total_s, flops, stated = (profile.numbers(key) for key in ("total_s", "flops", "bytes"))
    misses = profile.numbers("perf:cache-misses") if "perf:cache-misses" in profile else np.zeros(len(profile))
    whole, points = float(np.sum(total_s)) or 1.0, []
    for i in np.argsort(-total_s, kind="stable"):
        counted = stated[i] == 0 and misses[i] > 0
        moved = cache_line * misses[i] if counted else stated[i]
        if total_s[i] <= 0 or (flops[i] <= 0 and moved <= 0):
            continue
        f, b = (float(threads * work / total_s[i]) for work in (flops[i], moved))
        points.append(Point(str(profile["name"][i]), float(total_s[i]) / whole, f, b, f / most_flops, b / most_bytes, bool(counted)))
    return Roofline(int(threads), float(most_flops), float(most_bytes), int(bits), points) if points else None


def sentence(p: Point) -> str:
    """The nearer limit of a task type, in words."""
    name = f'"{short(p.name)}"'
    if p.of_memory > from_caches and p.of_memory >= p.of_flops:
        return f"{name} moves {trimmed(p.of_memory, 2)} times the bandwidth of memory: its data are in caches, or it runs on few workers at a time."
    of, limit = (p.of_memory, "memory limit") if p.of_memory >= p.of_flops else (p.of_flops, "limit of multiply-adds")
    least = "at least " if p.at_least and p.of_memory >= p.of_flops else ""
    return f"{name} reaches {least}{percent(of)} of the {limit}."


def rate_text(per_s: float, unit: str) -> str:
    return f"{trimmed(1e-9 * per_s, 3)} G{unit}/s"


def roofline_picture(r: Roofline) -> Picture | None:
    """None if no task type has both flops and bytes."""
    points = r.drawn
    if not points:
        return None
    ridge = r.flops_per_s / r.bytes_per_s
    x = [p.intensity for p in points]
    left, right = min([ridge, *x]) / 4, max([ridge, *x]) * 4
    low = min([p.flops_per_s for p in points] + [left * r.bytes_per_s]) / 2

    def draw(figure, theme) -> None:
        axes = figure.add_subplot()
        axes.set_xscale("log")
        axes.set_yscale("log")
        line = {"color": theme.ink, "linewidth": 1.3}
        axes.plot([left, ridge], [left * r.bytes_per_s, r.flops_per_s], **line)
        axes.plot([ridge, right], [r.flops_per_s, r.flops_per_s], **line)
        axes.plot([ridge, ridge], [low, r.flops_per_s], color=theme.grid, linewidth=1.0, linestyle=(0, (4, 3)))
        above = {"xytext": (0, 5), "textcoords": "offset points", "fontsize": 8, "color": theme.muted}
        axes.annotate(rate_text(r.flops_per_s, "flop"), (right, r.flops_per_s), ha="right", **above)
        axes.annotate(f"{rate_text(r.bytes_per_s, 'B')} ", (ridge, r.flops_per_s), ha="right", **above)
        for p, colour in zip(points, [*theme.series, *[theme.muted] * most_points]):
            size = 30 + 500 * p.share
            axes.scatter(p.intensity, p.flops_per_s, s=size, color=colour, edgecolors=theme.paper, linewidths=0.6, zorder=3)
            at_end = p.intensity > (left * right) ** 0.5
            side = {"ha": "right", "xytext": (-12, -10)} if at_end else {"ha": "left", "xytext": (12, -10)}
            text = f"{short(p.name)}, {percent(p.share)}"
            axes.annotate(text, (p.intensity, p.flops_per_s), textcoords="offset points", fontsize=8.5, color=theme.ink, **side)
        axes.set_xlim(left, right)
        axes.set_ylim(low, 2.5 * r.flops_per_s)
        axes.grid(axis="both")
        axes.set_xlabel("flop per byte from and to memory")
        axes.set_ylabel("flop/s")

    words = " ".join(sentence(p) for p in points[:3])
    least = " Bytes of cache misses are a lower bound." if any(p.at_least for p in points) else ""
    caption = (
        f"{words} Lines: what {plural(r.threads, 'thread')} of this machine reach, measured at the end of the run: multiply-adds of "
        f"{r.vector_bits} bits, and a[i] += s b[i] in memory. Points: rates of all workers while they run the task type, "
        f"by the work that the program states; larger points have more of the time in tasks.{least}"
    )
    return Picture("roofline", "Roofline", caption, (9.6, 4.2), draw, "Flop/s over flop per byte of each task type.")
