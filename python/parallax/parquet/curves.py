"""Curves of a run of plx-parquet: self-energy, susceptibilities, eigenvalues, convergence, extrapolation, time."""

from __future__ import annotations

import math

import numpy as np

from ..hubbard.momenta import column, momentum_text
from ..hubbard.zone import draw_zone, patch_of
from ..picture import Picture
from .run import ParquetRun, by_frequencies, channels, groups, last_of

most_groups = 6  # as many as there are colours
kinds = {"charge": "charge", "spin": "spin", "pair": "pairs"}
dashes = (0, (4, 3))


def label(group) -> str:
    """(π, 0), with ×2 when it stands for two momenta."""
    return momentum_text(group.x, group.y) + (f" ×{len(group.points)}" if len(group.points) > 1 else "")


def zone_picture(run: ParquetRun) -> Picture:
    """Scattering, spin susceptibility and the leading eigenvalue of each transfer."""
    n, sigma = last_of(run.self_energy)
    _, chi = last_of(run.susceptibility)
    _, lead = last_of(run.eigenvalues)
    lowest, static = column(sigma, "w") == column(sigma, "w").min(), column(chi, "w") == 0
    points = list(zip(column(chi, "qx")[static], column(chi, "qy")[static]))
    names = np.asarray(lead["channel"])
    most = names[int(np.argmax(column(lead, "eigenvalue")))]
    of_channel = names == most
    best = extrapolated_of(run)

    def values(kind, x, y, plain, sign=1.0):
        of = {k: (sign * v, math.nan) for k, v in zip(zip(x, y), plain)}
        of.update({(kx, ky): (sign * v, e) for (name, kx, ky), (v, e) in best.items() if name == kind})
        # Errors that the digits of a patch do not show are left to the table.
        return [(v, e if e > 1e-3 * abs(v) else math.nan) for v, e in (of[k] for k in points)]

    rate = [column(sigma, name)[lowest] for name in ("kx", "ky", "self_energy_im")]
    panels = [
        ("scattering −Im Σ(K, iπT)  [t]", values("self_energy_im", *rate, -1), "inferno"),
        (
            "spin susceptibility χ(Q)  [1/t]",
            values("spin_susceptibility", *zip(*points), column(chi, "spin")[static]), "magma",
        ),
        (
            f"leading eigenvalue, {most}, of Q",
            values("", *(column(lead, name)[of_channel] for name in ("qx", "qy", "eigenvalue"))), "viridis",
        ),
    ]
    patch = patch_of(points)

    def draw(figure, theme) -> None:
        for axes, (title, shown, colours) in zip(figure.subplots(1, 3), panels):
            draw_zone(figure, axes, theme, patch, points, shown, colours)
            axes.set_title(title)

    source = "extrapolated in the number of frequencies" if is_extrapolated(best) else f"of {n} frequencies"
    caption = f"Each patch of the zone has the value of its cluster momentum (dot). Σ and χ are {source}; "
    caption += "at eigenvalue 1 χ would diverge."
    return Picture("zone", "Across the Brillouin zone", caption, (10.4, 4.1), draw, "Patches of the Brillouin zone.")


def extrapolated_of(run: ParquetRun) -> dict:
    """{(quantity, kx, ky): (value, error)}"""
    table = run.extrapolated
    if table is None:
        return {}
    numbers = (column(table.columns, name) for name in ("kx", "ky", "value", "error"))
    return {(str(name), x, y): (v, e) for name, x, y, v, e in zip(table["quantity"], *numbers)}


def is_extrapolated(best: dict) -> bool:
    """Values of one number of frequencies have infinite errors."""
    return any(math.isfinite(error) for _, error in best.values())


def self_energy_picture(run: ParquetRun) -> Picture:
    """Sigma over frequencies for momenta that symmetries do not relate, and its distance from the exact one."""
    n, rows = last_of(run.self_energy)
    shown = groups(rows, "kx", "ky", ("self_energy_re", "self_energy_im"))[:most_groups]
    w, exact = column(rows, "w"), "exact_re" in rows
    last = max(16.5 * float(w.min()), 10.0)
    parts = [("Re Σ(K, iω)  [t]", "re"), ("Im Σ(K, iω)  [t]", "im")]

    def draw(figure, theme) -> None:
        lines = figure.subplots(2 if exact else 1, 2, sharex=True, squeeze=False, height_ratios=[1.5, 1] if exact else None)
        for at, (title, part) in enumerate(parts):
            for i, group in enumerate(shown):
                here, colour = group.rows & (w <= last), theme.series[i]
                value = column(rows, f"self_energy_{part}")[here]
                lines[0, at].plot(w[here], value, "o", markersize=3.4, color=colour, label=label(group))
                if exact:
                    known = column(rows, f"exact_{part}")[here]
                    lines[0, at].plot(w[here], known, "-", linewidth=1.1, color=colour, alpha=0.75)
                    lines[1, at].plot(w[here], value - known, "o-", markersize=2.6, linewidth=0.9, color=colour)
                else:
                    lines[0, at].plot(w[here], value, "-", linewidth=0.8, color=colour, alpha=0.6)
            lines[0, at].set_title(title)
            if exact:
                lines[1, at].set_title("parquet − exact  [t]")
            _flat(lines[:, at], shown, rows, part)
            for axes in lines[:, at]:
                axes.axhline(0, color=theme.muted, linewidth=0.7)
                axes.grid(True)
                axes.set_xlim(0, last)
            lines[-1, at].set_xlabel("frequency ω / t")
        if exact:
            lines[0, 1].plot([], [], "-", color=theme.ink, linewidth=1.1, label="lines: exact")
        lines[0, 1].legend(title="K", loc="lower right", ncols=2 if len(shown) > 3 else 1)

    beside = "Dots: parquet; lines: exact diagonalization." if exact else "Exact diagonalization is limited to four sites."
    caption = f"Self-energy over Matsubara frequencies, of {n} frequencies of the vertices. {beside}"
    return Picture("self_energy", "Self-energy", caption, (10.4, 6.2 if exact else 3.8), draw, "Sigma over frequency.")


def _flat(lines, shown, rows, part) -> None:
    """Values that are zero but for rounding would fill the panel."""
    largest = max(float(np.max(np.abs(column(rows, f"self_energy_{part}")[group.rows]))) for group in shown)
    if largest < 1e-9:
        for axes in lines:
            axes.set_ylim(-0.1, 0.1)


def _bars(axes, theme, at: int, of: int, values, name: str) -> np.ndarray:
    """Bars `at` of `of` in each group; returns their middles."""
    x = np.arange(len(values)) + 0.8 * ((at + 0.5) / of - 0.5)
    axes.bar(x, values, 0.8 / of * 0.9, color=theme.series[at], label=name)
    return x


def _momentum_axis(axes, shown) -> None:
    many = len(shown) > 4
    axes.set_xticks(range(len(shown)), [label(group) for group in shown], fontsize=7.5 if many else 8.5)
    axes.tick_params(axis="x", length=0)
    axes.axhline(0, color=axes.spines["left"].get_edgecolor(), linewidth=0.7)
    axes.grid(axis="y")
    half = 0.6 if len(shown) > 1 else 1.6
    axes.set_xlim(-half, len(shown) - 1 + half)


def eigenvalue_picture(run: ParquetRun) -> Picture:
    """The leading eigenvalue of each channel and transfer."""
    n, rows = last_of(run.eigenvalues)
    names, value = np.asarray(rows["channel"]), column(rows, "eigenvalue")
    shown = groups(rows, "qx", "qy", ("eigenvalue",))

    def draw(figure, theme) -> None:
        axes = figure.subplots()
        for i, c in enumerate(channels):
            _bars(axes, theme, i, 4, [value[group.rows & (names == c)][0] for group in shown], c)
        axes.axhline(1, color=theme.muted, linewidth=0.9, linestyle=dashes)
        _momentum_axis(axes, shown)
        axes.set(xlabel="transfer Q", ylabel="eigenvalue")
        axes.set_ylim(min(0.0, 1.1 * float(value.min())), max(1.06, 1.06 * float(value.max())))
        axes.legend(loc="upper left", bbox_to_anchor=(0, 0.95), ncols=4)

    most = int(np.argmax(value))
    where = momentum_text(column(rows, "qx")[most], column(rows, "qy")[most])
    caption = (
        f"Leading eigenvalue of Γ G G at w = 0, of {n} frequencies. At 1, the dashed line, the susceptibility of the channel "
        f"would diverge. The largest is {value[most]:.4f}, {names[most]} at {where}."
    )
    alt = "Eigenvalues of channels and momenta."
    return Picture("eigenvalues", "Distance from instabilities", caption, (10.4, 3.5), draw, alt)


def susceptibility_picture(run: ParquetRun) -> Picture:
    """Static susceptibilities beside exact ones, and over the transferred frequency."""
    n, rows = last_of(run.susceptibility)
    values = {"charge": column(rows, "charge"), "spin": column(rows, "spin"), "pair": column(rows, "pair_re")}
    shown, w = groups(rows, "qx", "qy", ("charge", "spin", "pair_re")), column(rows, "w")
    best, table = extrapolated_of(run), run.extrapolated
    exact = {}
    if table is not None and "exact" in table:
        exact = {key: v for key, v in zip(best, column(table.columns, "exact"))}

    def draw(figure, theme) -> None:
        top, below = figure.subfigures(2, 1, height_ratios=[1.05, 1])
        axes = top.subplots()
        for i, (kind, name) in enumerate(kinds.items()):
            plain = [values[kind][group.rows & (w == 0)][0] for group in shown]
            at = [(f"{kind}_susceptibility", group.x, group.y) for group in shown]
            bars = [best.get(key, (v, 0.0)) for key, v in zip(at, plain)]
            x = _bars(axes, theme, i, 3, [v for v, _ in bars], name)
            errors = [e if math.isfinite(e) else 0 for _, e in bars]
            axes.errorbar(x, [v for v, _ in bars], errors, fmt="none", ecolor=theme.ink, elinewidth=0.9)
            known = [exact.get(key, math.nan) for key in at]
            if np.any(np.isfinite(known)):
                style = {"color": theme.paper, "markeredgecolor": theme.ink, "markersize": 4.5}
                axes.plot(x, known, "D", label="exact" if i == 2 else None, **style)
        _momentum_axis(axes, shown)
        axes.set_title("static susceptibilities χ(Q)  [1/t]")
        axes.legend(loc="upper left", ncols=4)
        axes.margins(y=0.2)
        for axes, (kind, name) in zip(below.subplots(1, 3), kinds.items()):
            for i, group in enumerate(shown[:most_groups]):
                style = {"markersize": 3, "linewidth": 1, "color": theme.series[i], "label": label(group)}
                axes.plot(w[group.rows], values[kind][group.rows], "o-", **style)
            axes.axhline(0, color=theme.muted, linewidth=0.7)
            axes.grid(True)
            axes.set(xlabel="transfer ω / t")
            axes.set_title(f"{name}, χ(Q, iω)  [1/t]")
        axes.legend(title="Q", loc="upper right", fontsize=7.5)

    source = "extrapolated in the number of frequencies" if is_extrapolated(best) else f"of {n} frequencies"
    beside = "; diamonds: exact diagonalization" if exact else ""
    caption = f"Above at ω = 0, {source}{beside}. Below over Matsubara frequencies, of {n} frequencies of the vertices."
    alt = "Susceptibilities over momentum and frequency."
    return Picture("susceptibilities", "Susceptibilities", caption, (10.4, 6.6), draw, alt)


def convergence_picture(run: ParquetRun) -> Picture:
    """Residual of each number of frequencies; eigenvalues and density during the last one."""
    runs, tolerance = by_frequencies(run.iterations), (run.config or {}).get("loop.tolerance")
    n, last = list(runs.items())[-1]

    def draw(figure, theme) -> None:
        first, second, third = figure.subplots(1, 3, width_ratios=[1.35, 1, 1])
        for i, (each, rows) in enumerate(runs.items()):
            style = {"markersize": 2.8, "linewidth": 1, "color": theme.series[i % 6]}
            first.plot(column(rows, "iteration"), column(rows, "residual"), "o-", label=str(each), **style)
            third.plot(column(rows, "iteration"), column(rows, "density"), "o-", **style)
        if tolerance:
            first.axhline(tolerance, color=theme.muted, linewidth=0.9, linestyle=dashes)
        first.set_yscale("log")
        first.legend(title="frequencies", loc="best")
        first.set_title("largest change of a vertex  [U]")
        for i, c in enumerate(channels):
            style = {"markersize": 2.8, "linewidth": 1, "color": theme.series[i], "label": c}
            second.plot(column(last, "iteration"), column(last, f"eigenvalue_{c}"), "o-", **style)
        second.axhline(1, color=theme.muted, linewidth=0.9, linestyle=dashes)
        second.set_title(f"largest eigenvalues, {n} frequencies")
        second.set_ylim(top=max(1.32, 1.3 * second.get_ylim()[1]))
        second.legend(loc="upper right", fontsize=7.5, ncols=2)
        third.set_title("density n")
        density = np.concatenate([column(rows, "density") for rows in runs.values()])
        if np.ptp(density) < 2e-4:
            third.set_ylim(density[-1] - 5e-4, density[-1] + 5e-4)
        for axes in (first, second, third):
            axes.grid(True)
            axes.set_xlabel("iteration")

    ends = f" The dashed line on the left is loop.tolerance = {tolerance:g}." if tolerance else ""
    caption = f"Each number of frequencies starts from the bare vertices.{ends}"
    return Picture("convergence", "Convergence", caption, (10.4, 3.6), draw, "Residual over iterations.")


def extrapolation_picture(run: ParquetRun) -> Picture:
    """Quantities over 1 / frequencies^2, with the line to the extrapolated value."""
    best, panels = extrapolated_of(run), []
    sigma = by_frequencies(run.self_energy)
    _, rows = last_of(run.self_energy)
    for group in groups(rows, "kx", "ky", ("self_energy_re", "self_energy_im"))[:2]:
        title, name = f"Im Σ({momentum_text(group.x, group.y)}, iπT)", "self_energy_im"
        panels.append((title, (name, group.x, group.y), sigma, ("kx", "ky"), name))
    chi = by_frequencies(run.susceptibility) if run.susceptibility is not None else {}
    for kind, name in {"spin": "spin", "charge": "charge", "pair": "pairs"}.items():
        mine = [key for key in best if key[0] == f"{kind}_susceptibility"]
        most = max(mine, key=lambda key: best[key][0], default=None)
        if most and chi:
            title = f"χ {name}, Q = {momentum_text(*most[1:])}"
            panels.append((title, most, chi, ("qx", "qy"), "pair_re" if kind == "pair" else kind))
    exact = dict(zip(best, column(run.extrapolated.columns, "exact"))) if "exact" in run.extrapolated else {}
    converged = run.converged

    def draw(figure, theme) -> None:
        for axes, (title, key, tables, (x, y), name) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels):
            points = []
            for n, rows in tables.items():
                w = column(rows, "w")
                here = (np.isclose(column(rows, x), key[1])) & (np.isclose(column(rows, y), key[2])) & (w == w.min())
                if converged.get(n, True):
                    points.append((n**-2.0, column(rows, name)[here][0]))
            value, error = best[key]
            axes.plot(*zip(*points), "o", color=theme.series[0], markersize=4.5)
            axes.plot([0, points[-1][0]], [value, points[-1][1]], "-", color=theme.series[0], linewidth=1, alpha=0.7)
            if math.isfinite(error):
                axes.errorbar([0], [value], [error], fmt="s", color=theme.series[1], markersize=4.5, capsize=3, elinewidth=1.1)
            axes.set_xlim(-0.06 * points[0][0], 1.1 * points[0][0])
            axes.set_xlabel("1 / frequencies²")
            axes.grid(True)
            axes.margins(y=0.18)
            axes.locator_params(axis="x", nbins=4)
            axes.locator_params(axis="y", nbins=5)
            axes.tick_params(labelsize=7)
            known = exact.get(key, math.nan)
            axes.set_title(title + (f"\nexact {known:.5g}" if math.isfinite(known) else ""), fontsize=8.5)

    caption = (
        "Dots: runs with this number of frequencies. Square: the extrapolation a + b / frequencies² through the last two, and "
        "its error, the distance from the extrapolation without the last. The distance from the exact value is that of the "
        "parquet approximation."
    )
    return Picture("extrapolation", "More frequencies", caption, (10.4, 3.1), draw, "Results over the number of frequencies.")


def time_picture(run: ParquetRun) -> Picture:
    """Seconds of each iteration, with the part of the rotations; what they sent, in how large messages, and the share of those
    in the time."""
    rows = {name: np.asarray(run.iterations[name]) for name in run.iterations.names()}
    n, seconds, rotation = (column(rows, name) for name in ("frequencies", "seconds", "rotation_seconds"))
    sent, x = column(rows, "sent_mb"), np.arange(1, len(n) + 1)
    network = []  # (title, values) of the panels below
    if np.any(sent > 0):
        network.append(("sent by all processes  [MB]", sent))
        if "network_overhead" in rows:
            network.append(("share of messages in the busy time  [%]", 100 * column(rows, "network_overhead")))
        messages = column(rows, "messages")
        if "parcels" in rows and np.any(column(rows, "parcels") > messages):
            network.append(("parcels in a message", column(rows, "parcels") / np.maximum(messages, 1)))
    limits = column(rows, "coalesce_parcels") if "coalesce_parcels" in rows else np.zeros(len(n))

    def draw(figure, theme) -> None:
        lines = figure.subplots(1 + len(network), 1, sharex=True, squeeze=False)[:, 0]
        lines[0].bar(x, seconds, 0.85, color=theme.series[0], label="iteration")
        if np.any(rotation > 0):
            lines[0].bar(x, rotation, 0.85, color=theme.series[1], label="of it rotations")
            lines[0].legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2, ncols=2)
        lines[0].set_title("wall time  [s]")
        for axes, (title, values) in zip(lines[1:], network):
            axes.bar(x, values, 0.85, color=theme.series[2])
            limited = title.startswith("parcels") and np.any(limits > 1)
            axes.set_title(title + ("; line: at most, as set or chosen" if limited else ""))
            if limited:
                axes.step(x, np.where(limits > 1, limits, np.nan), where="mid", color=theme.series[1])
                axes.set_yscale("log")
        top = lines[0].get_ylim()[1]
        for each in np.unique(n):
            mine = x[n == each]
            style = {"ha": "center", "va": "top", "fontsize": 8, "color": theme.muted}
            lines[0].annotate(f"{each:g} frequencies", (mine.mean(), 1.06 * top), **style)
            for axes in lines:
                axes.axvline(mine[-1] + 0.5, color=theme.grid, linewidth=1)
        lines[0].set_ylim(0, 1.2 * top)
        for axes in lines:
            axes.set_xlim(0.4, len(n) + 0.6)
            axes.grid(axis="y")
        lines[-1].set_xlabel("iteration")

    caption = "Time of each iteration on process 0, and the messages of all." if network else "Time of each iteration."
    size = (10.4, 2.7 + 1.5 * len(network))
    return Picture("time", "Time of an iteration", caption, size, draw, "Seconds per iteration.")
