"""`./plx bench coalescing`: the experiments of docs/coalescing.md. Runs bench_coalescing under mpirun part by part, one
line of CSV per measurement, and produces the result rows and plots.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import coalescing_data as data
import install
import pyenv
from console import (
    ROOT, duration, fail, job_command, job_environment, note, run_logged, say, shown, step, table, why_no_jobs,
)  # fmt: skip

COUNTS = [2**k for k in range(11)]
INTERVALS_US = [1, 10, 100, 1000, 10000]
OWN = ["self", "adaptive"]  # settings without numbers
BEST = "(the best of the phases)"


def grid(counts: list[int], intervals_us: list[int]) -> str:
    return " ".join(f"{n},{us}" for n in counts for us in intervals_us)


def parts(quick: bool, settings: list[str] = OWN) -> dict[str, list[tuple[int, list[str]]]]:
    """By name: the number of processes and the arguments; each part takes less than two and a half minutes."""
    n, us = ([1, 16, 128], [10, 1000]) if quick else (COUNTS, INTERVALS_US)
    every = " ".join([grid(n, us), *settings])

    def asked(part: str, *options: object, turns: int = 1) -> list[str]:
        return [part, *map(str, options), "--turns", str(1 if quick else turns)]

    parcels = 20_000 if quick else 500_000  # in each direction
    steps = ["128,1000", "128,1000", "1,1000", "1,1000"]
    rotation = [16] if quick else [32, 64, 128]  # shorter ones need more turns
    result = {
        "toy": [(2, asked("toy", "--settings", every, "--parcels", parcels, turns=2))],
        "change": [
            (2, asked("change", "--settings", " ".join(order), "--parcels", parcels, turns=5))
            for order in (steps, steps[::-1])
        ],
    }
    for nc in rotation:
        result[f"rotation{nc}"] = [(4, asked("rotation", "--settings", every, "--sizes", nc, turns=800 // nc))]
    large = [16] if quick else [32, 64, 128, 256]
    result["packed"] = [(4, asked("rotation", "--variants", "packed", "--sizes", ",".join(map(str, large)), turns=5))]
    if not quick:
        few = "1,1000 128,1000 self"
        result["rows256"] = [(4, asked("rotation", "--settings", few, "--sizes", 256, turns=3))]
    result["carrier"] = [(4, asked("carrier", "--sizes", ",".join(map(str, large)), turns=5))]
    spans = ["--phase-s", 0.01, "--long-phase-s", 0.05] if quick else ["--phase-s", 0.03, "--long-phase-s", 1.4]
    for traffic, processes in (("toy", 2), ("rotation", 4)):
        sizes = ["--sizes", 16 if quick else 32]
        result[f"phases-{traffic}"] = [
            (processes, asked("phases", "--traffic", traffic, "--settings", every, *sizes, *spans, turns=4))
        ]
        # The best of those again: in the same turns, and with as much time as adaptive.
        spans_of_few = ["--phase-s", 0.05 if quick else 1.4]
        result[f"repeats-{traffic}"] = [
            (processes, asked("repeats", "--traffic", traffic, "--settings", BEST, *sizes, *spans_of_few, turns=4))
        ]
    return result


def with_the_best(arguments: list[str], measured: list[dict], settings: list[str]) -> list[str]:
    """The arguments with BEST replaced by the best fixed settings of this traffic's phases, and `settings`."""
    if BEST not in arguments:
        return arguments
    traffic = arguments[arguments.index("--traffic") + 1]
    best = data.candidates(data.select(measured, part="phases", variant=traffic))
    if not best:
        fail(f"repeats-{traffic} measures the best settings of phases-{traffic} again: run that before, or with --append after it", 2)
    return [" ".join([*best, *settings]) if a == BEST else a for a in arguments]


def check_only(asked: str, known: list[str]) -> None:
    """Exits unless all parts asked for are known; `known`: those of all programs of the run."""
    for name in asked.split(","):
        if name not in known:
            expected = f"one of {', '.join(known)}" if known else "the benchmarks coalescing or parquet, which have parts"
            fail(f"--only {name}: expected {expected}", 2)


def chosen(asked: str | None, known: list[str]) -> list[str]:
    """Those of the known parts that are asked for, or all."""
    return [name for name in asked.split(",") if name in known] if asked else known


def understood(there) -> list[str]:
    """The settings of OWN that this build supports; on a single process the program reports an invalid setting first."""
    command = [str(there.folder / "bench_coalescing"), "toy", "--settings"]
    env = there.environment(job_environment())
    said = {s: subprocess.run([*command, s], capture_output=True, text=True, env=env).stderr for s in OWN}
    return [s for s in OWN if "coalesce: " not in said[s]]


def under_mpirun(there, processes: int, arguments: list[str], log: Path) -> None:
    """Runs the program; exits on failure."""
    program = there.folder / "bench_coalescing"
    command = [*job_command(processes), str(program), *arguments]
    code, lines = run_logged(command, log, arguments[0], append=True, env=there.environment(job_environment()))
    if code != 0:
        own = [line for line in lines if line.startswith("bench_coalescing")]
        fail(f"{shown(program)} ended with code {code}: {own[0] if own else 'its output: ' + shown(log)}")


def draw(csv: Path, folder: Path) -> None:
    """Draws the plots if matplotlib is available."""
    if pyenv.venv_python() is None and not pyenv.has(sys.executable, ("matplotlib",)) and not install.can_install():
        note(f"no matplotlib here: draw {shown(csv)} elsewhere with bench/harness/coalescing_plot.py {csv.name} FOLDER")
        return
    command = [pyenv.ensure("report"), "-B", str(ROOT / "bench" / "harness" / "coalescing_plot.py"), str(csv), str(folder)]
    done = subprocess.run(command, env=pyenv.environment(), text=True, capture_output=True)
    if done.returncode != 0:
        fail(f"drawing {shown(csv)} failed: {(done.stderr.strip().splitlines() or ['no output'])[-1]}")
    say(done.stdout.rstrip())


def run(there, options) -> list[dict]:
    """Runs all parts, or those of options.only, and returns the rows of the CSV file. `there`: run_bench.programs."""
    missing = why_no_jobs()
    if missing is not None:
        note(f"coalescing is omitted: {missing}")
        return []
    names = chosen(options.only, list(parts(options.quick)))
    if not names:
        return []
    own = understood(there)
    known = parts(options.quick, own)
    csv, log = there.out / "coalescing.csv", there.out / "coalescing.log"
    if not options.append:
        csv.unlink(missing_ok=True)
        log.unlink(missing_ok=True)
    for name in names:
        step(f"running coalescing: {name}")
        begin = time.monotonic()
        for processes, arguments in known[name]:
            first_turn = ["--first-turn", str(_read(data.turns_in, csv))]
            if BEST in arguments:
                arguments = with_the_best(arguments, _read(data.read, csv) if csv.exists() else [], own)
            under_mpirun(there, processes, [*arguments, *first_turn, "--csv", str(csv)], log)
        note(duration(time.monotonic() - begin))
    say(f"measurements: {shown(csv)}")
    measured = _read(data.read, csv)
    tables = (
        (data.SWEEP_TITLES, data.sweep_lines(measured)), (data.PHASE_TITLES, data.phase_lines(measured)),
        (data.REPEAT_TITLES, data.repeat_lines(measured)),
    )
    for titles, lines in tables:
        if lines:
            say()
            say(table(lines, titles, ("ll" if titles[1] == "chosen" else "lr") + "r" * (len(titles) - 2)))
    draw(csv, there.out)
    return data.rows_of(measured)


def _read(reader, csv):
    try:
        return reader(csv)
    except ValueError as error:
        fail(f"{error}; remove {shown(csv)}, or leave out --append")
