"""Base of all parts of a report: a part that cannot be made becomes a note; a picture is drawn in light and dark."""

from __future__ import annotations

from ... import html, theme
from ...errors import ReadError
from ...picture import render
from ..facts import Facts


class Missing(Exception):
    """Something that a part of the page needs is not in the run."""


def need(value, what: str):
    """The value, or Missing when it is None."""
    if value is None:
        raise Missing(what)
    return value


class Part:
    """A part of the page. `pngs` collects the pictures (light) by name, for the files beside the page."""

    def __init__(self, facts: Facts, pngs: dict):
        self.facts = facts
        self.pngs = pngs

    def part(self, title: str, make) -> str:
        """The part's HTML; a note in its place when what it needs is missing, broken or cannot be drawn."""
        try:
            return make()
        except Missing as missing:
            return html.note(title, f"not shown: {missing}")
        except ReadError as error:
            self.facts.problem(str(error))
            return html.note(title, f"not shown: {error}", bad=True)
        except (ValueError, IndexError, FloatingPointError) as error:  # strange numbers in well-formed files
            text = f"{self.facts.run.folder}: {title} cannot be drawn ({' '.join(str(error).split())[:200]})"
            self.facts.problem(text)
            return html.note(title, text, bad=True)

    def picture(self, picture, caption: str = "") -> str:
        light = render(picture, theme.light)
        self.pngs[picture.name] = light
        return html.figure(picture.title, caption or picture.caption, picture.alt, light, render(picture, theme.dark))

    # ---- what several parts need ----

    def cut(self):
        facts = self.facts
        if not facts.run.mesh_files:
            raise Missing("the run has no mesh files (mesh/*.athdf)")
        return need(facts.cut, "no mesh file can be read")

    def cost_of_blocks(self):
        self.cut()
        return need(self.facts.cost, "the mesh files hold no cost per block (dataset Cost)")

    def history(self):
        if self.facts.history is None:
            raise Missing("the run has no history.csv" if self.facts.run.history is None else "history.csv has no rows")
        return self.facts.history
