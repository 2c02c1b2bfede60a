"""`python3 tests/diagnose/check_diagnose.py`: how often the diagnosis of each constructed program is right.

Runs every program of the tests beside this file repeatedly, alone and beside one busy process per core, and prints how many runs
had the cause in the first sentence, how many in any (at least "Possibly"), and in how many a similar program without the
cause had it. docs/why-slow.md has a table. Needs numpy, pytest, and the programs built (./plx build diagnose_cases diagnose_job).
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests"), str(ROOT / "tests" / "diagnose")]

import launched  # noqa: E402
import test_diagnose as known  # noqa: E402

from parallax.performance.compare_measured import compare_slowdown, evidence_of  # noqa: E402
from parallax.performance.diagnosis import diagnose  # noqa: E402


@dataclass
class Row:
    """A cause, the program that provokes it, and one that resembles it and does not."""

    cause: str
    program: str
    similar: str


def rows() -> list[Row]:
    table = [Row(cause, *pair) for cause, pair in known.PAIRS.items()]
    table.append(Row("waiting", "slow_writes", "healthy"))
    table += [Row("bandwidth", "triad", "triad_in_cache"), Row("compare", "false_sharing", "padded")]
    if known.JOB.exists() and shutil.which("mpirun") is not None:
        table.append(Row("answers", "late", "early"))
    return table


def run(command: list, folder: Path, first: bool, **settings: str) -> Path:
    def prepare() -> None:
        known.two_cores()
        if first:
            known.raise_priority()

    environment = launched.environment(PLX_DIAGNOSE="1", PLX_OUTPUT=str(folder), **settings)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, preexec_fn=prepare)
    if done.returncode != 0:
        words = " ".join(map(str, command))
        raise SystemExit(f"check_diagnose: {words} ended with code {done.returncode}: {done.stderr.strip()}")
    return folder


def diagnosis_of(program: str, folder: Path, first: bool) -> dict:
    """A run's diagnosis. Causes that one run cannot show have one finding, from runs with one worker and with two."""
    if program in ("late", "early"):
        return diagnose(run(launched.command(2, known.JOB, program), folder, first)).json()
    if program not in ("false_sharing", "padded"):
        settings = {"PLX_ROOFLINE": "1"} if program.startswith("triad") else {}
        return diagnose(run([known.PROGRAM, program], folder, first, **settings)).json()
    each = [evidence_of(run([known.PROGRAM, program], folder / n, first, PLX_THREADS=n)) for n in ("1", "2")]
    return {"findings": [{"id": "compare"}] if compare_slowdown(*each).sentences else []}


class Load:
    """One busy process per core that the programs may use; without `wanted`, none."""

    def __init__(self, wanted: bool):
        self.cores = sorted(os.sched_getaffinity(0))[:2] if wanted else []

    def __enter__(self) -> None:
        spin = [sys.executable, "-c", "while True: pass"]
        self.busy = [subprocess.Popen(spin, preexec_fn=lambda core=core: os.sched_setaffinity(0, [core])) for core in self.cores]

    def __exit__(self, *_) -> None:
        for process in self.busy:
            process.kill()
            process.wait()


def count_turn(table: list[Row], first: bool, sums: list[list[int]]) -> None:
    """Runs each program once. Adds, for each row, whether its program has the cause first, and in any sentence, and whether the
    similar one has it."""
    with tempfile.TemporaryDirectory() as folder:
        programs = sorted({name for row in table for name in (row.program, row.similar)})
        found = {name: diagnosis_of(name, Path(folder) / name, first) for name in programs}
    for row, sum_of in zip(table, sums):
        program, similar = found[row.program], found[row.similar]
        holds = known.is_first(program, row.cause), known.is_found(program, row.cause), known.is_found(similar, row.cause)
        sum_of[:] = [n + one for n, one in zip(sum_of, holds)]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--turns", type=int, default=10, help="runs of each program (default: 10)")
    parser.add_argument("--minutes", type=float, default=60, help="begin no turn that is likely to end later (default: 60)")
    parser.add_argument("--only", metavar="PROGRAM", help="the causes of one program")
    parser.add_argument("--first", action="store_true", help="raise the priority of programs that run alone, on a machine in use")
    options = parser.parse_args(arguments)
    if options.turns < 1:
        parser.error(f"--turns is {options.turns}: expected at least 1")
    table = [row for row in rows() if options.only in (None, row.program)]
    if not table:
        parser.error(f"--only {options.only}: expected one of {', '.join(sorted({row.program for row in rows()}))}")
    sums, turns, passed_s, others_s = [[[0, 0, 0] for _ in table] for _ in range(2)], [0, 0], [0.0, 0.0], [0.0, 0.0]
    for beside in (0, 1):
        for n in range(options.turns):
            if n > 0 and sum(passed_s) + passed_s[beside] / n > 60 * options.minutes:
                break
            begin, (busy_s, _), own_s = time.monotonic(), known.times_of_cores(), known.own_s()
            with Load(bool(beside)):
                count_turn(table, options.first and not beside, sums[beside])
            passed_s[beside] += time.monotonic() - begin
            others_s[beside] += known.times_of_cores()[0] - busy_s - (known.own_s() - own_s)
            turns[beside] = n + 1
            print(f"turn {turns}: {passed_s[beside]:.0f} s", file=sys.stderr, flush=True)
    print(f"{platform.node()}, {os.cpu_count()} cores, {time.strftime('%Y-%m-%d')}; alone / beside a load:")
    used = " / ".join(f"{s / passed:.1f}" for s, passed in zip(others_s, passed_s))
    print(f"{turns[0]} / {turns[1]} runs of each program in {sum(passed_s):.0f} s; other programs used {used} cores\n")
    print("| cause | program | in the first sentence | in any | similar program | in any |\n|---|---|---|---|---|---|")
    for row, *both in zip(table, *sums):
        first, found, wrong = (f"{alone} / {beside}" for alone, beside in zip(*both))
        if row.cause == "off_core by programs":  # beside a load, others do use the cores
            wrong = f"{both[0][2]} / -"
        print(f"| {row.cause} | `{row.program}` | {first} | {found} | `{row.similar}` | {wrong} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
