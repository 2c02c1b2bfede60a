"""Figures of measured time: single tasks over time, and where the time of the workers went. Plain data in, Picture objects
out; nothing here reads files."""

from __future__ import annotations

import numpy as np

from ..picture import Picture
from ..text import percent, plural, seconds

most_kinds = 5  # with a colour of their own; the others share the last
bars_of_a_row = 250  # more cannot be distinguished


def kinds_of(names: list, weights) -> list:
    """The kinds with the largest sums of weights, the largest first."""
    sums: dict = {}
    for name, weight in zip(names, weights):
        sums[name] = sums.get(name, 0.0) + float(weight)
    return sorted(sums, key=lambda name: -sums[name])[:most_kinds]


def _unit(span_s: float):
    """(factor, its name) by which a time axis of this length reads well."""
    return (1.0, "s") if span_s >= 2 else (1e3, "ms") if span_s >= 2e-3 else (1e6, "µs")


def _coloured(names, kinds: list, theme):
    """(label, colour, the rows of that kind) of each kind that occurs; the last are the others."""
    for name, colour in [*zip(kinds, theme.series), (None, theme.muted)]:
        mine = ~np.isin(names, kinds) if name is None else names == name
        if np.any(mine):
            yield "others" if name is None else name if len(name) <= 28 else name[:27] + "…", colour, mine


def _legend(axes, columns: int = 6, **more) -> None:
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.3, ncols=columns, handlelength=1, **more)


class _Bars:
    """As many slices as can be distinguished, from the middle of a trace: one row per lane, [(y, label)]."""

    def __init__(self, table, y, lanes: list):
        begin, end = table.numbers("begin_s"), table.numbers("end_s")
        in_order, most = np.sort(begin), bars_of_a_row * len(lanes)
        at = max(0, (len(begin) - most) // 2)
        self.first, last = float(in_order[at]), float(in_order[min(at + most, len(begin)) - 1])
        shown = (end > self.first) & (begin <= last)
        self.begin, self.end, self.y = np.maximum(begin[shown], self.first), end[shown], np.asarray(y)[shown]
        self.names = np.array([str(name) for name in table["name"]])[shown]
        self.last, self.lanes = float(np.max(self.end)), lanes
        self.factor, self.unit = _unit(self.last - self.first)

    @property
    def span(self) -> str:
        return f"{len(self.begin):,} slices of tasks"

    def at(self, time_s):
        return self.factor * (time_s - self.first)

    def draw(self, axes, kinds: list, theme, columns: int) -> None:
        axes.set_facecolor(theme.paper)
        for label, colour, mine in _coloured(self.names, kinds, theme):
            for row in np.unique(self.y[mine]):
                here = mine & (self.y == row)
                bars = np.column_stack((self.at(self.begin[here]), self.factor * (self.end[here] - self.begin[here])))
                axes.broken_barh(bars, (row - 0.4, 0.8), facecolors=colour, edgecolors=theme.paper, linewidth=0.15)
            axes.bar(0, 0, color=colour, label=label)
        step = max(1, len(self.lanes) // 16)
        axes.set_yticks(*zip(*self.lanes[::step]))
        axes.set_ylim(self.lanes[-1][0] + 0.6, self.lanes[0][0] - 0.6)
        axes.set_xlim(0, self.at(self.last))
        axes.set_xlabel(f"time from {seconds(self.first)} of the run on [{self.unit}]")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        _legend(axes, columns)


def timeline_picture(table, kinds: list) -> Picture:
    """A row per worker and per stream of a device that has slices, a bar per slice of a task or operation."""
    worker = table.numbers("worker").astype(int)
    rows, y = np.unique(worker, return_inverse=True)
    names = {int(row): f"worker {row}" for row in rows}
    if "device" in table.columns:
        names.update({int(row): str(name) for row, name in zip(worker, table["device"]) if str(name) not in ("", "nan")})
    labels = [names[int(row)] for row in rows]
    hidden = int(rows[-1]) + 1 - len(rows)
    bars = _Bars(table, y, list(enumerate(labels)))
    height = float(np.clip(1.4 + 0.34 * len(labels), 2.0, 7.0))
    caption = f"{bars.span} in {seconds(bars.last - bars.first)}; empty parts are idle time or task management."
    idle = f"{plural(hidden, 'row')} without slices {'is' if hidden == 1 else 'are'} not shown"
    if hidden:
        caption += f" {idle}."

    def draw(figure, theme) -> None:
        axes = figure.add_subplot()
        bars.draw(axes, kinds, theme, 6)
        if hidden:
            axes.set_xlabel(f"{axes.get_xlabel()}; {idle}")

    return Picture("timeline", "Timeline", caption, (9.6, height), draw, "Tasks on each worker, over time.")


def job_timeline_picture(table, parcels=None) -> Picture:
    """Rows of workers, grouped by locality, and an arrow per parcel if they are few. Coloured task types are those with
    most of the time shown."""
    places = list(zip(table.numbers("locality").astype(int).tolist(), table.numbers("worker").astype(int).tolist()))
    lanes, gap = sorted(set(places)), 0.6  # between localities
    y_of = {lane: i + gap * len({l for l, _ in lanes[: i + 1]}) for i, lane in enumerate(lanes)}
    bars = _Bars(table, [y_of[p] for p in places], [(y_of[lane], "locality {}, worker {}".format(*lane)) for lane in lanes])
    kinds = kinds_of(bars.names.tolist(), bars.end - bars.begin)
    rows = {l: [y_of[lane] for lane in lanes if lane[0] == l] for l, _ in lanes}
    # A locality whose slices are all outside of what is shown has no lane.
    arrows = [a for a in _arrows_within(parcels, bars.first, bars.last) if a[2] in rows and a[3] in rows]

    def draw(figure, theme) -> None:
        axes = figure.add_subplot()
        bars.draw(axes, kinds, theme, 4)
        style = {"arrowstyle": "-|>", "color": theme.ink, "linewidth": 0.6, "mutation_scale": 5, "shrinkA": 0, "shrinkB": 0}
        for sent, received, source, target in arrows if len(arrows) <= most_arrows else []:
            up = np.mean(rows[source]) > np.mean(rows[target])
            tail = min(rows[source]) - 0.4 if up else max(rows[source]) + 0.4
            head = max(rows[target]) + 0.4 if up else min(rows[target]) - 0.4
            axes.annotate("", xy=(bars.at(received), head), xytext=(bars.at(sent), tail), arrowprops=style)

    drawn = "each drawn as an arrow" if len(arrows) <= most_arrows else "too many to draw"
    caption = (
        f"{bars.span} of all processes in {seconds(bars.last - bars.first)}, on one time axis; "
        f"{plural(len(arrows), 'parcel')} {'was' if len(arrows) == 1 else 'were'} sent between them, {drawn}."
    )
    height = float(np.clip(1.6 + 0.34 * (len(lanes) + gap * len(rows)), 2.2, 8.0))
    alt = "Tasks on the workers of each process, over time."
    return Picture("job_timeline", "Timeline of the job", caption, (9.6, height), draw, alt)


most_arrows = 80


def _arrows_within(parcels, first: float, last: float) -> list:
    """[(sent, received, from, to)] of parcels that were sent and received in that span."""
    if parcels is None or len(parcels) == 0:
        return []
    columns = [parcels.numbers(key) for key in ("sent_s", "received_s", "from", "to")]
    return [(s, r, int(source), int(target)) for s, r, source, target in zip(*columns) if first <= s and r <= last]


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
        colours = dict(zip(kinds, theme.series))
        areas = [table.numbers(name) for name in shown] + [rest]
        fills = [colours[name] for name in shown] + [theme.muted]
        axes.stackplot(x, areas, colors=fills, labels=[*shown, "others"], linewidth=0)
        axes.axhline(workers, color=theme.ink, linewidth=0.8, linestyle=(0, (4, 3)))
        axes.set_xlim(0, float(x[-1]))
        axes.set_ylim(0, 1.08 * workers)
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel(f"time [{unit}]")
        axes.set_ylabel("workers in tasks")
        _legend(axes)

    mean = float(np.mean(table.numbers("running")))
    caption = f"On average {mean:.2f} of {plural(workers, 'worker')} were in tasks; the dashed line is all of them."
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
        for label, colour, mine in reversed(list(_coloured(names, kinds, theme))):
            x = factor * (begin[mine] - first)
            axes.plot(x, value[mine], ".", markersize=2.2, color=colour, label=label, alpha=0.7)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda v, _: seconds(v))
        axes.yaxis.set_minor_formatter(lambda v, _: "")
        axes.grid(axis="y")
        axes.set_xlabel(f"time [{unit}]")
        axes.set_ylabel("length of the task")
        _legend(axes, markerscale=4, reverse=True)

    caption = f"{plural(np.count_nonzero(single), 'task')}; a task type with a wide or rising cloud varies in length."
    return Picture("scatter", "Length of tasks", caption, (9.6, 3.2), draw, "Length of single tasks over time.")


time_uses = ("tasks", "overhead", "background", "idle")


def time_shares(workers) -> dict:
    """Share of all workers' time by use: {"tasks": 0.93, ...}, summing to one."""
    sums = {use: float(np.sum(workers.numbers(f"{use}_s"))) for use in time_uses}
    whole = sum(sums.values())
    return {use: value / whole if whole > 0 else 0.0 for use, value in sums.items()}


def workers_picture(workers) -> Picture:
    """One bar per worker: seconds in tasks, in management of tasks, in background work, idle."""
    parts = {use: workers.numbers(f"{use}_s") for use in time_uses}
    count = len(workers)
    labels = [str(int(float(w))) if str(w).replace(".", "").isdigit() else str(w) for w in workers["worker"]]
    height = float(np.clip(1.0 + 0.42 * count, 1.9, 9.0))

    def draw(figure, theme) -> None:
        axes = figure.add_subplot()
        colours = dict(zip(time_uses, (theme.series[0], theme.series[1], theme.series[3], theme.grid)))
        left = np.zeros(count)
        whole = np.maximum(sum(parts.values()), 1e-300)
        for use in time_uses:
            style = {"color": colours[use], "label": use, "edgecolor": theme.paper, "linewidth": 0.6}
            axes.barh(np.arange(count), parts[use], left=left, height=0.66, **style)
            if count <= 24:
                _write_shares(axes, parts[use], left, whole, "#ffffff" if use != "idle" else theme.ink, theme)
            left = left + parts[use]
        step = max(1, count // 24)
        axes.set_yticks(np.arange(0, count, step), [f"worker {label}" for label in labels[::step]])
        axes.invert_yaxis()
        axes.set_xlim(0, float(left.max(initial=1e-9)) or 1.0)
        axes.set_xlabel("seconds")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        _legend(axes, 4)

    caption = (
        "Each worker of this process, over the whole run. Tasks: inside the application's functions. Overhead: creating, switching and scheduling them. "
        "Background: polling for other work. Idle: nothing was ready."
    )
    return Picture("workers", "Workers", caption, (9.6, height), draw, "Stacked bars of time per worker.")


def _write_shares(axes, values, left, whole, colour, theme) -> None:
    for row, (value, start, total) in enumerate(zip(values, left, whole)):
        if value > 0.04 * float(np.max(whole)):
            ink = theme.paper if theme.name == "dark" and colour == "#ffffff" else colour
            text = f"{100 * value / total:.3g} %"
            axes.text(start + value / 2, row, text, ha="center", va="center", fontsize=8, color=ink)


def idle_picture(evidence) -> Picture | None:
    """The share of the workers' time in tasks, searching for them and idle, between samples; None without samples."""
    parts = []
    for use in ("exec", "overhead", "idle"):
        series = evidence.series(f"/threads{{locality#0/total}}/time/{use}")
        if series is None or len(series[0]) < 4:
            return None
        parts.append(series)
    time = parts[0][0]
    gained = np.array([np.maximum(np.diff(values), 0) for _, values in parts])
    whole = np.sum(gained, axis=0)
    known = whole > 0
    if np.count_nonzero(known) < 3:
        return None
    middle = 0.5 * (time[1:] + time[:-1])[known]
    shares = gained[:, known] / whole[known]

    def draw(figure, theme) -> None:
        axes = figure.add_subplot()
        axes.fill_between(middle, 100 * shares[2], color=theme.series[1], alpha=0.25, linewidth=0, step="mid")
        axes.step(middle, 100 * shares[2], where="mid", color=theme.series[1], label="idle")
        axes.step(middle, 100 * shares[1], where="mid", color=theme.series[3], label="searching for tasks", linewidth=1.1)
        axes.set_ylim(0, 100)
        axes.set_xlim(float(middle[0]), float(middle[-1]))
        axes.grid(axis="y")
        axes.set_xlabel("time [s]")
        axes.set_ylabel("% of the workers' time")
        _legend(axes, 2)

    idle = float(np.sum(gained[2]) / np.sum(whole))
    caption = (
        "Share of the time of all workers of this process without a ready task (idle) and searching for one, between one sample "
        f"and the next; idle {percent(idle)} from the first sample, at {time[0]:.3g} s, to the last, at {seconds(time[-1])}. "
        "The diagnosis has the share of the whole run."
    )
    return Picture("idle", "Idle rate", caption, (9.6, 2.5), draw, "Idle rate over time.")
