"""Where the time of the workers went."""

from __future__ import annotations

import numpy as np

from ..analysis import time_uses
from .picture import Picture

_names = {"tasks": "tasks", "overhead": "overhead", "background": "background", "idle": "idle"}


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
                label=_names[use],
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
