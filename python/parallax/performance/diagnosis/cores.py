"""Workers in tasks but on no core: they wait for a core (and what uses it meanwhile), or are blocked in calls.

Example to read: python/tests/performance/test_diagnosis.py, and tests/diagnose/ for programs that provoke each.
"""

from __future__ import annotations

import numpy as np

from ...text import bytes_text, plural, seconds, share_text
from .evidence import Evidence, Finding, all_threads, at_most

least_off_core = 0.10  # of all workers' time: in tasks, but on no core


def off_core(e: Evidence):
    """Workers are in tasks but on no core: they wait for a core (`off_core`), or are blocked in calls (`waiting`)."""
    if not e.has_workers or e.cpu_s is None:
        return None
    # At least, as idle workers use cores too when they look for tasks.
    off_s = max(0.0, e.tasks_s + e.overhead_s + e.background_s - e.cpu_s)
    figures = {"off_core_s": off_s, "ready_s": e.ready_s, **_switches(e)}
    if e.ready_s is None:
        return _off_core_for_some_reason(e, off_s, figures)
    ready_s = min(e.ready_s, e.worker_time_s)
    blocked_s = max(0.0, off_s - ready_s)
    if max(ready_s, blocked_s) < least_off_core * e.worker_time_s:
        return None
    if ready_s >= blocked_s:
        saves_s = ready_s / e.capacity
        by = _most(users_of_cores(e))
        words, advice = _words_of(e, by)
        return Finding(
            "off_core",
            e.share(ready_s),
            f"For {seconds(ready_s)}, {share_text(e.share(ready_s))} of their time, {e.worker_word}s were ready to run but "
            f"had no core{words}; {at_most(saves_s, e.wall_s)}.",
            advice,
            {**figures, "by": by},
            saves_s,
        )
    saves_s = blocked_s / e.capacity
    moved = " and ".join(text for text in (_moved(e, "read", "read"), _moved(e, "wrote", "written")) if text)
    also = f" (they waited for a core for {seconds(ready_s)} more)" if e.share(ready_s) >= 0.05 else ""
    return Finding(
        "waiting",
        e.share(blocked_s),
        f"For at least {seconds(blocked_s)}, {share_text(e.share(blocked_s))} of the {e.worker_word}s' time, "
        f"{'tasks' if e.lived_equally else 'threads'} were blocked in system calls or page faults{also}"
        f"{'; the program ' + moved if moved else ''}; {at_most(saves_s, e.wall_s)}.",
        f"Input and output, locks of other libraries and sleeps hold a {e.worker_word}: do them in fewer and larger pieces, in "
        f"dedicated threads, or with more {e.worker_word}s than cores.",
        figures,
        saves_s,
    )


def users_of_cores(e: Evidence) -> dict:
    """{what used the cores: seconds for which workers were ready without one}, from what each interval between samples shows:
    more `workers` than cores, other `threads` of the program, `programs` (the rest). Empty if it is not known."""
    names = (all_threads + "time/waiting-for-processor", all_threads + "time/processor", "/machine/time/user", "/machine/time/system")
    series, cores = [e.series(name) for name in names], e.last("/machine/processors")
    if any(one is None or len(one[0]) < 3 for one in series) or not cores:
        return {}
    edges = np.unique(series[0][0])
    ready, on_core, user, system = (np.maximum(np.diff(np.interp(edges, *one)), 0.0) for one in series)
    by_workers = np.clip(on_core + ready - cores * np.diff(edges), 0.0, ready)
    by_threads = np.clip(user + system - on_core, 0.0, ready - by_workers)
    found = {"workers": float(np.sum(by_workers)), "threads": float(np.sum(by_threads))}
    return {**found, "programs": float(np.sum(ready)) - sum(found.values())}


def _most(users: dict) -> str:
    """The user of the cores for at least half of that time, or ""."""
    name, most_s = max(users.items(), key=lambda item: item[1], default=("", 0.0))
    return name if most_s > 0 and most_s >= 0.5 * sum(users.values()) else ""


def _words_of(e: Evidence, by: str) -> tuple:
    """(a clause that says what used the cores, advice)."""
    cores = plural(int(e.last("/machine/processors") or 0), "core")
    if by == "workers":
        clause = f", as there are {plural(e.n_workers, e.worker_word)} for {cores}"
        return clause, "Use no more workers than cores (PLX_THREADS)."
    if by == "threads":
        used_s = (e.last("/machine/time/user") or 0.0) + (e.last("/machine/time/system") or 0.0) - (e.cpu_s or 0.0)
        clause = f", most of it as other threads of the program ran, which used {seconds(used_s)} of CPU time"
        return clause, "Do the work of these threads in tasks, or leave cores to them: fewer workers (PLX_THREADS)."
    if by == "programs":
        return ", most of it as other programs ran", _own_cores(e)
    return "", _own_cores(e)


def _own_cores(e: Evidence) -> str:
    fewer = "workers (PLX_THREADS)" if e.lived_equally else "threads"
    return (
        "Other programs share the cores, or the program has more threads than cores: give the program its own cores, or "
        f"fewer {fewer}."
    )


def _moved(e: Evidence, verb: str, name: str) -> str:
    """How much the program read or wrote, and how much of it from or to disks; "" below a MiB."""
    total, disk = e.last(f"/machine/io/{name}") or 0.0, e.last(f"/machine/io/disk-{name}") or 0.0
    if total < 2**20:
        return ""
    of_it = f" ({bytes_text(disk)} of it {'from' if verb == 'read' else 'to'} disks)" if disk >= 2**20 else ""
    return f"{verb} {bytes_text(total)}{of_it}"


def _switches(e: Evidence) -> dict:
    names = ("voluntary", "involuntary")
    return {name: e.last(f"/machine/context-switches/{name}") or 0.0 for name in names}


def _off_core_for_some_reason(e: Evidence, off_s: float, figures: dict):
    """For operating systems that do not report how long threads waited for a core."""
    if e.share(off_s) < least_off_core:
        return None
    saves_s = off_s / e.capacity
    lost = plural(int(figures["involuntary"]), "time")
    return Finding(
        "off_core",
        e.share(off_s),
        f"For at least {seconds(off_s)}, {share_text(e.share(off_s))} of the {e.worker_word}s' time, tasks were on no core: "
        f"they waited for a core or were blocked in calls, and the run has no record of which (the operating system "
        f"preempted its threads {lost}); {at_most(saves_s, e.wall_s)}.",
        f"{_own_cores(e)} If it has its own, look for input and output, locks of other libraries and sleeps in tasks.",
        figures,
        saves_s,
    )
