"""`./plx demo`: builds plx-star, runs the Sedov blast of inputs/sedov_demo.toml, draws its report."""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import time
from pathlib import Path

import builds
import install
import pyenv
from console import BUILD, ROOT, duration, fail, say, shown, step

INPUT = ROOT / "inputs" / "sedov_demo.toml"


def fresh_folder() -> Path:
    """runs/demo-<date>-<time>, which does not exist yet."""
    base = ROOT / "runs" / time.strftime("demo-%Y%m%d-%H%M%S")
    folder, count = base, 2
    while folder.exists():
        folder, count = Path(f"{base}-{count}"), count + 1
    return folder


def _share_of_workers(run: Path) -> str:
    with open(run / "workers.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    total = {key: sum(float(row[key]) for row in rows) for key in ("tasks_s", "overhead_s", "background_s", "idle_s")}
    whole = sum(total.values()) or 1.0
    return ", ".join(f"{key[:-2]} {100 * value / whole:.1f} %" for key, value in total.items())


def _drift(run: Path, column: str) -> str:
    with open(run / "history.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    first, last = float(rows[0][column]), float(rows[-1][column])
    return f"{abs(last / first - 1):.1e}" if first else f"{abs(last):.1e} (from 0)"


def summary(run: Path) -> list[str]:
    """Ten lines about a finished run; a line whose file is missing or different says so instead."""
    info = json.loads((run / "run.json").read_text())

    def line(name: str, text) -> str:
        try:
            return f"  {name:<14}{text()}"
        except (OSError, KeyError, ValueError, IndexError, TypeError) as error:
            return f"  {name:<14}not known ({type(error).__name__}: {error})"

    def throughput() -> str:
        return f"{info['cell_updates'] / info['simulation_s'] / 1e6:.2f} M cell updates/s on {info['workers']} workers"

    return [
        line("problem", lambda: f"{info['problem']}, {info['status']}"),
        line("machine", lambda: f"{info['machine']['cpu']}, {info['machine']['cores']} cores, {info['build']['isa']}"),
        line("mesh", lambda: f"{info['blocks']} blocks, {info['cells']} cells at the end"),
        line("steps", lambda: f"{info['steps']} to time {info['time']:.4g}"),
        line("simulation", lambda: f"{info['simulation_s']:.1f} s, {info['cell_updates']:.4g} cell updates"),
        line("throughput", throughput),
        line("workers", lambda: _share_of_workers(run)),
        line("measurement", lambda: f"{info['measurement_cost_percent']:.2f} % of the time"),
        line("mass drift", lambda: f"{_drift(run, 'mass')} relative"),
        line("energy drift", lambda: f"{_drift(run, 'energy')} relative"),
    ]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./plx demo", description="Build, run a Sedov blast, draw its report.")
    parser.add_argument("--out", type=Path, help="folder of the run (default: runs/demo-<date>-<time>)")
    options = parser.parse_args(arguments)
    begin = time.monotonic()
    install.ensure(["build"])
    python = pyenv.ensure("report")
    builds.configure("release")
    if "plx-star" not in builds.targets_of("release") or not INPUT.is_file():
        fail(f"this checkout has no demo yet: expected the target plx-star and {shown(INPUT)}")
    builds.build("release", ["plx-star"])
    run = options.out or fresh_folder()
    step(f"running {shown(INPUT)}")
    run.parent.mkdir(parents=True, exist_ok=True)
    try:
        code = subprocess.run(
            [str(BUILD / "release" / "bin" / "plx-star"), str(INPUT), "--out", str(run)], cwd=ROOT
        ).returncode
    except KeyboardInterrupt:
        return 130
    if code != 0:
        fail(f"plx-star ended with code {code}", code if code in (2, 130) else 1)
    step("drawing the report")
    code = subprocess.run(
        [python, "-B", "-m", "parallax", "report", str(run)], cwd=ROOT, env=pyenv.environment()
    ).returncode
    if code != 0:
        fail(f"parallax report {shown(run)} ended with code {code}")
    say()
    say("\n".join(summary(run)))
    say(f"  report        {run / 'report.html'}   (the demo took {duration(time.monotonic() - begin)})")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
