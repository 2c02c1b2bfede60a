"""The cost of a run per block and per level."""

from __future__ import annotations

from ... import html
from ...text import count, percent, seconds
from ..plots import planes
from ..summary import cost_by_level, mesh_text
from .part import Part, need


class MeshAndCost(Part):
    def html(self) -> str:
        pair = [self.part("Cost per block", self.cost), self.part("Refinement level", self.level)]
        shared = self.part("Localities", self.localities) if self.is_shared() else ""
        return f'<div class="grid">{"".join(pair)}</div>{shared}{self.part("Cost by level", self.cost_table)}'

    def is_shared(self) -> bool:
        """Whether many localities wrote the last mesh file."""
        return self.facts.last is not None and "Locality" in self.facts.last.per_block

    def localities(self) -> str:
        cut, mesh = self.cut(), self.facts.last
        locality, idle = mesh.block_values("Locality"), mesh.block_values("LocalityIdleRate")
        need(idle, "the mesh file holds no idle rate of the localities (dataset LocalityIdleRate)")
        return self.picture(planes.localities_picture(cut, planes.physics_layer(cut), locality, idle, mesh.n_blocks))

    def hero(self) -> str:
        index, cost = self.cost_of_blocks()
        mesh = self.facts.mesh(index)
        cut = self.facts.cut if index == self.facts.last_index else mesh.slice(self.facts.variable)
        layers = planes.physics_layer(cut), planes.cost_layer(cut, cost)
        return self.picture(planes.parallax_picture(cut, *layers, mesh.n_blocks))

    def level(self) -> str:
        cut = self.cut()
        caption = mesh_text(self.facts) + "."
        layer = planes.level_layer(cut)
        blocks = self.facts.last.n_blocks
        picture = planes.plane_picture("level", "Refinement level", caption, cut, layer, blocks, "Level of each block.")
        return self.picture(picture)

    def cost(self) -> str:
        index, cost = self.cost_of_blocks()
        mesh = self.facts.mesh(index)
        cut = mesh.plane()
        caption = f"Wall time since the file before {mesh.path.name}; other work on the cores shows as noise."
        layer = planes.cost_layer(cut, cost)
        picture = planes.plane_picture(
            "cost", "Cost per block", caption, cut, layer, mesh.n_blocks, "Cost of each block."
        )
        return self.picture(picture)

    def cost_table(self) -> str:
        index, cost = self.cost_of_blocks()
        rows = [
            (level, count(blocks), count(cells), html.bar_cell(share, percent(share)), seconds(mean))
            for level, blocks, cells, share, mean in cost_by_level(self.facts.mesh(index), cost)
        ]
        header = ["level", "blocks", "cells", "share of the cost", "mean per cell update"]
        return html.card("Cost by level", html.table(header, rows, numeric=(1, 2, 4), raw=(3,)))
