"""The physics of a run: density, profile against the exact solution, conserved totals."""

from __future__ import annotations

from ... import html
from ...text import count, trimmed
from ..plots import lines, planes
from ..summary import error_text
from .part import Missing, Part, need


class Physics(Part):
    def html(self) -> str:
        tables = self.part("Conserved totals", self.conserved_table) + self.part(
            "Against the exact solution", self.errors
        )
        rest = [
            self.part("Profile", self.profile),
            self.part("First and last", self.first_last),
            self.part("Over time", self.film),
            self.part("Conserved totals", self.conserved),
        ]
        return f'<div class="grid">{self.part("Slice", self.slice)}<div>{tables}</div></div>{"".join(rest)}'

    def slice(self) -> str:
        cut = self.cut()
        axis = "xyz"[cut.axis]
        caption = f"Plane {axis} = {trimmed(cut.at)}. Thin lines are blocks."
        layer = planes.physics_layer(cut)
        blocks = self.facts.last.n_blocks
        return self.picture(
            planes.plane_picture("density", planes.name_of(cut), caption, cut, layer, blocks, "Slice through the mesh.")
        )

    def errors(self) -> str:
        data = self.facts.lines
        if data is None or not data.l1:
            raise Missing("the run has no exact.csv" if self.facts.run.exact is None else self.facts.why_no_errors)
        names = {
            "rho": "density",
            "vel": "radial velocity" if data.coordinate == "r" else "velocity",
            "press": "pressure",
        }
        rows = [(f"L1 of {names[name]}", f"{value:.3e}") for name, value in data.l1.items()]
        if data.shock is not None and data.shock_exact:
            rows += [
                ("shock radius, run", f"{data.shock:.5f}"),
                ("shock radius, exact", f"{data.shock_exact:.5f}"),
                ("difference", f"{100 * (data.shock / data.shock_exact - 1):+.3f} %"),
            ]
        caption = "L1: mean over the volume of |cell - exact solution at its centre|, code units."
        if data.shock is not None:
            caption += f" The shock: {data.shock_method}."
        return html.card("Against the exact solution", html.table(["quantity", "value"], rows, numeric=(1,)), caption)

    def profile(self) -> str:
        facts = self.facts
        if not facts.run.mesh_files:
            raise Missing("the run has no mesh files (mesh/*.athdf)")
        if facts.lines is None and facts.exact is None:
            raise Missing("there is no exact solution to compare with (exact.csv)")
        data = need(facts.lines, facts.why_no_errors)
        picture = lines.profile_picture(data)
        return self.picture(picture, f"{picture.caption} {error_text(facts)}." if facts.exact else picture.caption)

    def _film(self, least: int):
        self.cut()
        indices = self.facts.film_indices
        if len(indices) < least:
            raise Missing(f"needs at least {least} mesh files, this run has {len(indices)}")
        return indices

    def first_last(self) -> str:
        indices = self._film(2)
        first = self.facts.mesh(indices[0])
        blocks = (first.n_blocks, self.facts.last.n_blocks)
        return self.picture(planes.first_last_picture(first.slice(self.facts.variable), self.facts.cut, blocks))

    def film(self) -> str:
        meshes = [self.facts.mesh(i) for i in self._film(3)]
        cuts = [mesh.slice(self.facts.variable) for mesh in meshes]
        return self.picture(planes.film_picture(cuts, [mesh.n_blocks for mesh in meshes]))

    def conserved(self) -> str:
        picture = lines.conserved_picture(self.history())
        facts = self.facts
        text = "Change since the start over the initial value (momentum: over sqrt(2 M E)). "
        if facts.losses:
            lost = ", ".join(f"{name.replace('_', ' ')} {share:+.2e}" for name, share in facts.losses.items())
            text += f"What left through the boundaries is added back: {lost} of the initial total. "
        else:
            text += "Nothing left through the boundaries. "
        text += (
            "Floors were never applied." if not facts.floors else f"Floors were applied {count(facts.floors)} times."
        )
        return self.picture(picture, text)

    def conserved_table(self) -> str:
        history = self.history()
        rows = []
        for name, value in (self.facts.drifts or {}).items():
            first, last = history.numbers(name)[[0, -1]]
            lost = (self.facts.losses or {}).get(name)
            left = "none" if lost is None else f"{lost:+.2e}"
            rows.append((name.replace("_", " "), f"{first:.7g}", f"{last:.7g}", left, f"{value:+.1e}"))
        inner = html.table(["total", "first", "last", "left (share)", "drift"], rows, numeric=(1, 2, 3, 4))
        return html.card("Conserved totals", inner, self.floors_applied(history))

    def floors_applied(self, history) -> str:
        hits = {name[7:]: history.numbers(name)[-1] for name in history.names() if name.startswith("floors_")}
        words = ", ".join(f"{name.replace('_', ' ')} {count(n)}" for name, n in hits.items())
        return f"Floors applied: {words}." if hits else ""
