"""The command `parallax scale`: which replays make strong and weak scaling, what it prints, the table and its pictures.

Example to read: tests/star/test_scale.py.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from ... import ReadError
from ...picture import light, render
from ...tables import read_table
from ...text import percent, plural, seconds
from ..run import Run
from .check import compare, table, write_tables
from .machine import Program, Replay, Setting, events, phases, read_costs, uses
from .pictures import check_picture, scaling_pictures
from .workload import RealRuns, read_workload


def scale(options) -> int:
    run, costs = Run(options.run), read_costs(options.costs)
    workload = read_workload(run, costs)
    out = options.out or options.run / "scale"
    out.mkdir(parents=True, exist_ok=True)
    (out / "workload.toml").write_text(workload.toml(), encoding="utf-8")
    program = Program(options.program, out / "workload.toml", options.platform, costs)
    plan = Plan(options.nodes, options.workers, options.strong_blocks, options.weak_blocks, options.group_kib << 10)
    done = sweep(program, plan, len(workload.levels), say_progress)
    if not done:
        raise ReadError(options.run, "nothing to replay: more nodes than blocks")
    if sys.stderr.isatty():
        print(file=sys.stderr)
    of_job = {nodes: program.events(nodes) for nodes in sorted({replay.setting.localities for _, replay in done})}
    write_table(out / "scale.csv", done, of_job)
    print("\n".join([*summary(done), "", *summary_of_events(of_job)]))
    for path in draw_all(out, read_table(out / "scale.csv")):
        print(f"picture: {path}")
    return 0


def summary(done: list) -> list:
    """A line per number of nodes: the stages' time and the share of it that is work, for both curves."""
    lines = ["stages of one step: time, and share of the cores' time that is work", ""]
    lines.append(f"{'nodes':>6}  {'strong, coalesced':>19}  {'separate':>19}  {'weak, coalesced':>19}  {'separate':>19}")
    by_key = {(curve, r.setting.coalesced, r.setting.localities): r for curve, r in done}
    for nodes in sorted({key[2] for key in by_key}):
        cells = [by_key.get((curve, way, nodes)) for curve in ("strong", "weak") for way in (True, False)]
        lines.append(f"{nodes:>6}  " + "  ".join(f"{_cell(r):>19}" for r in cells))
    return lines


def summary_of_events(of_job: dict) -> list:
    """A line per number of nodes: time of each event of a job, and the messages of the busiest node."""
    names = ("end of a run", "processes leave", "loss spreads", "loss is settled")
    lines = ["end of a job and loss of a node: time, and messages of the busiest node", ""]
    lines.append(f"{'nodes':>6}  " + "  ".join(f"{name:>19}" for name in names))
    for nodes, found in of_job.items():
        if found:
            cells = [f"{seconds(found[e]['time_s'])} {_most(found[e])}" for e in events]
            lines.append(f"{nodes:>6}  " + "  ".join(f"{cell:>19}" for cell in cells))
    return lines


def _most(event: dict) -> int:
    return max(event["most_sent"], event["most_received"])


def _cell(replay) -> str:
    if replay is None:
        return "-"
    time_s, setting = replay.times["stepping"], replay.setting
    share = replay.uses["stepping"]["work"] / (setting.localities * setting.workers * time_s)
    return f"{seconds(time_s)} {percent(share)}"


def scale_check(options) -> int:
    """0 when every replay is within the limit of its real run, else 1."""
    runs = RealRuns(options.real)
    out = options.out
    (out / "replayed").mkdir(parents=True, exist_ok=True)
    compared = [
        compare(runs, problem, processes, options.program, out / "replayed")
        for problem in runs.problems
        for processes in runs.counts(problem)
    ]
    print(f"{runs.machine['processor']}, {plural(runs.machine['cores'], 'core')}, {runs.date}")
    print("\n".join(table(compared)))
    write_tables(out, compared, runs)
    costs = runs.machine_costs(runs.one_process(runs.problems[-1], 1)[0])
    (out / "costs.json").write_text(json.dumps(asdict(costs), indent=1) + "\n", encoding="utf-8")
    (out / "scale_check.png").write_bytes(render(check_picture(compared), light))
    print(f"written: {out}/check.json, check.csv, costs.json, scale_check.png")
    beyond = [c for c in compared if abs(c.off) > 0.01 * options.limit]
    for c in beyond:
        print(f"beyond {options.limit:g} %: {c.problem} on {plural(c.processes, 'process')}, {100 * c.off:+.1f} %")
    return 1 if beyond else 0


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
    + [f"{event}_{what}" for event in events for what in ("s", "messages", "most")]
)


def row(curve: str, replay: Replay, of_job: dict) -> list:
    setting = replay.setting
    event_cells = [cell for e in events for cell in (
        (of_job[e]["time_s"], of_job[e]["messages"], _most(of_job[e])) if e in of_job else (0, 0, 0))]
    return [
        curve, int(setting.coalesced), setting.localities, setting.workers, replay.blocks, replay.time_s,
        *(replay.times[phase] for phase in phases), *(replay.use(use) for use in uses),
        *(replay.uses["stepping"][use] for use in uses), replay.messages, replay.bytes, round(replay.took_s, 3),
        *event_cells,
    ]


def write_table(path: Path, done: list, of_job: dict) -> None:
    """`of_job`: Program.events() by number of nodes."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(row(curve, replay, of_job[replay.setting.localities]) for curve, replay in done)


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
        print(f"\r  {i + 1}/{count}: {curve}, {plural(setting.localities, 'node')}, {how}     ", end="", file=sys.stderr, flush=True)
