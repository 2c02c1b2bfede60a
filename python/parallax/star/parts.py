"""The parts of a report's page, each made from the facts of a run. A part that cannot be made becomes a note; a picture is
drawn in light and dark. Example to read: tests/star/test_report.py.
"""

from __future__ import annotations

import base64
from html import escape

from .. import ReadError, html
from ..performance import pictures
from ..performance.diagnosis.idle import locks
from ..performance.roofline import roofline_picture
from ..performance.speedups import speedups_of, speedups_picture
from ..picture import dark, light, render
from ..tables import read_json
from ..text import count, percent, plural, seconds, short, trimmed
from . import curves, planes, render as renderer
from .facts import Facts, cost_by_level, error_text, mesh_text, throughput_text
from .orbits import orbit_picture, read_orbits, wave_picture
from .pixels import read_pixels
from .tracers import read_tracers, series_of, tracers_picture


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
        except (ValueError, LookupError, ArithmeticError, TypeError, AttributeError) as error:  # strange well-formed files
            text = f"{self.facts.run.folder}: {title} cannot be drawn ({' '.join(str(error).split())[:200]})"
            self.facts.problem(text)
            return html.note(title, text, bad=True)

    def picture(self, picture, caption: str = "") -> str:
        png = render(picture, light)
        self.pngs[picture.name] = png
        return html.figure(picture.title, caption or picture.caption, picture.alt, png, render(picture, dark))

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


class Physics(Part):
    def html(self) -> str:
        errors = self.part("Against the exact solution", self.errors)
        totals = self.part("Conserved totals", self.conserved_table)  # too wide for half of the page
        rest = [
            self.part("Profile", self.profile), self.part("First and last", self.first_last),
            self.part("Over time", self.film), self.part("Conserved totals", self.conserved),
        ]
        if (self.facts.run.folder / "diagnostics.csv").exists():
            rest.insert(0, self.part("Orbits", self.orbits))
        if (self.facts.run.folder / "light_curve.csv").exists():
            rest.append(self.part("Light curve", self.light))
        rest.append(self.part("Density in three dimensions", self.volume))
        if self.facts.run.images:
            rest.append(self.part("Slices and projections", self.images))
        if series_of(self.facts.run.folder):
            rest.append(self.part("Tracers", self.tracers))
        return f'<div class="grid">{self.part("Slice", self.slice)}<div>{errors}</div></div>{totals}{"".join(rest)}'

    def slice(self) -> str:
        cut = self.cut()
        axis = "xyz"[cut.axis]
        caption = f"Plane {axis} = {trimmed(cut.at)}. Thin lines are blocks."
        layer = planes.physics_layer(cut)
        blocks = self.facts.last.n_blocks
        return self.picture(
            planes.plane_picture("density", planes.name_of(cut), caption, cut, layer, blocks, "Slice through the mesh.")
        )

    def orbits(self) -> str:
        table = need(read_orbits(self.facts.run.folder), "diagnostics.csv has no rows")
        pictures = [orbit_picture(table)] + ([wave_picture(table)] if table.pair else [])
        return "".join(self.picture(picture) for picture in pictures)

    def light(self) -> str:
        folder = self.facts.run.folder
        table = need(curves.read_light(folder), "light_curve.csv has no rows")
        return self.picture(curves.light_picture(table, read_orbits(folder)))

    def images(self) -> str:
        pictures = [planes.pixels_picture(read_pixels(paths[-1])) for paths in self.facts.run.images.values()]
        return "".join(self.picture(picture) for picture in pictures)

    def volume(self) -> str:
        if not (self.facts.run.config or {}).get("gravity.self"):
            return ""
        self.cut()
        return self.picture(renderer.volume_picture(self.facts.run.mesh_files[-1]))

    def tracers(self) -> str:
        folder = self.facts.run.folder
        return "".join(self.picture(tracers_picture(read_tracers(folder, name))) for name in series_of(folder))

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
                ("shock radius, run", f"{data.shock:.5f}"), ("shock radius, exact", f"{data.shock_exact:.5f}"),
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
        picture = curves.profile_picture(data)
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
        picture = curves.conserved_picture(self.history())
        facts = self.facts
        text = "Change since the start over the initial value (momentum: over sqrt(2 M E)). "
        if facts.losses:
            lost = ", ".join(f"{name.replace('_', ' ')} {share:+.2e}" for name, share in facts.losses.items())
            text += f"What left through the boundaries is added back: {lost} of the initial total. "
        else:
            text += "Nothing left through the boundaries. "
        text += (
            "Floors were never applied." if not facts.floors else f"Floors were applied {plural(facts.floors, 'time')}."
        )
        if facts.floor_additions:
            added = ", ".join(f"{name.replace('_', ' ')} {share:+.2e}" for name, share in facts.floor_additions.items())
            text += f" What they have added is subtracted: {added} of the initial total."
        return self.picture(picture, text)

    def conserved_table(self) -> str:
        rows = need(self.facts.conservation, "run.json has no ledger: the run has not ended")
        parts = ("change", "boundaries", "floors", "sources", "regrids")
        cells = [
            (
                row["quantity"].replace("_", " "), _number(row.get("relative"), "+.2e"), _number(row["start"], ".7g"),
                *(_number(row.get(part), "+.2e") for part in parts),
                "; ".join(text for text in (row["relative_to"] if row["relative"] is not None else "", row["note"]) if text),
            )
            for row in rows
        ]
        header = ["total", "remainder", "start", *parts, "relative to"]  # on narrow screens the last ones are out of sight
        since = self.facts.number("conservation_since_step")
        title = f"Conserved totals since step {count(int(since))}" if since else "Conserved totals"
        return html.card(title, html.table(header, cells, numeric=range(1, 8)), self._conserved_caption())

    def _conserved_caption(self) -> str:
        floors = self.facts.summary.get("floors") or {}
        words = ", ".join(f"{name} {count(n)}" for name, n in floors.items())
        text = "Remainder: the part of the change that the scheme has lost, over a scale."
        return f"{text} Floors applied: {words}." if any(floors.values()) else f"{text} No floor was applied."


class MeshAndCost(Part):
    def html(self) -> str:
        pair = [self.part("Cost per block", self.cost), self.part("Refinement level", self.level)]
        shared = ""
        if self.is_shared():
            shared = self.part("Localities", self.localities) + self.part("Localities over the run", self.localities_over_time)
        return f'<div class="grid">{"".join(pair)}</div>{shared}{self.part("Cost by level", self.cost_table)}'

    def is_shared(self) -> bool:
        """Whether many localities wrote the last mesh file."""
        return self.facts.last is not None and "Locality" in self.facts.last.per_block

    def localities(self) -> str:
        cut, mesh = self.cut(), self.facts.last
        locality, idle = mesh.block_values("Locality"), mesh.block_values("LocalityIdleRate")
        need(idle, "the mesh file holds no idle rate of the localities (dataset LocalityIdleRate)")
        number = self.facts.last_index
        since = self.facts.run.mesh_files[number - 1].name if number > 0 else "the start of the run"
        interval = f"from {since} to {mesh.path.name}"
        return self.picture(planes.localities_picture(cut, planes.physics_layer(cut), locality, idle, mesh.n_blocks, interval))

    def localities_over_time(self) -> str:
        files = self.facts.run.mesh_files
        if len(files) < 3:
            raise Missing(f"the run has {plural(len(files), 'mesh file')}; output.mesh_interval makes more")
        return self.picture(curves.localities_over_time(curves.read_localities(files)))

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


class Performance(Part):
    def html(self) -> str:
        parts = [
            self.part("Diagnosis", self.diagnosis), self.part("Throughput", self.throughput),
            self.part("Workers", self.workers),
            self.part("Processes", self.processes) if self._has("job.json") else "",
            self.part("Idle rate", self.idle), self.part("Timeline", self.timeline),
            self.part("Timeline of the job", self.job_timeline) if self._has("job_timeline.csv") else "",
            self.part("Concurrency", self.concurrency), self.part("Tasks", self.tasks),
            self.part("Roofline", self.roofline), self.part("Virtual speed-ups", self.speedups),
            self.part("Flame graph", self.flame) if self._has("flame.svg") else "",
            self.part("Functions", self.stacks) if self._has("stacks.svg") else "",
            self.part("Critical path", self.critical_path), self.part("Length of tasks", self.scatter),
            self.part("Waits", self.waits),
        ]
        return "".join(parts)

    def diagnosis(self) -> str:
        said = need(self.facts.diagnosis, "the run has no workers.csv")
        items = "".join(
            f"<li>{escape(finding.sentence())} <span>{escape(finding.suggestion)}</span></li>" for finding in said.findings
        )
        last = f"<p>{escape(said.not_judged)}</p>" if said.not_judged else ""
        caption = f"{said.headline}{self._spent()} {self._basis()}"
        return html.card("Diagnosis", f'<ol class="said">{items}</ol>{last}', caption)

    def _basis(self) -> str:
        """The time that the shares of the diagnosis are of: other idle rates on the page differ."""
        evidence = self.facts.evidence
        text = f"Shares {self.facts.of_whole_run}: of the time of all its workers together"
        if evidence.share(evidence.unplaced_s) >= 0.005:
            text += ", with that between tasks without a core, which the bars of the workers lack"
        return f"{text}."

    def _spent(self) -> str:
        """The cost of measuring and the energy, if known."""
        bits = []
        cost = self.facts.number("measurement_cost_percent")
        if cost is not None:
            bits.append(f"Measuring cost {trimmed(cost, 2)} % of it.")
        joules = self.facts.energy_j
        if joules is not None:
            updates = self.facts.number("cell_updates")
            each = f", {trimmed(1e9 * joules / updates, 3)} nJ per cell update" if updates else ""
            bits.append(f"The machine used {trimmed(joules, 3)} J in that time{each}.")
        return "".join(f" {bit}" for bit in bits)

    def idle(self) -> str:
        evidence = self.facts.evidence
        if evidence is None or evidence.series("/threads{locality#0/total}/time/idle") is None:
            raise Missing("the run has no counters over time (diagnose.csv)")
        picture = pictures.idle_picture(evidence)
        return self.picture(picture) if picture else ""  # a run of an instant has no course

    def _untraced(self, name: str) -> str:
        """Why the file of the traced steps is missing."""
        if (self.facts.run.folder / "trace.plxt").exists():
            return f"the run has no {name}: --plx:trace traces the whole program instead of some steps (plx-star --trace), for plx-trace"
        return f"the run has no {name} (no steps were traced)"

    def timeline(self) -> str:
        table = need(self.facts.timeline, self._untraced("timeline.csv"))
        return self.picture(pictures.timeline_picture(table, self.facts.kinds))

    def job_timeline(self) -> str:
        table = self.facts.run.job_timeline
        if len(table) == 0:
            raise Missing("job_timeline.csv has no rows")
        return self.picture(pictures.job_timeline_picture(table, self.facts.run.job_parcels))

    def concurrency(self) -> str:
        table = need(self.facts.concurrency, self._untraced("concurrency.csv"))
        workers = len(self.facts.workers) if self.facts.workers is not None else 1
        return self.picture(pictures.concurrency_picture(table, self.facts.kinds, workers))

    def _svg(self, name: str, title: str, text: str, again: str) -> str:
        """A card with a picture of the run's folder that is a small program: zoom and search."""
        try:
            svg = (self.facts.run.folder / name).read_bytes()
        except OSError as problem:
            raise Missing(f"{name} cannot be read: {problem.strerror}") from problem
        if not svg.startswith(b"<svg ") or not svg.rstrip().endswith(b"</svg>"):
            raise Missing(f"{name} is not a complete picture: {again} writes it again")
        data = base64.b64encode(svg).decode()
        return html.card(title, f'<object type="image/svg+xml" data="data:image/svg+xml;base64,{data}"></object>', text)

    def flame(self) -> str:
        text = "Task types by the types that caused them, from a trace (plx-trace flame). A click enlarges a frame."
        return self._svg("flame.svg", "Flame graph", text, "plx-trace flame RUN")

    def stacks(self) -> str:
        text = (
            "CPU time by function, below the type of the task that ran, from sampled stacks (sample-stacks). A click enlarges "
            "a frame."
        )
        return self._svg("stacks.svg", "Functions", text, "a run with --plx:sample-stacks")

    def scatter(self) -> str:
        table = need(self.facts.scatter, self._untraced("scatter.csv"))
        return self.picture(pictures.scatter_picture(table, self.facts.kinds))

    def critical_path(self) -> str:
        path = need(self.facts.critical_path, self._untraced("critical_path.json"))
        span, wall, rows = float(path["span_s"]), float(path["wall_s"]), []
        for kind in path["kinds"][:12]:
            half = (kind.get("if_half") or {}).get("wall_s")
            gain = f"{100 * (half / wall - 1):+.1f} %" if half and wall > 0 else "-"
            share = kind["path_s"] / span if span > 0 else 0.0
            rows.append(
                [
                    kind["name"], html.bar_cell(share, percent(share)), seconds(kind["path_s"]),
                    count(kind["on_path"]), seconds(kind["work_s"]), seconds(kind["delay_s"] / max(kind["tasks"], 1)),
                    gain,
                ]
            )
        caption = (
            f"The critical path of the traced steps takes {seconds(span)}; all their work is "
            f"{trimmed(float(path['parallelism']), 3)} times that. Steps follow each other, which the chain does not "
            f"count. The last column estimates the run if that kind took half the time."
        )
        header = ["task", "share of the chain", "on it", "slices", "all work", "mean wait when ready", "if half"]
        return html.card("Critical path", html.table(header, rows, numeric=range(2, 7), raw=(1,)), caption)

    def waits(self) -> str:
        evidence = need(self.facts.evidence, "the run has no waits.csv")
        found = need(evidence.wait_rows, "the run has no waits.csv")
        rows = [
            [row["kind"], row["label"], count(row["waits"]), seconds(row["total_s"]), seconds(row["max_s"])]
            for row in _by_name(found)
        ]
        if not rows:
            raise Missing("no task was suspended")
        more = f" The first 8 of {len(rows)}." if len(rows) > 8 else ""
        caption = f"Times for which tasks were suspended; a suspended task occupies no worker.{more}"
        header = ["waited for", "name or address", "waits", "total", "longest"]
        return html.card("Waits", html.table(header, rows[:8], numeric=(2, 3, 4)), caption)

    def throughput(self) -> str:
        picture = curves.throughput_picture(self.history())
        return self.picture(
            picture, f"{throughput_text(self.facts).capitalize()} over the whole run. {picture.caption}"
        )

    def workers(self) -> str:
        table = self.facts.run.workers
        if table is None or len(table) == 0:
            raise Missing("the run has no workers.csv" if table is None else "workers.csv has no rows")
        return self.picture(pictures.workers_picture(table))

    def _has(self, name: str) -> bool:
        return (self.facts.run.folder / name).exists()

    def processes(self) -> str:
        """The localities of a job side by side, and what is least even between them."""
        job = need(self.facts.evidence, "the run has no workers.csv").job
        rows = []
        for row in job["localities"]:
            if row["missing"]:
                rows.append([row["locality"], row["missing"], *[""] * 7])
                continue
            used = row["exec_s"] + row["idle_s"] + row["overhead_s"] + row["background_s"]
            share = row["exec_s"] / used if used > 0 else 0.0
            rows.append(
                [
                    row["locality"], row["host"], html.bar_cell(share, percent(share)), percent(row["idle_rate"]),
                    percent(row["network_overhead"]), count(row["parcels_sent"]), count(row["messages_sent"]),
                    f"{trimmed(1e-6 * row['bytes_sent'], 3)} MB", seconds(row["wait_s"]),
                ]
            )
        header = "locality,host,in tasks,idle,network,parcels sent,messages,bytes sent,tasks suspended".split(",")
        tables = html.table(header, rows, numeric=range(3, 9), raw=(2,))
        kinds = job["tasks"][:8]  # the largest total first
        rows = [
            [
                short(str(row["name"])), count(row["calls"]), seconds(row["total_s"]), seconds(row["least_locality_s"]),
                seconds(row["most_locality_s"]), row["most_at"], trimmed(row["imbalance"], 3),
            ]
            for row in kinds
        ]
        header = "task,calls,total,least,most,at,most / mean".split(",")
        tables += html.table(header, rows, numeric=range(1, 7))
        caption = (
            "The processes of the job. In tasks and idle: shares of the time of all workers of that process, in the whole run. "
            "Network: the share of the time of tasks and network that messages took. Below, "
            "the task types with the most time, by the locality with the least and with the most of them."
        )
        return html.card("Processes", tables, caption)

    def tasks(self) -> str:
        table = self.facts.run.profile
        if table is None or len(table) == 0:
            raise Missing("the run has no profile.csv" if table is None else "profile.csv has no rows")
        total = table.numbers("total_s")
        whole, rows = float(total.sum()) or 1.0, []
        events = [key for key in table.names() if key.startswith(of_event)]
        for i in sorted(range(len(table)), key=lambda i: -total[i])[:20]:
            times = [seconds(table.numbers(key)[i]) for key in (*names_of_times, *names_of_blame) if key in table]
            if "energy_j" in table:
                times.append(f"{trimmed(table.numbers('energy_j')[i])} J")
            times += [_event_text(key, table.numbers(key)[i]) for key in events]
            share = total[i] / whole
            rows.append(
                [
                    short(str(table["name"][i])), html.bar_cell(share, percent(share)), seconds(total[i]),
                    count(table.numbers("calls")[i]), *times,
                ]
            )
        names = {**names_of_times, **names_of_blame}
        header = ["task", "share", "total", "calls", *(names[key] for key in names if key in table)]
        header += ["energy"] if "energy_j" in table else []
        header += [key.removeprefix(of_event) for key in events]
        more = f"The first 20 of {len(table)}." if len(table) > 20 else ""
        inner = html.table(header, rows, numeric=range(2, len(header)), raw=(1,))
        blame = (
            " Idle blame: the idle time of workers that is charged to a type because it ran meanwhile. Lock blame: how long "
            "others waited for locks that it held."
            if all(key in table for key in names_of_blame)
            else ""
        )
        caption = f"By time spent in them, all workers together. {more}{blame}{self._energy()}{self._events()}"
        return html.card("Tasks", inner, caption)

    def roofline(self) -> str:
        found = self.facts.evidence.roofline if self.facts.evidence is not None else None
        picture = roofline_picture(found) if found is not None else None
        return self.picture(picture) if picture is not None else ""

    def speedups(self) -> str:
        picture = speedups_picture(speedups_of(self.facts.run.folder))
        return self.picture(picture) if picture is not None else ""

    def _events(self) -> str:
        """A sentence about the events of the table, if any were counted by task type."""
        perf = (read_json(self.facts.run.folder / "measurement.json") or {}).get("perf")
        events = perf.get("events") if isinstance(perf, dict) else None
        if not isinstance(events, dict):
            return ""
        outside = [f"{name} {_event_text(name, row['no_task'])}" for name, row in events.items() if isinstance(row, dict)]
        counted = perf.get("counted", 1)
        part = f", counted for {percent(counted)} of the time" if counted < 0.999 else ""
        return f" Events{part}; outside of tasks: {', '.join(outside)}."

    def _energy(self) -> str:
        """A sentence, if the machine measures its energy."""
        found = (read_json(self.facts.run.folder / "measurement.json") or {}).get("energy_j")
        joules = [found.get(key) for key in ("tasks", "no_task")] if isinstance(found, dict) else []
        if not joules or not all(isinstance(value, float | int) for value in joules):
            return ""
        return (
            f" Energy: of the machine, in equal parts by worker; {trimmed(joules[0])} J while workers were in tasks, "
            f"{trimmed(joules[1])} J while they were not."
        )


names_of_times = {"mean_s": "mean", "min_s": "min", "p50_s": "p50", "p99_s": "p99", "max_s": "max", "stddev_s": "std dev"}
of_event = "perf:"  # columns of events counted by task type


def _event_text(name: str, value) -> str:
    return seconds(value) if name.endswith("task-clock") else count(value)


names_of_blame = {"idle_blame_s": "idle blame", "lock_blame_s": "lock blame"}


def _by_name(rows: list) -> list:
    """Waits by kind and name; objects of a kind without a name are one row, but for locks, whose addresses matter."""
    joined: dict = {}
    for row in rows:
        own = row["name"] or (row["object"] if row["kind"] in locks else "")
        into = joined.setdefault((row["kind"], own), {**row, "waits": 0, "total_s": 0.0, "max_s": 0.0, "objects": 0})
        into["waits"] += row["waits"]
        into["total_s"] += row["total_s"]
        into["max_s"] = max(into["max_s"], row["max_s"])
        into["objects"] += bool(row["object"])
        into["label"] = own or (f"{count(into['objects'])} without a name" if into["objects"] else "")
    return sorted(joined.values(), key=lambda row: -row["total_s"])


class About(Part):
    def html(self) -> str:
        pair = [self.part("Summary", self.run_table), self.part("Machine and build", self.machine_table)]
        known = self.part("Exact values of this problem", self.references) if self.facts.references else ""
        changed = html.changed_options(self.facts.summary)
        return f'<div class="grid">{"".join(pair)}</div><p></p>{known}{changed}{self.part("Configuration", self.configuration)}'

    def references(self) -> str:
        rows = [(name.replace("_", " "), _plain(value)) for name, value in self.facts.references.items()]
        return html.card("Exact values of this problem", html.pairs(rows), "Exact numbers at the end of the run, code units.")

    def _summary(self):
        return need(self.facts.run.summary, "the run has no run.json")

    def run_table(self) -> str:
        summary = self._summary()
        rows = [(key.replace("_", " "), _plain(value)) for key, value in summary.items() if not _is_nested(value)]
        units = summary.get("units")
        if isinstance(units, dict) and units:
            rows.append(("code units", ", ".join(f"{key.replace('_', ' ')} {_plain(value)}" for key, value in units.items())))
        return html.card("Summary", html.pairs([row for row in rows if row[1] != ""]))

    def machine_table(self) -> str:
        rows = []
        for group, value in self._summary().items():
            if isinstance(value, dict) and group not in ("references", "units", "floors"):
                rows += [(f"{group} {key.replace('_', ' ')}", _plain(each)) for key, each in value.items()]
        if not rows:
            raise Missing("run.json has no machine or build")
        return html.card("Machine and build", html.pairs(rows))

    def configuration(self) -> str:
        text = need(self.facts.run.config_text, "the run has no config.toml")
        self.facts.run.config  # noqa: B018 (raises ReadError when it is broken)
        inner = f"<summary>Configuration (config.toml)</summary><pre>{escape(text)}</pre>"
        return f'<div class="card"><details open>{inner}</details></div>'


def _is_nested(value) -> bool:
    return isinstance(value, (dict, list))


def _number(value, form: str) -> str:
    return "–" if value is None else format(value, form) if value else "0"


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
