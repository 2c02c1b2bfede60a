"""Virtual speed-ups of a run (docs/probe.md, Virtual speed-ups): by how much a step takes less time if a task type does.

From speedup.csv. Example to read: python/tests/performance/test_speedups.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .. import ReadError
from ..picture import Picture
from ..tables import read_table
from ..text import count, short

most_types = 6  # that are drawn
label_distance = 0.045  # of the height


@dataclass(frozen=True)
class Gain:
    """Shares of the period of a step. Without bounds, which need six rounds, `low` and `high` are None."""

    percent: float  # less time of the task type
    gain: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class TypeGains:
    name: str
    gains: list  # by percent
    rounds: int
    settled: bool

    @property
    def largest(self) -> float:
        return self.gains[-1].gain


def speedups_of(folder: Path) -> list:
    """The task types with results, the largest gain first. [] if the run was not measured with PLX_SPEEDUP."""
    path = folder / "speedup.csv"
    if not path.exists():
        return []
    table = read_table(path)
    percents, all_rounds = table.numbers("percent"), table.numbers("rounds")
    gains, low, high = (_optional(path, key, table[key]) for key in ("gain", "gain_low", "gain_high"))
    types: dict = {}
    for i in range(len(table)):
        if gains[i] is not None:
            types.setdefault(str(table["type"][i]), []).append(i)
    found = []
    for name, rows in types.items():
        rows = sorted(rows, key=lambda i: percents[i])
        points = [Gain(float(percents[i]), gains[i], low[i], high[i]) for i in rows]
        settled = all(table["state"][i] == "settled" for i in rows)
        found.append(TypeGains(name, points, int(min(all_rounds[i] for i in rows)), settled))
    return sorted(found, key=lambda t: -t.largest)


def _optional(path: Path, name: str, column) -> list:
    """Finite numbers; None where the field is empty."""
    try:
        values = [float(v) if str(v) != "" else None for v in column]
    except ValueError:
        raise ReadError(path, f"column '{name}': expected numbers or nothing") from None
    return [v if v is not None and abs(v) < float("inf") else None for v in values]


def sentence(t: TypeGains) -> str:
    """The gain at the speed-up nearest to half the time, in words."""
    g = min(t.gains, key=lambda gain: abs(gain.percent - 50))
    head = f'If "{short(t.name)}" took {g.percent:g} % less time, a step would take '
    if g.low is None or g.high is None:
        return f"{head}about {100 * g.gain:.0f} % less (few rounds)."
    if g.low <= 0 <= g.high:
        return f"{head}no measurably different time ({100 * g.low:+.1f} to {100 * g.high:+.1f} % less)."
    less, bounds = ("less", (g.low, g.high)) if g.gain > 0 else ("more", (-g.high, -g.low))
    return f"{head}{100 * abs(g.gain):.1f} % {less} ({100 * bounds[0]:.1f} to {100 * bounds[1]:.1f})."


def speedups_picture(types: list) -> Picture | None:
    """None without results."""
    types = types[:most_types]
    if not types:
        return None

    def draw(figure, theme) -> None:
        axes = figure.add_subplot()
        axes.axhline(0, color=theme.muted, linewidth=0.8)
        for t, colour in zip(types, theme.series):
            axes.plot([0, *[g.percent for g in t.gains]], [0, *[100 * g.gain for g in t.gains]], color=colour, marker="o", markersize=4)
            for g in t.gains:
                if g.low is not None and g.high is not None:
                    axes.plot([g.percent, g.percent], [100 * g.low, 100 * g.high], color=colour, linewidth=4, alpha=0.35, solid_capstyle="butt")
        last = max(g.percent for t in types for g in t.gains)
        axes.set_xlim(0, 1.32 * last)
        axes.set_xticks(sorted({0.0, *[g.percent for t in types for g in t.gains]}))
        axes.grid(axis="y")
        low, high = axes.get_ylim()
        above = float("inf")
        for t, colour in zip(types, theme.series):  # labels from the top, none over another
            y = min(100 * t.largest, above - label_distance * (high - low))
            above = y
            axes.annotate(f"  {short(t.name)}", (t.gains[-1].percent, y), va="center", fontsize=8.5, color=colour, annotation_clip=False)
        axes.set_ylim(min(low, above - label_distance * (high - low)), high)
        axes.set_xlabel("time saved in the task type, %")
        axes.set_ylabel("time saved per step, %")

    few = [short(t.name) for t in types if not t.settled]
    unsettled = f" Not settled when the run ended: {', '.join(few)}." if few else ""
    caption = (
        f"{' '.join(sentence(t) for t in types[:2])} Measured while the program ran, by delays in the other workers, in at least "
        f"{count(min(t.rounds for t in types))} rounds of experiments. Points: medians; bars: 95 % intervals.{unsettled}"
    )
    return Picture("speedups", "Virtual speed-ups", caption, (9.6, 3.6), draw, "Gain per step over the speed-up of each task type.")


__all__ = ["Gain", "TypeGains", "sentence", "speedups_of", "speedups_picture"]
