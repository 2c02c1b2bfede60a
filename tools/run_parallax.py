"""`./plx report RUN`, `./plx film RUN`, `./plx orbits RUN...`, `./plx compare A B`, `./plx diagnose RUN`, `./plx top`,
`./plx what-if` and `./plx scale`: the Python package `parallax` in the project's Python environment. `./plx what-if RUN`
builds plx-what-if and runs it, `./plx what-if check` compares its predictions with real changes: docs/why-slow.md.
`./plx scale RUN` builds plx-scale, replays a run on simulated machines, and draws how it scales; `./plx scale check`
compares replays with real runs on a few processes of this machine, or of another one: docs/scale.md.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import builds
import install
import pyenv
from console import BUILD, ROOT, fail

sys.path.insert(0, str(ROOT / "apps" / "scale"))
import real_runs  # noqa: E402

PROGRAMS = BUILD / "release" / "bin"


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["scale"]:
        return scale(arguments[1:])
    if arguments[:1] == ["what-if"]:
        return what_if(arguments[1:])
    # `top` draws with the terminal alone.
    return run(arguments, sys.executable if arguments[:1] == ["top"] else None)


def run(arguments: list[str], python: str | None = None) -> int:
    python = python or pyenv.ensure("report")
    os.chdir(os.environ.get("PLX_CALLED_FROM", "."))  # the paths on the command line are the caller's
    environment = pyenv.environment()
    environment["PLX_COMMAND"] = "./plx"  # the name of the program in its usage
    environment["PATH"] = os.pathsep.join([str(PROGRAMS), environment.get("PATH", "")])  # diagnose and report use plx-what-if
    os.execve(python, [python, "-B", "-m", "parallax", *arguments], environment)


def scale(arguments: list[str]) -> int:
    if arguments[:1] == ["check"]:
        return check(arguments[1:])
    if any(a in ("-h", "--help") for a in arguments):
        return run(["scale", *arguments])
    build(["plx-scale"])
    return run(["scale", *arguments, "--program", str(PROGRAMS / "plx-scale")])


def what_if(arguments: list[str]) -> int:
    checks = arguments[:1] == ["check"]
    if not checks:
        require_trace(arguments)
    build(["plx-what-if", *(["what_if_cases", "plx-star"] if checks else [])])
    os.chdir(os.environ.get("PLX_CALLED_FROM", "."))
    if checks:
        sys.path.insert(0, str(ROOT / "tests" / "what_if"))
        import check_what_if

        return check_what_if.main([*arguments[1:], "--bin", str(PROGRAMS)])
    program = str(PROGRAMS / "plx-what-if")
    os.execv(program, [program, *arguments])


def require_trace(arguments: list[str]) -> None:
    """Refuses a run without a trace before anything is built. The program itself refuses other wrong arguments."""
    if not arguments or arguments[0].startswith("-"):
        return
    path = Path(os.environ.get("PLX_CALLED_FROM", "."), arguments[0])
    if not path.exists():
        fail(f"'{arguments[0]}' does not exist: expected the folder of a run with trace.plxt, or that file", 2)
    if path.is_dir() and not [*path.glob("trace.plxt"), *path.glob("localities/*/trace.plxt")]:
        fail(f"'{arguments[0]}' has no trace.plxt: record one with PLX_TRACE=1 or --plx:trace", 2)


def build(programs: list[str]) -> None:
    install.ensure(["build"], also=pyenv.apt_packages("report"))
    builds.configure("release")
    if "plx-scale" in programs and "plx-scale" not in builds.targets_of("release"):
        fail("cannot build plx-scale: SimGrid is missing (./plx doctor shows how to install it)", 2)
    builds.build("release", programs)


def check(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="plx scale check",
        description="Records short runs on one process, runs them on more, and compares with replays: docs/scale.md.",
        epilog="Options of the real runs: --processes --problems --turns --budget (python3 apps/scale/real_runs.py --help). "
        "Exit code 1 when a replay is off by more than --limit.",
    )
    parser.add_argument("--real-only", type=Path, metavar="FILE", help="make the real runs, write this file, and end")
    parser.add_argument("--from", dest="real", type=Path, metavar="FILE", help="compare with real runs made elsewhere")
    parser.add_argument("--out", type=Path, default=Path("scale-check"), metavar="FOLDER", help="tables and picture (default: scale-check)")
    parser.add_argument("--limit", type=float, default=15.0, metavar="PERCENT", help="default 15")
    options, of_runs = parser.parse_known_args(arguments)
    if options.real_only and options.real or options.real and of_runs:
        fail("--from reads real runs that were made: expected no --real-only, and no options of real runs", 2)
    called_from = Path(os.environ.get("PLX_CALLED_FROM", "."))
    out, real = called_from / options.out, options.real_only or options.real
    build([*([] if options.real else ["plx-scale-record"]), *([] if options.real_only else ["plx-scale"])])
    if not options.real:
        real = real or options.out / "real.json"
        (called_from / real).parent.mkdir(parents=True, exist_ok=True)
        code = real_runs.main(["--bin", str(PROGRAMS), "--out", str(called_from / real), *of_runs])
        if code != 0 or options.real_only:
            return code
    program = str(PROGRAMS / "plx-scale")
    return run(["scale-check", str(called_from / real), "--program", program, "--out", str(out), f"--limit={options.limit}"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
