"""Quantities of the cluster's momenta drawn on their patches of the Brillouin zone."""

from __future__ import annotations

import math

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize

from ..picture import Picture
from .run import DcaRun, column


most_with_errors = 8  # momenta


def zone_picture(run: DcaRun) -> Picture:
    """Occupation, scattering and spin susceptibility at the last temperature."""
    cluster, momenta = run.cluster, run.of_last_temperature(run.momenta)
    green = run.of_last_temperature(run.green)
    lowest = column(green, "w") == column(green, "w").min()
    sigma = {
        (x, y): (-v, e)
        for x, y, v, e in zip(
            column(green, "kx")[lowest], column(green, "ky")[lowest], column(green, "self_energy_im")[lowest],
            column(green, "self_energy_im_error")[lowest],
        )
    }
    points = list(zip(column(momenta, "kx"), column(momenta, "ky")))
    panels = [
        ("occupation n(K)", [*zip(column(momenta, "occupation"), column(momenta, "occupation_error"))], "viridis"),
        ("scattering −Im Σ(K, iπT)  [t]", [sigma[k] for k in points], "inferno"),
    ]
    spin = column(momenta, "spin_susceptibility")
    if np.all(np.isfinite(spin)):
        errors = column(momenta, "spin_susceptibility_error")
        panels.append(("spin susceptibility χ(Q)  [1/t]", [*zip(spin, errors)], "magma"))
    t = float(column(momenta, "t")[0])

    def draw(figure, theme) -> None:
        for axes, (title, values, colours) in zip(figure.subplots(1, len(panels)), panels):
            _draw_zone(figure, axes, theme, cluster, points, values, colours)
            axes.set_title(title)

    errors = "errors are in parentheses" if len(points) <= most_with_errors else "errors are in momenta.csv and green.csv"
    caption = (
        f"At T = {t:g} t. Each patch of the zone has the value of its cluster momentum (dot); {errors}. {len(points)} sites."
    )
    return Picture("zone", "Across the Brillouin zone", caption, (10.4, 4.1), draw, "Patches of the Brillouin zone.")


def _draw_zone(figure, axes, theme, cluster, points, values, colours) -> None:
    patch = np.array(cluster["patch"], dtype=float)
    numbers = np.array([value for value, _ in values])
    low, high = float(numbers.min()), float(numbers.max())
    if high - low < 1e-9 * max(1.0, abs(high)):
        low, high = low - 0.5, high + 0.5
    colour = colormaps[colours]
    shades = Normalize(low - 0.08 * (high - low), high + 0.02 * (high - low))
    polygons, faces = [], []
    for (x, y), value in zip(points, numbers):
        for i in (-2, -1, 0, 1):
            for j in (-2, -1, 0, 1):
                polygon = patch + [x + 2 * math.pi * i, y + 2 * math.pi * j]
                if np.all(polygon.max(axis=0) > -math.pi) and np.all(polygon.min(axis=0) < math.pi):
                    polygons.append(polygon)
                    faces.append(colour(shades(value)))
    axes.add_collection(PolyCollection(polygons, facecolors=faces, edgecolors=theme.paper, linewidths=1.2))
    few = len(points) <= most_with_errors
    for (x, y), (value, error) in zip(points, values):
        for i in (-1, 0):
            for j in (-1, 0):
                at = np.array([x + 2 * math.pi * i, y + 2 * math.pi * j])
                if np.all(np.abs(at) <= math.pi + 1e-9):
                    text = with_error(value, error) if few else f"{value:.2f}" if len(points) <= 40 else ""
                    _mark(axes, at, text, 7.5 if few else 6.5, colour(shades(value)))
    ticks = [-math.pi, 0, math.pi]
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(ticks, ["−π", "0", "π"])
    axes.set(xlim=(-math.pi, math.pi), ylim=(-math.pi, math.pi), aspect="equal", xlabel="$k_x$", ylabel="$k_y$")
    bar = figure.colorbar(ScalarMappable(shades, colour), ax=axes, location="bottom", aspect=30, shrink=0.8)
    bar.outline.set_linewidth(0.5)


def _mark(axes, at, text, size, face) -> None:
    ink = "#101010" if 0.299 * face[0] + 0.587 * face[1] + 0.114 * face[2] > 0.5 else "#ffffff"
    other = "#ffffff" if ink == "#101010" else "#101010"
    axes.plot(*at, "o", color=ink, markeredgecolor=other, markeredgewidth=0.6, markersize=4, clip_on=False, zorder=5)
    # Text at the edge of the zone is moved inside.
    x_at, y_at = (("center", 0) if abs(c) < 3 else (("right", -6) if c > 0 else ("left", 6)) for c in at)
    up = 5 if at[1] < 3 else -5
    axes.annotate(
        text, at, (x_at[1], up), textcoords="offset points", ha=x_at[0], va="bottom" if up > 0 else "top",
        fontsize=size, color=ink,
    )


def with_error(value: float, error: float) -> str:
    """0.9512(13): the error in units of the last digit."""
    if not math.isfinite(value):
        return "-"
    if not math.isfinite(error) or error <= 0:
        return f"{value:.4g}"
    digits = max(0, 1 - math.floor(math.log10(error)))
    if digits == 0:
        return f"{value:.0f}({error:.0f})"
    return f"{value:.{digits}f}({round(error * 10**digits)})"
