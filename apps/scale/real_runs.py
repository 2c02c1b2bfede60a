#!/usr/bin/env python3
"""The measured part of `./plx scale check`: message costs on this machine, and recordings of short runs on 1, 2, 4, ...
processes of one worker each, all in one JSON file. Needs only Python, mpirun and the built plx-scale-record.

    python3 apps/scale/real_runs.py --bin build/release/bin --out real.json
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from parallax.text import plural  # noqa: E402

LIMIT_S = 60  # per run; a run takes seconds

# Sedov's blast at an early time on a small mesh, and with the shock far out; two stars with self-gravity. Each: input,
# settings, and the numbers of segments (from one regrid check to the next) before the compared ones, and of compared ones.
PROBLEMS = {
    "blast-120": ("sedov.toml", [], 1, 12),
    "blast-456": ("sedov.toml", ["sedov.radius=0.3"], 1, 5),
    "stars": ("stars/two_stars.toml", [], 1, 2),
}


class Failure(Exception):
    """One line about what went wrong."""


def cores_here() -> list[int]:
    """A processor of each core that this process may use."""
    seen, cores = set(), []
    for cpu in sorted(os.sched_getaffinity(0)):
        try:
            siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text().strip()
        except OSError:
            siblings = str(cpu)
        if siblings not in seen:
            seen.add(siblings)
            cores.append(cpu)
    return cores


def pin(cores: str, command: list[str]) -> None:
    """Becomes the command, on the core of this process of an mpirun."""
    rank = int(os.environ.get("OMPI_COMM_WORLD_LOCAL_RANK") or os.environ.get("PMIX_RANK") or 0)
    os.sched_setaffinity(0, {[int(c) for c in cores.split(",")][rank]})
    os.execv(command[0], command)


def start(processes: int, cores: list[int], command: list) -> dict:
    """Runs the command on a number of processes, each on its own core. Returns the JSON that it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        one = [sys.executable, str(Path(__file__).resolve()), "--pin", ",".join(map(str, cores[:processes]))]
        full = [*one, *map(str, command), "--out", str(out)]
        if processes > 1:
            full = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(processes), *full]
        env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        try:
            done = subprocess.run(full, capture_output=True, text=True, timeout=LIMIT_S, env=env)
        except subprocess.TimeoutExpired:
            raise Failure(f"{plural(processes, 'process')}: not done after {LIMIT_S} s") from None
        except OSError as error:
            raise Failure(f"{full[0]}: {error.strerror}") from None
        if done.returncode != 0 or not out.exists():
            said = [line for line in done.stderr.splitlines() if line.startswith("plx-")] or done.stderr.splitlines()
            raise Failure(f"{plural(processes, 'process')}: {(said or [f'ended with code {done.returncode}'])[0]}")
        try:
            return json.loads(out.read_text(encoding="utf-8"))
        except ValueError as error:
            raise Failure(f"{plural(processes, 'process')}: wrote broken JSON: {error}") from None


def record(program: Path, problem: str, processes: int, cores: list[int], alone: bool) -> dict:
    source, sets, warm, segments = PROBLEMS[problem]
    command = [program, ROOT / "inputs" / source, "--warm", warm, "--segments", segments]
    command += [word for s in sets for word in ("--set", s)] + (["--alone"] if alone else [])
    return start(processes, cores, command)


def processor() -> str:
    try:
        found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else platform.machine()


def measure(program: Path, counts: list[int], problems: list[str], turns: int, budget_s: float) -> dict:
    """All measurements. Each turn covers all runs; turns end early when time is up, but the first is complete."""
    begin = time.monotonic()
    cores = cores_here()
    usable = [n for n in counts if n <= len(cores)]
    for n in sorted(set(counts) - set(usable)):
        print(f"{plural(n, 'process')}: omitted, there are only {plural(len(cores), 'core')}")
    data = {
        "machine": {"processor": processor(), "cores": len(cores), "load": os.getloadavg()[0]},
        "date": datetime.date.today().isoformat(),
        "costs": {str(n): start(n, cores, [program, "--costs"]) for n in usable},
        "problems": {p: {"together": {}, "alone": {}} for p in problems},
    }
    runs = [(p, n, alone) for p in problems for n in usable for alone in (False, True) if n > 1 or not alone]
    longest = 0.0
    for turn in range(turns):
        turn_begin = time.monotonic()
        if turn > 0 and turn_begin - begin + longest > budget_s:
            break
        for problem, n, alone in runs:
            found = record(program, problem, n, cores, alone)
            data["problems"][problem]["alone" if alone else "together"].setdefault(str(n), []).append(found)
        longest = max(longest, time.monotonic() - turn_begin)
        print(f"turn {turn + 1}: {time.monotonic() - begin:.0f} s", flush=True)
    return data


def counts_of(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.isdigit() and 1 <= int(part) <= 256 for part in parts):
        raise argparse.ArgumentTypeError(f"expected numbers of processes such as 1,2,4, found '{text}'")
    return sorted({1, *map(int, parts)})


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--pin"]:
        pin(arguments[1], arguments[2:])
    parser = argparse.ArgumentParser(prog="real_runs.py", description="Records short real runs for ./plx scale check.")
    parser.add_argument("--bin", type=Path, default=ROOT / "build" / "release" / "bin", help="folder of plx-scale-record")
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write")
    parser.add_argument("--processes", type=counts_of, default=[1, 2, 4], metavar="1,2,4", help="numbers of processes")
    parser.add_argument("--problems", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS))
    parser.add_argument("--turns", type=int, default=5, help="largest number of turns through all runs (default 5)")
    parser.add_argument("--budget", type=float, default=75.0, metavar="S", help="no turn begins that would not end by then (default 75)")
    options = parser.parse_args(arguments)
    program = options.bin.resolve() / "plx-scale-record"
    try:
        if not program.exists():
            raise Failure(f"{program} is missing: expected it built (cmake --build build/release --target plx-scale-record)")
        data = measure(program, options.processes, options.problems, options.turns, options.budget)
        options.out.write_text(json.dumps(data), encoding="utf-8")
    except (Failure, OSError) as error:
        print(f"real_runs.py: {error}", file=sys.stderr)
        return 1
    print(f"written: {options.out} ({options.out.stat().st_size / 1e6:.1f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
