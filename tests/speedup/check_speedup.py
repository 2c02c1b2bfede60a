"""Virtual speed-ups beside the same changes really made, on this machine: tests/speedup/check_speedup.py [--seconds S].

Runs programs of known structure (speedup_cases.cpp) with virtual speed-ups, then with tasks that really take less time, in turns
with the program as it is. Exit code 1 if a virtual gain is off by more than the limit, in points of the period. Needs Python alone.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
# Milliseconds per step.
CASES = {"lockstep": 5, "chain": 4, "mixed": 5, "timer": 4}


def raise_priority() -> None:
    """Raises the priority of the calling process, if permitted: other programs of the machine disturb it less."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    except OSError:
        pass


def run(program: Path, *arguments: str, environment: dict[str, str] | None = None) -> float:
    """The median time of a step."""
    done = subprocess.run([program, *arguments], env={**os.environ, **(environment or {})}, capture_output=True, text=True,
                          check=True, preexec_fn=raise_priority)
    return float(done.stdout.splitlines()[0])


def virtual_gains(program: Path, case: str, folder: Path, steps: int) -> dict[tuple[str, int], tuple[float, str]]:
    run(program, case, f"steps={steps}", environment={"PLX_SPEEDUP": "1", "PLX_OUTPUT": str(folder)})
    with open(folder / "speedup.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return {(r["type"], int(r["percent"])): (float(r["gain"]), interval(r)) for r in rows if r["gain"]}


def interval(row: dict[str, str]) -> str:
    return f"{100 * float(row['gain_low']):.1f} to {100 * float(row['gain_high']):.1f}" if row["gain_low"] else "few rounds"


def real_gain(program: Path, case: str, task_type: str, percent: int, turns: int) -> float:
    gains = []
    for _ in range(turns):
        before = run(program, case, "steps=200")
        gains.append(1 - run(program, case, "steps=200", f"less={task_type},{percent}") / before)
    return median(gains)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="check_speedup.py", description=__doc__.split("\n\n")[1])
    parser.add_argument("--bin", type=Path, default=ROOT / "build" / "release" / "bin", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=20, help="of each program with virtual speed-ups (default: 20)")
    parser.add_argument("--turns", type=int, default=3, help="pairs of runs for each real change (default: 3)")
    parser.add_argument("--limit", type=float, default=10, metavar="POINTS", help="default: 10")
    parser.add_argument("--only", choices=CASES)
    options = parser.parse_args(arguments)
    print(f"{platform.node()}, {os.cpu_count()} cores, {time.strftime('%Y-%m-%d')}")
    print(f"{'program':<10} {'type':<12} {'less':>6} {'virtual gain':>24} {'real gain':>10} {'off':>6}")
    worst, program = 0.0, options.bin / "speedup_cases"
    with tempfile.TemporaryDirectory() as folder:
        for case, step_ms in CASES.items():
            if options.only not in (None, case):
                continue
            gains = virtual_gains(program, case, Path(folder) / case, int(1e3 * options.seconds / step_ms))
            for (task_type, percent), (gain, bounds) in gains.items():
                real = real_gain(program, case, task_type, percent, options.turns)
                worst = max(worst, abs(gain - real))
                virtual = f"{100 * gain:.1f} % ({bounds})"
                print(f"{case:<10} {task_type:<12} {percent:>4} % {virtual:>24} {100 * real:>8.1f} % {100 * (gain - real):>+6.1f}", flush=True)
    print(f"largest difference: {100 * worst:.1f} points (limit {options.limit:g})")
    return 1 if 100 * worst > options.limit else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
