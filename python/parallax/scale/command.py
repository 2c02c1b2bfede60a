"""The command `parallax scale`: what it does, in which order, and what it prints."""

from __future__ import annotations

import sys
from pathlib import Path

from ..errors import ReadError
from ..plots import render
from ..plots.scaling import check_picture
from ..run import Run
from ..tables import read_table
from ..text import percent, seconds
from ..theme import light
from .check import compare, measure, write_check, write_host
from .machine import Program, read_costs
from .sweep import Plan, draw_all, say_progress, sweep, write_table
from .workload import read_workload

def scale(options) -> int:
    run, costs = Run(options.run), read_costs(options.costs)
    workload = read_workload(run, costs.rebuild_us_per_block)
    out = options.out or options.run / "scale"
    out.mkdir(parents=True, exist_ok=True)
    (out / "workload.toml").write_text(workload.toml(), encoding="utf-8")
    if options.check:
        return _check(options, workload, costs, out)
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


def _check(options, workload, costs, out: Path) -> int:
    measured = [measure(Run(folder)) for folder in [options.run, *options.check]]
    platform = write_host(out / "host.xml", measured[0].cores)
    program = Program(options.program, out / "workload.toml", platform, costs)
    compared = compare(program, measured, len(workload.levels))
    write_check(out / "check.csv", compared)
    print(f"{'run':24} processes workers   measured   replayed      off")
    for c in compared:
        m = c.measured
        print(f"{m.name[:24]:24} {m.localities:>9} {m.workers:>7} {seconds(m.step_s):>10} {seconds(c.replay.time_s):>10} {percent(c.off):>8}")
    (out / "scale_check.png").write_bytes(render(check_picture(compared), light))
    print(f"picture: {out / 'scale_check.png'}")
    return 0
