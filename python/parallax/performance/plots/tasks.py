"""Single tasks over time: timeline of the workers, concurrency, length of each task."""

from __future__ import annotations

import numpy as np

from ...picture import Picture
from ...text import seconds

most_kinds = 5  # with a colour of their own; the others share the last
bars_of_a_row = 250  # more cannot be distinguished


def kinds_of(names: list, weights) -> list:
    """The kinds with the largest sums of weights, the largest first."""
    sums: dict = {}
    for name, weight in zip(names, weights):
        sums[name] = sums.get(name, 0.0) + float(weight)
    return sorted(sums, key=lambda name: -sums[name])[:most_kinds]


def colours_of(kinds: list, theme) -> dict:
    return dict(zip(kinds, theme.series))


def _unit(span_s: float):
    """(factor, its name) by which a time axis of this length reads well."""
    return (1.0, "s") if span_s >= 2 else (1e3, "ms") if span_s >= 2e-3 else (1e6, "µs")


def timeline_picture(table, kinds: list) -> Picture:
    """A row per worker and per stream of a device, a bar per slice of a task or operation. Shows as many bars as can be
    distinguished, from the middle of the trace."""
    begin, end = table.numbers("begin_s"), table.numbers("end_s")
    worker = table.numbers("worker").astype(int)
    rows = int(np.max(worker)) + 1
    labels = {row: f"worker {row}" for row in range(rows)}
    if "device" in table.columns:
        labels.update({int(row): str(name) for row, name in zip(worker, table["device"]) if str(name) not in ("", "nan")})
    in_order = np.sort(begin)
    most = bars_of_a_row * rows
    at = max(0, (len(begin) - most) // 2)
    first, last = float(in_order[at]), float(in_order[min(at + most, len(begin)) - 1])
    shown = (end > first) & (begin <= last)
    begin, end, worker = np.maximum(begin[shown], first), end[shown], worker[shown]
    names = np.array([str(name) for name in table["name"]])[shown]
    span = float(np.max(end) - first)
    factor, unit = _unit(span)

    def draw(figure, theme) -> None:
        axes = figure.add_subplot()
        colours = colours_of(kinds, theme)
        axes.set_facecolor(theme.paper)
        for name in [*kinds, None]:
            mine = ~np.isin(names, kinds) if name is None else names == name
            if not np.any(mine):
                continue
            colour = theme.muted if name is None else colours[name]
            for row in range(rows):
                here = mine & (worker == row)
                if np.any(here):
                    bars = np.column_stack((factor * (begin[here] - first), factor * (end[here] - begin[here])))
                    axes.broken_barh(bars, (row - 0.4, 0.8), facecolors=colour, edgecolors=theme.paper, linewidth=0.15)
            axes.bar(0, 0, color=colour, label="others" if name is None else name)
        step = max(1, rows // 16)
        axes.set_yticks(np.arange(0, rows, step), [labels[row] for row in range(0, rows, step)])
        axes.set_ylim(rows - 0.4, -0.6)
        axes.set_xlim(0, factor * span)
        axes.set_xlabel(f"time from {seconds(first)} of the run on [{unit}]")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.3, ncols=6, handlelength=1)

    height = float(np.clip(1.4 + 0.34 * rows, 2.0, 7.0))
    caption = f"{len(begin):,} slices of tasks in {seconds(span)}; empty parts are idle time or task management."
    return Picture("timeline", "Timeline", caption, (9.6, height), draw, "Tasks on each worker, over time.")


def job_timeline_picture(table, parcels=None) -> Picture:
    """Rows of workers, grouped by locality, and an arrow per parcel if they are few. Shows as many slices as can be
    distinguished, from the middle of the trace. Coloured task types are those with most of the time shown."""
    begin, end = table.numbers("begin_s"), table.numbers("end_s")
    places = np.column_stack((table.numbers("locality").astype(int), table.numbers("worker").astype(int)))
    lanes = sorted({(int(l), int(w)) for l, w in places})
    gap = 0.6  # between localities
    y_of = {lane: i + gap * len({l for l, _ in lanes[: i + 1]}) for i, lane in enumerate(lanes)}
    in_order = np.sort(begin)
    most = bars_of_a_row * len(lanes)
    at = max(0, (len(begin) - most) // 2)
    first = float(in_order[at])
    shown = (end > first) & (begin <= float(in_order[min(at + most, len(begin)) - 1]))
    begin, end, places = np.maximum(begin[shown], first), end[shown], places[shown]
    y = np.array([y_of[int(l), int(w)] for l, w in places])
    names = np.array([str(name) for name in table["name"]])[shown]
    kinds = kinds_of(names.tolist(), end - begin)
    last = float(np.max(end))
    factor, unit = _unit(last - first)
    middles = {l: float(np.mean([y_of[lane] for lane in lanes if lane[0] == l])) for l, _ in lanes}
    # A locality whose pieces are all outside of what is shown has no lane.
    arrows = [a for a in _arrows_within(parcels, first, last) if a[2] in middles and a[3] in middles]

    def draw(figure, theme) -> None:
        axes = figure.add_subplot()
        colours = colours_of(kinds, theme)
        axes.set_facecolor(theme.paper)
        for name in [*kinds, None]:
            mine = ~np.isin(names, kinds) if name is None else names == name
            if not np.any(mine):
                continue
            colour = theme.muted if name is None else colours[name]
            for row in np.unique(y[mine]):
                here = mine & (y == row)
                bars = np.column_stack((factor * (begin[here] - first), factor * (end[here] - begin[here])))
                axes.broken_barh(bars, (row - 0.4, 0.8), facecolors=colour, edgecolors=theme.paper, linewidth=0.15)
            label = "others" if name is None else name if len(name) <= 28 else name[:27] + "…"
            axes.bar(0, 0, color=colour, label=label)
        for sent, received, source, target in arrows if len(arrows) <= most_arrows else []:
            up = middles[source] > middles[target]
            lanes_of = {l: [y_of[lane] for lane in lanes if lane[0] == l] for l in (source, target)}
            tail = min(lanes_of[source]) - 0.4 if up else max(lanes_of[source]) + 0.4
            head = max(lanes_of[target]) + 0.4 if up else min(lanes_of[target]) - 0.4
            axes.annotate(
                "",
                xy=(factor * (received - first), head),
                xytext=(factor * (sent - first), tail),
                arrowprops={"arrowstyle": "-|>", "color": theme.ink, "linewidth": 0.6, "mutation_scale": 5,
                            "shrinkA": 0, "shrinkB": 0},
            )  # fmt: skip
        axes.set_yticks([y_of[lane] for lane in lanes], [f"locality {l}, worker {w}" for l, w in lanes])
        axes.set_ylim(max(y_of.values()) + 0.6, min(y_of.values()) - 0.6)
        axes.set_xlim(0, factor * (last - first))
        axes.set_xlabel(f"time from {seconds(first)} of the run on [{unit}]")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.3, ncols=4, handlelength=1)

    drawn = "each drawn as an arrow" if len(arrows) <= most_arrows else "too many to draw"
    caption = (
        f"{len(begin):,} slices of tasks of all processes in {seconds(last - first)}, on one time axis; "
        f"{len(arrows):,} parcels were sent between them, {drawn}."
    )
    height = float(np.clip(1.6 + 0.34 * (len(lanes) + gap * len(middles)), 2.2, 8.0))
    alt = "Tasks on the workers of each process, over time."
    return Picture("job_timeline", "Timeline of the job", caption, (9.6, height), draw, alt)


most_arrows = 80


def _arrows_within(parcels, first: float, last: float) -> list:
    """[(sent, received, from, to)] of parcels that were sent and received in that span."""
    if parcels is None or len(parcels) == 0:
        return []
    columns = [parcels.numbers(key) for key in ("sent_s", "received_s", "from", "to")]
    return [
        (sent, received, int(source), int(target))
        for sent, received, source, target in zip(*columns)
        if first <= sent and received <= last
    ]


def concurrency_picture(table, kinds: list, workers: int) -> Picture:
    """How many workers were in tasks of each kind, as areas on top of each other."""
    time = table.numbers("time_s")
    columns = [name for name in table.names() if name not in ("time_s", "running")]
    shown = [name for name in kinds if name in columns]
    rest = np.zeros(len(time))
    for name in columns:
        if name not in shown:
            rest = rest + table.numbers(name)
    factor, unit = _unit(float(time[-1] - time[0]))
    x = factor * (time - time[0])

    def draw(figure, theme) -> None:
        axes = figure.add_subplot()
        colours = colours_of(kinds, theme)
        areas = [table.numbers(name) for name in shown] + [rest]
        fills = [colours[name] for name in shown] + [theme.muted]
        axes.stackplot(x, areas, colors=fills, labels=[*shown, "others"], linewidth=0)
        axes.axhline(workers, color=theme.ink, linewidth=0.8, linestyle=(0, (4, 3)))
        axes.set_xlim(0, float(x[-1]))
        axes.set_ylim(0, 1.08 * workers)
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel(f"time [{unit}]")
        axes.set_ylabel("workers in tasks")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.3, ncols=6, handlelength=1)

    mean = float(np.mean(table.numbers("running")))
    caption = f"On average {mean:.2f} of {workers} workers were in tasks; the dashed line is all of them."
    return Picture("concurrency", "Concurrency", caption, (9.6, 2.9), draw, "Workers in tasks by kind, over time.")


def scatter_picture(table, kinds: list) -> Picture:
    """A point per task: when it began and how long it took."""
    single = np.array([str(kind) == "task" for kind in table["kind"]])
    begin, value = table.numbers("begin_s")[single], np.maximum(table.numbers("value")[single], 1e-9)
    names = np.array([str(name) for name in table["name"]])[single]
    first = float(np.min(begin))
    factor, unit = _unit(float(np.max(begin) - first))

    def draw(figure, theme) -> None:
        axes = figure.add_subplot()
        colours = colours_of(kinds, theme)
        for name in [None, *reversed(kinds)]:
            mine = ~np.isin(names, kinds) if name is None else names == name
            if np.any(mine):
                label = "others" if name is None else name
                colour = theme.muted if name is None else colours[name]
                axes.plot(
                    factor * (begin[mine] - first),
                    value[mine],
                    ".",
                    markersize=2.2,
                    color=colour,
                    label=label,
                    alpha=0.7,
                )
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda v, _: seconds(v))
        axes.yaxis.set_minor_formatter(lambda v, _: "")
        axes.grid(axis="y")
        axes.set_xlabel(f"time [{unit}]")
        axes.set_ylabel("length of the task")
        axes.legend(
            loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.3, ncols=6, handlelength=1, markerscale=4,
            reverse=True,
        )  # fmt: skip

    caption = (
        f"{np.count_nonzero(single):,} tasks; a task type with a wide or rising cloud varies in length."
    )
    return Picture("scatter", "Length of tasks", caption, (9.6, 3.2), draw, "Length of single tasks over time.")
