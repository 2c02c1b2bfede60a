"""How the run used its workers: the diagnosis, then the pictures and tables that it rests on."""

from __future__ import annotations

from html import escape

from ... import html
from ...performance.diagnosis import rules
from ...performance.plots import tasks, worker_time
from ...text import count, percent, seconds, trimmed
from ..plots import lines
from ..summary import throughput_text
from .part import Missing, Part, need


class Performance(Part):
    def html(self) -> str:
        parts = [
            self.part("Diagnosis", self.diagnosis),
            self.part("Throughput", self.throughput),
            self.part("Workers", self.workers),
            self.part("Processes", self.processes) if self._has("job.json") else "",
            self.part("Idle rate", self.idle),
            self.part("Timeline", self.timeline),
            self.part("Timeline of the job", self.job_timeline) if self._has("job_timeline.csv") else "",
            self.part("Concurrency", self.concurrency),
            self.part("Tasks", self.tasks),
            self.part("Critical path", self.critical_path),
            self.part("Length of tasks", self.scatter),
            self.part("Waits", self.waits),
        ]
        return "".join(parts)

    def diagnosis(self) -> str:
        said = need(self.facts.diagnosis, "the run has no workers.csv")
        items = "".join(
            f"<li>{escape(finding.text)} <span>{escape(finding.suggestion)}</span></li>" for finding in said.findings
        )
        last = f"<p>{escape(said.not_judged)}</p>" if said.not_judged else ""
        return html.card("Diagnosis", f'<ol class="said">{items}</ol>{last}', f"{said.headline}{self._spent()}")

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
        picture = worker_time.idle_picture(evidence)
        return self.picture(picture) if picture else ""  # a run of an instant has no course

    def timeline(self) -> str:
        table = need(self.facts.timeline, "the run has no timeline.csv (no steps were traced)")
        return self.picture(tasks.timeline_picture(table, self.facts.kinds))

    def job_timeline(self) -> str:
        table = self.facts.run.job_timeline
        if len(table) == 0:
            raise Missing("job_timeline.csv has no rows")
        return self.picture(tasks.job_timeline_picture(table, self.facts.run.job_parcels))

    def concurrency(self) -> str:
        table = need(self.facts.concurrency, "the run has no concurrency.csv (no steps were traced)")
        workers = len(self.facts.workers) if self.facts.workers is not None else 1
        return self.picture(tasks.concurrency_picture(table, self.facts.kinds, workers))

    def scatter(self) -> str:
        table = need(self.facts.scatter, "the run has no scatter.csv (no steps were traced)")
        return self.picture(tasks.scatter_picture(table, self.facts.kinds))

    def critical_path(self) -> str:
        path = need(self.facts.critical_path, "the run has no critical_path.json (no steps were traced)")
        span, wall, rows = float(path["span_s"]), float(path["wall_s"]), []
        for kind in path["kinds"][:12]:
            half = (kind.get("if_half") or {}).get("wall_s")
            gain = f"{100 * (half / wall - 1):+.1f} %" if half and wall > 0 else "-"
            share = kind["path_s"] / span if span > 0 else 0.0
            rows.append(
                [
                    kind["name"],
                    html.bar_cell(share, percent(share)),
                    seconds(kind["path_s"]),
                    count(kind["on_path"]),
                    seconds(kind["work_s"]),
                    seconds(kind["delay_s"] / max(kind["tasks"], 1)),
                    gain,
                ]
            )
        caption = (
            f"The longest chain of dependent tasks within the traced steps takes {seconds(span)}; all their work is "
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
        picture = lines.throughput_picture(self.history())
        return self.picture(
            picture, f"{throughput_text(self.facts).capitalize()} over the whole run. {picture.caption}"
        )

    def workers(self) -> str:
        table = self.facts.run.workers
        if table is None or len(table) == 0:
            raise Missing("the run has no workers.csv" if table is None else "workers.csv has no rows")
        return self.picture(worker_time.workers_picture(table))

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
                    row["locality"],
                    row["host"],
                    html.bar_cell(share, percent(share)),
                    percent(row["idle_rate"]),
                    percent(row["network_overhead"]),
                    count(row["parcels_sent"]),
                    count(row["messages_sent"]),
                    f"{trimmed(1e-6 * row['bytes_sent'], 3)} MB",
                    seconds(row["wait_s"]),
                ]
            )
        header = "locality,host,in tasks,idle,network,parcels sent,messages,bytes sent,tasks suspended".split(",")
        told = html.table(header, rows, numeric=range(3, 9), raw=(2,))
        kinds = job["tasks"][:8]  # the largest total first
        rows = [
            [
                row["name"],
                count(row["calls"]),
                seconds(row["total_s"]),
                seconds(row["least_locality_s"]),
                seconds(row["most_locality_s"]),
                row["most_at"],
                trimmed(row["imbalance"], 3),
            ]
            for row in kinds
        ]
        header = "task,calls,total,least,most,at,most / mean".split(",")
        told += html.table(header, rows, numeric=range(1, 7))
        caption = (
            "The processes of the job. Network: the share of the time of tasks and network that messages took. Below, "
            "the task types with the most time, by the locality with the least and with the most of them."
        )
        return html.card("Processes", told, caption)

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


def _by_name(rows: list) -> list:
    """Waits by kind and name; objects of a kind without a name are one row, but for locks, whose addresses matter."""
    joined: dict = {}
    for row in rows:
        own = row["name"] or (row["object"] if row["kind"] in rules.locks else "")
        into = joined.setdefault((row["kind"], own), {**row, "waits": 0, "total_s": 0.0, "max_s": 0.0, "objects": 0})
        into["waits"] += row["waits"]
        into["total_s"] += row["total_s"]
        into["max_s"] = max(into["max_s"], row["max_s"])
        into["objects"] += bool(row["object"])
        into["label"] = own or (f"{count(into['objects'])} without a name" if into["objects"] else "")
    return sorted(joined.values(), key=lambda row: -row["total_s"])
