"""Every header compiles alone, twice included, without warnings; public ones keep within the compile-time budget.

Usage: check_headers.py [--root ROOT]. A cost is the processor time of one compiler run at -O2, so that other work on
the machine disturbs it little. One that is over the budget is measured again, in turns with a reference of standard
headers; the best run counts, scaled down where the machine is slower (or busier) than the one the budget was set on.
Headers named *_detail.hpp, *_body.hpp (compiled once per instruction set), *_test.hpp or test_*.hpp, or in a folder
detail/ or preload/ are not public: they have no budget. Those around outside libraries are left out.
Exit code 1 on a violation.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import doctor
from console import ROOT, jobs, paint, say

HEADER_BUDGET_S = 0.6
BEYOND_S = {"net/archive.hpp": 0.2}  # brings cereal along, which alone costs 0.45 s; only who needs it includes it
HELLO_BUDGET_S = 2.0
HELLO = "examples/01_hello_task.cpp"
# Headers around outside libraries that may be missing, or not where compilers look: whoever includes them compiles them.
AROUND_LIBRARIES = ("net/mpi/", "net/ucx/", "net/detail/cereal_archive.hpp")
REPEATS = 4  # more runs for a cost over its budget
REFERENCE = "".join(f"#include <{name}>\n" for name in ("algorithm", "map", "memory", "string", "vector"))
REFERENCE_S = 0.35  # what the reference costs on the machine that the budgets are for


def compile_alone(source: str, root: Path, flags: list[str]) -> tuple[float, str]:
    """Processor seconds of compiling `source`, and the compiler's complaints (empty: fine)."""
    command = [
        doctor.compiler(),
        "-std=c++20",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Wno-psabi",
        f"-I{root}/src",
        *flags,
        "-x",
        "c++",
        "-c",
        "-o",
        os.devnull,
        "-",
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
    return usage.ru_utime + usage.ru_stime, text


def best_cost(source: str, root: Path, flags: list[str], budget_s: float) -> tuple[float, str]:
    """The cost of `source` (measured again and scaled where it seems over the budget), and the complaints."""
    cost, complaint = compile_alone(source, root, flags)
    if complaint or cost <= budget_s:
        return cost, complaint
    reference = float("inf")
    for _ in range(REPEATS):
        reference = min(reference, compile_alone(REFERENCE, root, flags)[0])
        cost = min(cost, compile_alone(source, root, flags)[0])
    return cost * min(1.0, REFERENCE_S / reference), ""


def is_public(name: str) -> bool:
    file = name.rsplit("/", 1)[-1]
    return not (
        file.endswith(("_detail.hpp", "_body.hpp", "_test.hpp"))
        or file.startswith("test_")
        or "/detail/" in name
        or "/preload/" in name
    )


def budget_of(name: str) -> float:
    return HEADER_BUDGET_S + BEYOND_S.get(name, 0.0) if is_public(name) else float("inf")


def sources(root: Path) -> list[tuple[str, str, float]]:
    """Name, text to compile and budget of each header, and of the hello-task program."""
    headers = sorted(p.relative_to(root / "src").as_posix() for p in (root / "src").rglob("*.hpp"))
    work = [
        (f"src/{name}", f'#include "{name}"\n#include "{name}"\n', budget_of(name))
        for name in headers
        if not name.startswith(AROUND_LIBRARIES)
    ]
    if (root / HELLO).is_file():
        work.append((HELLO, f'#include "{root / HELLO}"\n', HELLO_BUDGET_S))
    return work


def check(root: Path) -> tuple[list[str], list[tuple[str, float, float]]]:
    """Problems, and (name, cost, budget) of everything measured."""
    flags, work = doctor.include_flags(), sources(root)
    with ThreadPoolExecutor(jobs()) as pool:
        results = list(pool.map(lambda item: best_cost(item[1], root, flags, item[2]), work))
    problems, costs = [], []
    for (name, _, budget), (cost, complaint) in zip(work, results):
        costs.append((name, cost, budget))
        if complaint:
            problems.append(
                f"{name} does not compile alone without complaint:\n  " + "\n  ".join(complaint.splitlines()[:8])
            )
        elif cost > budget:
            problems.append(
                f"{name} costs {cost:.2f} s to compile (best of {REPEATS + 1}); expected at most {budget:.1f} s"
            )
    return problems, costs


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="check_headers.py")
    parser.add_argument("--root", type=Path, default=ROOT)
    problems, costs = check(parser.parse_args(arguments).root.resolve())
    for name, cost, budget in sorted(costs, key=lambda c: -c[1]):
        within = f"of {budget:.1f} s" if budget < 1e9 else "(not public)"
        say(paint(f"  {cost:5.2f} s {within}  {name}", "red" if cost > budget else "dim"))
    say("\n".join(problems) if problems else f"headers: {len(costs)} compile alone and within the budget")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
