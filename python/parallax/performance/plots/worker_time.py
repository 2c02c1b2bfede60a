"""Where the time of the workers went."""

from __future__ import annotations

import numpy as np

from ...picture import Picture
from ...text import percent

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
            axes.barh(
                np.arange(count),
                parts[use],
                left=left,
                height=0.66,
                color=colours[use],
                label=use,
                edgecolor=theme.paper,
                linewidth=0.6,
            )
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
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.3, ncols=4)

    caption = (
        "Tasks: inside the application's functions. Overhead: creating, switching and scheduling them. "
        "Background: polling for other work. Idle: nothing was ready."
    )
    return Picture("workers", "Workers", caption, (9.6, height), draw, "Stacked bars of time per worker.")


def _write_shares(axes, values, left, whole, colour, theme) -> None:
    for row, (value, start, total) in enumerate(zip(values, left, whole)):
        if value > 0.04 * float(np.max(whole)):
            ink = theme.paper if theme.name == "dark" and colour == "#ffffff" else colour
            axes.text(
                start + value / 2, row, f"{100 * value / total:.3g} %", ha="center", va="center", fontsize=8, color=ink
            )


def idle_picture(evidence) -> Picture | None:
    """The share of the workers' time in tasks, managing them and idle, between samples; None without samples."""
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
        axes.step(middle, 100 * shares[1], where="mid", color=theme.series[3], label="managing tasks", linewidth=1.1)
        axes.set_ylim(0, 100)
        axes.set_xlim(float(middle[0]), float(middle[-1]))
        axes.grid(axis="y")
        axes.set_xlabel("time [s]")
        axes.set_ylabel("% of the workers' time")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.3, ncols=2)

    idle = float(np.sum(gained[2]) / np.sum(whole))
    caption = f"Share of all workers' time without a ready task, between samples; {percent(idle)} in all."
    return Picture("idle", "Idle rate", caption, (9.6, 2.5), draw, "Idle rate over time.")
