"""The numbers of a run folder about time, waiting and memory. A missing number is None.

    profile.csv, workers.csv, waits.csv   by the setting profile=csv or diagnose=1; plx-star writes them always
    threads.csv                           by plx-exec: the rows of workers.csv are then threads, each with its own begin
    device_profile.csv                    the same settings, if a device was used
    diagnose.csv, counters.csv            time_s,name,value,unit: counters over time
    stacks.csv                            by sample-stacks: CPU time by task type and function
    critical_path.json                    by plx-trace critical, from a trace (PLX_TRACE=1)
    job.json                              of a job of many processes: all localities, all task types
Example to read: tests/performance/test_diagnosis.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from ... import ReadError
from ...folders import how_to_measure, refusal
from ...tables import Table, csv_property, read_json
from ...text import seconds, share_text
from ..roofline import roofline_of

files = ("workers.csv", "threads.csv", "profile.csv", "waits.csv", "diagnose.csv", "counters.csv", "critical_path.json")
all_threads = "/threads{locality#0/total}/"
scheduler = "/scheduler{locality#0/total}/"
perf = ("/perf{locality#0/total}/", "/perf{process}/")  # of the workers; of a program under plx-exec
of_locality = (
    "locality", "host", "workers", "exec_s", "idle_s", "overhead_s", "background_s", "idle_rate", "network_overhead",
    "parcels_sent", "messages_sent", "bytes_sent", "wait_s",
)  # fmt: skip
of_task = ("name", "calls", "total_s", "least_locality_s", "most_locality_s", "most_at", "imbalance")


@dataclass
class Finding:
    """`share`: of all workers' time, by which findings are ordered. `saves_s`: upper bound on what fixing it saves."""

    id: str
    share: float
    text: str
    suggestion: str = ""
    figures: dict = field(default_factory=dict)
    saves_s: float | None = None
    confidence: str = "clear"  # or "likely", "possible": confidence.py

    def sentence(self) -> str:
        """The text, with the confidence unless it is clear."""
        begin = {"likely": "Likely: ", "possible": "Possibly: "}.get(self.confidence)
        return self.text if begin is None else begin + self.text[0].lower() + self.text[1:]

    def json(self) -> dict:
        known = {"id": self.id, "share": self.share, "confidence": self.confidence, "text": self.text, "suggestion": self.suggestion}
        if self.saves_s is not None:
            known["saves_at_most_s"] = self.saves_s
        return {**known, **self.figures}


def at_most(saves_s: float, wall_s: float) -> str:
    return f"fixing this saves at most {seconds(saves_s)} ({share_text(saves_s / wall_s)} of the run)"


class Evidence:
    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        if not any((self.folder / name).exists() for name in files):
            raise refusal(self.folder, f"measurements ({', '.join(files[:3])}, ...)", how_to_measure, of_measurements=True)

    profile, _waits = csv_property("profile.csv", finite=True), csv_property("waits.csv", finite=True)
    _holds = csv_property("holds.csv", finite=True)
    _threads_csv, _workers_csv = csv_property("threads.csv", finite=True), csv_property("workers.csv", finite=True)
    _devices_csv = csv_property("device_profile.csv", finite=True)
    _stacks_csv = csv_property("stacks.csv", finite=True)
    _counters_csv, _diagnose_csv = csv_property("counters.csv"), csv_property("diagnose.csv")

    @cached_property
    def hottest(self) -> dict | None:
        """The function in which the task type with the largest share spends most of its sampled CPU time: `task`, `function`,
        `share` (of that type's samples), `place` ("file:line", "" if unknown). None without samples."""
        table = self._stacks_csv
        if table is None or not self.task_rows:
            return None
        task = self.task_rows[0]["name"]
        own = {i: float(table["cpu_s"][i]) for i in range(len(table)) if str(table["task"][i]) == task}
        if not own or sum(own.values()) <= 0:
            return None
        most = max(own, key=own.get)
        file, line = str(table["file"][most]), str(table["line"][most])
        place = f"{Path(file).name}:{int(float(line))}" if line else ""
        return {"task": task, "function": str(table["function"][most]), "share": own[most] / sum(own.values()), "place": place}

    @cached_property
    def _workers(self):
        table = self._workers_csv
        if table is None and self.threads is not None:
            table = _workers_of_threads(self.threads)
        return table if table is not None and len(table) else None

    # ---- workers' time ----

    @property
    def has_workers(self) -> bool:
        return self._workers is not None and self.worker_time_s > 0

    def _sum(self, use: str) -> float:
        return float(np.sum(self._workers.numbers(f"{use}_s")))

    @cached_property
    def n_workers(self) -> int:
        return len(self._workers)

    @property
    def worker_word(self) -> str:
        return "worker" if self.lived_equally else "thread"

    @cached_property
    def threads(self):
        """threads.csv of plx-exec, or None for a program of the runtime."""
        table = self._threads_csv
        return table if table is not None and len(table) else None

    @cached_property
    def tasks_s(self) -> float:
        return self._sum("tasks")

    @cached_property
    def idle_s(self) -> float:
        """Time without a ready task; under plx-exec time in waits, without those for the end of other threads."""
        joins_s = self.waited_s("thread") if self.threads is not None else 0.0
        return max(0.0, self._sum("idle") - joins_s)

    @cached_property
    def overhead_s(self) -> float:
        return self._sum("overhead")

    @cached_property
    def background_s(self) -> float:
        return self._sum("background")

    @cached_property
    def unplaced_s(self) -> float:
        """Time of the workers' threads, on a core or ready for one, beyond what their own clocks have: a worker that
        loses its core between two tasks counts that time nowhere. Small differences are rounding."""
        own_s = self.tasks_s + self.idle_s + self.overhead_s + self.background_s
        if self.threads is not None or self.ready_s is None or own_s <= 0:
            return 0.0
        on_core_s = self._optional(self._workers, "on_core_s")
        if on_core_s is None:
            on_core_s = self.last(all_threads + "time/processor") or 0.0
        whole_s = on_core_s + self.ready_s
        return whole_s - own_s if whole_s > 1.02 * own_s else 0.0

    @cached_property
    def worker_time_s(self) -> float:
        """All workers' time together."""
        return self.tasks_s + self.idle_s + self.overhead_s + self.background_s + self.unplaced_s

    @cached_property
    def rows_s(self) -> np.ndarray:
        """How long each worker (under plx-exec: each thread) lived [worker]."""
        return sum(self._workers.numbers(f"{use}_s") for use in ("tasks", "overhead", "background", "idle"))

    @cached_property
    def lived_equally(self) -> bool:
        """Whether all workers lived as long as the run. Threads that a program makes do not. The clocks of a runtime's
        workers may differ by what each lost between tasks; the runtime alone writes on_core_s."""
        if self.threads is not None:
            return False
        of_runtime = self._optional(self._workers, "on_core_s") is not None
        return of_runtime or float(np.min(self.rows_s)) >= 0.5 * float(np.max(self.rows_s))

    @cached_property
    def wall_s(self) -> float:
        """Length of the run: that of its workers, or, where these lived for parts of it, that of what was sampled."""
        if self.lived_equally:
            return self.worker_time_s / self.n_workers
        spans = [float(np.max(self.rows_s)), *(float(times[-1]) for times, _ in self._samples.values())]
        if self.threads is not None:
            spans.append(float(np.max(self.threads.numbers("end_s")) - np.min(self.threads.numbers("begin_s"))))
        return max(spans)

    @cached_property
    def capacity(self) -> float:
        """Mean number of workers over the run."""
        return self.worker_time_s / self.wall_s

    def _optional(self, table, name: str):
        """The sum of a column that may be missing, or empty if the operating system does not report it; then None."""
        if table is None or name not in table or not isinstance(table[name], np.ndarray):
            return None
        return float(np.sum(table[name]))

    @cached_property
    def ready_s(self):
        """How long the workers' threads were runnable without a core, or None."""
        found = self._optional(self.threads, "ready_s")
        if found is None:
            found = self._optional(self._workers, "ready_s")
        return found if found is not None else self.last(all_threads + "time/waiting-for-processor")

    @cached_property
    def instructions_per_cycle(self):
        for instance in perf:
            n, cycles = self.last(instance + "instructions"), self.last(instance + "cycles")
            if n is not None and cycles:
                return n / cycles
        return None

    @cached_property
    def tasks_of_workers(self) -> np.ndarray:
        """Seconds in tasks [worker]."""
        return self._workers.numbers("tasks_s")

    @cached_property
    def n_tasks(self) -> int:
        return int(np.sum(self._workers.numbers("tasks")))

    def share(self, seconds: float) -> float:
        return seconds / self.worker_time_s

    # ---- counters ----

    @cached_property
    def _samples(self) -> dict:
        """{name: (times, values)} of diagnose.csv and counters.csv; the first has precedence."""
        found: dict = {}
        for table in (self._counters_csv, self._diagnose_csv):
            if table is None or len(table) == 0:
                continue
            names = np.array([str(name) for name in table["name"]])
            if table is self._diagnose_csv:  # of one process, which may be another locality of a job
                names = np.array([re.sub(r"\{locality#\d+/", "{locality#0/", name) for name in names])
            times, values = table.numbers("time_s", finite=True), table.numbers("value")
            for name in dict.fromkeys(names.tolist()):
                mine = names == name
                found[name] = (times[mine], values[mine])
        return found

    def series(self, name: str):
        """(times, values) of a counter, or None."""
        return self._samples.get(name)

    def names(self, begin: str, end: str) -> list:
        """The counters whose names begin and end with these."""
        return [name for name in self._samples if name.startswith(begin) and name.endswith(end)]

    def last(self, name: str):
        """A counter's last value, or None."""
        series = self.series(name)
        return float(series[1][-1]) if series is not None else None

    @cached_property
    def task_cost_s(self):
        """Making, running and ending an empty task; None when it was not measured."""
        return self.last(scheduler + "task-cost")

    @cached_property
    def measurement_cost(self):
        return self.last("/probe/measurement-cost")

    @cached_property
    def cpu_s(self):
        """CPU time of the workers' threads, or of the whole process, which is more; None if unknown."""
        for table, name in ((self.threads, "cpu_s"), (self._workers, "on_core_s")):
            on_core_s = self._optional(table, name)
            if on_core_s is not None:
                return on_core_s
        user, system = self.last("/machine/time/user"), self.last("/machine/time/system")
        return None if user is None or system is None else user + system

    @cached_property
    def memory(self):
        """(times, bytes) of resident memory, or None."""
        return self.series("/machine/memory/resident")

    # ---- tasks and waits ----

    @cached_property
    def task_rows(self) -> list:
        """[{name, calls, total_s, mean_s, max_s, stddev_s}], the largest total first."""
        table = self.profile
        if table is None or len(table) == 0:
            return []
        columns = {key: table.numbers(key) for key in ("calls", "total_s", "mean_s", "max_s", "stddev_s")}
        rows = [
            {"name": str(name), **{key: float(column[i]) for key, column in columns.items()}}
            for i, name in enumerate(table["name"])
        ]
        return sorted(rows, key=lambda row: -row["total_s"])

    @cached_property
    def device_rows(self) -> list:
        """[{device, name, calls, total_s, mean_s, max_s}] of operations of devices, the largest total first."""
        table = self._devices_csv
        if table is None:
            return []
        rows = [
            {key: _text(table[key][i]) for key in ("device", "name")}
            | {key: float(table.numbers(key)[i]) for key in ("calls", "total_s", "mean_s", "max_s")}
            for i in range(len(table))
        ]
        return sorted(rows, key=lambda row: -row["total_s"])

    @cached_property
    def idle_blame(self):
        """{task type: idle seconds of workers that are charged to it}; None if the run does not have them."""
        return self._blame("idle_blame_s") if self.threads is None else None

    @cached_property
    def roofline(self):
        """Task types by the limits of the machine (roofline.Roofline), or None."""
        return roofline_of(self.folder, self.profile)

    @cached_property
    def lock_blame(self):
        """{task type: seconds for which others waited for locks that it held}, or None."""
        return self._blame("lock_blame_s") if self.threads is None else None

    def _blame(self, column: str):
        table = self.profile
        if table is None or column not in table:
            return None
        return {str(name): float(s) for name, s in zip(table["name"], table.numbers(column))}

    @cached_property
    def unattributed_s(self) -> float:
        """Idle time that is charged to no task type."""
        return max(0.0, self.idle_s - sum((self.idle_blame or {}).values()))

    @cached_property
    def wait_rows(self):
        """[{kind, label, waits, total_s, max_s}], the largest total first; what has one name is one row. None without
        waits.csv."""
        table = self._waits
        if table is None:
            return None
        rows: dict = {}
        for i in range(len(table)):
            kind, name, where = (_text(table[key][i]) for key in ("kind", "name", "object"))
            row = rows.setdefault(
                (kind, name or where),
                {"kind": kind, "name": name, "object": where, "waits": 0.0, "total_s": 0.0, "max_s": 0.0},
            )
            row["waits"] += float(table.numbers("waits")[i])
            row["total_s"] += float(table.numbers("total_s")[i])
            row["max_s"] = max(row["max_s"], float(table.numbers("max_s")[i]))
        return sorted(rows.values(), key=lambda row: -row["total_s"])

    def held_by(self, lock: dict) -> dict | None:
        """Where a lock of `wait_rows` was held for the longest while threads waited for it (plx-exec): `function`, `place`
        ("file:line", "" if unknown), `holds`, `held_s`. None without holds.csv or such a row."""
        table, rows = self._holds, {}
        for i in range(len(table) if table is not None else 0):
            object_, name, function, file, line = (_text(table[key][i]) for key in ("object", "name", "function", "file", "line"))
            if object_ != lock["object"] and (name == "" or name != lock["name"]):
                continue
            place = f"{Path(file).name}:{int(float(line))}" if line else ""
            row = rows.setdefault((function, place), {"function": function, "place": place, "holds": 0.0, "held_s": 0.0})
            row["holds"] += float(table.numbers("holds")[i])
            row["held_s"] += float(table.numbers("total_s")[i])
        return max(rows.values(), key=lambda row: row["held_s"], default=None)

    def waited_s(self, *kinds: str) -> float:
        return sum(row["total_s"] for row in self.wait_rows or [] if row["kind"] in kinds)

    # ---- the job ----

    @cached_property
    def job(self):
        """job.json as a dict with "localities" and "tasks", or None for a program of one process."""
        data = read_json(self.folder / "job.json")
        if data is not None and not all(isinstance(data.get(key), list) for key in ("localities", "tasks")):
            raise ReadError(self.folder / "job.json", 'expected lists "localities" and "tasks"')
        for rows, keys in ((data or {}).get("localities", []), of_locality), ((data or {}).get("tasks", []), of_task):
            for row in rows:
                lacking = [key for key in keys if not isinstance(row, dict) or key not in row]
                if lacking and not (isinstance(row, dict) and row.get("missing")):
                    what = f"expected {', '.join(keys)} in every row; a row lacks {', '.join(lacking)}"
                    raise ReadError(self.folder / "job.json", what)
        return data

    @cached_property
    def localities(self) -> list:
        """The localities that reported; empty for a program of one process."""
        return [row for row in (self.job or {}).get("localities", []) if not row.get("missing")]

    @cached_property
    def n_localities(self) -> int:
        """1 for a program of one process; that of a job by job.json, which is in the folder of the job, or by run.json."""
        of_job = self.folder.parent.parent if self.folder.parent.name == "localities" else self.folder
        rows = (read_json(of_job / "job.json") or {}).get("localities")
        if isinstance(rows, list) and rows:
            return len(rows)
        written = (read_json(of_job / "run.json") or {}).get("localities")
        return written if isinstance(written, int) and written > 0 else 1

    @cached_property
    def locality(self) -> int:
        """The one that wrote the files of this folder."""
        if self.folder.parent.name == "localities" and self.folder.name.isdigit():
            return int(self.folder.name)
        names = [] if self._diagnose_csv is None else [str(name) for name in self._diagnose_csv["name"]]
        return next((int(m[1]) for m in (re.search(r"\{locality#(\d+)/", name) for name in names) if m), 0)

    @cached_property
    def critical_path(self):
        """critical_path.json as a dict, or None."""
        return read_json(self.folder / "critical_path.json")

    @cached_property
    def span_s(self):
        """Length of the longest chain of dependent tasks, or None."""
        value = (self.critical_path or {}).get("span_s") or self.last(all_threads + "time/span")
        return float(value) if isinstance(value, (int, float)) and value > 0 else None

    # ---- what is there ----

    def missing(self) -> list:
        """[(what cannot be judged, the file that is missing, the setting that writes it)]."""
        gone = []
        if self.threads is not None:
            if self.series("/machine/memory/resident") is None:
                gone.append(("memory, input/output and when threads waited", "diagnose.csv", "plx-exec -d"))
            return gone
        if not self.has_workers:
            gone.append(("how the workers spent their time", "workers.csv", "PLX_DIAGNOSE=1"))
        if self.wait_rows is None:
            gone.append(("contention on locks", "waits.csv", "PLX_DIAGNOSE=1"))
        if self.series("/machine/memory/resident") is None:
            gone.append(("memory and input/output", "diagnose.csv", "PLX_DIAGNOSE=1"))
        if self.has_workers and self.span_s is None and self.share(self.idle_s) >= 0.1:
            gone.append(("chains of dependent tasks", "critical_path.json", "PLX_TRACE=1 and then plx-trace critical RUN"))
        return gone

    def figures(self) -> dict:
        """The numbers in the sentences of the diagnosis."""
        if not self.has_workers:
            return {}
        found = {
            "workers": self.n_workers,
            "wall_s": self.wall_s,
            "tasks": self.n_tasks,
            "share_tasks": self.share(self.tasks_s),
            "share_idle": self.share(self.idle_s),
            "share_overhead": self.share(self.overhead_s),
            "share_background": self.share(self.background_s),
            "task_cost_s": self.task_cost_s,
            "measurement_cost": self.measurement_cost,
            "cpu_s": self.cpu_s,
        }
        return {key: value for key, value in found.items() if value is not None}


def _workers_of_threads(threads: Table) -> Table:
    """The threads.csv of plx-exec without -d as a table of workers; all time outside waits counts as work."""
    life_s, waited_s = threads.numbers("end_s") - threads.numbers("begin_s"), threads.numbers("wait_s")
    nothing = np.zeros(len(threads))
    return Table(
        {
            "worker": np.arange(len(threads)),
            "tasks_s": np.maximum(0.0, life_s - waited_s),
            "overhead_s": nothing,
            "background_s": nothing,
            "idle_s": waited_s,
            "tasks": threads.numbers("threads"),
        },
        threads.path,
    )


def _text(value) -> str:
    """A cell as text; a column whose cells are all numbers, or all empty, comes as what it looks like."""
    return value if isinstance(value, str) else f"{value:g}"
