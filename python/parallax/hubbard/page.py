"""The frame of a report: header, numbers at the top, sections, and the lines for the terminal.

Example to read: tests/qmc/test_dca_report.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Callable

from .. import html
from ..star.facts import Facts
from ..star.report import write_file
from ..text import percent


class HubbardFacts(Facts):
    """Facts of a run with a `result` (result.json). Facts about performance are those of any run; `tiles`, [(what, value,
    under)], are about physics."""

    @property
    def state(self) -> str:
        """The status of run.json, or else what result.json says."""
        status = str((self.summary or {}).get("status") or "")
        return status or ("finished" if (self.run.result or {}).get("complete") else "not complete")

    @property
    def tiles(self) -> list:
        return []

    @property
    def worker_tiles(self) -> list:
        if not self.shares:
            return []
        return [("workers in tasks", percent(self.shares["tasks"]), f"{self.of_whole_run}; idle {percent(self.shares['idle'])}")]

    def cluster_name(self) -> str:
        config = self.config or {}
        return str(config.get("cluster.vectors") or config.get("cluster.name", ""))


@dataclass
class Sections:
    """hero: HTML at the top, without a heading; parts: [(anchor, heading, HTML)]."""

    hero: str = ""
    parts: list = field(default_factory=list)


def write_page(facts: HubbardFacts, out: Path, make: Callable) -> None:
    """Writes `out` and, beside it, the pictures as PNG (light). make(facts, pngs) returns the Sections and fills `pngs`.
    Raises OSError when it cannot write."""
    pngs: dict = {}
    try:
        text = html.page(f"{facts.title} · {facts.run.folder.resolve().name}", _body(facts, make(facts, pngs)))
        for name, png in pngs.items():
            write_file(out.parent / f"{name}.png", png)
        write_file(out, text.encode("utf-8"))
    finally:
        facts.close()


def _body(facts: HubbardFacts, sections: Sections) -> str:
    links = "".join(f'<a href="#{key}">{name}</a>' for key, name, _ in sections.parts)
    below = "".join(f'<section id="{key}"><h2>{name}</h2>{inner}</section>' for key, name, inner in sections.parts)
    tiles = "".join(html.tile(*each) for each in facts.tiles)
    problems = "".join(html.note("Not readable", text, bad=True) for text in facts.problems)
    warnings = "".join(html.note("Note", text) for text in facts.warnings)
    head = f'{_header(facts)}<nav>{links}</nav><div class="tiles">{tiles}</div>{problems}{warnings}'
    changed = html.changed_options(facts.summary)
    return f"{head}<section>{sections.hero}</section>{below}<section>{changed}</section><footer>{_footer(facts)}</footer>"


def _header(facts: HubbardFacts) -> str:
    summary = facts.summary or {}
    machine = summary.get("machine") if isinstance(summary.get("machine"), dict) else {}
    program = " ".join(str(summary[key]) for key in ("program", "version") if summary.get(key))
    line = " · ".join(escape(str(bit)) for bit in (program, summary.get("started"), machine.get("host")) if bit)
    bad = "" if facts.state == "finished" else " bad"
    message = str(summary.get("message") or "")
    return (
        f'<header><div class="kicker">Parallax · {escape(facts.run.folder.resolve().name)}</div>'
        f'<h1>{escape(facts.title)}</h1><p><span class="state{bad}">{escape(facts.state)}</span> {line}</p>'
        + (html.note("Message", message, bad=facts.state != "finished") if message else "")
        + "</header>"
    )


def _footer(facts: HubbardFacts) -> str:
    return (
        f"Made by <b>parallax report</b> from {escape(str(facts.run.folder.resolve()))}. The pictures lie beside this page "
        "as PNG; the numbers are in the CSV files of the folder. Energies are in units of the hopping t."
    )


def summary_lines(facts: HubbardFacts, report_path: Path) -> list:
    """The lines that `parallax report` prints."""
    lines = [f"{facts.title}: {facts.state}"]
    message = str((facts.summary or {}).get("message") or "")
    lines += [f"{'message:':20} {message}"] if message else []
    title_width, width = (max((len(tile[i]) for tile in facts.tiles), default=0) for i in (0, 1))
    lines += [f"{title + ':':{max(20, title_width + 1)}} {value:<{width}}  {under}".rstrip() for title, value, under in facts.tiles]
    return [*lines, f"page: {report_path}"]
