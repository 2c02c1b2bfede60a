"""Comparison of the measured times of two runs: of plx-star, of any program of the runtime, or of plx-exec.

A table has a row for every quantity that at least one run has; `-` marks a missing value. Example to read:
tests/performance/test_compare_measured.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from .. import NotARun
from ..text import count, percent, plural, seconds, short, trimmed
from .diagnosis import Evidence

# Files written by a measurement setting. If only one run has such a file, only its times include the cost of measuring.
traces = ("trace.plxt", "trace.json.gz", "trace.json", "otf2/traces.otf2", "tree.txt", "graph.dot", "concurrency.csv", "scatter.csv",
          "critical_path.json", "timeline.csv")  # fmt: skip
tables = ("profile.csv", "workers.csv", "threads.csv", "waits.csv", "diagnose.csv", "counters.csv")
most_rows = 30


@dataclass
class Section:
    """A title, sentences, and a table (may be empty)."""

    title: str
    sentences: list = field(default_factory=list)
    header: list = field(default_factory=list)
    rows: list = field(default_factory=list)

    def lines(self) -> list[str]:
        """As lines of text."""
        lines = [self.title, *(f"  {sentence}" for sentence in self.sentences)]
        if not self.rows:
            return lines
        cells = [[str(value) for value in row] for row in [self.header, *self.rows]]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.header))]
        for row in cells:
            shown = (v.ljust(w) if i == 0 else v.rjust(w) for i, (v, w) in enumerate(zip(row, widths)))
            lines.append(("  " + "  ".join(shown)).rstrip())
        return lines


def evidence_of(folder: Path):
    """The input of the diagnosis, or None if the folder has none of its files."""
    try:
        return Evidence(folder)
    except NotARun:
        return None


def add_row(section: Section, name: str, left, right, show) -> None:
    left, right = (v if isinstance(v, (int, float)) and not isinstance(v, bool) else None for v in (left, right))
    if left is None and right is None:
        return
    ratio = f"{right / left:.3f}" if left and right is not None else ""
    section.rows.append((name, *("-" if v is None else show(v) for v in (left, right)), ratio))


def compare_measurement(first: Path, second: Path) -> Section:
    """Measurements that only one of the two folders has."""
    section = Section("Measurement")
    for names, what in ((traces, "traced"), (tables, "measured")):
        for name, own, other in (("a", first, second), ("b", second, first)):
            alone = [file for file in names if (own / file).exists() and not (other / file).exists()]
            if alone:
                section.sentences.append(f"only {name} was {what}: {', '.join(alone)}")
    if any("traced" in sentence for sentence in section.sentences):
        section.sentences.append("tracing costs time: compare times only if both runs or neither were traced")
    if not section.sentences:
        section.sentences.append("the same was measured in both")
    return section


# ---- time ----


def compare_time(a: Evidence | None, b: Evidence | None):
    """How long the runs took, how their workers spent it, and how much of it they had no core; None without workers."""
    if a is None or b is None or not (a.has_workers or b.has_workers):
        return None
    section = Section("Workers" if all(e.lived_equally for e in (a, b) if e.has_workers) else "Threads")
    section.header = ["", "a", "b", "b / a"]

    def add(name, of, show):
        add_row(section, name, *(of(e) if e.has_workers else None for e in (a, b)), show)

    if any(e.n_localities > 1 for e in (a, b)):
        add("localities of the job", lambda e: e.n_localities, count)
        for name, e in (("a", a), ("b", b)):
            if e.n_localities > 1 and e.has_workers:
                section.sentences.append(f"{name}: workers, tasks and waits are those of locality {e.locality}")
    add(section.title.lower(), lambda e: e.n_workers, count)
    add("length of the run", lambda e: e.wall_s, seconds)
    add("tasks", lambda e: e.n_tasks, count)
    for name, use in (("in tasks", "tasks"), ("searching for tasks", "overhead"), ("polling", "background"), ("idle", "idle")):
        add(f"share {name}", lambda e, use=use: e.share(getattr(e, f"{use}_s")), lambda v: f"{100 * v:.2f} %")
    add("CPU time", lambda e: e.cpu_s, seconds)
    add("ready without a core", lambda e: e.ready_s, seconds)
    for name in ("context-switches/voluntary", "context-switches/involuntary", "page-faults/major"):
        add(name.replace("/", ", ").replace("-", " "), lambda e, name=name: e.last(f"/machine/{name}"), count)
    add("instructions per cycle", lambda e: e.instructions_per_cycle, lambda v: trimmed(v, 3))
    add("measuring cost", lambda e: e.measurement_cost, percent)
    for name, e in (("a", a), ("b", b)):
        lost_s = e.ready_s if e.has_workers else None
        if lost_s and lost_s >= 0.05 * e.worker_time_s:
            cores = lost_s / e.wall_s
            section.sentences.append(
                f"{name} lost {trimmed(cores, 2)} cores to other threads on average ({seconds(lost_s)} ready without a "
                f"core, {percent(e.share(lost_s), 2)} of the time): its times are longer by up to that"
            )
    return section


# ---- tasks and waits ----

least_slowdown = 1.25  # of a task type, with more workers: its tasks slow each other down
least_of_tasks = 0.1  # of the time in tasks: types with less are not judged


def compare_slowdown(a: Evidence | None, b: Evidence | None):
    """Task types whose calls take more time on a core if more workers run; None if both runs have as many workers, or nothing
    is known. Such tasks share something that no time of one run shows: memory bandwidth, or cache lines that they write."""
    if a is None or b is None or not (a.has_workers and b.has_workers) or a.n_workers == b.n_workers:
        return None
    if any(e.threads is not None or e.cpu_s is None or e.profile is None for e in (a, b)):
        return None
    section = Section("Calls beside other workers")
    few, many = sorted((a, b), key=lambda e: e.n_workers)
    # Time on a core: other programs may have taken the cores of one run.
    few_tasks, many_tasks = ({name: (s * min(1.0, e.cpu_s / e.tasks_s), n) for name, (s, n) in tasks_of(e).items()} for e in (few, many))
    whole_s = sum(s for s, _ in many_tasks.values())
    for name, (many_s, calls) in sorted(many_tasks.items(), key=lambda item: -item[1][0]):
        few_s, few_calls = few_tasks.get(name, (0.0, 0.0))
        if many_s < least_of_tasks * whole_s or few_s <= 0 or abs(calls - few_calls) > 0.01 * calls:
            continue
        slower = many_s / few_s
        if slower >= least_slowdown:
            section.sentences.append(
                f'with {many.n_workers} workers a call of "{short(name)}" takes {trimmed(slower, 2)} times the CPU time of one with '
                f"{few.n_workers}: its tasks slow each other down. They write to the same cache lines (false sharing: give each worker "
                "its own, 64 bytes apart), use all of the memory bandwidth (smaller types, more work per byte), or share a core"
            )
    return section


def compare_tasks(first: Evidence | None, second: Evidence | None) -> Section:
    """Seconds per task type, the largest change first."""
    section = Section("Time per task type", header=["task", "a", "b", "b - a", "b / a", "calls a", "calls b"])
    ours, theirs = tasks_of(first), tasks_of(second)
    if ours is None or theirs is None:
        names = [name for name, tasks in (("a", ours), ("b", theirs)) if tasks is None]
        section.sentences.append(f"{' and '.join(names)} {'has' if len(names) == 1 else 'have'} no profile.csv")
        section.header = []
        return section
    _fill(section, ours, theirs)
    return section


def tasks_of(e: Evidence | None):
    """{task type: (seconds, calls)} of a run; None without a profile."""
    if e is None or e.profile is None:
        return None
    total, calls = e.profile.numbers("total_s"), e.profile.numbers("calls")
    return {str(name): (float(total[i]), float(calls[i])) for i, name in enumerate(e.profile["name"])}


def compare_waits(first: Evidence | None, second: Evidence | None):
    """Seconds waited for each kind and name, the largest change first; None where a run has no waits.csv."""
    found = (first, second)
    if any(e is None or e.wait_rows is None for e in found):
        return None
    ours, theirs = ({_wait_name(row): (row["total_s"], row["waits"]) for row in _joined(e.wait_rows)} for e in found)
    section = Section("Waits", header=["wait", "a", "b", "b - a", "b / a", "waits a", "waits b"])
    _fill(section, ours, theirs)
    return section


def _joined(rows: list) -> list:
    """Waits for objects without a name are one row of their kind: an address is of one run alone."""
    joined: dict = {}
    for row in rows:
        into = joined.setdefault((row["kind"], row["name"]), {**row, "total_s": 0.0, "waits": 0.0})
        into["total_s"] += row["total_s"]
        into["waits"] += row["waits"]
    return list(joined.values())


def _wait_name(row: dict) -> str:
    return f'{row["kind"]} "{row["name"]}"' if row["name"] else row["kind"]


def _fill(section: Section, ours: dict, theirs: dict) -> None:
    """A row per name of {name: (seconds, times)}, the largest change first."""
    seconds_of = lambda found, name: found[name][0] if name in found else 0.0  # noqa: E731
    names = sorted({*ours, *theirs}, key=lambda n: (-abs(seconds_of(theirs, n) - seconds_of(ours, n)), n))
    for name in names[:most_rows]:
        a, b = seconds_of(ours, name), seconds_of(theirs, name)
        times = [count(found[name][1]) if name in found else "-" for found in (ours, theirs)]
        change = f"{'-' if b < a else '+'}{seconds(abs(b - a))}"
        section.rows.append((name, seconds(a), seconds(b), change, trimmed(b / a) if a > 0 else "", *times))
    if len(names) > most_rows:
        section.sentences.append(f"{plural(len(names) - most_rows, 'row')} with smaller changes are not shown")
