"""Strong and weak scaling: which replays, the table of what came out, its pictures.

Example to read: tests/star/test_scale.py.
"""

from __future__ import annotations

import csv
import math
import sys
from dataclasses import dataclass
from pathlib import Path

from ...picture import render
from ...theme import light
from ..plots.scaling import scaling_pictures
from .machine import Program, Replay, Setting, phases, uses


@dataclass
class Plan:
    """The parameters of a sweep. `strong_blocks`, `weak_blocks`: least number of blocks in all, or on each node."""

    nodes: list
    workers: int = 8
    strong_blocks: int = 32768
    weak_blocks: int = 128
    group_bytes: int = 64 << 10


def copies_for(blocks: int, wanted: int) -> tuple:
    """Copies along x, y, z, powers of two as equal as can be, so that there are at least `wanted` blocks."""
    copies = [1, 1, 1]
    axis = 0
    while blocks * math.prod(copies) < wanted:
        copies[axis] *= 2
        axis = (axis + 1) % 3
    return tuple(copies)


def settings(plan: Plan, blocks: int) -> list:
    """(curve, setting) of every replay. Left out: more nodes than blocks, and weak ones for which even one copy is a
    quarter too large."""
    out = []
    for coalesced in (True, False):
        for nodes in plan.nodes:
            common = dict(localities=nodes, workers=plan.workers, coalesced=coalesced, group_bytes=plan.group_bytes)
            strong = copies_for(blocks, plan.strong_blocks)
            if nodes <= blocks * math.prod(strong):
                out.append(("strong", Setting(copies=strong, **common)))
            wanted = nodes * plan.weak_blocks
            weak = copies_for(blocks, wanted)
            if blocks * math.prod(weak) <= 1.25 * wanted:
                out.append(("weak", Setting(copies=weak, **common)))
    return out


def sweep(program: Program, plan: Plan, blocks: int, progress=None) -> list:
    """[(curve, Replay)], in the order of settings()."""
    done, wanted = [], settings(plan, blocks)
    for i, (curve, setting) in enumerate(wanted):
        if progress:
            progress(i, len(wanted), curve, setting)
        done.append((curve, program.run(setting)))
    return done


columns = (
    ["curve", "coalesced", "nodes", "workers", "blocks", "time_s"]
    + [f"{phase}_s" for phase in phases]
    + [f"{use}_core_s" for use in uses]
    + [f"stepping_{use}_core_s" for use in uses]
    + ["messages", "bytes", "replay_s"]
)


def row(curve: str, replay: Replay) -> list:
    setting = replay.setting
    return [
        curve,
        int(setting.coalesced),
        setting.localities,
        setting.workers,
        replay.blocks,
        replay.time_s,
        *(replay.times[phase] for phase in phases),
        *(replay.use(use) for use in uses),
        *(replay.uses["stepping"][use] for use in uses),
        replay.messages,
        replay.bytes,
        round(replay.took_s, 3),
    ]


def write_table(path: Path, done: list) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(row(curve, replay) for curve, replay in done)


def draw_all(folder: Path, table) -> list:
    """Writes the pictures of a table (tables.read_table of what write_table wrote); their paths."""
    paths = []
    for picture in scaling_pictures(table):
        path = folder / f"{picture.name}.png"
        path.write_bytes(render(picture, light))
        paths.append(path)
    return paths


def say_progress(i: int, count: int, curve: str, setting: Setting) -> None:
    if sys.stderr.isatty():
        how = "coalesced" if setting.coalesced else "separate"
        print(f"\r  {i + 1}/{count}: {curve}, {setting.localities} nodes, {how}     ", end="", file=sys.stderr, flush=True)
