"""`./plx build`: configure and build a preset, quietly, with the whole output in build/<preset>/build.log."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import time
from pathlib import Path

import dependencies
import install
import probing
from console import BUILD, ROOT, duration, fail, jobs, note, output_of, plural, run_logged, say, shown, step

PRESETS = tuple(
    p["name"] for p in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"] if not p.get("hidden")
)

TESTED_BENCHMARKS = ("bench_coalescing", "bench_parquet")  # tools/tests/test_bench_coalescing.py, test_bench_parquet.py


def folder_of(preset: str) -> Path:
    """build/<preset>, or build/<preset>-<compiler> where CXX names another compiler than the machine's own."""
    named, own = shutil.which(probing.compiler()), shutil.which("c++") or shutil.which("g++")
    same = not os.environ.get("CXX") or (named and own and os.path.realpath(named) == os.path.realpath(own))
    return BUILD / (preset if same else f"{preset}-{os.path.basename(probing.compiler())}")


def environment() -> dict:
    env = dict(os.environ)
    env["NINJA_STATUS"] = "[%f/%t] "
    # Clones and worktrees of one user share what ccache has: paths inside the tree count as relative ones.
    env.setdefault("CCACHE_BASEDIR", str(ROOT))
    env.setdefault("CCACHE_NOHASHDIR", "1")
    # Without these ccache does not keep objects that use a precompiled header: those of all tests.
    env.setdefault("CCACHE_SLOPPINESS", "pch_defines,time_macros")
    # ccache stops the build where its folder cannot be made (a user without a home): keep it in the tree then.
    home = os.path.expanduser("~")
    if "CCACHE_DIR" not in env and not os.access(home, os.W_OK):
        env["CCACHE_DIR"] = str(BUILD / "ccache")
    return env


def _wanted_configuration() -> str:
    """The dependencies of a configured build besides the files that CMake watches itself."""
    extra = os.environ.get("PLX_CMAKE_ARGS", "").split()
    optional = [row.name for row in dependencies.TABLE if row.cmake and not row.needed_by and probing.probe(row).present]
    gtest = [row.name for row in dependencies.TABLE if row.cmake == "GTest" and probing.probe(row).present]
    return json.dumps(
        {
            "CXX": os.environ.get("CXX", ""),
            "CC": os.environ.get("CC", ""),
            "args": extra,
            "presets": (ROOT / "CMakePresets.json").read_text(),
            "with": sorted(optional + gtest),
        }
    )


def configure(preset: str) -> None:
    folder = folder_of(preset)
    stamp, wanted = folder / ".plx-configured", _wanted_configuration()
    if (folder / "build.ninja").exists() and stamp.exists() and stamp.read_text() == wanted:
        return
    step(f"configuring {folder.name}")
    command = ["cmake", "--preset", preset, "-B", str(folder), *json.loads(wanted)["args"]]
    if (folder / "CMakeCache.txt").exists():
        command.insert(1, "--fresh")  # another compiler or another set of libraries
    code, lines = run_logged(command, folder / "configure.log", "cmake", env=environment())
    for line in lines:
        if line.startswith("-- without ") or "-- Parallax:" in line:
            note(line[3:])
    if code != 0:
        begin = next((i for i, line in enumerate(lines) if line.startswith("CMake Error")), max(0, len(lines) - 20))
        say("\n".join(lines[begin : begin + 30]))
        fail(f"configuring {folder.name} failed; the whole log: {shown(folder / 'configure.log')}")
    stamp.write_text(wanted)


def targets_of(preset: str) -> list[str]:
    text = output_of(["ninja", "-C", str(folder_of(preset)), "-t", "targets", "all"]) or ""
    return re.findall(r"^([A-Za-z0-9_-]+): phony$", text, flags=re.M)


def tested(preset: str) -> list[str]:
    """The targets that the tests need: all except the benchmarks that no test runs; tests of benchmarks are needed."""
    text = output_of(["ninja", "-C", str(folder_of(preset)), "-t", "targets", "all"]) or ""
    folders = re.findall(r"^([A-Za-z0-9_/-]+)/all: phony$", text, flags=re.M)
    return [f"{folder}/all" for folder in folders if folder.split("/")[0] != "bench"] + sorted(
        target for target in targets_of(preset)
        if target in TESTED_BENCHMARKS or (target.endswith("_test") and not target.startswith("cmake_"))
    )


def failing_part(lines: list[str], limit: int = 80) -> str:
    """From a log of ninja: the failed commands' own output, without the command lines and without the rest."""
    kept, inside = [], False
    for line in lines:
        if re.match(r"^\[\d+/\d+\] ", line):
            inside = False
        if line.startswith("FAILED: "):
            inside, kept = True, kept + [line]
            continue
        if (
            inside
            and len(line) < 2000
            and not re.match(r"^(: && )?(/\S*/)?(ccache|c\+\+|g\+\+|clang\+\+|cmake)\S* ", line)
        ):
            kept.append(line)
    kept = kept or lines[-20:]
    return "\n".join(kept[:limit] + ([f"... {len(kept) - limit} more lines"] if len(kept) > limit else []))


def build(preset: str, targets: list[str] | None = None) -> float:
    """Configures if need be and builds; returns the seconds it took, ends the program on failure."""
    begin = time.monotonic()
    configure(preset)
    folder = folder_of(preset)
    command = ["cmake", "--build", str(folder), "-j", str(jobs())]
    if targets:
        command += ["--target", *targets]
    step(f"building {folder.name}" + (f": {' '.join(targets)}" if targets and len(targets) < 6 else ""))
    code, lines = run_logged(command, folder / "build.log", preset, env=environment())
    if code != 0:
        say(failing_part(lines))
        fail(f"building {folder.name} failed; the whole log: {shown(folder / 'build.log')}")
    warnings = sum(bool(re.search(r"\bwarning: ", line)) for line in lines)
    seconds = time.monotonic() - begin
    work = next((line for line in reversed(lines) if re.match(r"^\[\d+/\d+\]", line)), "")
    note(
        f"{folder.name}: {plural(int(re.sub(r'].*', '', work)[1:].split('/')[-1] or 0), 'step')}, {duration(seconds)}"
        + (f", {plural(warnings, 'warning')} (see {shown(folder / 'build.log')})" if warnings else "")
    )
    return seconds


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./plx build", description="Configure and build.")
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help="targets of the build; everything if none is named"
    )
    parser.add_argument("--preset", default="release", choices=PRESETS)
    parser.add_argument("--clean", action="store_true", help="remove the preset's build folder first")
    options = parser.parse_args(arguments)
    if options.clean:
        shutil.rmtree(folder_of(options.preset), ignore_errors=True)
    install.ensure(["build"])
    build(options.preset, options.targets)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
