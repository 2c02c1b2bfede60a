"""`parallax report` of a run of plx-parquet: one self-contained page and its pictures.

A part whose input is missing or unreadable becomes a visible note in its place. Cost: a few seconds, nearly all of it
drawing. Example to read: tests/parquet/test_parquet_report.py.
"""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path

import numpy as np

from .. import ReadError, html
from ..hubbard.momenta import column, momentum_text
from ..hubbard.page import HubbardFacts, Sections, write_page
from ..hubbard.zone import with_error
from ..star.parts import About, Missing, Part, Performance, need
from ..text import count, percent, plural, seconds
from . import curves, vertex, vertex_hdf5
from .run import ParquetRun, by_frequencies, groups, last_of

names = {
    "self_energy_re": "Re Σ(K, iπT)", "self_energy_im": "Im Σ(K, iπT)", "charge_susceptibility": "charge χ(Q)",
    "spin_susceptibility": "spin χ(Q)", "pair_susceptibility": "pairs χ(Q)",
}
zero = 1e-9  # values below are zero but for rounding


class ParquetFacts(HubbardFacts):
    def __init__(self, run: ParquetRun):
        super().__init__(run)
        for name in ("iterations", "self_energy", "susceptibility", "eigenvalues", "extrapolated"):
            try:
                table = getattr(run, name)
            except ReadError as error:
                self.problem(str(error))
                continue
            if table is not None and table.cut_short:
                self.warn(f"{table.path}: the last line was cut short and is omitted")
        left = self.unconverged
        if left:
            self.warn(f"the loop did not converge with {', '.join(map(str, left))} frequencies: not extrapolated")

    @property
    def title(self) -> str:
        config = self.config or {}
        u, t = config.get("model.u"), config.get("model.temperature")
        name = self.cluster_name()
        name = {"atom": "atom", "dimer": "dimer"}.get(name, f"{name} cluster")
        known = isinstance(u, (int, float)) and isinstance(t, (int, float))
        return f"Hubbard {name}, parquet: U = {u:g} t, T = {t:g} t" if known else "Hubbard model, parquet approximation"

    @property
    def unconverged(self) -> list:
        try:
            return [n for n, done in self.run.converged.items() if not done]
        except (ReadError, ValueError, LookupError, TypeError):
            return []

    @cached_property
    def results(self) -> list:
        """[(quantity, momentum, how many have it, value, error, exact or NaN)] of extrapolated.csv."""
        table = self.run.extrapolated
        if table is None or len(table) == 0:
            return []
        rows = {name: np.asarray(table[name]) for name in table.names()}
        kind, found = rows["quantity"], []
        for name in names:
            mine = {key: value[kind == name] for key, value in rows.items()}
            if len(mine["kx"]) == 0:
                continue
            for group in groups(mine, "kx", "ky", ("value",)):
                at = int(np.argmax(group.rows))
                value, error = (float(column(mine, key)[at]) for key in ("value", "error"))
                exact = float(column(mine, "exact")[at]) if "exact" in mine else math.nan
                found.append((name, group, value, error, exact))
        return found

    @property
    def tiles(self) -> list:
        try:
            return [*self._physics_tiles(), *self._loop_tiles()]
        except (ReadError, ValueError, LookupError, TypeError) as error:
            self.problem(str(error))
            return []

    def _physics_tiles(self) -> list:
        tiles = []
        titles = {"self_energy_im": "self-energy", "spin_susceptibility": "spin", "charge_susceptibility": "charge"}
        several = len({(group.x, group.y) for _, group, *_ in self.results}) > 1
        for name, title in titles.items():
            most = max((row for row in self.results if row[0] == name), key=lambda row: abs(row[2]), default=None)
            if most is None:
                continue
            _, group, value, error, exact = most
            at = f" at {momentum_text(group.x, group.y)}" if several else ""
            plain = ", extrapolated" if math.isfinite(error) else ""
            beside = f": exact {exact:.4g}, {100 * (value / exact - 1):+.2g} %" if abs(exact) > zero else plain
            tiles.append((title, f"{value:.5g}", f"{names[name].split('(')[0]}{at}{beside}"))
        return tiles

    def _loop_tiles(self) -> list:
        tiles, run = [], self.run
        table = run.eigenvalues
        if table is not None and len(table):
            _, rows = last_of(table)
            at = int(np.argmax(column(rows, "eigenvalue")))
            where = momentum_text(column(rows, "qx")[at], column(rows, "qy")[at])
            tiles.append(("largest eigenvalue", f"{column(rows, 'eigenvalue')[at]:.4f}", f"{rows['channel'][at]} at {where}"))
        table = run.iterations
        if table is not None and len(table):
            n, rows = last_of(table)
            tiles.append(("density", f"{column(rows, 'density')[-1]:.5f}", "electrons per site"))
            took = f"{plural(len(table), 'iteration')}, residual {column(rows, 'residual')[-1]:.1e} U at {n} frequencies"
            tiles.append(("time", seconds(float(table.numbers("seconds").sum())), took))
        return tiles


def shown(value: float, error: float) -> str:
    """A value with the error of its last digits; zeros and errors by rounding are not shown as such."""
    if abs(value) < zero:
        return "0"
    if not math.isfinite(error) or error < 1e-7 * abs(value):
        return f"{value:.6g}"
    return with_error(value, error)


class Physics(Part):
    def html(self) -> str:
        parts = [
            ("Self-energy", self.self_energy), ("The full vertex", self.vertex), ("Susceptibilities", self.susceptibilities),
            ("Distance from instabilities", self.eigenvalues),
        ]
        return "".join(self.part(title, make) for title, make in parts)

    def _table(self, name: str):
        table = need(getattr(self.facts.run, name), f"the run has no {name}.csv: no number of frequencies is complete")
        if len(table) == 0:
            raise Missing(f"{name}.csv has no rows")
        return table

    def zone(self) -> str:
        for name in ("self_energy", "susceptibility", "eigenvalues"):
            table = self._table(name)
        _, rows = last_of(table)
        if len(set(zip(rows["qx"], rows["qy"]))) == 1:
            return ""  # the atom has no momenta
        return self.picture(curves.zone_picture(self.facts.run))

    def results(self) -> str:
        self._table("extrapolated")
        compared = any(math.isfinite(exact) for *_, exact in self.facts.results)
        header, rows = self._beside_exact() if compared else self._by_momentum()
        beside = "; exact values by diagonalization. The difference is the error of the approximation" if compared else ""
        source = "Extrapolated in the number of frequencies, errors of that in parentheses, in units of the last digits"
        if not any(math.isfinite(error) for *_, error, _ in self.facts.results):
            source = "Values that are not extrapolated: one number of frequencies converged"
        caption = (
            f"{source}{beside}. Σ in units of t, static susceptibilities of 1/t."
        )
        many = any(len(group.points) > 1 for _, group, *_ in self.facts.results)
        caption += " ×2: two momenta that symmetries relate." if many else ""
        return html.card("Result", html.table(header, rows, numeric=range(2 if compared else 1, len(header))), caption)

    def _beside_exact(self) -> tuple:
        rows = []
        for name, group, value, error, exact in self.facts.results:
            off = f"{100 * (value / exact - 1):+.2f} %" if abs(exact) > zero else ""
            known = f"{0.0 if abs(exact) < zero else exact:.6g}"
            rows.append([names[name], curves.label(group), shown(value, error), known, off])
        return ["quantity", "momentum", "value", "exact", "difference"], rows

    def _by_momentum(self) -> tuple:
        of: dict = {}
        for name, group, value, error, _ in self.facts.results:
            of.setdefault(curves.label(group), {})[name] = shown(value, error)
        found = [name for name in names if any(name in cells for cells in of.values())]
        rows = [[momentum, *(cells.get(name, "") for name in found)] for momentum, cells in of.items()]
        return ["momentum", *(names[name] for name in found)], rows

    def self_energy(self) -> str:
        self._table("self_energy")
        return self.picture(curves.self_energy_picture(self.facts.run))

    def susceptibilities(self) -> str:
        self._table("susceptibility")
        return self.picture(curves.susceptibility_picture(self.facts.run))

    def eigenvalues(self) -> str:
        self._table("eigenvalues")
        return self.picture(curves.eigenvalue_picture(self.facts.run))

    def _vertices(self):
        """vertex.csv, or else the vertices in HDF5, which are of more transfers."""
        folder = self.facts.run.folder
        if (folder / "vertex.csv").exists():
            return vertex.VertexFile(folder / "vertex.csv")
        if path := vertex_hdf5.vertices_file(folder):
            return vertex_hdf5.VertexHdf5(path)
        if parts := vertex_hdf5.parts_alone(folder):
            whole = parts[0].name.split("-")[0]
            raise Missing(f"vertices/{whole}.h5 is missing, which shows {', '.join(p.name for p in parts[:3])} as one")
        raise Missing("the run has no vertex.csv (output.vertex) and no vertices/F*.h5 (output.hdf5), or nothing has converged yet")

    def vertex(self) -> str:
        file, u = self._vertices(), float((self.facts.config or {}).get("model.u", 0.0))
        _, rows = last_of(self._table("eigenvalues"))
        at = int(np.argmax(column(rows, "eigenvalue")))
        leading = (float(column(rows, "qx")[at]), float(column(rows, "qy")[at]))
        transfers = [leading] if max(map(abs, leading)) < 1e-9 else [leading, (0.0, 0.0)]
        slabs = [file.slab(transfer) for transfer in transfers]
        _, sigma = last_of(self._table("self_energy"))
        at = int(np.argmin(np.where(column(sigma, "w") == column(sigma, "w").min(), column(sigma, "self_energy_im"), np.inf)))
        momentum = (float(column(sigma, "kx")[at]), float(column(sigma, "ky")[at]))
        text = self.picture(vertex.slices_picture(slabs, momentum, u))
        return text + (self.picture(vertex.slab_picture(slabs[0], u)) if len(slabs[0].momenta) > 1 else "")


class Loop(Physics):
    def html(self) -> str:
        parts = [("Convergence", self.convergence), ("More frequencies", self.extrapolation)]
        return "".join(self.part(title, make) for title, make in parts)

    def convergence(self) -> str:
        need(self.facts.run.iterations, "the run has no iterations.csv: no iteration is complete")
        self._table("iterations")
        return self.picture(curves.convergence_picture(self.facts.run))

    def extrapolation(self) -> str:
        for name in ("extrapolated", "self_energy"):
            self._table(name)
        if len(by_frequencies(self.facts.run.self_energy)) < 2:
            raise Missing("one number of frequencies is complete; an extrapolation needs two")
        return self.picture(curves.extrapolation_picture(self.facts.run))


class Speed(Performance):
    def html(self) -> str:
        parts = [("Time of an iteration", self.iterations), ("Messages and time", self.messages)]
        run = self.facts.run
        if any((run.folder / name).exists() for name in ("workers.csv", "profile.csv")):
            parts += [
                ("Diagnosis", self.diagnosis), ("Tasks", self.tasks), ("Workers", self.workers),
                *([("Processes", self.processes)] if self._has("job.json") else []), ("Idle rate", self.idle),
                ("Critical path", self.critical_path),
            ]
        else:
            parts.append(("Tasks and workers", self.not_measured))
        return "".join(self.part(title, make) for title, make in parts)

    def not_measured(self) -> str:
        raise Missing("the run has no profile.csv and no workers.csv; --plx:diagnose=1 --plx:profile=csv writes them")

    def _iterations(self):
        table = need(self.facts.run.iterations, "the run has no iterations.csv: no iteration is complete")
        if len(table) == 0:
            raise Missing("iterations.csv has no rows")
        return table

    def iterations(self) -> str:
        self._iterations()
        return self.picture(curves.time_picture(self.facts.run))

    def messages(self) -> str:
        rows, converged = [], self.facts.run.converged
        for n, of in by_frequencies(self._iterations()).items():
            time, rotation = (float(column(of, name).sum()) for name in ("seconds", "rotation_seconds"))
            state = {True: "yes", False: "no", None: "not complete"}[converged.get(n)]
            sent, messages = float(column(of, "sent_mb").sum()), float(column(of, "messages").sum())
            parcels = float(column(of, "parcels").sum()) if "parcels" in of else math.nan
            overhead = float((column(of, "network_overhead") * column(of, "seconds")).sum()) if "network_overhead" in of else math.nan
            rows.append(
                [
                    n, len(of["seconds"]), state, f"{column(of, 'residual')[-1]:.1e}", seconds(time),
                    seconds(time / len(of["seconds"])), percent(rotation / time if time > 0 else 0.0), f"{sent:,.1f} MB",
                    count(messages), f"{parcels / messages:.3g}" if parcels > 0 and messages > 0 else "",
                    f"{1e3 * sent / messages:,.3g} kB" if messages > 0 else "",
                    percent(overhead / time) if sent > 0 and time > 0 and math.isfinite(overhead) else "",
                ]
            )
        header = (
            "frequencies,iterations,converged,residual / U,time,per iteration,in rotations,sent,messages,parcels each,size,network"
        ).split(",")
        caption = (
            "Rotations bring the vertices of one channel to the arguments of another; sent: by all processes. Parcels are rows, or "
            "packed messages. Network: the share of messages in the busy time of the workers, of whole iterations."
        )
        return html.card("Messages and time", html.table(header, rows, numeric=(0, 1, *range(3, 12))), caption)


def write_report(run: ParquetRun, out: Path) -> ParquetFacts:
    """Writes `out` and, beside it, the pictures as PNG (light). Raises OSError when it cannot write."""
    facts = ParquetFacts(run)
    write_page(facts, out, _sections)
    return facts


def _sections(facts: ParquetFacts, pngs: dict) -> Sections:
    physics = Physics(facts, pngs)
    hero = physics.part("Result", physics.results) + physics.part("Across the Brillouin zone", physics.zone)
    return Sections(
        hero,
        [
            ("physics", "Physics", physics.html()), ("loop", "The iteration", Loop(facts, pngs).html()),
            ("performance", "Where the time went", Speed(facts, pngs).html()), ("run", "Run", About(facts, pngs).html()),
        ],
    )
