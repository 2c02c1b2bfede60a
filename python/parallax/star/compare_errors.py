"""Two runs against the exact solution: L1 errors, the radius of a shock, and, of two resolutions, the observed order.

The order p is that of an error C h^p: ln(E_a / E_b) / ln(h_a / h_b), h the width of the finest cells. It says something
only where both runs solve one problem to one time. Cost: reads the last mesh file of each run once.
Example to read: tests/star/test_compare.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..performance.compare_measured import Section, add_row
from ..text import trimmed
from . import profiles
from .athdf import Mesh
from .run import Run

names = {"rho": "density", "vel": "velocity", "press": "pressure"}


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
    for name, what in names.items():
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
        for name, what in names.items()
        if a.profile.l1.get(name, 0) > 0 and b.profile.l1.get(name, 0) > 0
    ]
    return [f"observed order of the L1 errors in the width of the finest cells: {', '.join(orders)}"] if orders else []
