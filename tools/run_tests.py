"""`./plx test`: builds, runs the C++ suites with CTest and the Python tests with pytest, prints a short summary."""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from dataclasses import dataclass
from pathlib import Path

import builds
import install
import probing
import pyenv
from console import BUILD, ROOT, duration, fail, jobs, note, paint, plural, run_logged, say, shown, step, table

SANITIZERS = ("tsan", "asan")
PYTHON_TESTS = ("tools/tests", "python/tests", "tests")
MOST_PYTHON_PROCESSES = 16


@dataclass
class Case:
    suite: str
    name: str
    seconds: float
    state: str  # passed, failed or skipped
    output: str = ""


def read_junit(path: Path, suite_of) -> list[Case]:
    """The cases of a JUnit file as CTest and pytest write it."""
    cases = []
    for node in xml.parse(path).getroot().iter("testcase"):
        problem = next((node.find(tag) for tag in ("failure", "error") if node.find(tag) is not None), None)
        skipped = node.find("skipped") is not None or node.get("status") in ("disabled", "notrun")
        state = "failed" if problem is not None or node.get("status") == "fail" else "skipped" if skipped else "passed"
        output = (node.findtext("system-out") or "") + (
            (problem.text or problem.get("message") or "") if problem is not None else ""
        )
        cases.append(Case(suite_of(node), node.get("name"), float(node.get("time") or 0), state, output))
    return cases


def aslr_workaround(preset: str) -> list[str]:
    """ThreadSanitizer of GCC 12 cannot start where the kernel randomises more than 28 bits of the address space."""
    try:
        bits = int(Path("/proc/sys/vm/mmap_rnd_bits").read_text())
    except (OSError, ValueError):
        return []
    able = (
        shutil.which("setarch")
        and subprocess.run(["setarch", platform.machine(), "-R", "true"], stderr=subprocess.DEVNULL).returncode == 0
    )
    return ["setarch", platform.machine(), "-R"] if preset == "tsan" and bits > 28 and able else []


def sanitizer_options(env: dict) -> dict:
    env = dict(env)
    for name, ours in {
        # die_after_fork=0: tests have children of forks that create threads
        "TSAN_OPTIONS": f"halt_on_error=1:second_deadlock_stack=1:die_after_fork=0:suppressions={ROOT / 'tests' / 'tsan.supp'}",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "LSAN_OPTIONS": f"print_suppressions=0:suppressions={ROOT / 'tests' / 'lsan.supp'}",
        "ASAN_OPTIONS": "strict_string_checks=1:check_initialization_order=1",
    }.items():
        env[name] = ":".join(o for o in (ours, env.get(name, "")) if o)
    return env


def run_cpp(
    preset: str, suites: str, regex: str, seeds: int = 0, slow: bool = False, everything: bool = False
) -> list[Case]:
    """Builds the suites whose label matches `suites` (all: empty), and everything else only if `everything`. Runs the
    cases whose name matches `regex`, those of the deterministic mode under `seeds` seeds (0: the number in the tests),
    and those with the label slow if `slow`."""
    builds.configure(preset)
    targets = [t for t in builds.targets_of(preset) if t.endswith("_test") and re.search(suites, t)] if suites else []
    if suites and not targets:
        note(f"{preset}: no suite matches '{suites}' yet")
        return []
    builds.build(preset, targets or ([] if everything else builds.tested(preset)))
    folder = builds.folder_of(preset)
    junit = folder / "ctest.xml"
    junit.unlink(missing_ok=True)
    command = [
        *aslr_workaround(preset), "ctest", "--test-dir", str(folder), "-j", str(jobs()), "--output-on-failure",
        "--timeout", str((1200 if preset in SANITIZERS else 600) * max(1, seeds // 200)), "--output-junit",
        str(junit),
    ]
    command += ["-L", suites] if suites else []
    command += ["-R", regex] if regex else []
    command += [] if slow else ["-LE", "^slow$"]
    env = sanitizer_options(builds.environment())
    if seeds:
        env["PLX_SEEDS"] = str(seeds)
    step(f"running the C++ tests, {folder.name}" + (f", {seeds} seeds" if seeds else ""))
    code, lines = run_logged(command, folder / "test.log", preset, counter=r"^\s*(\d+/\d+) Test\s+#\d+: (\S+)", env=env)
    cases = read_junit(junit, lambda node: f"{node.get('name').split('.')[0]}") if junit.exists() else []
    if code != 0 and not any(case.state == "failed" for case in cases):
        say("\n".join(lines[-20:]))
        cases.append(Case("ctest", f"ctest ended with code {code}", 0, "failed", f"see {shown(folder / 'test.log')}"))
    return cases


def run_python(preset: str, regex: str, slow: bool = False) -> list[Case]:
    """The Python tests: two processes per core, because most tests wait; after them, one at a time, those with the mark
    `alone`. Those with the mark `slow` only if `slow`."""
    folders = [f for f in PYTHON_TESTS if list((ROOT / f).rglob("test_*.py"))]
    if not folders:
        return []
    python = pyenv.ensure("test")
    env = pyenv.environment()
    env["PLX_BIN"] = str(builds.folder_of(preset) / "bin")
    if slow:
        env.setdefault("PLX_STARTS", "10")
    pytest = [python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT)]
    processes = min(2 * jobs(), MOST_PYTHON_PROCESSES) if probing.has(python, ("xdist.scheduler.worksteal",)) else 1
    if regex:
        listed = subprocess.run(
            [*pytest, "--collect-only", *folders], capture_output=True, text=True, env=env, cwd=ROOT
        )
        folders = [line for line in listed.stdout.splitlines() if "::" in line and re.search(regex, line)]
        if not folders:
            return []
        processes = min(processes, len(folders))
    parts = [("not alone", ["-n", str(processes), "--dist", "worksteal"]), ("alone", [])]
    if processes == 1:
        parts = [("", [])]
    cases = []
    for number, (mark, how) in enumerate(parts):
        marks = " and ".join(m for m in (mark, "" if slow else "not slow") if m)
        junit = BUILD / ("pytest.xml" if number == 0 else f"pytest-{mark}.xml")
        junit.unlink(missing_ok=True)
        step("running the Python tests" + (f" that run {mark}" if number else f", {plural(processes, 'process')}" if how else ""))
        code, lines = run_logged(
            [*pytest, "-m", marks, *how, f"--junitxml={junit}", *folders], BUILD / "pytest.log", "pytest", env=env,
            append=number > 0, counter=r"(.*\[ *\d+%\])()",
        )
        found = (
            read_junit(junit, lambda node: "py:" + (node.get("classname") or "").split(".")[0]) if junit.exists() else []
        )
        if code not in (0, 5) and not any(case.state == "failed" for case in found):
            say("\n".join(lines[-20:]))
            found.append(Case("pytest", f"pytest ended with code {code}", 0, "failed", "see build/pytest.log"))
        cases += found
    return cases


def print_verification(preset: str, since: float) -> None:
    """The tables (error, order, bound) that the verification problems of this run have written."""
    tables = sorted((builds.folder_of(preset) / "tests" / "validation").glob("*.table"))
    for path in (p for p in tables if p.stat().st_mtime >= since):
        say("\n" + path.read_text().rstrip())


def summary(by_run: dict, seconds: float) -> int:
    """Prints failures, one row per suite, and the slowest cases. Returns the exit code."""
    everything = [(run, case) for run, cases in by_run.items() for case in cases]
    failed = [(run, case) for run, case in everything if case.state == "failed"]
    for run, case in failed:
        say(paint(f"\nFAILED {case.name} ({run})", "red"))
        say("\n".join(case.output.strip().splitlines()[-60:]))
    rows = []
    for run, cases in by_run.items():
        for suite in sorted({case.suite for case in cases}):
            own = [case for case in cases if case.suite == suite]
            count = {state: sum(c.state == state for c in own) for state in ("passed", "failed", "skipped")}
            rows.append(
                [
                    run, suite, count["passed"], count["failed"] or "", count["skipped"] or "",
                    f"{sum(c.seconds for c in own):.1f}",
                ]
            )
    say()
    if rows:
        say(table(rows, ["run", "suite", "passed", "failed", "skipped", "seconds"], "llrrrr"))
    slow = sorted(everything, key=lambda rc: -rc[1].seconds)[:5]
    if slow and slow[0][1].seconds > 5:
        say("slowest: " + ", ".join(f"{c.name} {c.seconds:.0f} s" for _, c in slow if c.seconds > 5))
    skipped = sum(case.state == "skipped" for _, case in everything)
    verdict = (
        f"{len(failed)} of {len(everything)} tests failed" if failed else f"{len(everything) - skipped} tests passed"
    )
    say(
        paint(verdict, "red" if failed else "green")
        + (f", {skipped} skipped" if skipped else "")
        + f", {duration(seconds)} in all"
    )
    if failed:
        names = "|".join(re.escape(case.name) for _, case in failed[:3])
        say(f"again, only {'these' if len(failed) < 4 else 'the first three'}: ./plx test -R '{names}'")
    return 1 if failed or not everything else 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./plx test", description="Build and run the tests.")
    parser.add_argument("-R", "--regex", default="", help="only cases whose name matches")
    parser.add_argument("--sanitize", metavar="SUITES", help="a suite's name, such as rt, or all: under tsan and asan")
    parser.add_argument("--all", action="store_true", help="builds everything under every preset; every test, the slow ones included")
    parser.add_argument("--preset", default="release", choices=builds.PRESETS)
    parser.add_argument("--seeds", type=int, default=0, metavar="N", help="schedules of the deterministic mode per test")
    parser.add_argument("--planted", nargs="?", const="", metavar="REGEX",
                        help="whether a test fails for each error of tests/planted/errors.py (or those that match)")  # fmt: skip
    options = parser.parse_args(arguments)
    if options.planted is not None:
        import run_planted

        return run_planted.main(options.planted)
    if options.seeds < 0:
        parser.error(f"--seeds is {options.seeds}: expected a positive number")
    begin, since = time.monotonic(), time.time()
    parts = ["build", "test"] + (["ci"] if os.environ.get("CI") and not options.sanitize else [])
    install.ensure(parts, also=[] if options.sanitize else pyenv.apt_packages("test"))
    suites = f"^{options.sanitize}(_|$)" if options.sanitize and options.sanitize != "all" else ""
    presets = SANITIZERS if options.sanitize else builds.PRESETS if options.all else (options.preset,)
    python = (
        None if options.sanitize else pyenv.ensure("test")
    )  # before the long build: it may have to ask for something
    slow = options.all or bool(options.regex)
    by_run = {
        builds.folder_of(p).name: run_cpp(p, suites, options.regex, options.seeds, slow, options.all) for p in presets
    }
    if python:
        by_run["python"] = run_python("release" if options.all else options.preset, options.regex, slow)
    if options.regex and not any(by_run.values()):
        fail(f"no test matches '{options.regex}'", 2)
    for preset in presets:
        print_verification(preset, since)
    return summary(by_run, time.monotonic() - begin)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
