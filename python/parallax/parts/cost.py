"""The cost of a run: per block, per level, per worker, per kind of task."""

from __future__ import annotations

from .. import html
from ..plots import lines, planes, work
from ..terminal import cost_by_level, mesh_text, throughput_text
from ..text import count, percent, seconds
from .part import Missing, Part


class MeshAndCost(Part):
    def html(self) -> str:
        pair = [self.part("Cost per block", self.cost), self.part("Refinement level", self.level)]
        return f'<div class="grid">{"".join(pair)}</div>{self.part("Cost by level", self.cost_table)}'

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
        caption = f"Wall time since the file before {mesh.path.name}; what else the cores did shows as noise."
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


class Performance(Part):
    def html(self) -> str:
        return "".join(
            (
                self.part("Throughput", self.throughput),
                self.part("Workers", self.workers),
                self.part("Tasks", self.tasks),
            )
        )

    def throughput(self) -> str:
        picture = lines.throughput_picture(self.history())
        return self.picture(
            picture, f"{throughput_text(self.facts).capitalize()} over the whole run. {picture.caption}"
        )

    def workers(self) -> str:
        table = self.facts.run.workers
        if table is None or len(table) == 0:
            raise Missing("the run has no workers.csv" if table is None else "workers.csv has no rows")
        return self.picture(work.workers_picture(table))

    def tasks(self) -> str:
        table = self.facts.run.profile
        if table is None or len(table) == 0:
            raise Missing("the run has no profile.csv" if table is None else "profile.csv has no rows")
        total = table.numbers("total_s")
        whole, rows = float(total.sum()) or 1.0, []
        for i in sorted(range(len(table)), key=lambda i: -total[i])[:20]:
            times = [seconds(table.numbers(key)[i]) for key in ("mean_s", "min_s", "max_s", "stddev_s") if key in table]
            share = total[i] / whole
            rows.append(
                [
                    table["name"][i],
                    html.bar_cell(share, percent(share)),
                    seconds(total[i]),
                    count(table.numbers("calls")[i]),
                    *times,
                ]
            )
        names = {"mean_s": "mean", "min_s": "min", "max_s": "max", "stddev_s": "std dev"}
        header = ["task", "share", "total", "calls", *(names[key] for key in names if key in table)]
        more = f"The first 20 of {len(table)}." if len(table) > 20 else ""
        inner = html.table(header, rows, numeric=range(2, len(header)), raw=(1,))
        return html.card("Tasks", inner, f"By time spent in them, all workers together. {more}")
