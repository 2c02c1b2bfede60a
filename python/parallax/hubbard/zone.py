"""Quantities of cluster momenta drawn on their patches of the Brillouin zone."""

from __future__ import annotations

import math

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize

most_with_errors = 8  # momenta


def draw_zone(figure, axes, theme, patch, points, values, colours) -> None:
    """points: [(kx, ky)]; values: [(value, its error or NaN)]; patch: corners [n, 2] about a momentum; colours: a colormap."""
    patch = np.array(patch, dtype=float)
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


def patch_of(points) -> np.ndarray:
    """Corners [n, 2] of the part of the zone that is nearer to a momentum than to the others, about the momentum; O(n)."""
    corner = 1.5 * math.pi
    polygon = [np.array(at) for at in ((-corner, -corner), (corner, -corner), (corner, corner), (-corner, corner))]
    shifts = [2 * math.pi * np.array([i, j]) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    others = [np.subtract(point, points[0]) + shift for point in points for shift in shifts]
    for other in sorted((k for k in others if k @ k > 1e-9), key=lambda k: float(k @ k)):
        limit = 0.5 * float(other @ other)  # of k . other, on the line in the middle
        clipped = []
        for a, b in zip(polygon, [*polygon[1:], polygon[0]]):
            from_a, from_b = float(a @ other) - limit, float(b @ other) - limit
            if from_a <= 1e-9:
                clipped.append(a)
            if (from_a < -1e-9 and from_b > 1e-9) or (from_a > 1e-9 and from_b < -1e-9):
                clipped.append(a + (b - a) * (from_a / (from_a - from_b)))
        polygon = clipped
    return np.array(polygon)
