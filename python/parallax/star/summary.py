"""The ten lines that `parallax report` prints on the terminal."""

from __future__ import annotations

import numpy as np

from ..text import count, percent, plural, seconds, si, trimmed
from .facts import Facts


def summary_lines(facts: Facts, report_path) -> list:
    """Ten lines: what ran, mesh, shock, error, conservation, throughput, time, uses of time, top tasks, report."""
    named = [
        ("mesh", mesh_text(facts)),
        ("shock radius", shock_text(facts)),
        ("error", error_text(facts)),
        ("conservation", conservation_text(facts)),
        ("throughput", throughput_text(facts)),
        ("time", time_text(facts)),
        ("workers", shares_text(facts)),
        ("most time in", tasks_text(facts)),
        ("report", str(report_path)),
    ]
    return [headline(facts)] + [f"  {name:<14}{text}" for name, text in named]


def headline(facts: Facts) -> str:
    summary = facts.summary or {}
    parts = [facts.title]
    time, steps = facts.number("time"), facts.number("steps")
    if time is None and facts.last:
        time, steps = facts.last.time, facts.last.cycle
    if time is not None:
        parts.append(f"t = {trimmed(time, 5)} after {plural(int(steps or 0), 'step')}")
    parts.append(str(summary.get("status") or "state unknown: no run.json"))
    return " · ".join(parts)


def mesh_text(facts: Facts) -> str:
    mesh = facts.last
    if mesh is None:
        return "no mesh file to read"
    size = "×".join(str(int(n)) for n in mesh.block_size)
    levels = f"levels {mesh.levels.min()} to {mesh.levels.max()}"
    return f"{count(mesh.n_blocks)} blocks of {size}, {count(mesh.n_cells)} cells, {levels}"


def shock_text(facts: Facts) -> str:
    lines = facts.lines
    if lines is None or lines.coordinate != "r":
        return "not a blast" if facts.run.problem != "sedov" else "no mesh file to read"
    if lines.shock is None:
        return "no shock found"
    if lines.shock_exact is None:
        return f"{lines.shock:.4f} ({facts.why_no_errors})"
    off = lines.shock / lines.shock_exact - 1
    return f"{lines.shock:.4f}, exact {lines.shock_exact:.4f} ({100 * off:+.2f} %)"


def error_text(facts: Facts) -> str:
    if facts.lines is None or "rho" not in facts.lines.l1:
        return facts.why_no_errors
    return f"L1(rho) = {facts.lines.l1['rho']:.3e} against the exact solution"


def conservation_text(facts: Facts) -> str:
    if not facts.drifts:
        return "no history.csv"
    momentum = max((abs(v) for n, v in facts.drifts.items() if n.startswith("momentum")), default=None)
    parts = [f"{name} {abs(facts.drifts[name]):.1e}" for name in ("mass", "energy") if name in facts.drifts]
    parts += [f"momentum {momentum:.1e}"] if momentum is not None else []
    text = "relative drift of " + ", ".join(parts)
    if facts.losses:
        text += "; losses through boundaries counted"
    if facts.floors:
        text += f"; {plural(facts.floors, 'floor hit')}"
    return text


def throughput_text(facts: Facts) -> str:
    if facts.throughput is None:
        return "no history.csv"
    workers = int(facts.number("workers") or 0)
    each = f" ({si(facts.throughput / workers)} on each of {plural(workers, 'worker')})" if workers > 1 else ""
    return f"{si(facts.throughput)} cell updates/s{each}"


def time_text(facts: Facts) -> str:
    names = (("simulation_s", "in the simulation"), ("wall_s", "in all"))
    parts = [f"{seconds(facts.number(key))} {what}" for key, what in names if facts.number(key) is not None]
    cost = facts.number("measurement_cost_percent")
    if cost is not None:
        parts.append(f"measurement cost {trimmed(cost, 2)} %")
    return ", ".join(parts) or "no run.json"


def shares_text(facts: Facts) -> str:
    if not facts.shares:
        return "no workers.csv"
    return ", ".join(f"{use} {percent(share)}" for use, share in facts.shares.items())


def tasks_text(facts: Facts) -> str:
    if not facts.top_tasks:
        return "no profile.csv"
    return ", ".join(f"{name} {percent(share)}" for name, share in facts.top_tasks[:4])


def cost_by_level(mesh, cost: np.ndarray) -> list:
    """[(level, blocks, cells, share of the cost, mean seconds per cell update)] of one mesh file."""
    total = mesh.block_values("Cost")
    cells = int(np.prod(mesh.block_size))
    whole = float(np.sum(total)) or 1.0
    rows = []
    for level in np.unique(mesh.levels):
        mine = mesh.levels == level
        known = cost[mine][np.isfinite(cost[mine])]
        mean = float(np.mean(known)) if len(known) else float("nan")
        n = int(np.count_nonzero(mine))
        rows.append((int(level), n, n * cells, float(np.sum(total[mine])) / whole, mean))
    return rows
