"""Curves of a run of plx-dca: pairing over temperature, Green's functions, observables, the health of the chains."""

from __future__ import annotations

import numpy as np

from ..hubbard.momenta import column, different_momenta, momentum_text
from ..picture import Picture
from .run import DcaRun


def _bars(axes, x, y, error, **more) -> None:
    axes.errorbar(x, y, yerr=error, fmt="o-", markersize=3.2, linewidth=1.2, elinewidth=1, capsize=2, **more)


def _table(table) -> dict:
    return {name: table[name] for name in table.names()}


def _temperature_axis(axes, t, least_ratio: float = 1.35) -> None:
    axes.set_xscale("log")
    if len(t) > 1:
        axes.set_xlim(min(t) / 1.12, max(t) * 1.12)
    # Labels that would touch are omitted, from the cold side on.
    shown = []
    for value in sorted(t):
        if not shown or value / shown[-1] > least_ratio:
            shown.append(value)
    axes.set_xticks(shown, [f"{value:g}" for value in shown])
    axes.minorticks_off()
    axes.grid(True)


def pairing_picture(run: DcaRun) -> Picture:
    """lambda_d(T) with T_c, and the pairing susceptibilities."""
    rows = _table(run.temperatures)
    t, value, error = (column(rows, name) for name in ("t", "lambda_d", "lambda_d_error"))
    transition = run.transition
    names = {"pairs_d": "d: cos Kx − cos Ky", "pairs_extended_s": "extended s: cos Kx + cos Ky", "pairs_s": "s: 1"}
    shown = {name: label for name, label in names.items() if name in rows and np.any(np.isfinite(column(rows, name)))}

    def draw(figure, theme) -> None:
        axes, *more = figure.subplots(1, 2 if shown else 1, width_ratios=[1.5, 1] if shown else None, squeeze=False)[0]
        axes.axhline(1, color=theme.muted, linewidth=0.9, linestyle=(0, (4, 3)))
        if transition:
            tc, tc_error = transition
            axes.axvspan(tc - tc_error, tc + tc_error, color=theme.series[1], alpha=0.25, linewidth=0)
            axes.axvline(tc, color=theme.series[1], linewidth=1.1)
            axes.annotate(
                f"$T_c$ = {tc:.4f} ± {tc_error:.4f}", (tc, 0.06), (7, 0), xycoords=("data", "axes fraction"),
                textcoords="offset points", color=theme.series[1], fontsize=10,
            )
        _bars(axes, t, value, error, color=theme.series[0])
        _temperature_axis(axes, t, 1.2)
        axes.set(ylim=(0, max(1.1, float(np.nanmax(value + error)) * 1.05)), xlabel="temperature T / t", ylabel="$λ_d$")
        axes.set_title("eigenvalue of the d-wave pairing channel")
        for panel in more:
            for i, (name, label) in enumerate(shown.items()):
                _bars(panel, t, column(rows, name), column(rows, f"{name}_error"), color=theme.series[i], label=label)
            _temperature_axis(panel, t)
            panel.set(xlabel="temperature T / t", ylabel="1/t")
            panel.set_title("pairing susceptibility of the cluster")
            panel.legend(loc="best")

    caption = "The superconducting transition is where λ_d reaches 1. Bars: one standard error, by a jackknife through the whole calculation. "
    caption += (
        f"T_c = {transition[0]:.4f} ± {transition[1]:.4f}, the vertical band." if transition
        else "λ_d is above 1 at the first temperature." if column(rows, "lambda_d")[0] >= 1
        else "λ_d stays below 1 at the temperatures of this run."
    )
    return Picture("pairing", "Towards superconductivity", caption, (10.4, 4.3), draw, "Eigenvalue of pairing over temperature.")


def green_picture(run: DcaRun) -> Picture:
    """G and Sigma over frequencies at the last temperature, for momenta that symmetries do not relate."""
    rows = run.of_last_temperature(run.green)
    momenta = different_momenta(rows)[:6]
    w, t = column(rows, "w"), float(column(rows, "t")[0])
    last = max(8 * np.pi * t * 2, 12.0)
    panels = [
        ("Re G(K, iω)", "g_re"), ("Im G(K, iω)", "g_im"), ("Re Σ(K, iω)", "self_energy_re"), ("Im Σ(K, iω)", "self_energy_im"),
    ]

    def draw(figure, theme) -> None:
        for axes, (title, name) in zip(figure.subplots(2, 2, sharex=True).flat, panels):
            for i, (x, y, here) in enumerate(momenta):
                here = here & (w <= last)
                axes.errorbar(
                    w[here], column(rows, name)[here], yerr=column(rows, f"{name}_error")[here], fmt="o-", markersize=2.6,
                    linewidth=1, elinewidth=0.8, color=theme.series[i % len(theme.series)], label=momentum_text(x, y),
                )
            axes.axhline(0, color=theme.muted, linewidth=0.7)
            axes.grid(True)
            axes.set_title(title)
            axes.set_xlim(0, last)
            if name.startswith("self"):
                axes.set_xlabel("frequency ω / t")
        figure.axes[1].legend(title="K", loc="lower right")

    caption = f"Cluster Green's function and self-energy over Matsubara frequencies at T = {t:g} t, in units of 1/t and t."
    return Picture("green", "Green's function and self-energy", caption, (10.4, 6.2), draw, "G and Sigma over frequency.")


def observables_picture(run: DcaRun) -> Picture:
    """Double occupancy, energy and spin susceptibility over temperature."""
    rows = _table(run.temperatures)
    t = column(rows, "t")
    momenta = _table(run.momenta) if run.momenta is not None else {}

    def draw(figure, theme) -> None:
        first, second, third = figure.subplots(1, 3)
        pairs = {"double_occupancy": "from the expansion order", "double_occupancy_local": "from densities"}
        _lines(first, t, rows, pairs, theme)
        first.set_title("double occupancy D")
        _lines(second, t, rows, {"energy": "total", "kinetic": "kinetic", "potential": "potential"}, theme)
        second.set_title("energy ⟨H + μN⟩ per site  [t]")
        if "spin_susceptibility" in momenta:
            _susceptibilities(third, momenta, theme)
        third.set_title("spin susceptibility χ(Q)  [1/t]")
        for axes in (first, second, third):
            _temperature_axis(axes, t)
            axes.set_xlabel("temperature T / t")
            if axes.get_legend_handles_labels()[0]:
                axes.legend(loc="best")

    caption = "Results of the last iteration of each temperature, with one standard error."
    return Picture("observables", "While it cools", caption, (10.4, 3.7), draw, "Observables over temperature.")


CHANNELS = {
    "magnetic": "spin, magnetic channel", "transverse": "spin, transverse channel", "charge": "charge",
    "particle_particle": "pairs on a site",
}


def transfers_picture(run: DcaRun) -> Picture:
    """Susceptibilities of the lattice and of the cluster over temperature, for each channel and transfer."""
    rows = _table(run.four_points)
    names = [str(name) for name in run.four_points["channel"]]
    channels = [name for name in CHANNELS if name in names]
    t, qx, qy, m = (column(rows, name) for name in ("t", "qx", "qy", "frequency"))

    def draw(figure, theme) -> None:
        for axes, channel in zip(np.atleast_1d(figure.subplots(1, len(channels))), channels):
            here = np.array([name == channel for name in names])
            transfers = sorted({(a, b, c) for a, b, c in zip(qx[here], qy[here], m[here])}, key=lambda x: (x[2], x[0], x[1]))
            for i, (x, y, frequency) in enumerate(transfers[:6]):
                of = here & (qx == x) & (qy == y) & (m == frequency)
                color = theme.series[i % len(theme.series)]
                label = f"{momentum_text(x, y)}" + (f", m = {frequency:.0f}" if frequency else "")
                _bars(axes, t[of], column(rows, "lattice")[of], column(rows, "lattice_error")[of], color=color, label=label)
                axes.plot(t[of], column(rows, "cluster")[of], "--", linewidth=1, color=color)
            _temperature_axis(axes, t)
            axes.set_xlabel("temperature T / t")
            axes.set_title(f"{CHANNELS[channel]}  [1/t]")
            axes.legend(title="q", loc="best")

    caption = "Susceptibilities χ(q, iΩ), Ω = 2πmT, per site: of the lattice by the Bethe-Salpeter equation with the vertex of the cluster "
    caption += "(points, one standard error), and of the cluster (dashed). An instability is where the one of the lattice diverges."
    width = min(10.4, 1.6 + 3.6 * len(channels))
    return Picture("transfers", "Susceptibilities of the lattice", caption, (width, 3.7), draw, "Susceptibilities over temperature.")


def _lines(axes, t, rows, names, theme) -> None:
    for i, (name, label) in enumerate(names.items()):
        if name in rows and np.any(np.isfinite(column(rows, name))):
            _bars(axes, t, column(rows, name), column(rows, f"{name}_error"), color=theme.series[i], label=label)


def _susceptibilities(axes, momenta, theme) -> None:
    t, kx, ky = (column(momenta, name) for name in ("t", "kx", "ky"))
    value, error = column(momenta, "spin_susceptibility"), column(momenta, "spin_susceptibility_error")
    wanted = [k for k in ((0.0, 0.0), (np.pi, 0.0), (np.pi, np.pi)) if np.any(np.isclose(kx, k[0]) & np.isclose(ky, k[1]))]
    for i, (x, y) in enumerate(wanted):
        here = np.isclose(kx, x) & np.isclose(ky, y)
        _bars(axes, t[here], value[here], error[here], color=theme.series[i], label=f"Q = {momentum_text(x, y)}")


def chain_picture(run: DcaRun) -> Picture:
    """Each iteration: expansion order, sign, autocorrelation, convergence, density, time."""
    rows = _table(run.iterations)
    t, config = column(rows, "t"), run.config or {}
    target = config.get("model.density") if config.get("model.adjust_mu") is not False else None
    n = np.arange(1, len(t) + 1)
    starts = [i for i in range(len(t)) if i == 0 or t[i] != t[i - 1]]
    panels = [
        ("order", "mean expansion order ⟨k⟩", None), ("sign", "mean sign", "sign_error"),
        ("autocorrelation_time", "autocorrelation time of k", None),
        ("change", "largest change of Σ(K, iπT)  [t]", None), ("density", "density n", "density_error"),
        ("seconds", "wall time of the iteration  [s]", None),
    ]

    def draw(figure, theme) -> None:
        for at, (axes, (name, title, error)) in enumerate(zip(figure.subplots(2, 3, sharex=True).flat, panels)):
            for i, start in enumerate(starts):
                end = starts[i + 1] if i + 1 < len(starts) else len(t)
                if i % 2 == 0:
                    axes.axvspan(start + 0.5, end + 0.5, color=theme.grid, alpha=0.55, linewidth=0, zorder=0)
                if at == 0 and (len(starts) <= 10 or i % 2 == 0):
                    axes.annotate(
                        f"{t[start]:g}", (0.5 * (start + end) + 0.5, 1.0), (0, -2), xycoords=("data", "axes fraction"), va="top",
                        textcoords="offset points", ha="center", fontsize=6.5, color=theme.muted,
                    )
            bars = column(rows, error) if error else None
            axes.errorbar(n, column(rows, name), yerr=bars, fmt="o-", markersize=2.6, linewidth=1, color=theme.series[0])
            if name == "change":
                axes.set_yscale("log")
            if name == "sign":
                axes.set_ylim(min(0.0, float(column(rows, "sign").min())), 1.08)
            if name == "density" and target:
                axes.axhline(target, color=theme.series[1], linewidth=0.9, linestyle=(0, (4, 3)))
            axes.set_title(title)
            if name != "sign":
                axes.margins(y=0.16)
            axes.set_xlim(0.5, len(t) + 0.5)
            if at >= 3:
                axes.set_xlabel("iteration")

    caption = "Bands are temperatures (numbers at the top left, in t). The autocorrelation time is in measurements. The change of Σ ends at the noise of the Monte Carlo when the loop has converged."
    return Picture("chains", "Health of the chains", caption, (10.4, 5.2), draw, "Quantities of each iteration.")
