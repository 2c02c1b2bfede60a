"""Benchmarks between processes: the parts of a program that run under mpirun, and the settings of each.

A program bench_NAME with such parts understands `inside PART [--suffix TEXT] [--quick] --json FILE` in every process of
a job of two, and `inside transport`, which prints what carries its messages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import launch
from console import note, run_logged


@dataclass(frozen=True)
class Part:
    name: str
    suffix: str = ""  # of the row names: the difference from the default
    settings: dict = field(default_factory=dict)  # environment
    transport: str = "ucx"  # skipped if jobs use another one; "": any


TCP = {"UCX_TLS": "tcp,self"}
MPI = {"PLX_TRANSPORT": "mpi"}
JOBS = {
    "net": (
        Part("round_trip", transport=""), Part("rates", transport=""), Part("bandwidth", transport=""),
        Part("all_reduce", transport=""), Part("round_trip", "_tcp", TCP), Part("rates", "_tcp", TCP),
        Part("round_trip", "_over_mpi", MPI), Part("rates", "_over_mpi", MPI),
    ),
}


def transport_of(there, name: str) -> str:
    """The transport between two processes of this program; "" if they cannot be started or do not find each other,
    which is reported in one line."""
    missing = launch.why_not()
    if missing is None:
        words = [*launch.command(2), str(there.folder / f"bench_{name}"), "inside", "transport"]
        log, env = there.out / f"{name}-transport.log", there.environment(launch.environment())
        code, lines = run_logged(words, log, "transport", env=env, limit_s=60)
        found = [match[1] for line in lines if (match := re.match(r"transport (\w+)$", line))]
        if code == 0 and found:
            return found[0]
        said = [line for line in lines if line.startswith("bench_")] or lines[-1:]
        missing = said[0] if said else f"mpirun ended with code {code}"
    note(f"rows between processes are left out: {missing}")
    return ""


def run(there, name: str, common: list[str]) -> list[dict]:
    """The rows of all parts that this machine can run. `there`: run_bench.programs."""
    parts = JOBS.get(name, ())
    transport = transport_of(there, name) if parts else ""
    rows, left_out = [], []
    for part in parts if transport else ():
        if part.transport not in ("", transport):
            left_out.append(part.name + part.suffix)
            continue
        arguments = ["inside", part.name, *(["--suffix", part.suffix] if part.suffix else []), *common]
        label = f"-{part.name}{part.suffix}"
        rows += there.run(name, arguments, label, before=launch.command(2), env=launch.environment(part.settings))
    if left_out:
        note(f"{name}: {', '.join(left_out)} are left out, for jobs use the transport {transport} here")
    return rows
