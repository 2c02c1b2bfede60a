"""`parallax scale-check`: compares replays on a few processes with the measured times of real runs.

A replay uses recordings of one process, with as many cores busy as the real run has processes, and nothing of the real
run. The owner of each block is as the balancer of plx-star decides (src/star/driver/balancer.cpp), from the recorded costs of the
blocks: the curve is cut into equal parts at the start, and again when the imbalance has cost more than moving blocks.

Example to read: tests/star/test_scale_check.py.
"""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

import numpy as np

from .machine import Program, Setting, phases, uses
from .workload import RealRuns, Recording, workload_of

_host = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<!-- The machine that the runs were made on: one host, cores: {cores}; its processes talk through its memory. -->
<platform version="4.1">
  <cluster id="here" prefix="node-" radical="0-0" suffix="" speed="1Gf" core="{cores}" bw="100GBps" lat="0us"
           loopback_bw="100GBps" loopback_lat="0us"/>
</platform>
"""


@dataclass
class Compared:
    """One problem on a number of processes: seconds of all compared steps; messages and bytes per step."""

    problem: str
    processes: int
    runs: int
    steps: int
    measured_s: float
    least_s: float  # of the real runs
    most_s: float
    replayed_s: float = 0.0
    measured_messages: float = 0.0
    replayed_messages: float = 0.0
    measured_bytes: float = 0.0
    replayed_bytes: float = 0.0
    phases_s: dict = field(default_factory=dict)
    uses_s: dict = field(default_factory=dict)

    @property
    def off(self) -> float:
        """Replayed over measured, less one."""
        return self.replayed_s / self.measured_s - 1.0


def compare(runs: RealRuns, problem: str, processes: int, program: Path, folder: Path) -> Compared:
    """Replays it in `folder`. Errors: ReadError of plx-scale's."""
    together = runs.together(problem, processes)
    walls = [r.wall_s for r in together]
    some = together[0]
    c = Compared(problem, processes, len(together), some.steps, runs.measured_s(problem, processes), min(walls), max(walls))
    if processes > 1:
        c.measured_messages, c.measured_bytes = some.sent("messages"), some.sent("bytes")
    replays = []
    for turn, recording in enumerate(runs.one_process(problem, processes)):
        replays.append(_replay(c, recording, runs.machine_costs(recording), program, folder, turn))
    # The one whose time is the median, as for the real runs.
    middle = sorted(replays, key=lambda r: r[0])[(len(replays) - 1) // 2]
    c.replayed_s = median(r[0] for r in replays)
    _, c.replayed_messages, c.replayed_bytes, c.phases_s, c.uses_s = middle
    return c


def _replay(c: Compared, recording: Recording, costs, program: Path, folder: Path, turn: int) -> tuple:
    """Seconds of all compared steps; messages and bytes per step; seconds by phase and by use."""
    host = folder / "host.xml"
    host.write_text(_host.format(cores=c.processes), encoding="utf-8")
    paths = _write_steps(c, recording, costs, folder, turn)
    setting = Setting(c.processes, per_host=c.processes, group_bytes=recording.data["group_bytes"])
    each = Program(program, paths, host, costs).run_each(setting)
    # The step that looks at the mesh is as the others; what looking takes is a phase.
    scale = c.steps / len(each)
    by_phase = {p: scale * sum(r.times[p] for r in each) for p in phases}
    by_use = {u: scale * sum(r.use(u) for r in each) for u in uses}
    mean = lambda name: sum(getattr(r, name) for r in each) / len(each)
    return scale * sum(r.time_s for r in each), mean("messages"), mean("bytes"), by_phase, by_use


def _write_steps(c: Compared, recording: Recording, costs, folder: Path, turn: int) -> list:
    """A file for each step of the recording that is replayed; blocks lie where plx-star's balancer would have them."""
    data = recording.data
    balancer = Balancer(c.processes, 8.0 * data["variables"] * data["block_size"] ** 3)
    blocks = [_names(s) for s in recording.segments]
    paths, new_mesh = [], True
    for i, segment in enumerate(recording.segments):
        parts = balancer.cut(blocks[i])
        steps = [segment.seconds_at(step, parts) for step in range(len(segment.seconds))]
        after = blocks[min(i + 1, len(blocks) - 1)]
        moved = balancer.looked(blocks[i], np.mean(steps, axis=0), after, data["steps_per_look"])
        for step, seconds in enumerate(steps if not segment.warm else []):
            paths.append(folder / f"{c.problem}-{c.processes}-{turn}-{i}-{step}.toml")
            carried = step > 0 or not new_mesh
            workload = workload_of(recording, segment, seconds, costs, parts, segment.changed or moved, carried)
            paths[-1].write_text(workload.toml(), encoding="utf-8")
        new_mesh = segment.changed or moved
    return paths


def _names(segment) -> list:
    return [(int(level), *map(int, at)) for level, at in zip(segment.levels, segment.locations)]


def table(compared: list) -> list:
    lines = [f"{'problem':12} processes  runs  {'real ms/step':>22}  {'replayed':>9}  {'off':>7}  {'messages/step':>15}  {'MB/step':>13}"]
    for c in compared:
        real = f"{1e3 * c.measured_s / c.steps:.2f} ({1e3 * c.least_s / c.steps:.2f}..{1e3 * c.most_s / c.steps:.2f})"
        messages = f"{c.measured_messages:.1f} / {c.replayed_messages:.1f}"
        size = f"{1e-6 * c.measured_bytes:.2f} / {1e-6 * c.replayed_bytes:.2f}"
        lines.append(
            f"{c.problem:12} {c.processes:>9}  {c.runs:>4}  {real:>22}  {1e3 * c.replayed_s / c.steps:>9.2f}  {100 * c.off:>+6.1f}%  {messages:>15}  {size:>13}"
        )
    return lines


def write_tables(folder: Path, compared: list, runs: RealRuns) -> None:
    """check.csv, check.json."""
    rows = [{**asdict(c), "off": c.off} for c in compared]
    data = {"machine": runs.machine, "date": runs.date, "costs": runs.costs, "compared": rows}
    (folder / "check.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    flat = [name for name, value in rows[0].items() if not isinstance(value, dict)]
    with (folder / "check.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*flat, *(f"{p}_s" for p in phases), *(f"{u}_core_s" for u in uses)])
        for row in rows:
            writer.writerow([*(row[f] for f in flat), *row["phases_s"].values(), *row["uses_s"].values()])


_noise = 0.02  # a difference in loads that measurements alone can make
_byte_s, _rebuild_s = 1e-9, 1e-3  # what moving costs, before it was measured


def cut_curve(costs, parts: int) -> np.ndarray:
    """The part of each block: where the middle of its cost lies, and at least one block for each (mesh/tree/block_mesh.hpp)."""
    blocks, total = len(costs), float(np.sum(costs))
    owner = np.empty(blocks, dtype=int)
    before = 0.0
    for p, cost in enumerate(costs):
        middle = (before + 0.5 * cost) / total if total > 0 else (p + 0.5) / blocks
        owner[p] = min(int(middle * parts), parts - 1)
        before += cost
    for p in range(blocks):
        last = owner[p - 1] if p > 0 else -1
        least = max(last, parts - (blocks - p), 0)
        owner[p] = min(max(owner[p], least), max(last + 1, 0))
    return owner


class Balancer:
    """The balancer of one run; blocks are identified by (level, x, y, z)."""

    def __init__(self, parts: int, block_bytes: float):
        self.parts, self.block_bytes = parts, block_bytes
        self.weights: dict = {}
        self.lost_s = 0.0
        self.held: dict = {}

    def cut(self, blocks: list) -> np.ndarray:
        """The owner of each block of a mesh, along the curve."""
        if not self.held:
            owner = cut_curve(np.ones(len(blocks)), self.parts)
            self.held = dict(zip(blocks, owner.tolist()))
        return np.array([self.held[b] for b in blocks])

    def looked(self, blocks: list, seconds, after: list, steps: int) -> bool:
        """At a look: what the blocks took, and the mesh after it. True when blocks move."""
        mean = float(np.mean([s for s in seconds if s > 0] or [0.0]))
        for block, cost in zip(blocks, seconds):
            if cost > 0:
                self.weights[block] = _next_weight(self.weights.get(block, 0.0), float(cost), mean)
        self.weights = {b: _inherited(self.weights, b, np.mean) for b in after}
        self.held = {b: _inherited(self.held, b, lambda of: of[0]) for b in after}
        return self._decide(after, steps)

    def _decide(self, blocks: list, steps: int) -> bool:
        costs = np.array([self.weights[b] for b in blocks])
        held = np.array([self.held[b] for b in blocks])
        better = cut_curve(costs, self.parts)
        now, reachable = (np.bincount(owner, costs, self.parts).max() for owner in (held, better))
        self.lost_s += max(0.0, now - (1 + _noise) * reachable) * steps
        moving = max(np.count_nonzero((held == p) != (better == p)) for p in range(self.parts))
        if np.array_equal(held, better) or self.lost_s <= _rebuild_s + _byte_s * self.block_bytes * moving:
            return False
        self.lost_s = 0.0
        self.held = dict(zip(blocks, better.tolist()))
        return True


def _next_weight(weight: float, measured: float, mean: float) -> float:
    """An interrupted task looks dear: a measurement counts for at most three times what is expected, and a quarter."""
    if weight <= 0:
        return min(measured, 3 * mean)
    return weight + 0.25 * (min(measured, 3 * weight) - weight)


def _inherited(of: dict, block: tuple, merged):
    """A new block has what its parent had, or what `merged` makes of its children's."""
    if block in of:
        return of[block]
    level, x, y, z = block
    parent = (level - 1, x >> 1, y >> 1, z >> 1)
    if parent in of:
        return of[parent]
    children = [(level + 1, 2 * x + i, 2 * y + j, 2 * z + k) for k in (0, 1) for j in (0, 1) for i in (0, 1)]
    return merged([of[c] for c in children])
