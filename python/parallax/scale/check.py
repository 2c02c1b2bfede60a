"""Replays beside real runs: is what the replay says of a few processes what they took?

Example to read: tests/test_scale.py.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import ReadError
from ..run import Run
from .machine import Program, Replay, Setting

_host = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<!-- The machine that the runs were made on: one host of {cores} cores; its processes talk through its memory. -->
<platform version="4.1">
  <cluster id="here" prefix="node-" radical="0-0" suffix="" speed="1Gf" core="{cores}" bw="1GBps" lat="1us"
           loopback_bw="{bandwidth}MBps" loopback_lat="{latency}us"/>
</platform>
"""


@dataclass
class Measured:
    """A real run: processes, workers of each, cores of its machine, seconds of a step of a mesh of so many blocks."""

    name: str
    localities: int
    workers: int
    cores: int
    step_s: float
    blocks: int


@dataclass
class Compared:
    """Both: what was measured, and what the replay of another run says of it."""

    measured: Measured
    replay: Replay

    @property
    def off(self) -> float:
        """Replayed over measured, less one."""
        return self.replay.time_s / self.measured.step_s - 1.0


def measure(run: Run) -> Measured:
    """From history.csv and run.json. Steps on smaller meshes count by their blocks."""
    summary, history = run.summary, run.history
    if summary is None or history is None or len(history) < 2:
        raise ReadError(run.folder, "expected run.json, and two rows or more in history.csv")
    steps, wall, blocks = (history.numbers(name) for name in ("step", "wall_s", "blocks"))
    # What a row counts is the mesh after its step; the step itself was made on that of the row before.
    block_steps = float(np.sum(np.diff(steps) * blocks[:-1]))
    return Measured(
        run.folder.name,
        int(summary.get("localities", 1)),
        int(summary["workers"]),
        int(summary["machine"]["cores"]),
        float(wall[-1] - wall[0]) / block_steps * float(blocks[-1]),
        int(blocks[-1]),
    )


def write_host(path: Path, cores: int, bandwidth_mb_s: float = 5000.0, latency_us: float = 0.3) -> Path:
    path.write_text(_host.format(cores=cores, bandwidth=bandwidth_mb_s, latency=latency_us), encoding="utf-8")
    return path


def compare(program: Program, measured: list, blocks: int) -> list:
    out = []
    for m in measured:
        if m.blocks != blocks:
            raise ReadError(m.name, f"ends with {m.blocks} blocks, the replayed run with {blocks}: expected the same input")
        out.append(Compared(m, program.run(Setting(m.localities, workers=m.workers, per_host=m.localities))))
    return out


def write_check(path: Path, compared: list) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["run", "processes", "workers", "cores", "measured_s", "replayed_s", "off"])
        for c in compared:
            m = c.measured
            writer.writerow([m.name, m.localities, m.workers, m.cores, m.step_s, c.replay.time_s, round(c.off, 4)])
