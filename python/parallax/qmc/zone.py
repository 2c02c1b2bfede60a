"""Quantities of the cluster's momenta drawn on their patches of the Brillouin zone."""

from __future__ import annotations

import numpy as np

from ..hubbard.momenta import column
from ..hubbard.zone import draw_zone, most_with_errors
from ..picture import Picture
from ..text import plural
from .run import DcaRun


def zone_picture(run: DcaRun) -> Picture:
    """Occupation, G and scattering at the lowest frequency, and spin susceptibility at the last temperature."""
    cluster, momenta = run.cluster, run.of_last_temperature(run.momenta)
    green = run.of_last_temperature(run.green)
    lowest = column(green, "w") == column(green, "w").min()

    def minus(name: str) -> list:
        """The values of -NAME at the lowest frequency with their errors, in the order of `points`."""
        rows = zip(*(column(green, key)[lowest] for key in ("kx", "ky", name, f"{name}_error")))
        found = {(x, y): (-v, e) for x, y, v, e in rows}
        return [found[k] for k in points]

    points = list(zip(column(momenta, "kx"), column(momenta, "ky")))
    panels = [
        ("occupation n(K)", [*zip(column(momenta, "occupation"), column(momenta, "occupation_error"))], "viridis"),
        ("−Im G(K, iπT)  [1/t]", minus("g_im"), "cividis"),
        ("scattering −Im Σ(K, iπT)  [t]", minus("self_energy_im"), "inferno"),
    ]
    spin = column(momenta, "spin_susceptibility")
    if np.all(np.isfinite(spin)):
        errors = column(momenta, "spin_susceptibility_error")
        panels.append(("spin susceptibility χ(Q)  [1/t]", [*zip(spin, errors)], "magma"))
    t = float(column(momenta, "t")[0])

    def draw(figure, theme) -> None:
        rows = 1 if len(panels) < 4 else 2
        for axes, (title, values, colours) in zip(figure.subplots(rows, (len(panels) + 1) // rows).flat, panels):
            draw_zone(figure, axes, theme, cluster["patch"], points, values, colours)
            axes.set_title(title)

    errors = "errors are in parentheses" if len(points) <= most_with_errors else "errors are in momenta.csv and green.csv"
    caption = (
        f"At T = {t:g} t. Each patch of the zone has the value of its cluster momentum (dot); {errors}. {plural(len(points), 'site')}."
    )
    return Picture("zone", "Across the Brillouin zone", caption, (10.4, 4.1 if len(panels) < 4 else 8.0), draw, "Patches of the Brillouin zone.")
