"""Every header compiles alone, twice included, without warnings; public ones keep within the compile-time budget.

Usage: check_headers.py [--root ROOT]. The budget of a public header is 0.6 s of one compiler run at -O2. Seconds differ
by half from one minute to the next on shared machines, so they are only printed. The check uses the peak of the
compiler's memory, which follows the time, repeats within 0.3 MB on a machine and differs by up to 1 MB between machines with
the same compiler. For 300 headers on a quiet machine, 0.6 s correspond to 145 to 155 MB with GCC 12; other compilers are
calibrated with a few standard headers. A header above its budget by less than TOLERANCE_MB is marked, and accepted.
Headers named *_detail.hpp, *_body.hpp (compiled once per instruction set), *_test.hpp or test_*.hpp, or in a folder
that INTERNAL matches are not public: they have no budget. Those around outside libraries are omitted.
Exit code 1 on a violation.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import probing
from console import ROOT, jobs, paint, say

HEADER_BUDGET_MB = 155.0  # about 0.6 s
TOLERANCE_MB = 2.0  # more than machines differ by
HELLO_BUDGET_MB = 300.0  # about 2 s, optimizing included
WIDER_MB = {
    "net/archive.hpp": 160.0,  # cereal/cereal.hpp alone takes 133 MB
    "net/checkpoint.hpp": 175.0,  # calls of objects beside collective calls
    "net/simulation.hpp": 165.0,  # the options of the simulated network beside actions
    "net/partitioned_vector.hpp": 184.0,  # actions, collective calls and parallel algorithms in one header
    "star/device/device_gas.hpp": 163.0,  # streams and their futures beside the exchange of ghost cells
    "star/models/solver.hpp": 160.0,  # a loop over workers as a template
    "star/runners/device_course.hpp": 160.0,  # the criteria of regrids beside the options of a run
}
HELLO = "examples/01_hello_task.cpp"
# Headers around outside libraries that may be missing, or not where compilers look: files that include them compile them.
AROUND_LIBRARIES = (
    "attach/preload/mpi_", "net/transport/mpi/", "net/transport/ucx/", "net/core/cereal_archive.hpp", "gpu/cuda/", "gpu/hip/",
    "gpu/kokkos/", "gpu/sycl/",
)
# Folders of internals. In rt, net and gpu the public headers stand in the folder itself, and in rt/algorithm, rt/patterns.
INTERNAL = re.compile(
    r"/(detail|preload|test|testing)/|^rt/(core|explain|future|measure|sync)/|^(attach|gpu)/core/"
    r"|^net/(agas|core|group|observe|parcels|sim|start|transport)/"
)
REFERENCE = "".join(f"#include <{name}>\n" for name in ("algorithm", "map", "memory", "string", "vector"))
REFERENCE_MB = 97.5  # what the reference needs with GCC 12, which the budgets are for


class cost(NamedTuple):
    """Cost of one compiler run: CPU seconds, peak of memory in MB."""

    seconds: float
    memory: float


def compile_alone(source: str, root: Path, flags: list[str]) -> tuple[cost, str]:
    """The cost of compiling `source`, and the compiler's complaints (empty: fine)."""
    command = [
        probing.compiler(), "-std=c++20", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wno-psabi", f"-I{root}/src",
        *flags, "-x", "c++", "-c", "-o", os.devnull, "-",
    ]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors, cwd=root)
        process.stdin.write(source.encode())
        process.stdin.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read().strip()
    if process.returncode != 0 and not text:
        text = f"the compiler ended with code {process.returncode}"
    return cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024), text


def is_public(name: str) -> bool:
    file = name.rsplit("/", 1)[-1]
    return not (
        file.endswith(("_detail.hpp", "_body.hpp", "_test.hpp")) or file.startswith("test_") or INTERNAL.search(name)
    )


def budget_of(name: str) -> float:
    return WIDER_MB.get(name, HEADER_BUDGET_MB) if is_public(name) else float("inf")


def sources(root: Path) -> list[tuple[str, str, float]]:
    """Name, text to compile and budget (MB) of each header, and of the hello-task program."""
    headers = sorted(p.relative_to(root / "src").as_posix() for p in (root / "src").rglob("*.hpp"))
    work = [
        (f"src/{name}", f'#include "{name}"\n#include "{name}"\n', budget_of(name))
        for name in headers
        if not name.startswith(AROUND_LIBRARIES)
    ]
    if (root / HELLO).is_file():
        work.append((HELLO, f'#include "{root / HELLO}"\n', HELLO_BUDGET_MB))
    return work


def check(root: Path) -> tuple[list[str], list[tuple[str, cost, float]]]:
    """Problems, and (name, cost, budget in MB) of everything measured; memory is that of GCC 12, as far as one can tell."""
    flags, work = probing.include_flags(), sources(root)
    scale = REFERENCE_MB / compile_alone(REFERENCE, root, flags)[0].memory
    with ThreadPoolExecutor(jobs()) as pool:
        results = list(pool.map(lambda item: compile_alone(item[1], root, flags), work))
    problems, costs = [], []
    for (name, _, budget), (found, complaint) in zip(work, results):
        found = found._replace(memory=found.memory * scale)
        costs.append((name, found, budget))
        if complaint:
            problems.append(
                f"{name} does not compile alone without complaint:\n  " + "\n  ".join(complaint.splitlines()[:8])
            )
        elif found.memory > budget + TOLERANCE_MB:
            problems.append(
                f"{name} takes {found.memory:.1f} MB to compile (this time {found.seconds:.2f} s); expected at most "
                f"{budget:.0f} MB: include less, or move templates out of it"
            )
    return problems, costs


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="check_headers.py")
    parser.add_argument("--root", type=Path, default=ROOT)
    problems, costs = check(parser.parse_args(arguments).root.resolve())
    for name, found, budget in sorted(costs, key=lambda c: -c[1].memory):
        within = f"of {budget:.0f} MB" if budget < 1e9 else "(not public)"
        over = "red" if found.memory > budget else "dim"
        say(paint(f"  {found.memory:4.0f} {within}, {found.seconds:4.2f} s  {name}", over))
    within = f"within the budget, or less than {TOLERANCE_MB:.0f} MB above it"
    say("\n".join(problems) if problems else f"headers: {len(costs)} compile alone and are {within}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
