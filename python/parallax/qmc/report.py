"""`parallax report` of a run of plx-dca: one self-contained page and its pictures.

A part whose input is missing or unreadable becomes a visible note in its place. Cost: a few seconds, nearly all of it
drawing. Example to read: tests/qmc/test_dca_report.py.
"""

from __future__ import annotations

from pathlib import Path

from .. import html
from ..hubbard.momenta import column
from ..hubbard.page import HubbardFacts, Sections, write_page
from ..hubbard.zone import with_error
from ..star.parts import About, Missing, Part, Performance, need
from ..text import trimmed
from . import curves, zone
from .run import DcaRun


class DcaFacts(HubbardFacts):
    @property
    def title(self) -> str:
        config = self.config or {}
        fixed = config.get("model.adjust_mu") is False
        u, value = config.get("model.u"), config.get("model.mu" if fixed else "model.density")
        if u is None or value is None:
            return "Hubbard model"
        return f"Hubbard model, {self.cluster_name()} cluster: U = {u:g} t, {f'μ = {value:g} t' if fixed else f'n = {value:g}'}"

    @property
    def throughput(self):
        """Measurements per second of wall time."""
        rows = self.run.iterations
        seconds = float(rows.numbers("seconds").sum()) if rows is not None and len(rows) else 0.0
        each = (self.config or {}).get("solver.measurements")
        return len(rows) * each / seconds if seconds > 0 and each else None

    @property
    def tiles(self) -> list:
        run, tiles = self.run, []
        if run.transition:
            tiles.append(("transition", f"T_c = {run.transition[0]:.4f}", f"± {run.transition[1]:.4f} t"))
        rows = run.temperatures
        if rows is not None and len(rows):
            last = {name: [rows[name][-1]] for name in rows.names()}
            t = float(column(last, "t")[0])
            names = {"lambda_d": "d-wave eigenvalue", "double_occupancy": "double occupancy", "energy": "energy per site"}
            for name, title in names.items():
                value, error = column(last, name)[0], column(last, f"{name}_error")[0]
                if value == value:
                    tiles.append((title, with_error(value, error), f"at T = {t:g} t"))
        iterations = run.iterations
        if iterations is not None and len(iterations):
            order, sign = iterations.numbers("order")[-1], iterations.numbers("sign")[-1]
            tiles.append(("expansion order", trimmed(order), f"sign {sign:.3f}"))
            if "acceptance" in iterations.names():
                accepted, drift = iterations.numbers("acceptance")[-1], max(iterations.numbers("drift"))
                tiles.append(("accepted moves", f"{100 * accepted:.0f} %", f"rounding errors up to {drift:.0e}"))
        if self.throughput:
            tiles.append(("throughput", f"{self.throughput:,.0f}", "measurements per second"))
        return tiles + self.worker_tiles


class Physics(Part):
    def html(self) -> str:
        parts = [
            ("Towards superconductivity", self.pairing), ("Green's function and self-energy", self.green),
            ("While it cools", self.observables), ("Results", self.table),
        ]
        if self.facts.run.four_points is not None:
            parts.insert(3, ("Susceptibilities of the lattice", self.transfers))
        return "".join(self.part(title, make) for title, make in parts)

    def zone(self) -> str:
        run = self.facts.run
        for table, name in ((run.cluster, "cluster.json"), (run.momenta, "momenta.csv"), (run.green, "green.csv")):
            need(table, f"the run has no {name}: no temperature is complete")
        return self.picture(zone.zone_picture(run))

    def pairing(self) -> str:
        if not any(value == value for value in column(self._temperatures(), "lambda_d")):
            raise Missing("the pair function was not measured (pairing.frequencies = 0)")
        return self.picture(curves.pairing_picture(self.facts.run))

    def green(self) -> str:
        need(self.facts.run.green, "the run has no green.csv: no temperature is complete")
        return self.picture(curves.green_picture(self.facts.run))

    def observables(self) -> str:
        self._temperatures()
        return self.picture(curves.observables_picture(self.facts.run))

    def transfers(self) -> str:
        if len(self.facts.run.four_points) == 0:
            raise Missing("four_points.csv has no rows")
        return self.picture(curves.transfers_picture(self.facts.run))

    def chains(self) -> str:
        table = need(self.facts.run.iterations, "the run has no iterations.csv: no iteration is complete")
        if len(table) == 0:
            raise Missing("iterations.csv has no rows")
        return self.picture(curves.chain_picture(self.facts.run))

    def _temperatures(self):
        table = need(self.facts.run.temperatures, "the run has no temperatures.csv: no temperature is complete")
        if len(table) == 0:
            raise Missing("temperatures.csv has no rows")
        return {name: table[name] for name in table.names()}

    def table(self) -> str:
        rows = self._temperatures()
        names = {
            "density": "n", "double_occupancy": "D", "energy": "energy", "sign": "sign", "lambda_d": "λ_d",
            "pairs_d": "χ pairs, d",
        }
        names = {key: text for key, text in names.items() if key in rows}
        cells = [
            [f"{t:g}", *(with_error(column(rows, key)[i], column(rows, f"{key}_error")[i]) for key in names)]
            for i, t in enumerate(column(rows, "t"))
        ]
        inner = html.table(["T / t", *names.values()], cells, numeric=range(len(names) + 1))
        return html.card("Results", inner, "Errors in parentheses, in units of the last digits.")


class Speed(Performance):
    def html(self) -> str:
        parts = [
            ("Diagnosis", self.diagnosis), ("Tasks", self.tasks), ("Workers", self.workers), ("Idle rate", self.idle),
            ("Critical path", self.critical_path),
        ]
        return "".join(self.part(title, make) for title, make in parts)


def write_report(run: DcaRun, out: Path) -> DcaFacts:
    """Writes `out` and, beside it, the pictures as PNG (light). Raises OSError when it cannot write."""
    facts = DcaFacts(run)
    write_page(facts, out, _sections)
    return facts


def _sections(facts: DcaFacts, pngs: dict) -> Sections:
    physics = Physics(facts, pngs)
    return Sections(
        physics.part("Across the Brillouin zone", physics.zone),
        [
            ("physics", "Physics", physics.html()),
            ("chains", "Monte Carlo", physics.part("Health of the chains", physics.chains)),
            ("performance", "Where the time went", Speed(facts, pngs).html()), ("run", "Run", About(facts, pngs).html()),
        ],
    )
