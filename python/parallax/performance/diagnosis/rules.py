"""The rules of a diagnosis: each evaluates the evidence and returns a finding or None.

A finding's `share` is the share of all workers' time that it claims; findings come in that order. Rules about idle time
are in idle_rules.py. A rule that lacks its evidence gives None: Evidence.missing lists what was not measured.
Example to read: tests/performance/test_diagnosis.py, and tests/diagnose/ for a program that provokes each.
"""

from __future__ import annotations

import numpy as np

from ...text import bytes_text, count, long_time_text, plural, ratio_text, seconds, share_text, short, trimmed
from ..roofline import from_caches, rate_text
from . import confidence
from .cores import least_off_core, off_core
from .evidence import Evidence, Finding
from .idle_rules import findings_about_idle_time

# Shares of all workers' time, unless stated otherwise.
least_grain = 0.10  # of the CPU time, lost to managing tasks
least_locality_imbalance = 0.10  # (most - mean) / most, of seconds in tasks per worker of each locality
least_network = 0.10  # of the time of tasks and network, in messages
least_bandwidth = 0.80  # of the measured bandwidth of memory, by the stated bytes of a task type, with
least_bandwidth_share = 0.30  # of the workers' time in that type, and
most_bandwidth_idle = 0.20  # idle
most_slow_ipc = 0.5  # instructions per cycle
least_major_faults = 1000  # in the run, and
least_major_fault_rate = 100  # per second of the run
least_minor_faults = 20_000  # in the run, and
least_minor_fault_rate = 1000  # per second of the run and worker, and
least_kernel = 0.20  # of the CPU time, in the kernel
least_growth = 0.20  # of the memory at the end, since the first fifth of the run
least_growth_bytes = 32 * 2**20
least_ran = 0.02  # of the run: threads that ran for less mostly wait for others
good_grain = 10  # times the overhead per task: then at most a tenth is lost


def headline_of(e: Evidence) -> str:
    if not e.has_workers:
        return f"{e.folder} has no record of the workers' time."
    if not e.lived_equally:
        ran = int(np.count_nonzero(e.tasks_of_workers >= least_ran * e.wall_s))
        of_them = f" ({ran} of them ran for {100 * least_ran:.0f} % of it or more)" if ran < e.n_workers else ""
        return (
            f"{plural(e.n_workers, 'thread')}{of_them} in a run of {seconds(e.wall_s)}, {trimmed(e.capacity, 2)} at a time on "
            f"average: {_use_of_threads(e)}."
        )
    shares = [("in tasks", e.tasks_s), ("searching for tasks", e.overhead_s), ("idle", e.idle_s)]
    if e.share(e.background_s) >= 0.005:
        shares.append(("polling", e.background_s))
    if e.share(e.unplaced_s) >= 0.005:
        shares.append(("without a core between tasks", e.unplaced_s))
    text = ", ".join(f"{share_text(e.share(spent))} {what}" for what, spent in shares)
    return f"{plural(e.n_workers, e.worker_word)} for {seconds(e.wall_s)}: {text}."


def _use_of_threads(e: Evidence) -> str:
    """Shares of the threads' time, in words: those of the kernel, which sum to one, or else those of the measured waits."""
    if e.ready_s is None or e.cpu_s is None:
        return f"{share_text(e.share(e.tasks_s))} of their time running or ready to run, {share_text(e.share(e.idle_s))} waiting"
    ready_s = min(e.ready_s, e.worker_time_s)
    on_core_s = min(e.cpu_s, e.worker_time_s - ready_s)
    ran, ready, waited = (share_text(e.share(s)) for s in (on_core_s, ready_s, e.worker_time_s - on_core_s - ready_s))
    return f"{ran} of their time running on a core, {ready} ready to run without one, {waited} waiting"


def findings_of(e: Evidence) -> list:
    """The most costly first. Memory, which costs no time by itself, comes last."""
    rules = [grain, localities, network, off_core, bandwidth, slow_instructions, page_faults, memory_growth]
    found = [finding for finding in (rule(e) for rule in rules) if finding is not None]
    found = findings_about_idle_time(e) + found
    for finding in found:
        if finding.id in _least:
            finding.confidence = confidence.of_figure(finding.share, _least[finding.id])
        disturbed = e.has_workers and e.ready_s is not None and e.share(e.ready_s) >= confidence.least_disturbed
        if disturbed and finding.id != "off_core" and finding.confidence == "clear":
            finding.confidence = "likely"
    found.sort(key=lambda finding: -finding.share)
    return found or [nothing(e)]


_least = {
    "grain": least_grain, "localities": least_locality_imbalance, "network": least_network, "off_core": least_off_core,
    "waiting": least_off_core,
}  # fmt: skip

# ---- the rules ----


def grain(e: Evidence):
    """Tasks so short that managing them costs too much."""
    if not e.has_workers or e.n_tasks == 0:
        return None
    cost_s = overhead_per_task(e)
    lost_s = min(e.n_tasks * cost_s, e.tasks_s + e.overhead_s)
    # Share of the CPU time, if known: the grain costs nothing while a worker has no core or no task.
    share = min(1.0, lost_s / min(e.worker_time_s, e.cpu_s or e.worker_time_s))
    if share < least_grain:
        return None
    on_core_s = min(e.tasks_s, e.cpu_s or e.tasks_s)
    work_s = max(0.0, on_core_s - e.n_tasks * (e.task_cost_s or 0.0)) / e.n_tasks
    if work_s >= good_grain * cost_s:
        return None
    small = max(e.task_rows, key=lambda row: row["calls"], default=None)
    which = f', most of them "{short(small["name"])}"' if small else ""
    return Finding(
        "grain",
        share,
        f"Tasks are too small: {count(e.n_tasks)} of them{which}, do {seconds(work_s)} of work each and cost at least "
        f"{seconds(cost_s)} to manage, {share_text(share)} of the CPU time.",
        f"Let each do at least {seconds(good_grain * cost_s)} ({good_grain} times the overhead per task of "
        f"{seconds(cost_s)}; then at most a tenth of the time is lost): larger chunks of loops, recursion that ends earlier.",
        {"overhead_per_task_s": cost_s, "work_s": work_s, "tasks": e.n_tasks},
    )


def overhead_per_task(e: Evidence) -> float:
    """Cost of managing a task in this run: creating and ending it, and its part of the search for tasks."""
    return (e.task_cost_s or 0.0) + e.overhead_s / max(e.n_tasks, 1)


def localities(e: Evidence):
    """One process of a job has more work than the others, which wait for it."""
    busy = {row["locality"]: row["exec_s"] / max(row["workers"], 1) for row in e.localities}
    if len(busy) < 2:
        return None
    most_at = max(busy, key=busy.get)
    most, mean = busy[most_at], sum(busy.values()) / len(busy)
    if most <= 0 or (most - mean) / most < least_locality_imbalance:
        return None
    kinds = [row for row in (e.job or {}).get("tasks", []) if row["most_at"] == most_at]
    row = max(kinds, key=lambda row: row["most_locality_s"] - row["total_s"] / len(busy), default=None)
    reason = f', most of it "{short(row["name"])}" ({seconds(row["most_locality_s"])} there)' if row else ""
    return Finding(
        "localities",
        (most - mean) / most,
        f"The localities are not balanced: a worker of locality {most_at} was in tasks for {seconds(most)}, the mean is "
        f"{seconds(mean)}{reason}.",
        "Give each process an equal part of the work, or let it move at run time (plx::migrate).",
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
        f"Messages take {share_text(share)} of the time of tasks and network: {plural(parcels, 'parcel')} in "
        f"{plural(messages, 'message')} of {bytes_text(size)} on average.",
        "Let small parcels travel together (PLX_COALESCE), or send fewer and larger ones."
        if small
        else "Send less, or keep what talks with each other on one locality.",
        {"parcels": parcels, "messages": messages, "network_overhead": share},
    )


# ---- tasks that make no progress, or little ----


def bandwidth(e: Evidence):
    """All workers are in tasks of a type that moves as many bytes as the memory gives them."""
    if not e.has_workers or e.roofline is None or e.share(e.idle_s) > most_bandwidth_idle:
        return None
    for p in e.roofline.points:
        share = p.share * e.share(e.tasks_s)
        if p.at_least or share < least_bandwidth_share or not least_bandwidth <= p.of_memory <= from_caches:
            continue
        return Finding(
            "bandwidth",
            share,
            f'"{short(p.name)}" uses up the bandwidth of memory: {rate_text(p.bytes_per_s, "B")}, {share_text(p.of_memory)} of the '
            f"{rate_text(e.roofline.bytes_per_s, 'B')} that {plural(e.roofline.threads, 'thread')} can get here; it takes "
            f"{share_text(share)} of the workers' time.",
            "Its tasks wait for memory, not for their instructions: use smaller types, do more with data while they are in a cache (blocks, fused loops), "
            "or place data in the memory of the worker's own socket.",
            {"task": p.name, "bytes_per_s": p.bytes_per_s, "of_memory": p.of_memory},
        )
    return None


def slow_instructions(e: Evidence):
    """Few instructions per cycle: the cores wait, mostly for memory."""
    ipc = e.instructions_per_cycle
    if ipc is None or not e.has_workers or ipc >= most_slow_ipc:
        return None
    on_core_s = min(e.tasks_s, e.cpu_s or e.tasks_s)
    return Finding(
        "slow_instructions",
        e.share(on_core_s) * (1 - ipc),
        f"The cores complete {trimmed(ipc, 2)} instructions per cycle; at 1 per cycle the same instructions need "
        f"{share_text(ipc)} of the cycles.",
        "A core that waits for memory does this: use data in the order in which it lies in memory, in smaller working sets "
        "and types; PLX_PERF=cache-misses,llc-load-misses,dtlb-load-misses counts misses, perf record finds the lines.",
        {"instructions_per_cycle": ipc},
    )


def page_faults(e: Evidence):
    """Page faults that read from a disk, or whose number lets the kernel take much of the CPU time."""
    major = e.last("/machine/page-faults/major") or 0.0
    minor = e.last("/machine/page-faults/minor") or 0.0
    if not e.has_workers or e.wall_s <= 0:
        return None
    figures = {"major": major, "minor": minor}
    if major >= max(least_major_faults, least_major_fault_rate * e.wall_s):
        return Finding(
            "page_faults",
            0.0,
            f"The program had {count(major)} page faults that read from a disk, {ratio_text(major / e.wall_s)} per second.",
            "The memory is too small for the data, or files are read through mmap page by page: use less memory at a time, "
            "or read such files ahead (madvise).",
            figures,
        )
    user, system = e.last("/machine/time/user"), e.last("/machine/time/system")
    kernel = system / (user + system) if user is not None and system and user + system > 0 else 0.0
    if kernel < least_kernel or minor < max(least_minor_faults, least_minor_fault_rate * e.wall_s * e.n_workers):
        return None
    return Finding(
        "page_faults",
        0.0,
        f"The kernel took {share_text(kernel)} of the CPU time, and the program had {count(minor)} page faults, "
        f"{ratio_text(minor / e.wall_s)} per second.",
        "Memory that is given back and obtained again faults each time: keep and reuse large buffers, use huge pages "
        "(madvise), or an allocator that keeps memory.",
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
    full = f"; at this rate the machine's {bytes_text(total)} are full in {long_time_text((total - last) / rate)}" if total else ""
    return Finding(
        "memory_growth",
        0.0,
        f"Memory grows steadily, from {bytes_text(fifths[1])} to {bytes_text(last)}, {bytes_text(rate)} per second{full}.",
        "Look for what is kept for every step or task: results, futures, channels that are never emptied, caches without "
        "a limit.",
        {"bytes_per_s": rate},
    )


def _hottest(e: Evidence) -> str:
    """The function in which the sampled stacks say that its time is."""
    hot = e.hottest
    if hot is None:
        return ""
    place = f" ({hot['place']})" if hot["place"] else ""
    return f": {share_text(hot['share'])} of its CPU time is in {short(hot['function'])}{place}"


def nothing(e: Evidence):
    if not e.has_workers:
        advice = "Run it with PLX_DIAGNOSE=1, or under plx-exec -d."
        return Finding("unknown", 0.0, "Too little was recorded to judge.", advice)
    bits = [f"{e.worker_word}s are in tasks {share_text(e.share(e.tasks_s))} of their time"]
    if not e.lived_equally:
        bits = [f"threads run {share_text(e.share(e.tasks_s))} of their time"]
    elif e.n_tasks:
        work_s = e.tasks_s / e.n_tasks
        cost_s = overhead_per_task(e)
        times = f", {ratio_text(work_s / cost_s)} times the overhead per task of {seconds(cost_s)}" if cost_s > 0 else ""
        bits.append(f"tasks take {seconds(work_s)} on average{times}")
    if e.measurement_cost is not None:
        bits.append(f"measuring cost {share_text(e.measurement_cost)}")
    most = f' To be faster, make "{short(e.task_rows[0]["name"])}" faster{_hottest(e)}.' if e.task_rows else ""
    return Finding("nothing", 0.0, f"Nothing stands out: {', '.join(bits)}.", most.strip())
