"""`parallax compare a/ b/`: what changed between two runs, of plx-star or of any program that was measured.

performance/compare_measured.py has the measured times, tasks and waits, compare_phases.py the phases. Mesh files are matched
by their step number. Two files are bitwise equal when they have the same blocks (in any order), the same time, and the same
bits in every cell of every variable. Where the blocks differ, those in common are compared. Against the exact solution: L1
errors, the radius of a shock, and, of two resolutions, the observed order p of an error C h^p: ln(E_a / E_b) / ln(h_a / h_b),
h the width of the finest cells; it says something only where both runs solve one problem to one time.
Cost: reads every matched mesh file once. Example to read: tests/star/test_compare.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

import numpy as np

from .. import ReadError, html
from ..performance.compare_measured import (
    Section, add_row, compare_measurement, compare_slowdown, compare_tasks, compare_time, compare_waits, evidence_of,
)  # fmt: skip
from ..performance.compare_phases import compare_phases
from ..performance.compare_repeated import compare_parts
from ..performance.compare_state import compare_state
from ..text import count, plural, seconds, trimmed
from . import analysis, profiles
from .athdf import Mesh
from .run import Run


@dataclass
class Comparison:
    first: Run
    second: Run
    sections: list
    physics_equal: bool

    def text(self) -> str:
        parts = [f"a = {self.first.folder}", f"b = {self.second.folder}"]
        for section in self.sections:
            parts += ["", *section.lines()]
        return "\n".join(parts)

    def html(self) -> str:
        body = (
            f"<header><div class='kicker'>Parallax</div><h1>Comparison</h1><p>a = {escape(str(self.first.folder))}<br>"
        )
        body += f"b = {escape(str(self.second.folder))}</p></header>"
        for section in self.sections:
            words = "".join(f"<p>{escape(sentence)}</p>" for sentence in section.sentences)
            table = html.table(section.header, section.rows, range(1, len(section.header))) if section.rows else ""
            body += f"<section><div class='card'><h3>{escape(section.title)}</h3>{words}{table}</div></section>"
        return html.page("Comparison of two runs", body)


def compare_runs(first: Run, second: Run, results: tuple | None = None) -> Comparison:
    """Compares everything that both runs have. `results`: ([Sections], whether they are equal) of runs without a mesh. Raises
    ReadError when a file is broken."""
    physics, equal = compare_physics(first, second) if results is None else (None, results[1])
    sections = [compare_measurement(first.folder, second.folder)]
    measured = [evidence_of(run.folder) for run in (first, second)]
    if first.config is not None or second.config is not None:
        sections.append(compare_config(first, second))
    if results is not None:
        sections += results[0]
    elif first.mesh_files or second.mesh_files:
        sections += [physics, compare_errors(first, second)]
    sections += [compare_figures(first, second), compare_time(*measured), compare_state(*measured)]
    sections += [compare_phases(*measured), compare_parts(*measured), compare_slowdown(*measured), compare_tasks(*measured), compare_waits(*measured)]
    kept = [section for section in sections if section is not None and (section.rows or section.sentences)]
    return Comparison(first, second, kept, equal)


# ---- configuration ----


def compare_config(first: Run, second: Run) -> Section:
    section = Section("Configuration")
    for name, run in (("a", first), ("b", second)):
        if run.config is None:
            section.sentences.append(f"{name} has no config.toml")
    if section.sentences:
        return section
    rows = [
        (key, _value(first.config, key), _value(second.config, key))
        for key in dict.fromkeys([*first.config, *second.config])
        if _value(first.config, key) != _value(second.config, key)
    ]
    section.sentences.append(plural(len(rows), "difference") if rows else "the same")
    section.header, section.rows = ["key", "a", "b"], rows
    return section


def _value(config: dict, key: str) -> str:
    return repr(config[key]) if key in config else "-"


# ---- physics ----


def compare_physics(first: Run, second: Run):
    """(Section, whether the physics of all files in common, the last ones included, is bitwise equal)."""
    section = Section("Physics")
    ours, theirs = _by_cycle(first), _by_cycle(second)
    common = sorted(set(ours) & set(theirs))
    for name, own, other in (("a", ours, theirs), ("b", theirs, ours)):
        alone = sorted(set(own) - set(other))
        if alone:
            where = ", ".join(str(cycle) for cycle in alone[:6]) + (", ..." if len(alone) > 6 else "")
            section.sentences.append(f"{plural(len(alone), 'mesh file')} only in {name} (step {where})")
    if not common:
        section.sentences.append("no mesh files of the same step to compare")
        return section, False
    different = []
    for cycle in common:
        with Mesh(ours[cycle]) as a, Mesh(theirs[cycle]) as b:
            found = difference(a, b)
        if not found.equal:
            different.append((cycle, found))
    if not different:
        section.sentences.append(f"bitwise equal in {plural(len(common), 'mesh file')} (the last at step {common[-1]})")
    else:
        cycle, found = different[-1]
        section.sentences.append(
            f"{plural(len(different), 'mesh file')} of {len(common)} {'differs' if len(different) == 1 else 'differ'}, "
            f"the first at step {different[0][0]}; step {cycle}:"
        )
        section.sentences += found.sentences
        section.header = ["variable", "max |a-b|", "L1 |a-b|", "L1 / mean |a|", "cells that differ"]
        section.rows = found.rows
    complete = max(ours) == max(theirs)
    return section, not different and complete


def _by_cycle(run: Run) -> dict:
    """{step number: path} of the mesh files; of two files of one step the later."""
    found = {}
    for path in run.mesh_files:
        with Mesh(path) as mesh:
            found[mesh.cycle] = path
    return found


@dataclass
class Difference:
    equal: bool
    sentences: list
    rows: list


def difference(a: Mesh, b: Mesh) -> Difference:
    """Compares two mesh files block by block."""
    sentences, rows, equal = [], [], True
    if a.time != b.time:
        equal = False
        sentences.append(f"time {a.time!r} and {b.time!r}")
    for name, own, other in (("a", a, b), ("b", b, a)):
        alone = [variable for variable in own.variables if variable not in other.variables]
        if alone:
            equal = False
            sentences.append(f"variables only in {name}: {', '.join(alone)}")
    if not np.array_equal(a.block_size, b.block_size):
        sentences.append(f"blocks of {a.block_size.tolist()} and {b.block_size.tolist()} cells: not compared")
        return Difference(False, sentences, rows)
    in_a, in_b = _common_blocks(a, b)
    if len(in_a) != a.n_blocks or len(in_b) != b.n_blocks:
        equal = False
        sentences.append(f"{count(a.n_blocks)} and {plural(b.n_blocks, 'block')}, {count(len(in_a))} in common")
    volumes = np.prod(a.cell_width[in_a], axis=1)
    for variable in a.variables:
        if variable in b.variables and len(in_a):
            row = _compare_variable(a, b, variable, in_a, in_b, volumes)
            equal = equal and row is None
            rows.append(row or (variable, "0", "0", "0", "0"))
    return Difference(equal, sentences, rows)


def _common_blocks(a: Mesh, b: Mesh):
    """Indices, in a and in b, of the blocks at the same place and level."""
    if np.array_equal(a.levels, b.levels) and np.array_equal(a.locations, b.locations):
        return np.arange(a.n_blocks), np.arange(b.n_blocks)
    place = {(int(level), *where): i for i, (level, where) in enumerate(zip(b.levels, b.locations.tolist()))}
    pairs = [
        (i, place[(int(level), *where)])
        for i, (level, where) in enumerate(zip(a.levels, a.locations.tolist()))
        if (int(level), *where) in place
    ]
    pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _compare_variable(a: Mesh, b: Mesh, name: str, in_a, in_b, volumes):
    """A row of the table, or None when all bits agree. The bits decide: -0 differs from 0, a NaN equals itself."""
    x, y = np.ascontiguousarray(a.read(name)[in_a]), np.ascontiguousarray(b.read(name)[in_b])
    if x.dtype == y.dtype:
        bits = f"u{x.dtype.itemsize}"
        differ = np.count_nonzero(x.view(bits) != y.view(bits))
    else:
        differ = np.count_nonzero(x != y)
    if not differ and x.dtype == y.dtype:
        return None
    gap = np.abs(x.astype(float) - y.astype(float))
    weights = volumes[:, None, None, None] / (np.sum(volumes) * x[0].size)
    l1, mean = float(np.sum(weights * gap)), float(np.sum(weights * np.abs(x)))
    relative = f"{l1 / mean:.2e}" if mean > 0 else "-"
    return name, f"{np.max(gap):.3e}", f"{l1:.3e}", relative, f"{count(differ)} of {count(x.size)}"


# ---- performance ----


def compare_figures(first: Run, second: Run) -> Section:
    """Outcome, throughput, times; only rows that at least one run has."""
    section = Section("Outcome and performance", header=["", "a", "b", "b / a"])
    a, b = first.summary or {}, second.summary or {}
    for key in ("status", "version", "build", "machine", "workers"):
        for name, left, right in _differences(key, a.get(key), b.get(key)):
            section.rows.append((name, left, right, ""))
    for key in ("steps", "blocks", "cell_updates"):
        add_row(section, key.replace("_", " "), a.get(key), b.get(key), count)
    add_row(section, "cell updates / s", _throughput(first), _throughput(second), lambda v: f"{v:.4g}")
    for key, name in (("simulation_s", "simulation"), ("wall_s", "all")):
        add_row(section, f"time, {name}", a.get(key), b.get(key), seconds)
    return section


def _differences(key, left, right):
    if isinstance(left, dict) and isinstance(right, dict):
        for inner in dict.fromkeys([*left, *right]):
            yield from _differences(f"{key} {inner}", left.get(inner), right.get(inner))
    elif left != right:
        yield key, "-" if left is None else str(left), "-" if right is None else str(right)


def _throughput(run: Run):
    return analysis.throughput(run.summary, run.history)


__all__ = ["Comparison", "ReadError", "compare_runs", "difference"]


_variables = {"rho": "density", "vel": "velocity", "press": "pressure"}


@dataclass
class AtTheEnd:
    """The mesh at the end of a run against the exact solution; width: of the finest cells."""

    profile: object
    width: float
    time: float


def at_the_end(run: Run):
    """(AtTheEnd, "") or (None, why not)."""
    if not run.mesh_files:
        return None, "no mesh files"
    if run.exact is None:
        return None, "no exact.csv"
    with Mesh(run.mesh_files[-1]) as mesh:
        end = run.ending.time
        if end is not None and not math.isclose(mesh.time, end, rel_tol=1e-9):
            return None, f"no mesh file of its end (t = {trimmed(end, 6)})"
        return AtTheEnd(profiles.profile(run, mesh, run.exact), float(mesh.cell_width.min()), mesh.time), ""


def compare_errors(first: Run, second: Run):
    """A Section, or None where neither run has an exact solution."""
    if first.exact is None and second.exact is None:
        return None
    section = Section("Against the exact solution", header=["", "a", "b", "b / a"])
    (a, why_a), (b, why_b) = at_the_end(first), at_the_end(second)
    section.sentences += [f"{name} has {why}" for name, why in (("a", why_a), ("b", why_b)) if why]
    if a is None and b is None:
        section.header = []
        return section

    def add(name, of, show):
        add_row(section, name, *(None if each is None else of(each) for each in (a, b)), show)

    add("width of the finest cells", lambda e: e.width, lambda v: trimmed(v, 4))
    add("time", lambda e: e.time, lambda v: trimmed(v, 6))
    for name, what in _variables.items():
        add(f"L1 of {what}", lambda e, name=name: e.profile.l1.get(name), lambda v: f"{v:.3e}")
    add("shock radius", lambda e: e.profile.shock, lambda v: f"{v:.5f}")
    add("shock radius, exact", lambda e: e.profile.shock_exact, lambda v: f"{v:.5f}")
    if a is not None and b is not None:
        section.sentences += _order(first, second, a, b)
    return section


def _order(first: Run, second: Run, a: AtTheEnd, b: AtTheEnd) -> list:
    """The observed order of each error, where only the resolution differs."""
    if first.problem != second.problem or not math.isclose(a.time, b.time, rel_tol=1e-9) or a.width == b.width:
        return []
    orders = [
        f"{trimmed(math.log(a.profile.l1[name] / b.profile.l1[name]) / math.log(a.width / b.width), 3)} ({what})"
        for name, what in _variables.items()
        if a.profile.l1.get(name, 0) > 0 and b.profile.l1.get(name, 0) > 0
    ]
    return [f"observed order of the L1 errors in the width of the finest cells: {', '.join(orders)}"] if orders else []
