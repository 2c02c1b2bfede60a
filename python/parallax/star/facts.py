"""All numbers of a report about a run, gathered once, and the lines, ten at most, that `parallax report` prints on the
terminal. A missing number is None; a broken file is a problem.

Example to read: tests/star/test_report.py.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from .. import NotARun, ReadError
from ..performance import pictures
from ..performance.diagnosis import Evidence, diagnose_evidence
from ..text import count, percent, plural, seconds, si, trimmed
from . import analysis, profiles
from .athdf import Mesh
from .run import Run

titles = {
    "sedov": "Sedov blast",
    "sod": "Sod shock tube",
    "linear_wave": "Linear wave",
    "advection": "Advection",
    "kelvin_helmholtz": "Kelvin–Helmholtz instability",
    "moving_body": "Moving body",
    "piecewise": "Uniform states",
    "polytrope": "Polytrope",
    "blob": "Cloud in a wind",
    "double_mach": "Double Mach reflection",
    "implosion": "Implosion",
    "noh": "Noh",
    "riemann_2d": "Two-dimensional Riemann problem",
    "expressions": "Fields from expressions",
    "profile": "Body from a table",
    "grid": "Fields from a grid",
    "spheroid": "Homogeneous spheroid",
    "evrard": "Evrard's collapse",
    "gresho": "Gresho's vortex",
    "jeans_wave": "Wave in gas that attracts itself",
    "kepler_disk": "Disk about a point mass",
    "two_stars": "Two stars",
    "binary": "Binary",
    "rotating_star": "Rotating star",
    "einfeldt": "Double rarefaction (Einfeldt)",
}


def _attempt(method) -> cached_property:
    """A cached property that is None when its file is broken; the problem is kept once."""

    def guarded(self):
        try:
            return method(self)
        except ReadError as error:
            self.problem(str(error))
            return None

    guarded.__doc__ = method.__doc__
    return cached_property(guarded)


def _rows_of(name: str) -> cached_property:
    """A table of the run, or None when it has no rows."""

    def rows(self):
        table = getattr(self.run, name)
        if table is not None and table.cut_short:
            self.warnings.append(f"{table.path}: the last line was cut short and is omitted")
        return table if table is not None and len(table) else None

    return _attempt(rows)


class Facts:
    def __init__(self, run: Run, film: int = 5):
        self.run, self.film = run, film
        self.problems: list = []
        self.warnings: list = [f"{path}: {why}; it is not used" for path, why in run.ending.foreign]
        self._open: dict = {}

    def problem(self, text: str) -> None:
        if text not in self.problems:
            self.problems.append(text)

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    def close(self) -> None:
        for mesh in self._open.values():
            if mesh is not None:
                mesh.close()
        self._open = {}

    # ---- files ----

    @_attempt
    def summary(self):
        return self.run.summary

    def number(self, key: str) -> float | None:
        """A number of run.json, or None when there is none of that name."""
        value = (self.summary or {}).get(key)
        known = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        return float(value) if known else None

    @cached_property
    def references(self) -> dict:
        """Exact numbers that the problem knows, as run.json lists them."""
        known = (self.summary or {}).get("references")
        return known if isinstance(known, dict) else {}

    @cached_property
    def conservation(self) -> list | None:
        """The ledger of run.json: a row per conserved quantity; None if there is none."""
        rows = (self.summary or {}).get("conservation")
        return rows if isinstance(rows, list) and rows else None

    @_attempt
    def config(self):
        return self.run.config

    history, profile, workers, exact = map(_rows_of, ("history", "profile", "workers", "exact"))
    timeline, concurrency, scatter = map(_rows_of, ("timeline", "concurrency", "scatter"))

    def mesh(self, index: int) -> Mesh | None:
        """The mesh file of this number (0 is the first), or None when it cannot be read."""
        if index not in self._open:
            try:
                self._open[index] = self.run.mesh(index)
            except ReadError as error:
                self.problem(str(error))
                self._open[index] = None
        return self._open[index]

    @cached_property
    def last_index(self):
        """Number of the last mesh file that can be read."""
        indices = range(len(self.run.mesh_files) - 1, -1, -1)
        return next((i for i in indices if self.mesh(i) is not None), None)

    @cached_property
    def film_indices(self) -> list:
        """Numbers of a few mesh files from the first to the last readable one."""
        if self.last_index is None:
            return []
        spread = np.linspace(0, self.last_index, min(self.film, self.last_index + 1))
        return [i for i in sorted({round(float(i)) for i in spread}) if self.mesh(i) is not None]

    @cached_property
    def last(self) -> Mesh | None:
        return None if self.last_index is None else self.mesh(self.last_index)

    @property
    def last_is_the_end(self) -> bool:
        """Whether the last mesh that can be read is of the time at which the run ended, as far as that is known."""
        end = self.run.ending.time
        return self.last is not None and (end is None or bool(np.isclose(self.last.time, end, rtol=1e-9, atol=0)))

    @property
    def why_no_errors(self) -> str:
        """Why nothing is compared with the exact solution; for `lines` without errors."""
        if self.last is None:
            return "no mesh file can be read"
        if not self.last_is_the_end:
            return f"the last mesh file is of t = {trimmed(self.last.time, 5)}, not of the end of the run"
        return "no exact.csv to compare with"

    @_attempt
    def cut(self):
        """The middle plane of the last mesh, with the variable that is shown."""
        return self.last.slice(self.variable) if self.last else None

    @cached_property
    def variable(self) -> str:
        """The variable shown in the planes: the density, or the first species if the density is nearly constant."""
        first = next(iter(self.last.variables[5:]), None) if self.last is not None else None
        if first is None:
            return "rho"
        rho, species = (self.last.slice(name).values for name in ("rho", first))
        return first if np.ptp(rho) < 1e-2 * np.max(np.abs(rho)) and np.ptp(species) > 0.1 else "rho"

    @cached_property
    def cost(self):
        """(index of the mesh file, seconds per cell update of its blocks): the last file that holds costs, or None."""
        for i in range(-1 if self.last_index is None else self.last_index, -1, -1):
            mesh = self.mesh(i)
            before = self.mesh(i - 1) if mesh is not None and i > 0 else None
            try:
                cost = analysis.cost_per_update(mesh, before.cycle if before else None) if mesh else None
            except ReadError as error:
                self.problem(str(error))
                cost = None
            if cost is not None and np.any(np.isfinite(cost)):
                return i, cost
        return None

    # ---- measurement ----

    @_attempt
    def evidence(self):
        """The input of the diagnosis (diagnosis.Evidence), or None."""
        try:
            return Evidence(self.run.folder)
        except NotARun:
            return None

    @_attempt
    def diagnosis(self):
        return diagnose_evidence(self.evidence) if self.evidence is not None and self.evidence.has_workers else None

    @_attempt
    def critical_path(self):
        path = self.evidence.critical_path if self.evidence is not None else None
        return path if path and {"span_s", "wall_s", "kinds", "parallelism"} <= set(path) else None

    @cached_property
    def kinds(self) -> list:
        """Kinds of tasks that have a colour of their own: those with the most time in the traced steps."""
        if self.timeline is None:
            return [name for name, _ in (self.top_tasks or [])][: pictures.most_kinds]
        length = self.timeline.numbers("end_s") - self.timeline.numbers("begin_s")
        return pictures.kinds_of([str(name) for name in self.timeline["name"]], length)

    @_attempt
    def energy_j(self):
        """Energy that the machine used during the run, if the counters exist."""
        return (self.evidence.last("/system{total}/energy") or None) if self.evidence is not None else None

    # ---- numbers ----

    @cached_property
    def title(self) -> str:
        name = self.run.problem
        return titles.get(name, name.replace("_", " ").capitalize())

    @_attempt
    def lines(self):
        """Cells against the exact solution (profiles.Profile); for problems without one None, except for a blast."""
        if self.last is None or (self.exact is None and self.run.problem != "sedov"):
            return None
        if not self.last_is_the_end:
            end, last = self.run.ending, self.last
            self.warn(
                f"{last.path}: is of t = {trimmed(last.time, 6)}, step {last.cycle}, and the run ended at "
                f"t = {trimmed(end.time, 6)}: it is not compared with the exact solution, which is of the end"
            )
            return profiles.profile(self.run, last, None) if self.run.problem == "sedov" else None
        return profiles.profile(self.run, self.last, self.exact)

    @_attempt
    def drifts(self):
        """{name: drift at the end} of the conserved totals, or None."""
        if self.history is None:
            return None
        return {n: float(analysis.drift(self.history, n)[-1]) for n in analysis.conserved_names(self.history)}

    @_attempt
    def losses(self):
        return analysis.boundary_losses(self.history) if self.history is not None else None

    @_attempt
    def floor_additions(self):
        """{name: share that floors have added}, or None."""
        return analysis.floor_additions(self.history) if self.history is not None else None

    @_attempt
    def floors(self):
        return analysis.floor_hits(self.history) if self.history is not None else None

    @_attempt
    def shares(self):
        return pictures.time_shares(self.workers) if self.workers is not None else None

    @property
    def of_whole_run(self) -> str:
        """The run, or the part of a job, that the shares of the workers' time in workers.csv describe."""
        many = self.evidence is not None and len(self.evidence.localities) > 1
        return f"of the whole run{', locality 0 alone' if many else ''}"

    @_attempt
    def throughput(self):
        return analysis.throughput(self.summary, self.history)

    @_attempt
    def top_tasks(self):
        """[(name, share of the time in tasks)], largest first."""
        if self.profile is None:
            return None
        total = self.profile.numbers("total_s")
        whole = float(np.sum(total)) or 1.0
        return [(str(self.profile["name"][i]), float(total[i]) / whole) for i in np.argsort(-total, kind="stable")]


def summary_lines(facts: Facts, report_path) -> list:
    """At most ten lines: what ran, mesh, shock, error, conservation, throughput, time, uses of time, top tasks, report.

    The shock of blasts only, the error of runs with an exact solution only."""
    named = [
        ("mesh", mesh_text(facts)), ("shock radius", shock_text(facts)), ("error", error_text(facts)),
        ("conservation", conservation_text(facts)), ("throughput", throughput_text(facts)),
        ("time", time_text(facts)), ("workers", shares_text(facts)), ("most time in", tasks_text(facts)),
        ("report", str(report_path)),
    ]
    return [headline(facts)] + [f"  {name:<14}{text}" for name, text in named if text]


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
    return f"{plural(mesh.n_blocks, 'block')} of {size}, {count(mesh.n_cells)} cells, {levels}"


def shock_text(facts: Facts) -> str:
    lines = facts.lines
    if lines is None or lines.coordinate != "r":
        return "" if facts.run.problem != "sedov" else "no mesh file to read"
    if lines.shock is None:
        return "no shock found"
    if lines.shock_exact is None:
        return f"{lines.shock:.4f} ({facts.why_no_errors})"
    off = lines.shock / lines.shock_exact - 1
    return f"{lines.shock:.4f}, exact {lines.shock_exact:.4f} ({100 * off:+.2f} %)"


def error_text(facts: Facts) -> str:
    if facts.lines is None or "rho" not in facts.lines.l1:
        return "" if facts.run.exact is None else facts.why_no_errors
    return f"L1(rho) = {facts.lines.l1['rho']:.3e} against the exact solution"


def conservation_text(facts: Facts) -> str:
    if not facts.drifts:
        return "no history.csv"
    momentum = max((abs(v) for n, v in facts.drifts.items() if n.startswith("momentum")), default=None)
    parts = [f"{name} {abs(facts.drifts[name]):.1e}" for name in ("mass", "energy") if name in facts.drifts]
    parts += [f"momentum {momentum:.1e}"] if momentum is not None else []
    turns = facts.drifts.get("total_angular_momentum_z", facts.drifts.get("angular_momentum_z"))
    parts += [f"angular momentum {abs(turns):.1e}"] if turns is not None else []
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
