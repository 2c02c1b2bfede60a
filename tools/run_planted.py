"""`./plx test --planted [REGEX]`: plants errors in a copy of the sources, one at a time, and checks that a test fails for each.

The errors are listed in tests/planted/errors.py. Exit code 0 if all are found.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from console import BUILD, ROOT, duration, fail, note, output_of, paint, plural, say, step, table

sys.path.insert(0, str(ROOT / "tests" / "planted"))
from errors import ERRORS, Planted  # noqa: E402

COPY = BUILD / "planted" / "sources"
MOST_TIME = 10  # times what the tests take without an error: a test that does not end has found it, too


def update_copy() -> None:
    """Copies what differs, so that only that is built again, and deletes files that the sources no longer have."""
    listed = output_of(["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
    if listed is None:
        fail("cannot list the sources: ./plx test --planted needs a git checkout")
    names = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    for folder, folders, files in os.walk(COPY):
        if Path(folder) == COPY:
            folders[:] = [name for name in folders if name not in ("build", ".venv")]
        for path in (Path(folder, file) for file in files):
            if path.relative_to(COPY).as_posix() not in names:
                path.unlink()
    for name in names:
        source, copy = ROOT / name, COPY / name
        if not copy.exists() or source.read_bytes() != copy.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)
            copy.touch()


def build(program: str) -> bool:
    """Without CUDA, whose kernels no test here runs, and with warnings, which an error may cause."""
    env = {**os.environ, "PLX_CMAKE_ARGS": "-DPLX_CUDA=OFF"}
    done = subprocess.run([COPY / "plx", "build", program], capture_output=True, text=True, env=env)
    if done.returncode != 0:
        note(done.stdout[-2000:])
    return done.returncode == 0


def passes(program: str, gtest_filter: str, timeout_s: float | None = None) -> bool:
    """Whether at least one test ran and all passed in time."""
    command = [COPY / "build" / "release" / "bin" / program, f"--gtest_filter={gtest_filter}", "--gtest_brief=1"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, cwd=COPY)
    except subprocess.TimeoutExpired:
        return False
    if done.returncode == 0 and re.search(r"Running 0 tests|\] 0 tests", done.stdout):
        fail(f"{program}: no test matches '{gtest_filter}'; correct tests/planted/errors.py")
    return done.returncode == 0


def outcome(planted: Planted, timeout_s: float) -> str:
    path: Path = COPY / planted.file
    correct = path.read_text()
    if correct.count(planted.correct) != 1:
        return f"the text occurs {plural(correct.count(planted.correct), 'time')}"
    try:
        path.write_text(correct.replace(planted.correct, planted.wrong))
        if not build(planted.program):
            return "does not compile"
        return "missed" if passes(planted.program, planted.filter, timeout_s) else "found"
    finally:
        path.write_text(correct)


def main(regex: str) -> int:
    begin = time.monotonic()
    chosen = [planted for planted in ERRORS if re.search(regex, f"{planted.file} {planted.error}")]
    if not chosen:
        fail(f"no planted error matches '{regex}'", 2)
    step("building a copy of the sources, build/planted")
    update_copy()
    for program in sorted({planted.program for planted in chosen}):
        if not build(program):
            fail(f"{program} does not build without a planted error")
    step("running the tests without an error")
    longest_s = {}
    for tests in sorted({(planted.program, planted.filter) for planted in chosen}):
        since = time.monotonic()
        if not passes(*tests):
            fail(f"{tests[0]} --gtest_filter={tests[1]} fails without a planted error")
        longest_s[tests] = 30 + MOST_TIME * (time.monotonic() - since)
    rows = []
    for planted in chosen:
        since = time.monotonic()
        result = outcome(planted, longest_s[planted.program, planted.filter])
        rows.append([result, planted.error, planted.file, f"{planted.program} {planted.filter}"])
        say(f"    {paint(result, 'green' if result == 'found' else 'red')}  {planted.error} ({duration(time.monotonic() - since)})")
    missed = [row for row in rows if row[0] != "found"]
    if missed:
        say("\n" + table(missed, ["outcome", "error", "file", "tests"], "llll"))
    say(f"{len(rows) - len(missed)} of {len(rows)} planted errors found, {duration(time.monotonic() - begin)} in all")
    return 1 if missed else 0
