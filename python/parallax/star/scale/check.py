"""Compares replays on a few processes with the measured times of real runs.

A replay uses recordings of one process, with as many cores busy as the real run has processes, and nothing of the real
run.

Example to read: tests/star/test_scale_check.py.
"""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

import numpy as np

from .balance import Balancer
from .machine import Program, Setting, phases, uses
from .recordings import RealRuns, Recording, workload_of

_host = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<!-- The machine that the runs were made on: one host of {cores} cores; its processes talk through its memory. -->
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
    paths = []
    for i, segment in enumerate(recording.segments):
        parts = balancer.cut(blocks[i])
        steps = [segment.seconds_at(step, parts) for step in range(len(segment.seconds))]
        after = blocks[min(i + 1, len(blocks) - 1)]
        moved = balancer.looked(blocks[i], np.mean(steps, axis=0), after, data["steps_per_look"])
        for step, seconds in enumerate(steps if not segment.warm else []):
            paths.append(folder / f"{c.problem}-{c.processes}-{turn}-{i}-{step}.toml")
            workload = workload_of(recording, segment, seconds, costs, parts, segment.changed or moved)
            paths[-1].write_text(workload.toml(), encoding="utf-8")
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
