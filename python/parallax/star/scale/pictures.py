"""Replays of a run on simulated machines: how the time of a step scales, and where the cores' time goes."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator, PercentFormatter

from ...picture import Picture
from ...text import plural

curves = ("strong", "weak")
_ways = {1: "coalesced", 0: "a message per pair of blocks"}
# From what is wanted to what is waited for; colours go from dark to light in that order.
_uses = (
    ("work", "work of the program"), ("overhead", "messages: packing, sending, receiving"),
    ("core", "the host's cores are in use"), ("local", "too few tasks of the node ready"),
    ("late", "a neighbour has not sent yet"), ("network", "messages on their way"),
    ("imbalance", "done; waiting for other nodes"), ("reduction", "all done; reduction for the next step"),
)
_phases = (
    ("stepping", "stages of the step"), ("summing", "totals, what the root writes"),
    ("looking", "refinement: marks, the new mesh"), ("changing", "after it: new lists, all ghosts"),
)


class Rows:
    """The rows of one curve, by nodes."""

    def __init__(self, table, curve: str, coalesced: int):
        mine = np.array([name == curve for name in table["curve"]]) & (table.numbers("coalesced") == coalesced)
        order = np.argsort(table.numbers("nodes")[mine], kind="stable")
        self.columns = {name: table.numbers(name)[mine][order] for name in table.names() if name != "curve"}

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def __len__(self) -> int:
        return len(self["nodes"])

    @property
    def cores(self) -> np.ndarray:
        return self["nodes"] * self["workers"]

    def efficiency(self) -> np.ndarray:
        """Share of the cores' time in the stages that is the program's own work."""
        return self["stepping_work_core_s"] / np.maximum(self.cores * self["stepping_s"], 1e-300)


def scaling_pictures(table) -> list:
    rows = {(curve, way): Rows(table, curve, way) for curve in curves for way in _ways}
    pictures = [_time_picture(curve, rows) for curve in curves if len(rows[curve, 1])]
    pictures.append(_uses_picture(rows))
    pictures.append(_phases_picture(rows))
    pictures.append(_messages_picture(rows))
    of_job = next((r for r in rows.values() if len(r) and np.any(r["end_messages"] > 0)), None)
    return [*pictures, _events_picture(of_job)] if of_job else pictures


def _time_ticks(value, _position=None) -> str:
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= 0.999 * factor:
            return f"{value / factor:g} {unit}"
    return f"{value * 1e9:g} ns"


def _node_axis(axes, nodes, label: bool = True) -> None:
    axes.set_xscale("log", base=2)
    shown = nodes if len(nodes) <= 7 else nodes[::-2]  # the last one in any case
    axes.set_xticks(shown, [f"{int(n):,}".replace(",", "\u2009") for n in shown])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(nodes[0] / 1.12, nodes[-1] * 1.12)
    if label:
        axes.set_xlabel("nodes")


def _time_picture(curve: str, rows: dict) -> Picture:
    both = {way: rows[curve, way] for way in _ways if len(rows[curve, way])}
    one = both[1]
    nodes, workers = one["nodes"], int(one["workers"][0])
    blocks = one["blocks"]
    per_node = f"{plural(blocks[0], 'block')} in all" if curve == "strong" else f"{plural(int(blocks[-1] / nodes[-1]), 'block')} per node"
    what = f"{per_node}, {plural(workers, 'worker')} per node".replace(",", "\u2009", 1 if per_node.count(",") else 0)

    def draw(figure, theme) -> None:
        left, right = figure.subplots(1, 2, width_ratios=[1.45, 1])
        ideal = one["stepping_work_core_s"] / one.cores
        left.plot(nodes, ideal, color=theme.muted, linestyle=(0, (2, 2)), linewidth=1.1, label="all cores always at work")
        for way, mine in both.items():
            colour, style = (theme.series[0], "-") if way else (theme.series[1], "-")
            left.plot(mine["nodes"], mine["stepping_s"], style, color=colour, marker="o", markersize=3.6, label=f"stages, {_ways[way]}")
            right.plot(mine["nodes"], mine.efficiency(), style, color=colour, marker="o", markersize=3.6)
        left.plot(nodes, one["time_s"], color=theme.series[0], linewidth=1.1, linestyle=(0, (5, 2)), label="the whole step, coalesced")
        left.set_yscale("log")
        left.yaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5) if _decades(left) < 2.2 else (1,)))
        left.yaxis.set_minor_locator(NullLocator())
        left.yaxis.set_major_formatter(FuncFormatter(_time_ticks))
        left.set_title(f"Time of a step, {curve} scaling: {what}")
        left.legend(loc="best")
        right.set_ylim(0, 1.04)
        right.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        right.set_title("Share of the cores' time that is work")
        for axes in (left, right):
            _node_axis(axes, nodes)
            axes.grid(True)

    caption = f"{what}; replayed, not run."
    return Picture(f"scale_{curve}", f"{curve.capitalize()} scaling", caption, (9.6, 3.9), draw, f"Time of a step over nodes, {curve} scaling.")


def _decades(axes) -> float:
    low, high = axes.get_ylim()
    return float(np.log10(high / max(low, 1e-300)))


def _use_colours(theme) -> dict:
    s = theme.series
    return dict(zip((use for use, _ in _uses), (s[0], s[1], s[5], s[4], s[2], "#8fd0b4", s[3], "#cdb5de")))


def _uses_picture(rows: dict) -> Picture:
    """Shares of all cores' time in the stages, stacked, for each curve with and without coalescing."""
    present = [use for use, _ in _uses if any(np.any(r[f"stepping_{use}_core_s"] > 0) for r in rows.values() if len(r))]

    def draw(figure, theme) -> None:
        colours, names = _use_colours(theme), dict(_uses)
        panels = figure.subplots(2, 2, sharex=True, sharey=True)
        for i, curve in enumerate(curves):
            for j, way in enumerate(_ways):
                mine, axes = rows[curve, way], panels[i][j]
                axes.set_title(f"{curve} scaling, {_ways[way]}")
                if len(mine):
                    _stack(axes, mine, present, colours, theme)
                    _node_axis(axes, mine["nodes"], label=i == 1)
                    axes.set_xlim(mine["nodes"][0], mine["nodes"][-1])
                axes.set_ylim(0, 1)
                axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        handles = [_patch(colours[use], names[use]) for use in reversed(present)]
        figure.legend(handles=handles, loc="outside right center", alignment="left", title="Where the cores' time goes", title_fontsize=9)

    return Picture("scale_idle", "Where the time goes", "Stages of one step; the cores of all nodes together.", (10.2, 5.2), draw, "Stacked shares of the cores' time.")


def _patch(colour, label):
    from matplotlib.patches import Patch

    return Patch(facecolor=colour, label=label)


def _stack(axes, mine: Rows, present: list, colours: dict, theme) -> None:
    whole = np.maximum(mine.cores * mine["stepping_s"], 1e-300)
    shares = [mine[f"stepping_{use}_core_s"] / whole for use in present]
    axes.stackplot(mine["nodes"], shares, colors=[colours[use] for use in present], linewidth=0.4, edgecolor=theme.paper)


def _phases_picture(rows: dict) -> Picture:
    """Seconds of a whole step by what it consists of."""

    def draw(figure, theme) -> None:
        panels = figure.subplots(1, 2)
        for axes, curve in zip(panels, curves):
            mine = rows[curve, 1]
            axes.set_title(f"The whole step, {curve} scaling, coalesced")
            if not len(mine):
                continue
            for (phase, name), colour in zip(_phases, theme.series):
                axes.plot(mine["nodes"], mine[f"{phase}_s"], color=colour, marker="o", markersize=3.2, label=name)
            axes.plot(mine["nodes"], mine["time_s"], color=theme.ink, linewidth=1.1, linestyle=(0, (5, 2)), label="all")
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(FuncFormatter(_time_ticks))
            axes.yaxis.set_minor_locator(NullLocator())
            _node_axis(axes, mine["nodes"])
            axes.grid(True)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)

    return Picture("scale_phases", "Phases of a step", "", (9.6, 3.9), draw, "Time of the parts of a step over nodes.")


def _messages_picture(rows: dict) -> Picture:
    def draw(figure, theme) -> None:
        panels = figure.subplots(1, 2)
        for way, colour in ((1, theme.series[0]), (0, theme.series[1])):
            for curve, style in (("strong", "-"), ("weak", (0, (5, 2)))):
                mine = rows[curve, way]
                if not len(mine):
                    continue
                label = f"{curve}, {_ways[way]}"
                panels[0].plot(mine["nodes"], mine["messages"] / mine["nodes"], color=colour, linestyle=style, label=label)
                panels[1].plot(mine["nodes"], mine["bytes"] / np.maximum(mine["messages"], 1), color=colour, linestyle=style)
        all_nodes = np.unique(np.concatenate([mine["nodes"] for mine in rows.values() if len(mine)]))
        panels[0].set_title("Messages that a node sends in a step")
        panels[1].set_title("Bytes of a message, on average")
        panels[0].set_yscale("log")
        panels[0].yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}".replace(",", "\u2009")))
        panels[1].set_yscale("log", base=2)
        panels[1].yaxis.set_major_locator(LogLocator(4))
        panels[1].yaxis.set_major_formatter(FuncFormatter(_bytes))
        for axes in panels:
            _node_axis(axes, all_nodes)
            axes.grid(True)
            axes.yaxis.set_minor_locator(NullLocator())
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)

    return Picture("scale_messages", "Messages", "", (9.6, 3.7), draw, "Messages per node and step, and their size.")


_events = (("end", "end of a run"), ("leave", "processes leave"), ("loss", "a loss spreads"), ("settle", "a loss is settled"))


def _events_picture(rows: Rows) -> Picture:
    """Messages of the busiest node, and time, of the end of a job and the loss of a node."""

    def draw(figure, theme) -> None:
        left, right = figure.subplots(1, 2)
        there = rows["end_messages"] > 0
        nodes = rows["nodes"][there]
        for (event, name), colour in zip(_events, theme.series):
            left.plot(nodes, rows[f"{event}_most"][there], color=colour, marker="o", markersize=3.2, label=name)
            right.plot(nodes, rows[f"{event}_s"][there], color=colour, marker="o", markersize=3.2)
        left.set_title("Messages of the busiest node")
        right.set_title("Time")
        for axes in (left, right):
            axes.set_yscale("log")
            axes.yaxis.set_minor_locator(NullLocator())
            _node_axis(axes, nodes)
            axes.grid(True)
        left.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}".replace(",", "\u2009")))
        right.yaxis.set_major_formatter(FuncFormatter(_time_ticks))
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)

    return Picture("scale_events", "End of a job and loss of a node", "", (9.6, 4.0), draw, "Messages of the busiest node and time of the end of a job and of a loss.")


def _bytes(value, _position=None) -> str:
    return f"{value / 1024:g} KiB" if value >= 1024 else f"{value:g} B"


def check_picture(compared: list) -> Picture:
    """Seconds of a step: real runs, from the fastest to the slowest, and what the replays say."""
    problems = list(dict.fromkeys(c.problem for c in compared))

    def draw(figure, theme) -> None:
        for panel, problem in zip(np.ravel(figure.subplots(1, len(problems), squeeze=False)), problems):
            _draw_check(panel, theme, problem, [c for c in compared if c.problem == problem])

    width = 1.4 + sum(1.2 + 1.1 * len([c for c in compared if c.problem == p]) for p in problems)
    return Picture("scale_check", "Replay and reality", "", (width, 3.8), draw, "Measured and replayed time of a step.")


def _draw_check(axes, theme, problem: str, compared: list) -> None:
    at = np.arange(len(compared))
    of = lambda name: 1e3 * np.array([getattr(c, name) / c.steps for c in compared])
    measured, replayed = of("measured_s"), of("replayed_s")
    spread = np.array([measured - of("least_s"), of("most_s") - measured])
    axes.bar(at - 0.2, measured, 0.38, color=theme.series[0], label="real", yerr=spread, ecolor=theme.ink, capsize=2)
    axes.bar(at + 0.2, replayed, 0.38, color=theme.series[1], label="replayed")
    for x, c, top in zip(at, compared, replayed):
        axes.annotate(f"{100 * c.off:+.1f} %", (x + 0.2, top), (0, 3), textcoords="offset points", ha="center", fontsize=8.5)
    axes.set_xticks(at, [str(c.processes) for c in compared])
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel("processes of one worker")
    axes.set_ylabel("ms per step")
    axes.set_ylim(0, 1.18 * float(max((measured + spread[1]).max(), replayed.max())))
    axes.grid(axis="y")
    axes.set_title(problem)
    axes.legend(loc="upper right")
