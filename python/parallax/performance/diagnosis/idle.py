"""When the workers were idle, and what else was true at that time; idle_rules.py has the rules about it.

The idle time of each interval between two samples of diagnose.csv goes to exactly one cause. In order of precedence:
ready tasks waited in queues; tasks waited for a lock; no task ran and a device was busy; no task ran and calls to
other localities had no answer; about one worker had work; the rest. So causes sum to the idle time,
and two things are called simultaneous only where both were seen in one interval. Without samples of the idle time nothing
is placed, and all of it is rest.

Each cause is claimed by one finding, with an upper bound on the gain: removing I worker-seconds of idle time from a run of
P workers saves at most I / P; no run is shorter than its work divided by P, nor than its critical path (Brent).
Example to read: tests/performance/test_diagnosis_phases.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...text import plural, seconds
from . import confidence
from .evidence import Evidence, all_threads, scheduler

least_part = 0.10  # of all workers' time, idle for one cause
most_alone = 1.25  # workers with work, on average over an interval
queues = ("queue/length", "queue/injected", "queue/placed")
unanswered = "/calls{locality#0/total}/time/unanswered"
locks = ("mutex", "shared_mutex", "recursive_mutex", "timed_mutex", "spinlock")


@dataclass
class Phase:
    """Intervals of the run in which one thing was true: [(begin_s, end_s)], and the idle worker-seconds in them."""

    spans: list = field(default_factory=list)
    idle_s: float = 0.0

    @property
    def length_s(self) -> float:
        return sum(end - begin for begin, end in self.spans)

    @property
    def longest(self) -> tuple:
        return max(self.spans, key=lambda span: span[1] - span[0])

    def when(self, wall_s: float) -> str:
        """Begins a sentence: "Between 5.00 s and 10.0 s"."""
        if self.length_s >= 0.95 * wall_s:
            return "During the whole run"
        begin, end = self.longest
        if len(self.spans) == 1:
            return f"Between {_moment(begin)} and {_moment(end)}"
        return (
            f"In {plural(len(self.spans), 'interval')}, together {seconds(self.length_s)} (the longest between "
            f"{_moment(begin)} and {_moment(end)}),"
        )


@dataclass
class IdleTime:
    """Idle worker-seconds by cause. located: whether the samples say when workers were idle."""

    located: bool
    queued: Phase
    locked: Phase
    device: Phase
    calls: Phase
    alone: Phase
    rest_s: float
    mean_queued: float = 0.0  # tasks in queues, in the intervals of `queued`
    mean_busy: float = 0.0  # workers with work, in the intervals of `alone`
    bins: dict = field(default_factory=dict)  # {cause: idle worker-seconds in each interval [n]}, and their capacity

    def sure(self, e: Evidence, *causes: str) -> str:
        """The confidence in causes that one finding claims, "" if they are too small to be reported."""
        if self.bins:
            return confidence.of_bins(sum(self.bins[cause] for cause in causes), self.bins["capacity"], least_part)
        return "likely" if e.share(self.claimed_s(*causes)) >= least_part else ""

    def claimed_s(self, *causes: str) -> float:
        """Idle worker-seconds of these causes."""
        return sum(self.rest_s if cause == "rest" else getattr(self, cause).idle_s for cause in causes)


def idle_time(e: Evidence) -> IdleTime:
    bins = bins_of(e)
    if bins is None:
        return IdleTime(False, Phase(), Phase(), Phase(), Phase(), Phase(), e.idle_s)
    edges, total, idle = bins
    length, left = np.diff(edges), idle.copy()
    queued = _least_queued(e, edges)
    late = np.where(queued >= 1.0, np.minimum(left, queued), 0.0)
    left = left - late
    locked = np.minimum(left, _waiting_for_locks(e, edges))
    left = left - locked
    device = np.minimum(left, _idle_beside_devices(e, edges, total))
    left = left - device
    calls = np.minimum(left, np.minimum(_rate(e.series(unanswered), edges) * total, _no_task(e, edges)))
    left = left - calls
    busy = total - idle
    alone = (busy <= most_alone) & (left >= 0.5 * idle) & (left > 0)
    if e.threads is not None:  # a finding of its own reports waits for locks
        alone = (total if e.waited_s(*locks) >= 0.1 * e.worker_time_s else busy) <= most_alone
    is_late, is_locked = late > 0, locked > 0.25 * np.maximum(total, 1.0)
    is_device = device > 0.25 * np.maximum(total, 1.0)
    is_calls = calls > 0.25 * np.maximum(total, 1.0)
    # The samples may cover a little more or less than the workers' own clocks.
    scale = min(1.0, e.idle_s / float(np.sum(idle * length))) if np.any(idle > 0) else 0.0
    alone_s = scale * float(np.sum((left * length)[alone]))
    return IdleTime(
        True, Phase(_spans(edges, is_late), scale * float(np.sum(late * length))),
        Phase(_spans(edges, is_locked), scale * float(np.sum(locked * length))),
        Phase(_spans(edges, is_device), scale * float(np.sum(device * length))),
        Phase(_spans(edges, is_calls), scale * float(np.sum(calls * length))), Phase(_spans(edges, alone), alone_s),
        max(0.0, e.idle_s - alone_s - scale * float(np.sum((late + locked + device + calls) * length))),
        _mean(queued, length, is_late), _mean(busy, length, alone),
        {
            "queued": scale * late * length, "locked": scale * locked * length,
            "device": scale * device * length, "calls": scale * calls * length, "alone": scale * left * length * alone,
            "rest": scale * left * length * ~alone, "capacity": length * (e.worker_time_s / float(np.sum(length))),
        },
    )  # fmt: skip


def bins_of(e: Evidence):
    """(edges [n + 1], workers there are [n], workers that are idle [n]) of the intervals between samples, or None."""
    series = e.series(all_threads + "time/idle")
    if not e.has_workers:
        return None
    few = series is None or len(series[0]) < 3
    if few and e.threads is not None:
        moments = np.unique(np.concatenate([e.threads.numbers("begin_s"), e.threads.numbers("end_s")]))
        edges = moments[:: 1 + len(moments) // 1000]
        return (edges, _threads_alive(e, edges), np.zeros(len(edges) - 1)) if len(edges) > 1 else None
    if few:
        return None
    edges, first = np.unique(series[0], return_index=True)
    idle_s = series[1][first]
    if edges[0] > 0:  # the counters begin at nothing with the run, the samples one period later
        edges, idle_s = np.insert(edges, 0, 0.0), np.insert(idle_s, 0, 0.0)
    length = np.diff(edges)
    total = np.full(len(length), float(e.n_workers))
    if e.threads is not None:
        total = _threads_alive(e, edges)
    idle = np.maximum(np.diff(idle_s), 0.0) / length
    for i in range(len(idle) - 1, 0, -1):  # a wait that is counted when it ends was in the intervals before as well
        excess = max(0.0, idle[i] - total[i])
        idle[i] -= excess
        idle[i - 1] += excess * length[i] / length[i - 1]
    return edges, total, np.clip(idle, 0.0, total)


def _threads_alive(e: Evidence, edges: np.ndarray) -> np.ndarray:
    """Mean number of threads alive in each interval."""
    alive = np.zeros(len(edges) - 1)
    weights = e.threads.numbers("threads")
    for begin, end, n in zip(e.threads.numbers("begin_s"), e.threads.numbers("end_s"), weights):
        alive += n * np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], begin), 0.0, None) / np.diff(edges)
    return alive


def _least_queued(e: Evidence, edges: np.ndarray) -> np.ndarray:
    """Ready tasks in queues at both ends of each interval [n]: the lesser, as queues may have filled in between."""
    length = np.zeros(len(edges))
    for name in queues:
        series = e.series(scheduler + name)
        if series is not None:
            length += np.interp(edges, *series)
    return np.minimum(length[:-1], length[1:])


def _waiting_for_locks(e: Evidence, edges: np.ndarray) -> np.ndarray:
    """Mean number of tasks that waited for a lock in each interval [n].

    A wait is counted when it ends, so what a sample adds is spread over as long before it as the longest wait was.
    """
    longest_s = max((row["max_s"] for row in e.wait_rows or [] if row["kind"] in locks), default=0.0)
    kinds = ("mutex", "shared_mutex") if longest_s > 0 else ()
    return sum((_rate(e.series(f"{all_threads}wait/time/{kind}"), edges, longest_s) for kind in kinds), np.zeros(len(edges) - 1))


def _idle_beside_devices(e: Evidence, edges: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Mean number of workers that were idle in each interval [n] as no task ran and a device was busy."""
    busy = np.zeros(len(edges) - 1)
    longest_s = max((row["max_s"] for row in e.device_rows), default=0.0)
    for name in e.names("/gpu{locality#0/", "}/time/busy"):  # counted when an operation ends
        busy = np.maximum(busy, np.minimum(_rate(e.series(name), edges, longest_s), 1.0))
    return np.minimum(busy * total, _no_task(e, edges))


def _no_task(e: Evidence, edges: np.ndarray) -> np.ndarray:
    """Mean number of workers that were idle in each interval [n] as no task ran."""
    return _rate(e.series(all_threads + "idle/unattributed"), edges)


def _rate(series, edges: np.ndarray, longest_s: float = 0.0) -> np.ndarray:
    """Growth of a counter per second in each interval [n]. The growth between two samples is spread over up to `longest_s`
    before them, if the counter adds a time when that time ends."""
    found = np.zeros(len(edges) - 1)
    if series is None:
        return found
    grown = np.diff(np.interp(edges, *series))
    for i in np.flatnonzero(grown > 0):
        begin, end = max(edges[0], edges[i] - longest_s), edges[i + 1]
        inside = np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], begin), 0.0, None)
        found += grown[i] * inside / (end - begin)
    return found / np.diff(edges)


def _spans(edges: np.ndarray, chosen: np.ndarray) -> list:
    """Neighbouring intervals that were chosen, as one each."""
    spans: list = []
    for i in np.flatnonzero(chosen):
        if spans and spans[-1][1] == edges[i]:
            spans[-1] = (spans[-1][0], float(edges[i + 1]))
        else:
            spans.append((float(edges[i]), float(edges[i + 1])))
    return spans


def _mean(values: np.ndarray, length: np.ndarray, chosen: np.ndarray) -> float:
    whole = float(np.sum(length[chosen]))
    return float(np.sum((values * length)[chosen])) / whole if whole > 0 else 0.0


def _moment(time_s: float) -> str:
    return "0 s" if time_s <= 0 else seconds(time_s)
