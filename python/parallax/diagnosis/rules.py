"""The rules of a diagnosis: each looks at the evidence and gives a finding or None.

A finding's `share` is the share of all workers' time that it explains; findings come in that order. A rule that lacks
its evidence says nothing: what could not be judged is told apart (Evidence.missing). Example to read:
tests/test_diagnosis.py, and tests/diagnose/ for a program that provokes each.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..text import count, percent, plural, seconds, trimmed
from .evidence import Evidence, all_threads, scheduler

# Of all workers' time, unless said otherwise.
least_grain = 0.10  # of the processor's time, lost to managing tasks
least_idle = 0.15  # idle
least_lock = 0.10  # waited for one lock, where idle is at least least_lock_idle
least_lock_idle = 0.10
least_imbalance = 0.15  # (most - mean) / run time, of seconds in tasks per worker
least_long_task = 0.25  # of the run time: a task longer than that holds everybody up
least_locality_imbalance = 0.10  # (most - mean) / most, of seconds in tasks per worker of each locality
least_network = 0.10  # of the time of tasks and network, in messages
least_path = 0.70  # of the run time: longest chain of dependent tasks
least_delay = 0.20  # of the run time: how long tasks on the longest chain lay ready before they began
least_queue = 1.0  # ready tasks per worker, on average, in queues while workers idle
least_blocked = 0.10  # in tasks, but on no core
least_growth = 0.20  # of the memory at the end, since the first fifth of the run
least_growth_bytes = 32 * 2**20
good_grain = 10  # times the METG: then at most a tenth is lost

locks = ("mutex", "shared_mutex", "recursive_mutex", "timed_mutex", "spinlock")


@dataclass
class Finding:
    id: str
    share: float
    text: str
    suggestion: str = ""
    figures: dict = field(default_factory=dict)

    def json(self) -> dict:
        return {"id": self.id, "share": self.share, "text": self.text, "suggestion": self.suggestion, **self.figures}


def headline_of(e: Evidence) -> str:
    if not e.has_workers:
        return f"{e.folder} says nothing of the workers' time."
    shares = [("in tasks", e.tasks_s), ("managing them", e.overhead_s), ("idle", e.idle_s)]
    if e.share(e.background_s) >= 0.005:
        shares.append(("polling", e.background_s))
    text = ", ".join(f"{_percent(e.share(spent))} {what}" for what, spent in shares)
    return f"{plural(e.n_workers, 'worker')} for {seconds(e.wall_s)}: {text}."


def findings_of(e: Evidence) -> list:
    """The most costly first. Memory, which costs no time by itself, comes last."""
    rules = [grain, contention, chains, localities, network, imbalance, latency, starvation, blocked, memory_growth]
    found = [finding for finding in (rule(e) for rule in rules) if finding is not None]
    # Idle time that a more particular rule explains is not told a second time.
    if any(finding.id in ("chains", "imbalance", "latency") for finding in found):
        found = [finding for finding in found if finding.id != "starvation"]
    if any(f.id == "contention" and f.share >= 0.5 * e.share(e.idle_s) for f in found):
        found = [finding for finding in found if finding.id not in ("starvation", "imbalance")]
    found.sort(key=lambda finding: -finding.share)
    return found or [nothing(e)]


# ---- the rules ----


def grain(e: Evidence):
    """Tasks so short that managing them costs too much. METG: the length at which it costs as much as the work."""
    if not e.has_workers or e.n_tasks == 0:
        return None
    metg_s = metg(e)
    lost_s = min(e.n_tasks * metg_s, e.tasks_s + e.overhead_s)
    # Of the processor's time, where that is known: workers without a core, or without a task, lose nothing by the grain.
    share = min(1.0, lost_s / min(e.worker_time_s, e.cpu_s or e.worker_time_s))
    if share < least_grain:
        return None
    on_core_s = min(e.tasks_s, e.cpu_s or e.tasks_s)
    work_s = max(0.0, on_core_s - e.n_tasks * (e.task_cost_s or 0.0)) / e.n_tasks
    if work_s >= good_grain * metg_s:
        return None
    small = max(e.task_rows, key=lambda row: row["calls"], default=None)
    which = f', most of them "{_short(small["name"])}"' if small else ""
    return Finding(
        "grain",
        share,
        f"Tasks are too small: {count(e.n_tasks)} of them{which}, do {seconds(work_s)} of work each and cost at least "
        f"{seconds(metg_s)} to manage, {_percent(share)} of the processor's time.",
        f"Let each do at least {seconds(good_grain * metg_s)} ({good_grain} times this run's METG of "
        f"{seconds(metg_s)}, at which half the time is lost): larger chunks of loops, recursion that ends earlier.",
        {"metg_s": metg_s, "work_s": work_s, "tasks": e.n_tasks},
    )


def metg(e: Evidence) -> float:
    """What managing a task costs in this run: making and ending it, and its part of the search for tasks."""
    return (e.task_cost_s or 0.0) + e.overhead_s / max(e.n_tasks, 1)


def contention(e: Evidence):
    """One lock that tasks wait for while workers have nothing to do."""
    if not e.has_workers or not e.wait_rows or e.share(e.idle_s + e.overhead_s) < least_lock_idle:
        return None
    lock = next((row for row in e.wait_rows if row["kind"] in locks), None)
    if lock is None or e.share(lock["total_s"]) < least_lock:
        return None
    name = f'"{lock["name"]}"' if lock["name"] else f"at {lock['object']}" if lock["object"] else "of many"
    naming = "" if lock["name"] else ' Give it a name (plx::mutex m("name")) to see which one it is.'
    share = min(e.share(lock["total_s"]), e.share(e.idle_s + e.overhead_s))
    return Finding(
        "contention",
        share,
        f"Tasks wait for the {lock['kind']} {name}: {plural(int(lock['waits']), 'wait')}, together "
        f"{seconds(lock['total_s'])} in a run of {seconds(e.wall_s)} (the longest {seconds(lock['max_s'])}), while "
        f"workers were idle {_percent(e.share(e.idle_s))} of their time.",
        "Hold it for less, split it into several, or let every task collect its own part and join them at the end."
        + naming,
        {
            "lock": lock["name"] or lock["object"],
            "kind": lock["kind"],
            "waits": lock["waits"],
            "waited_s": lock["total_s"],
        },
    )


def _path_kinds(e: Evidence) -> list:
    """[(name, seconds on the path, pieces on the path, run time if that kind took half)], the largest first."""
    rows = (e.critical_path or {}).get("kinds") or []
    found = [
        (str(row["name"]), float(row["path_s"]), int(row["on_path"]), (row.get("if_half") or {}).get("wall_s"))
        for row in rows
        if isinstance(row, dict) and {"name", "path_s", "on_path"} <= set(row)
    ]
    return sorted((row for row in found if row[1] > 0), key=lambda row: -row[1])


def chains(e: Evidence):
    """The longest chain of dependent tasks takes nearly the whole run: more workers cannot help."""
    path_s = e.span_s if e.has_workers else None
    if path_s is None or e.share(e.idle_s) < least_idle or path_s < least_path * e.wall_s or e.n_workers < 2:
        return None
    if _long_task(e):
        return None  # one long task is no chain: imbalance() tells it
    kinds = _path_kinds(e)
    most, what_if = "", "" if kinds else " PLX_CRITICAL_PATH=1 names the tasks on it."
    if kinds:
        name, on_path_s, n, half_s = kinds[0]
        most = f', {_percent(on_path_s / path_s)} of it "{_short(name)}" in {plural(n, "piece")}'
        if half_s:
            what_if = f' If "{_short(name)}" took half the time, the run would take {seconds(half_s)}.'
    return Finding(
        "chains",
        e.share(e.idle_s),
        f"Tasks wait for each other: the longest chain of dependent tasks takes {seconds(path_s)} of "
        f"{seconds(e.wall_s)}{most}; all work is only {trimmed(e.tasks_s / path_s, 2)} times that, for "
        f"{plural(e.n_workers, 'worker')}.",
        "More workers do not help: shorten what is on the chain, or let parts of it go on side by side (finer tasks, "
        f"fewer places where all wait for all).{what_if}",
        {"path_s": path_s, "parallelism": e.tasks_s / path_s},
    )


def _long_task(e: Evidence):
    """The row of the kind with the longest task, when that takes so much of the run that it holds everybody up."""
    row = max(e.task_rows, key=lambda row: row["max_s"], default=None)
    return row if row and row["max_s"] >= least_long_task * e.wall_s else None


def imbalance(e: Evidence):
    """Some workers have much more to do than others."""
    if not e.has_workers or e.n_workers < 2 or e.share(e.idle_s) < least_idle:
        return None
    most, mean = float(np.max(e.tasks_of_workers)), float(np.mean(e.tasks_of_workers))
    row = _long_task(e)
    if (most - mean) / e.wall_s < least_imbalance or (row is None and _one_at_a_time(e)):
        return None
    busiest = int(np.argmax(e.tasks_of_workers))
    reason = f'; one task "{_short(row["name"])}" took {seconds(row["max_s"])}' if row else ""
    advice = (
        "Cut that task into smaller ones, or begin it first (priority::high)."
        if row
        else "See which tasks are bound to that worker; let others take them, or give each worker an equal part."
    )
    return Finding(
        "imbalance",
        e.share(e.idle_s),
        f"The work is not balanced: worker {busiest} was in tasks for {seconds(most)}, the mean is "
        f"{seconds(mean)}{reason}.",
        advice,
        {"most_s": most, "mean_s": mean, "worker": busiest},
    )


def localities(e: Evidence):
    """One process of a job has more to do than the others, which wait for it."""
    busy = {row["locality"]: row["exec_s"] / max(row["workers"], 1) for row in e.localities}
    if len(busy) < 2:
        return None
    most_at = max(busy, key=busy.get)
    most, mean = busy[most_at], sum(busy.values()) / len(busy)
    if most <= 0 or (most - mean) / most < least_locality_imbalance:
        return None
    kinds = [row for row in (e.job or {}).get("tasks", []) if row["most_at"] == most_at]
    row = max(kinds, key=lambda row: row["most_locality_s"] - row["total_s"] / len(busy), default=None)
    reason = f', most of it "{_short(row["name"])}" ({seconds(row["most_locality_s"])} there)' if row else ""
    return Finding(
        "localities",
        (most - mean) / most,
        f"The localities are not balanced: a worker of locality {most_at} was in tasks for {seconds(most)}, the mean is "
        f"{seconds(mean)}{reason}.",
        "Give each process an equal part of the work, or let it move while the program runs (plx::migrate).",
        {"most_s": most, "mean_s": mean, "locality": most_at},
    )


def network(e: Evidence):
    """Messages take much of the processes' time."""
    rows = [row for row in e.localities if row["exec_s"] > 0]
    if len(rows) < 2:
        return None
    weight = sum(row["exec_s"] for row in rows)
    share = sum(row["network_overhead"] * row["exec_s"] for row in rows) / weight
    if share < least_network:
        return None
    parcels, messages = (sum(row[f"{what}_sent"] for row in rows) for what in ("parcels", "messages"))
    size = sum(row["bytes_sent"] for row in rows) / max(messages, 1)
    small = parcels < 2 * messages and size < 4096
    return Finding(
        "network",
        share,
        f"Messages take {_percent(share)} of the time of tasks and network: {count(parcels)} parcels in "
        f"{count(messages)} messages of {_bytes(size)} on average.",
        "Let small parcels travel together (PLX_COALESCE), or send fewer and larger ones."
        if small
        else "Send less, or keep what talks with each other on one locality.",
        {"parcels": parcels, "messages": messages, "network_overhead": share},
    )


def _one_at_a_time(e: Evidence) -> bool:
    """About one task runs at any moment: that is no matter of balance."""
    return e.tasks_s / e.wall_s < 1.15


def latency(e: Evidence):
    """Ready tasks lie in queues although workers idle: on the way of the longest chain, or many of them."""
    if not e.has_workers or e.share(e.idle_s) < least_idle or e.n_workers < 2:
        return None
    delay_s = (e.critical_path or {}).get("path_delay_s") or 0.0
    if delay_s >= least_delay * e.wall_s:
        return Finding(
            "latency",
            e.share(e.idle_s),
            f"Ready tasks wait although workers are idle {_percent(e.share(e.idle_s))} of their time: those on the "
            f"longest chain lay ready for {seconds(delay_s)} of {seconds(e.wall_s)} before they began.",
            _latency_advice,
            {"delay_s": delay_s},
        )
    lengths = [e.mean(scheduler + name) for name in ("queue/length", "queue/injected", "queue/placed")]
    queued = sum(length for length in lengths if length is not None)
    if queued < least_queue * e.n_workers:
        return None
    return Finding(
        "latency",
        e.share(e.idle_s),
        f"Ready tasks wait although workers are idle {_percent(e.share(e.idle_s))} of their time: on average "
        f"{trimmed(queued, 2)} lay in queues.",
        _latency_advice,
        {"queued": queued},
    )


_latency_advice = (
    "Look for tasks that are bound to a worker, for one worker that makes all tasks, and for workers that the system "
    "does not let run (more workers than cores); tasks on the longest chain can have priority::high."
)


def starvation(e: Evidence):
    """Workers find nothing to do."""
    if not e.has_workers or e.share(e.idle_s) < least_idle:
        return None
    busy = e.tasks_s / e.wall_s
    sleeping_s = e.waited_s("sleep")
    if sleeping_s >= 0.5 * e.wall_s:
        why = f", and tasks slept for {seconds(sleeping_s)} in all"
        advice = "Wait for what is to happen (a future, a condition variable) instead of sleeping."
    elif e.n_tasks < 4 * e.n_workers:
        why = f", and there were only {plural(e.n_tasks, 'task')}"
        advice = "Divide the work into more tasks: several per worker, so that all can keep busy."
    else:
        why = ""
        enough = max(1, round(busy + 0.5))
        fewer = f", or use {plural(enough, 'worker')}" if enough < e.n_workers else ""
        advice = f"Make tasks earlier and more of them at a time, let parts that run alone run as tasks{fewer}."
    return Finding(
        "starvation",
        e.share(e.idle_s),
        f"There are too few ready tasks: on average {trimmed(busy, 2)} of {plural(e.n_workers, 'worker')} had one"
        f"{why}.",
        advice,
        {"busy": busy},
    )


def off_core_s(e: Evidence) -> float:
    """How long workers were in tasks but on no core, at least: idle ones use cores too, as they look for tasks."""
    if e.cpu_s is None:
        return 0.0
    return max(0.0, e.tasks_s + e.overhead_s + e.background_s - e.cpu_s)


def blocked(e: Evidence):
    """Workers are in tasks but on no core: input and output, other calls that wait, or a core shared with others."""
    if not e.has_workers or e.cpu_s is None:
        return None
    off_s = off_core_s(e)
    if e.share(off_s) < least_blocked:
        return None
    gave = e.last("/machine/context-switches/voluntary") or 0.0
    lost = e.last("/machine/context-switches/involuntary") or 0.0
    sleeps = e.last(all_threads + "count/sleeps") or 0.0
    moved = " and ".join(
        f"{what} {_bytes(e.last(name))}"
        for what, name in (("read", "/machine/io/read"), ("wrote", "/machine/io/written"))
        if (e.last(name) or 0) >= 2**20
    )
    figures = {"off_core_s": off_s, "voluntary": gave, "involuntary": lost}
    share = e.share(off_s)
    begin = f"For at least {seconds(off_s)}, {_percent(share)} of the workers' time, tasks were on no core"
    if lost > max(0.0, gave - sleeps):
        return Finding(
            "shared_cores",
            share,
            f"{begin}: the system took cores away {count(lost)} times.",
            "Other programs share the cores, or there are more workers than cores: give the program its own, or fewer "
            "workers (PLX_THREADS).",
            figures,
        )
    return Finding(
        "io",
        share,
        f"{begin}: they were in calls that wait{'; the program ' + moved if moved else ''}.",
        "Input and output, locks of other libraries and sleeps hold a worker: do them in fewer and larger pieces, in "
        "threads of their own, or with more workers than cores.",
        figures,
    )


def memory_growth(e: Evidence):
    """Resident memory that grows all the time."""
    if e.memory is None or len(e.memory[1]) == 0:
        return None
    # Without the end, when what was kept may be gone.
    peak = int(np.argmax(e.memory[1]))
    end = peak + 1 if peak >= 0.75 * len(e.memory[1]) else len(e.memory[1])
    times, values = (column[:end] for column in e.memory)
    if len(values) < 10:
        return None
    fifths = [float(np.mean(part)) for part in np.array_split(values, 5)]
    growth = fifths[4] - fifths[1]  # the first fifth is the start
    steady = all(later > earlier for earlier, later in zip(fifths[1:], fifths[2:]))
    if not steady or growth < max(least_growth * fifths[4], least_growth_bytes):
        return None
    rate = growth / max(0.6 * float(times[-1] - times[0]), 1e-9)  # from the middle of one fifth to that of another
    total, last = e.last("/machine/memory/total"), float(values[-1])
    full = f"; at this rate the machine's {_bytes(total)} are full in {_time((total - last) / rate)}" if total else ""
    return Finding(
        "memory_growth",
        0.0,
        f"Memory grows steadily, from {_bytes(fifths[1])} to {_bytes(last)}, {_bytes(rate)} per second{full}.",
        "Look for what is kept for every step or task: results, futures, channels that nobody empties, caches without "
        "a limit.",
        {"bytes_per_s": rate},
    )


def nothing(e: Evidence):
    if not e.has_workers:
        return Finding("unknown", 0.0, "Too little was recorded to judge.", "Run it with PLX_DIAGNOSE=1.")
    bits = [f"workers are in tasks {_percent(e.share(e.tasks_s))} of their time"]
    if e.n_tasks:
        work_s = e.tasks_s / e.n_tasks
        cost_s = metg(e)
        times = f", {_times(work_s / cost_s)} times this run's METG of {seconds(cost_s)}" if cost_s > 0 else ""
        bits.append(f"tasks take {seconds(work_s)} on average{times}")
    if e.measurement_cost is not None:
        bits.append(f"measuring cost {_percent(e.measurement_cost)}")
    most = f' To be faster, make "{_short(e.task_rows[0]["name"])}" faster.' if e.task_rows else ""
    return Finding("nothing", 0.0, f"Nothing stands out: {', '.join(bits)}.", most.strip())


# ---- words ----


def _percent(share: float) -> str:
    if share < 0.001:
        return "under 0.1 %"
    return percent(share, 2) if share < 0.0995 else f"{100 * share:.0f} %"


def _times(ratio: float) -> str:
    """Two digits are enough: 15,065 is 15,000."""
    rounded = float(f"{ratio:.1e}")
    return count(rounded) if rounded >= 10 else trimmed(rounded, 2)


def _short(name: str, most: int = 60) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _bytes(n: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(n) < 1024 or unit == "GiB":
            return f"{trimmed(n)} {unit}"
        n /= 1024
    return ""


def _time(s: float) -> str:
    for factor, unit in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if s >= 2 * factor:
            return f"{trimmed(s / factor, 2)} {unit}"
    return f"{max(s, 0):.0f} s"
