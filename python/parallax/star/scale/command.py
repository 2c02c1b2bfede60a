"""The command `parallax scale`: what it does, in which order, and what it prints."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from ...errors import ReadError
from ...picture import render
from ...tables import read_table
from ...text import percent, seconds
from ...theme import light
from ..plots.scaling import check_picture
from ..run import Run
from .check import compare, table, write_tables
from .machine import Program, read_costs
from .recordings import RealRuns
from .sweep import Plan, draw_all, say_progress, sweep, write_table
from .workload import read_workload


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
    write_table(out / "scale.csv", done)
    print("\n".join(summary(done)))
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
    print(f"{runs.machine['processor']}, {runs.machine['cores']} cores, {runs.date}")
    print("\n".join(table(compared)))
    write_tables(out, compared, runs)
    costs = runs.machine_costs(runs.one_process(runs.problems[-1], 1)[0])
    (out / "costs.json").write_text(json.dumps(asdict(costs), indent=1) + "\n", encoding="utf-8")
    (out / "scale_check.png").write_bytes(render(check_picture(compared), light))
    print(f"written: {out}/check.json, check.csv, costs.json, scale_check.png")
    beyond = [c for c in compared if abs(c.off) > 0.01 * options.limit]
    for c in beyond:
        print(f"beyond {options.limit:g} %: {c.problem} on {c.processes} processes, {100 * c.off:+.1f} %")
    return 1 if beyond else 0
