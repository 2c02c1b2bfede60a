"""`parallax report` of a run of plx-dca: one self-contained page and its pictures.

A part whose input is missing or unreadable becomes a visible note in its place. Cost: a few seconds, nearly all of it
drawing. Example to read: tests/qmc/test_dca_report.py.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from .. import html
from ..star.facts import Facts
from ..star.parts import About, Missing, Part, Performance, need
from ..star.report import write_file
from ..text import percent, trimmed
from . import curves, zone
from .run import DcaRun, column


class DcaFacts(Facts):
    """Facts about performance are those of any run; these are about physics."""

    @property
    def title(self) -> str:
        config = self.config or {}
        cluster = config.get("cluster.name", "")
        if config.get("cluster.vectors"):
            cluster = str(config["cluster.vectors"])
        u, n = config.get("model.u"), config.get("model.density")
        return f"Hubbard model, {cluster} cluster: U = {u:g} t, n = {n:g}" if u is not None and n is not None else "Hubbard model"

    @property
    def throughput(self):
        """Measurements per second of wall time."""
        rows = self.run.iterations
        seconds = float(rows.numbers("seconds").sum()) if rows is not None and len(rows) else 0.0
        each = (self.config or {}).get("solver.measurements")
        return len(rows) * each / seconds if seconds > 0 and each else None


class Physics(Part):
    def html(self) -> str:
        parts = [
            ("Towards superconductivity", self.pairing), ("Green's function and self-energy", self.green),
            ("While it cools", self.observables), ("Results", self.table),
        ]
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
            [f"{t:g}", *(zone.with_error(column(rows, key)[i], column(rows, f"{key}_error")[i]) for key in names)]
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
    facts, pngs = DcaFacts(run), {}
    try:
        text = html.page(f"{facts.title} · {run.folder.resolve().name}", _body(facts, pngs))
        for name, png in pngs.items():
            write_file(out.parent / f"{name}.png", png)
        write_file(out, text.encode("utf-8"))
    finally:
        facts.close()
    return facts


def _body(facts: DcaFacts, pngs: dict) -> str:
    physics = Physics(facts, pngs)
    hero = physics.part("Across the Brillouin zone", physics.zone)
    sections = [
        ("physics", "Physics", physics.html()),
        ("chains", "Monte Carlo", physics.part("Health of the chains", physics.chains)),
        ("performance", "Where the time went", Speed(facts, pngs).html()), ("run", "Run", About(facts, pngs).html()),
    ]
    links = "".join(f'<a href="#{key}">{name}</a>' for key, name, _ in sections)
    below = "".join(f'<section id="{key}"><h2>{name}</h2>{inner}</section>' for key, name, inner in sections)
    tiles = "".join(html.tile(*each) for each in _tiles(facts))
    problems = "".join(html.note("Not readable", text, bad=True) for text in facts.problems)
    head = f'{_header(facts)}<nav>{links}</nav><div class="tiles">{tiles}</div>{problems}'
    return f"{head}<section>{hero}</section>{below}<footer>{_footer(facts)}</footer>"


def state_of(facts: DcaFacts) -> str:
    status = str((facts.summary or {}).get("status") or "")
    return status or ("finished" if (facts.run.result or {}).get("complete") else "not complete")


def _header(facts: DcaFacts) -> str:
    summary = facts.summary or {}
    machine = summary.get("machine") if isinstance(summary.get("machine"), dict) else {}
    program = " ".join(str(summary[key]) for key in ("program", "version") if summary.get(key))
    line = " · ".join(escape(str(bit)) for bit in (program, summary.get("started"), machine.get("host")) if bit)
    state = state_of(facts)
    bad = "" if state == "finished" else " bad"
    return (
        f'<header><div class="kicker">Parallax · {escape(facts.run.folder.resolve().name)}</div>'
        f'<h1>{escape(facts.title)}</h1><p><span class="state{bad}">{escape(state)}</span> {line}</p></header>'
    )


def _tiles(facts: DcaFacts) -> list:
    run, tiles = facts.run, []
    if run.transition:
        tiles.append(("transition", f"T_c = {run.transition[0]:.4f}", f"± {run.transition[1]:.4f} t"))
    rows = run.temperatures
    if rows is not None and len(rows):
        last = {name: [rows[name][-1]] for name in rows.names()}
        t = float(column(last, "t")[0])
        for name, title in (("lambda_d", "d-wave eigenvalue"), ("double_occupancy", "double occupancy"), ("energy", "energy per site")):
            value, error = column(last, name)[0], column(last, f"{name}_error")[0]
            if value == value:
                tiles.append((title, zone.with_error(value, error), f"at T = {t:g} t"))
    iterations = run.iterations
    if iterations is not None and len(iterations):
        tiles.append(("expansion order", trimmed(iterations.numbers("order")[-1]), f"sign {iterations.numbers('sign')[-1]:.3f}"))
    if facts.throughput:
        tiles.append(("throughput", f"{facts.throughput:,.0f}", "measurements per second"))
    if facts.shares:
        tiles.append(("workers in tasks", percent(facts.shares["tasks"]), f"idle {percent(facts.shares['idle'])}"))
    return tiles


def _footer(facts: DcaFacts) -> str:
    return (
        f"Made by <b>parallax report</b> from {escape(str(facts.run.folder.resolve()))}. The pictures lie beside this page "
        "as PNG; the numbers are in the CSV files of the folder. Energies are in units of the hopping t."
    )


def summary_lines(facts: DcaFacts, report_path: Path) -> list:
    """The lines that `parallax report` prints."""
    lines = [f"{facts.title}: {state_of(facts)}"]
    lines += [f"{title + ':':20} {value} {under}" for title, value, under in _tiles(facts)]
    return [*lines, f"page: {report_path}"]
