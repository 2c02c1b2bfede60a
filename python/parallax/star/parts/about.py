"""Program, machine and configuration of the run: run.json and config.toml."""

from __future__ import annotations

from html import escape

from ... import html
from ...text import count, trimmed
from .part import Missing, Part, need


class About(Part):
    def html(self) -> str:
        pair = [self.part("Summary", self.run_table), self.part("Machine and build", self.machine_table)]
        known = self.part("Exact values of this problem", self.references) if self.facts.references else ""
        return f'<div class="grid">{"".join(pair)}</div><p></p>{known}{self.part("Configuration", self.configuration)}'

    def references(self) -> str:
        rows = [(name.replace("_", " "), _plain(value)) for name, value in self.facts.references.items()]
        return html.card("Exact values of this problem", html.pairs(rows), "Exact numbers at the end of the run, code units.")

    def _summary(self):
        return need(self.facts.run.summary, "the run has no run.json")

    def run_table(self) -> str:
        summary = self._summary()
        rows = [(key.replace("_", " "), _plain(value)) for key, value in summary.items() if not isinstance(value, dict)]
        return html.card("Summary", html.pairs([row for row in rows if row[1] != ""]))

    def machine_table(self) -> str:
        rows = []
        for group, value in self._summary().items():
            if isinstance(value, dict) and group != "references":
                rows += [(f"{group} {key.replace('_', ' ')}", _plain(each)) for key, each in value.items()]
        if not rows:
            raise Missing("run.json has no machine or build")
        return html.card("Machine and build", html.pairs(rows))

    def configuration(self) -> str:
        text = need(self.facts.run.config_text, "the run has no config.toml")
        self.facts.run.config  # noqa: B018 (raises ReadError when it is broken)
        inner = f"<summary>Configuration (config.toml)</summary><pre>{escape(text)}</pre>"
        return f'<div class="card"><details open>{inner}</details></div>'


def _plain(value) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    if isinstance(value, int):
        return count(value)
    if isinstance(value, float):
        return trimmed(value, 6)
    if isinstance(value, (list, tuple)):
        return ", ".join(_plain(each) for each in value)
    return str(value)
