"""The rules about idle time: a cause of it that takes enough of the workers' time is a finding.

Each idle second counts for one finding (idle.py); the largest names the task type that most idle time is charged to.
Example to read: python/tests/performance/test_diagnosis_phases.py, and tests/diagnose/ for a program that provokes each.
"""

from __future__ import annotations

import numpy as np

from ...text import count, plural, seconds, share_text, short, trimmed
from . import confidence
from .evidence import Evidence, Finding, all_threads, at_most
from .idle import IdleTime, idle_time, least_part, locks

least_idle = 0.15  # of all workers' time
least_blame = 0.5  # of the idle time: charged to one task type, or to none
least_imbalance = 0.15  # of the run: (most - mean) of the workers' seconds in tasks
least_gaps = 8  # times that a worker slept, and tasks of the type that ran meanwhile
least_gap = 0.1  # of the mean task: how long a worker sleeps
least_beside = 1.15  # workers with work: with fewer, one task ran at a time
least_scatter = 0.3  # standard deviation / mean of the tasks' lengths: they are unequal
least_long_task = 0.25  # of the run: a task longer than that may hold up the others
least_path = 0.70  # of the run: the critical path
least_delay = 0.20  # of the run: how long tasks on the critical path were ready before they began
whole_run = 0.90  # of the run
latest_set_up = 0.10  # of the run: what one worker does alone from before then is serial set-up


def findings_about_idle_time(e: Evidence) -> list:
    """The largest begins with the task type that is charged most of the idle time, if one is."""
    found = _findings(e)
    if found and e.lived_equally:
        _name_the_blamed(e, max(found, key=lambda finding: finding.share))
    return found


def _name_the_blamed(e: Evidence, finding: Finding) -> None:
    if not e.idle_blame or e.idle_s <= 0:
        return
    name, blamed_s = max(e.idle_blame.items(), key=lambda item: item[1])
    none_ran = e.unattributed_s >= blamed_s
    charged_s = e.unattributed_s if none_ran else blamed_s
    share = charged_s / e.idle_s
    if share < least_blame:
        return
    part = f"{share_text(share)} of the workers' idle time ({seconds(charged_s)})"
    begin = f"In {part} no task ran" if none_ran else f'"{short(name)}" is charged {part}, as it ran meanwhile'
    finding.text = f"{begin}; {finding.text[0].lower()}{finding.text[1:]}"
    finding.figures.update({"blamed": None if none_ran else name, "blamed_s": charged_s, "blamed_share": share})


def _findings(e: Evidence) -> list:
    if not e.has_workers or e.n_workers < 2:
        return [f for f in [_lock_of_threads(e) if e.has_workers and not e.lived_equally else None] if f]
    if not e.lived_equally:
        return _of_threads(e)
    parts = idle_time(e)
    found = [_queued(e, parts), _locked(e, parts), _on_devices(e, parts), _for_answers(e, parts), _single_tasks(e, parts)]
    if found[-1] is None:
        found += _other_causes(e, parts, any(found))
    found = [finding for finding in found if finding is not None]
    return [finding for finding in found if finding.confidence != "possible"] or found


def _other_causes(e: Evidence, parts: IdleTime, others: bool) -> list:
    """Findings about the rest of the idle time; others: there are findings about queues, locks or devices."""
    found: list = []
    alone_s, rest_s = parts.alone.idle_s, parts.rest_s
    if parts.sure(e, "alone"):
        alone = _alone(e, parts)
        if alone is None:
            rest_s += alone_s  # reported by chains() or starvation()
        found.append(alone)
    else:
        rest_s += alone_s
    nothing_else = not others and not any(found) and e.share(e.idle_s) >= least_idle
    if e.share(rest_s) >= least_idle or nothing_else:
        serial_s = parts.alone.length_s if parts.sure(e, "alone") else 0.0
        rest_s = e.idle_s if nothing_else else rest_s
        rules = (
            lambda: _delayed(e, rest_s), lambda: chains(e, rest_s), lambda: imbalance(e, rest_s, serial_s),
            lambda: starvation(e, rest_s),
        )
        rest = next(finding for finding in (rule() for rule in rules) if finding is not None)
        rest.confidence = confidence.of_figure(rest.share, least_idle)
        found.append(rest)
    return found


def _claim(e: Evidence, id: str, idle_s: float, text: str, advice: str, figures=None, sure="clear") -> Finding:
    """A finding that claims idle worker-seconds of workers that all lived as long as the run."""
    saves_s = idle_s / e.n_workers
    text = f"{text}; {at_most(saves_s, e.wall_s)}."
    return Finding(id, e.share(idle_s), text, advice, figures or {}, saves_s, sure)


def _queued(e: Evidence, parts: IdleTime):
    """Ready tasks in queues and idle workers, in the same intervals."""
    phase, mean_queued, sure = parts.queued, parts.mean_queued, parts.sure(e, "queued")
    if not sure:
        return None
    idle = phase.idle_s / phase.length_s
    return _claim(
        e,
        "latency",
        phase.idle_s,
        f"{phase.when(e.wall_s)} {trimmed(mean_queued, 2)} ready tasks waited in queues and at least {trimmed(idle, 2)} of "
        f"{plural(e.n_workers, 'worker')} were idle, on average",
        _latency_advice,
        {"queued": mean_queued},
        sure,
    )


def _delayed(e: Evidence, idle_s: float):
    """Tasks on the critical path that are ready but do not begin."""
    delay_s = (e.critical_path or {}).get("path_delay_s") or 0.0
    if delay_s < least_delay * e.wall_s:
        return None
    return Finding(
        "latency",
        e.share(idle_s),
        f"Tasks on the critical path were ready for {seconds(delay_s)} of {seconds(e.wall_s)} before they began; "
        f"{at_most(min(delay_s, idle_s / e.n_workers), e.wall_s)}.",
        _latency_advice,
        {"delay_s": delay_s},
        min(delay_s, idle_s / e.n_workers),
    )


_latency_advice = (
    "Look for tasks that are bound to a worker, for one worker that makes all tasks, and for workers that wait for a core "
    "(more workers than cores); tasks on the critical path can have priority::high."
)


def _lock_row(e: Evidence):
    return next((row for row in e.wait_rows or [] if row["kind"] in locks), None)


def _lock_words(lock: dict):
    name = f'"{lock["name"]}"' if lock["name"] else f"at {lock['object']}" if lock["object"] else "of many"
    naming = "" if lock["name"] else ' Give it a name (plx::mutex m("name")) to see which one it is.'
    figures = {"lock": lock["name"] or lock["object"], "kind": lock["kind"], "waits": lock["waits"]}
    words = (
        f"wait for the {lock['kind']} {name}: {plural(int(lock['waits']), 'wait')} of {seconds(lock['total_s'])} in all "
        f"(the longest {seconds(lock['max_s'])})"
    )
    return (
        words,
        "Hold it for less, split it into several, or let every task collect its own part and join them at the end."
        + naming,
        {**figures, "waited_s": lock["total_s"]},
    )


def _locked(e: Evidence, parts: IdleTime):
    """Tasks that wait for a lock and workers that are idle, in the same intervals."""
    lock, phase, sure = _lock_row(e), parts.locked, parts.sure(e, "locked")
    if lock is None or not sure:
        return None
    words, advice, figures = _lock_words(lock)
    when = f" {phase.when(e.wall_s)[0].lower()}{phase.when(e.wall_s)[1:]}".rstrip(",") if phase.spans else ""
    if e.lock_blame and sum(e.lock_blame.values()) > 0:
        holder, held_s = max(e.lock_blame.items(), key=lambda item: item[1])
        figures["holder"] = holder
        share = share_text(held_s / sum(e.lock_blame.values()))
        words += f', {share} of that time, without queues, while "{short(holder)}" held a lock'
    text = f"Tasks {words}. Workers were idle for {seconds(phase.idle_s)} of their time{when} as tasks waited for locks"
    return _claim(e, "contention", phase.idle_s, text, advice, figures, sure)


def _on_devices(e: Evidence, parts: IdleTime):
    """No task ran, and a device was busy, in the same intervals."""
    phase, sure = parts.device, parts.sure(e, "device")
    if not e.device_rows or not sure:
        return None
    row = e.device_rows[0]
    when = phase.when(e.wall_s) if phase.spans else "For a part of the run"
    text = (
        f'{when} workers were idle for {seconds(phase.idle_s)} of their time as no task ran and a device was busy; most of the '
        f'time of {row["device"]} is "{short(row["name"])}", {plural(int(row["calls"]), "call")} of {seconds(row["mean_s"])} on average'
    )
    advice = (
        "Give the workers other tasks meanwhile, launch more independent kernels at a time, or make that one faster; "
        "PLX_TRACE=1 shows the device beside the workers."
    )
    return _claim(e, "device", phase.idle_s, text, advice, {"device": row["device"], "kernel": row["name"]}, sure)


def _for_answers(e: Evidence, parts: IdleTime):
    """No task ran, and calls to other localities had no answer, in the same intervals."""
    phase, sure = parts.calls, parts.sure(e, "calls")
    others = [row for row in e.localities if row["locality"] != 0]
    if not sure or not others:
        return None
    row = max(others, key=lambda row: row["exec_s"])
    when = phase.when(e.wall_s) if phase.spans else "For a part of the run"
    text = (
        f"{when} workers were idle for {seconds(phase.idle_s)} of their time as no task ran and calls to other localities had no "
        f"answer; of these, locality {row['locality']} was in tasks most, for {seconds(row['exec_s'])} in all"
    )
    late = row["exec_s"] >= 0.5 * phase.length_s
    advice = (
        "Make the tasks that answer faster, or call before the answer is needed and run other tasks meanwhile."
        if late
        else "The messages themselves take that time: call before the answer is needed, several at a time, with more work each."
    )
    return _claim(e, "answers", phase.idle_s, text, advice, {"locality": row["locality"], "late": late}, sure)


def _single_tasks(e: Evidence, parts: IdleTime):
    """Workers idle again and again, for about as long as one task of the type that runs meanwhile: its tasks take unequally
    long (`uneven`, an imbalance that moves from worker to worker), or there are too few of them at a time (`coarse`)."""
    sure, gaps = parts.sure(e, "alone", "rest"), e.last(all_threads + "count/idle-periods") or 0.0
    name, charged_s = max((e.idle_blame or {}).items(), key=lambda item: item[1], default=("", 0.0))
    row = next((row for row in e.task_rows if row["name"] == name), None)
    if not sure or row is None or charged_s < least_blame * e.idle_s or min(gaps, row["calls"]) < least_gaps:
        return None
    gap_s = e.idle_s / gaps
    busy = e.n_workers * row["total_s"] / (row["total_s"] + charged_s)  # workers with work, on average while it ran
    moves = float(np.max(e.tasks_of_workers) - np.mean(e.tasks_of_workers)) < least_imbalance * e.wall_s
    if not least_gap * row["mean_s"] <= gap_s <= row["max_s"] or busy < least_beside:
        return None
    unequal = row["stddev_s"] >= least_scatter * row["mean_s"]
    if unequal and not moves:
        return None  # imbalance() reports it; equal tasks that are too few may burden the same worker each time
    idle_s = parts.claimed_s("alone", "rest")
    idle = f"workers were idle {count(gaps)} times, for {seconds(gap_s)} on average, until such tasks ended"
    figures = {"gap_s": gap_s, "gaps": gaps, "mean_s": row["mean_s"], "max_s": row["max_s"]}
    if unequal:
        in_tasks = f"{seconds(float(np.min(e.tasks_of_workers)))} to {seconds(float(np.max(e.tasks_of_workers)))}"
        return _claim(
            e, "uneven", idle_s,
            f'Workers wait for long tasks of a type of unequal ones: "{short(name)}" takes up to {seconds(row["max_s"])}, the mean '
            f"is {seconds(row['mean_s'])}, and {idle}; in the whole run, each worker was in tasks for {in_tasks}",
            "Divide the long ones, begin them first (priority::high), or make several tasks per worker between two points "
            "where all wait for all.",
            figures, sure,
        )  # fmt: skip
    if _long_path(e):
        return None  # chains() reports it
    return _claim(
        e, "coarse", idle_s,
        f'Tasks are too few at a time: each of {count(row["calls"])} tasks "{short(name)}" takes {seconds(row["mean_s"])}, and '
        f"{idle}",
        "Divide them: several tasks per worker between two points where all wait for all.",
        figures, sure,
    )  # fmt: skip


def long_task(e: Evidence):
    """The row of the kind with the longest task, when that is a large part of the run."""
    row = max(e.task_rows, key=lambda row: row["max_s"], default=None)
    return row if row and row["max_s"] >= least_long_task * e.wall_s else None


def _alone(e: Evidence, parts: IdleTime):
    """One worker had work, on average, and no ready task waited. None where that holds for the whole run."""
    phase, row, sure = parts.alone, long_task(e), parts.sure(e, "alone")
    begin, end = phase.longest
    most = (
        f"{phase.when(e.wall_s)} only {trimmed(parts.mean_busy, 2)} of {plural(e.n_workers, 'worker')} had work on average, "
        "and no task waited in a queue"
    )
    figures = {"busy": parts.mean_busy, "intervals": phase.spans[:20], "serial_s": phase.length_s}
    is_one_task = row and row["max_s"] >= 0.7 * (end - begin)
    if is_one_task:
        most = f'{most}; the longest task, "{short(row["name"])}", took {seconds(row["max_s"])}'
    if is_one_task and begin > latest_set_up * e.wall_s:  # before, others ran that it could have run beside
        advice = "Cut that task into smaller ones, or begin it first (priority::high)."
        return _claim(e, "imbalance", phase.idle_s, most, advice, figures, sure)
    of_run = phase.length_s / e.wall_s
    if of_run >= whole_run or (of_run >= least_path and _long_path(e)) or parts.mean_busy < 0.5:
        return None
    kinds = path_kinds(e)
    path = f' (the critical path has most of its time in "{short(kinds[0][0])}")' if kinds else ""
    advice = f"Divide that part into tasks that can run side by side, or run it beside other work{path}."
    more = "" if kinds or is_one_task else " PLX_TRACE=1 shows which tasks it consists of."
    return _claim(e, "serial", phase.idle_s, most, advice + more, figures, sure)


def path_kinds(e: Evidence) -> list:
    """[(name, seconds on the path, slices on the path, run time if that kind took half)], the largest first."""
    rows = (e.critical_path or {}).get("kinds") or []
    found = [
        (str(row["name"]), float(row["path_s"]), int(row["on_path"]), (row.get("if_half") or {}).get("wall_s"))
        for row in rows
        if isinstance(row, dict) and {"name", "path_s", "on_path"} <= set(row)
    ]
    return sorted((row for row in found if row[1] > 0), key=lambda row: -row[1])


def _long_path(e: Evidence) -> bool:
    return e.span_s is not None and e.span_s >= least_path * e.wall_s and not long_task(e)


def chains(e: Evidence, idle_s: float):
    """The critical path takes most of the run."""
    if not _long_path(e):
        return None  # one long task is no chain: imbalance() reports it
    path_s, kinds = e.span_s, path_kinds(e)
    most, what_if = "", "" if kinds else " plx-trace critical RUN (PLX_TRACE=1) names the tasks on it."
    if kinds:
        name, on_path_s, n, half_s = kinds[0]
        most = f', {share_text(on_path_s / path_s)} of it "{short(name)}" in {plural(n, "slice")}'
        if half_s:
            what_if = f' If "{short(name)}" took half the time, the run would take {seconds(half_s)}.'
    more_s = max(0.0, e.wall_s - path_s)
    shorter_s = min(max(0.0, e.wall_s - e.tasks_s / e.n_workers), idle_s / e.n_workers)
    return Finding(
        "chains",
        e.share(idle_s),
        f"Tasks depend on each other: the critical path takes {seconds(path_s)} of {seconds(e.wall_s)}{most}, and all "
        f"work is {trimmed(e.tasks_s / path_s, 2)} times that. With any number of workers the run takes at least "
        f"{seconds(path_s)}, so more workers save at most {seconds(more_s)} ({share_text(more_s / e.wall_s)}); a shorter "
        f"path saves at most {seconds(shorter_s)} ({share_text(shorter_s / e.wall_s)}) with these "
        f"{plural(e.n_workers, 'worker')}.",
        "Shorten what is on the path, or let parts of it run side by side (finer tasks, fewer places where all wait for "
        f"all).{what_if}",
        {"path_s": path_s, "parallelism": e.tasks_s / path_s},
        max(more_s, shorter_s),
    )


def imbalance(e: Evidence, idle_s: float, serial_s: float = 0.0):
    """Some workers have more to do than others, beyond what the intervals with one busy worker explain."""
    most, mean = float(np.max(e.tasks_of_workers)), float(np.mean(e.tasks_of_workers))
    excess_s = most - mean - serial_s * (1 - 1 / e.n_workers)
    row = long_task(e)
    one_at_a_time = e.tasks_s / e.wall_s < 1.15  # no matter of balance
    if excess_s < least_imbalance * e.wall_s or (row is None and one_at_a_time):
        return None
    busiest = int(np.argmax(e.tasks_of_workers))
    others = (e.tasks_s - most) / (e.n_workers - 1)
    reason = f'. The longest task, "{short(row["name"])}", took {seconds(row["max_s"])}' if row else ""
    advice = (
        "Cut that task into smaller ones, or begin it first (priority::high)."
        if row
        else "If it ran a part that is serial (set-up, input, output), divide that part into tasks; if tasks are bound to it, "
        "distribute them."
    )
    saves_s = min(most - mean, idle_s / e.n_workers)
    return Finding(
        "imbalance",
        e.share(idle_s),
        f"Worker {busiest} had more work than the others: it was in tasks for {seconds(most)}, the others for "
        f"{seconds(others)} on average{reason}. An equal division of all work saves at most {seconds(saves_s)} "
        f"({share_text(saves_s / e.wall_s)} of the run).",
        advice,
        {"most_s": most, "mean_s": mean, "worker": busiest},
        saves_s,
    )


def starvation(e: Evidence, idle_s: float):
    """Workers without a ready task."""
    busy = e.tasks_s / e.wall_s
    sleeping_s = e.waited_s("sleep")
    if sleeping_s >= 0.5 * e.wall_s:
        why = f". Tasks slept for {seconds(sleeping_s)} in all"
        advice = "Wait for the event itself (a future, a condition variable) instead of sleeping."
    elif e.n_tasks < 4 * e.n_workers:
        why = f". The run has only {plural(e.n_tasks, 'task')}"
        advice = "Divide the work into more tasks: several per worker, so that all can keep busy."
    else:
        why = ""
        enough = max(1, round(busy + 0.5))
        fewer = f", or use {plural(enough, 'worker')}" if enough < e.n_workers else ""
        advice = f"Make tasks earlier and more of them at a time, let parts that run alone run as tasks{fewer}."
    text = f"Ready tasks are too few: on average {trimmed(busy, 2)} of {plural(e.n_workers, 'worker')} had one{why}"
    return _claim(e, "starvation", idle_s, text, advice, {"busy": busy})


# ---- threads that lived for parts of the run (plx-exec) ----


def _of_threads(e: Evidence) -> list:
    parts = idle_time(e)
    serial = _one_thread(e, parts) if parts.located and e.threads is not None else _one_row(e)
    return [finding for finding in (_lock_of_threads(e), serial) if finding is not None]


def _held_words(e: Evidence, lock: dict, figures: dict) -> str:
    """The code that held the lock for the longest while threads waited, which `figures` receive."""
    held = e.held_by(lock)
    if held is None or held["held_s"] <= 0:
        return ""
    figures["holder"], figures["held_s"] = held["function"], held["held_s"]
    place = f" ({held['place']})" if held["place"] else ""
    by = f'"{short(held["function"])}"{place}' if held["function"] or place else "code without a name"
    return f"; {by} held it for {seconds(held['held_s'])}, in {plural(int(held['holds']), 'hold')}"


def _lock_of_threads(e: Evidence):
    lock = _lock_row(e)
    if lock is None or e.share(lock["total_s"]) < least_part:
        return None
    words, advice, figures = _lock_words(lock)
    saves_s = min(lock["total_s"] / max(e.capacity, 1.0), e.wall_s)
    share = min(1.0, e.share(lock["total_s"]))
    text = f"Threads {words}, {share_text(share)} of the threads' time{_held_words(e, lock, figures)}; {at_most(saves_s, e.wall_s)}."
    return Finding("contention", share, text, advice.split(" Give it a name")[0], figures, saves_s)


def _one_thread(e: Evidence, parts: IdleTime):
    """Intervals in which about one thread runs."""
    phase = parts.alone
    length_s = min(phase.length_s, e.wall_s)
    saves_s = length_s * (1 - 1 / e.n_workers)
    if saves_s < least_part * e.wall_s:
        return None
    row = max(e.task_rows, key=lambda row: row["max_s"], default=None)
    reason = f'. The longest-running function, "{short(row["name"])}", took {seconds(row["max_s"])}' if row else ""
    return Finding(
        "serial",
        saves_s / e.wall_s,
        f"{phase.when(e.wall_s)} only {trimmed(parts.mean_busy, 2)} of {plural(e.n_workers, 'thread')} ran on average{reason}. "
        f"Divided among all {e.n_workers}, that part saves at most {seconds(saves_s)} ({share_text(saves_s / e.wall_s)} of the run).",
        "Divide that part among threads, or run it beside other work.",
        {"serial_s": length_s, "intervals": phase.spans[:20]},
        saves_s,
    )


def _one_row(e: Evidence):
    """Without samples of when they ran: one thread with far more work than the others."""
    most = float(np.max(e.tasks_of_workers))
    busiest, others = int(np.argmax(e.tasks_of_workers)), (e.tasks_s - most) / (e.n_workers - 1)
    saves_s = max(0.0, e.wall_s - e.tasks_s / e.n_workers)
    if most - others < least_imbalance * e.wall_s or saves_s < least_imbalance * e.wall_s:
        return None
    return Finding(
        "serial",
        (most - others) / e.wall_s,
        f"Thread {busiest} ran for {seconds(most)} of the run's {seconds(e.wall_s)}, the other {e.n_workers - 1} for "
        f"{seconds(others)} on average. Divided equally among all {e.n_workers}, the work takes at least "
        f"{seconds(e.tasks_s / e.n_workers)}, which saves at most {seconds(saves_s)} ({share_text(saves_s / e.wall_s)} of "
        "the run).",
        f"Divide the work of thread {busiest} among threads, or run it beside other work.",
        {"most_s": most, "worker": busiest},
        saves_s,
    )
