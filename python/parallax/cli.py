"""The command `parallax`. Exit codes: 0 fine; 1 (compare only) the physics differs where --require-equal asks for it, or the
second takes longer than --fail-above allows; 2 wrong input."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from . import NotARun, ReadError
from .text import printable


def main(arguments=None) -> int:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed when the interpreter started
            setattr(sys, name, open(os.devnull, "w"))
    for stream in (sys.stdout, sys.stderr):  # names of files need not be UTF-8
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(arguments)
        sys.stdout.flush()  # at the end of the interpreter an error would be neither one line nor this exit code
        return code
    except (NotARun, ReadError) as error:
        return _fail(error)
    except BrokenPipeError:
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        where = f"{error.filename}: " if error.filename else "cannot write: "
        return _fail(f"{where}{error.strerror or error}")


def _run(arguments) -> int:
    parser = _parser()
    try:
        options = parser.parse_args(arguments)
    except SystemExit as end:  # after --help: 0
        if end.code != 0:
            raise
        return 0
    if options.command is None:
        parser.print_help()
        return 2
    return options.act(options)


def _drop_output() -> None:
    """Output that could not be written is not tried again when the interpreter ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # a stdout without a descriptor
        pass


def _fail(error) -> int:
    print(f"parallax: {printable(str(error))}", file=sys.stderr)
    return 2


def _need_folders(*files: Path | None) -> None:
    for file in files:
        if file and not file.parent.is_dir():
            raise ReadError(file.parent, f"no such folder, expected one to write {file.name} into")


class _Parser(argparse.ArgumentParser):
    def print_help(self, file=None) -> None:
        """Raises OSError if the text cannot be written, which argparse ignores."""
        (file or sys.stdout).write(self.format_help())


def program_name() -> str:
    """As in usage texts: ./plx, if that has started this program."""
    return os.environ.get("PLX_COMMAND") or "parallax"


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=program_name(), description="Reports, comparisons and diagnoses of runs; a live view of a running program."
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    def command(act, name: str, **texts) -> argparse.ArgumentParser:
        added = commands.add_parser(name, **texts)
        added.set_defaults(act=act)
        return added

    report = command(
        _report, "report",
        help="write report.html and its pictures, print a summary of about ten lines",
        description="Writes one self-contained page about a run, its pictures beside it, and ten "
        "lines to the terminal. Exit code 2 if the folder is not a run or a file in it is broken; "
        "in the latter case the page is written from the files that can be read.",
    )
    report.add_argument("run", type=Path, help="folder of the run")
    report.add_argument("--out", type=Path, metavar="FILE", help="the page (default: run/report.html)")

    film = command(
        _film, "film",
        help="write a film of density, temperature and the cost of blocks",
        description="Each mesh file of the run is a frame (output.mesh_interval): density, p/rho and the cost of blocks in "
        "the orbital plane and edge-on, and with diagnostics.stars separation and masses. Writes an mp4 through ffmpeg, or "
        "without it an animated PNG.",
    )
    film.add_argument("run", type=Path, help="folder of the run")
    film.add_argument("--out", type=Path, metavar="FILE", help="film.mp4 or film.png (default: in the folder of the run)")
    film.add_argument("--fps", type=int, help="frames per second (default: 12)")
    film.add_argument("--width", type=float, metavar="LENGTH", help="width of the planes in code units (default: all stars)")
    film.add_argument("--height", type=int, metavar="PIXELS", help="of the frames (default: 1080)")
    film.add_argument("--poster", type=Path, metavar="FILE", help="also write the last frame as PNG")
    film.add_argument("--title", metavar="TEXT", help="above the pictures (default: the problem; \"\" for none)")
    film.add_argument(
        "--sheet", type=int, metavar="N",
        help="instead of a film, write N frames side by side as PNG: density and cost of blocks (sheet.png, or --out)",
    )

    orbits = command(
        _orbits, "orbits",
        help="show the orbits of several runs of a binary side by side",
        description="For runs of plx-star with diagnostics.stars, such as one binary on meshes of several levels: prints how "
        "long they ran, separation, mass transfer, the drift of the angular momentum, and when a star was disrupted.",
    )
    orbits.add_argument("runs", type=Path, nargs="+", metavar="run", help="folders of runs")
    orbits.add_argument("--out", type=Path, metavar="FILE", help="also write curves over time as PNG")

    diagnose = command(
        _diagnose, "diagnose",
        help="explain what limited the speed of a run, with figures",
        description="Prints at most ten sentences: how the workers spent their time, the largest costs and how to "
        "reduce them, and what could not be judged because it was not measured. A program that uses Parallax writes the input "
        "if run with PLX_DIAGNOSE=1 (folder plx-run, or PLX_OUTPUT), any other program if run under plx-exec -d.",
    )
    diagnose.add_argument("run", type=Path, help="folder of the run")
    diagnose.add_argument("--json", action="store_true", help="print the diagnosis as JSON")

    compare = command(
        _compare, "compare",
        help="show what changed between two runs",
        description="Compares two runs of any programs, those of plx-exec included: what was measured, configuration, "
        "physics, errors against the exact solution and their order, throughput, the parts of the difference in worker time, "
        "time per task, waits, and how long threads waited for a core. Folders that hold the folders of several runs each, "
        "repetitions of one program, are compared with intervals: by how much the second takes longer, and which parts differ "
        "by more than their scatter.",
    )
    compare.add_argument("first", type=Path, help="folder of the first run, or of several")
    compare.add_argument("second", type=Path, help="folder of the second run, or of several")
    compare.add_argument(
        "--fail-above", type=float, metavar="PERCENT",
        help="several runs: exit code 1 if the second takes longer by more than this, at 95 %% confidence",
    )
    compare.add_argument("--html", type=Path, metavar="FILE", help="also write the tables as a page")
    compare.add_argument("--require-equal", action="store_true", help="exit code 1 unless the physics is bitwise equal")

    top = command(
        _top, "top",
        help="watch a running program in the terminal",
        description="Shows what the workers of a running program do, second by second: their use of time, a timeline "
        "of the last seconds, and all task types. Any program with a runtime can be given by its process id; one that serves its "
        "live page (--plx:serve=1 or PLX_SERVE=1) also by its URL or folder. If the output is not a terminal, the command "
        "prints the state once. Keys: q quits, s changes the order, c shows counters, / filters, p pauses.",
    )
    top.add_argument(
        "target", nargs="?",
        help="the process id of a program with a runtime, the URL that it printed, HOST:PORT, or the folder with its "
        "live.url (default: the newest here)",
    )
    top.add_argument("--token", help="the token of the URL (default: PLX_TOKEN, or what live.url says)")
    top.add_argument("--once", action="store_true", help="print the state once and exit")

    from .performance.what_if import add_questions

    what_if = command(
        _what_if, "what-if",
        help="predict what a change would bring: workers, faster task types, no locks",
        description="Replays the trace of a run (PLX_TRACE=1) on simulated workers, by the program plx-what-if. Prints first how "
        "far the replay is off without a change, then predictions: docs/why-slow.md. The default without questions "
        "is a table of half the time for the largest task types, twice the workers, and no waits for locks.",
    )
    what_if.add_argument("run", type=Path, help="folder of the run")
    what_if.add_argument("--program", type=Path, default=Path("plx-what-if"), help="the simulator (./plx what-if builds it)")
    add_questions(what_if)

    scale = command(
        _scale, "scale",
        help="replay a run on simulated machines to estimate its scaling",
        description="Cuts the mesh of a run into localities, replays one step of it with the measured costs on simulated "
        "nodes, with and without coalescing, and draws strong and weak scaling and where the time goes (docs/scale.md).",
    )
    from .star.scale import add_arguments, add_check_arguments

    add_arguments(scale)

    check = command(
        _scale_check, "scale-check",
        help="compare replays with real runs on a few processes",
        description="Replays what was recorded on one process on as many simulated processes as real runs had, and prints "
        "both times (docs/scale.md). Exit code 1 when one is off by more than the limit.",
    )
    add_check_arguments(check)
    return parser


def _what_if(options) -> int:
    from .performance.what_if import arguments_of, run

    return run(options.program, arguments_of(options))


def _scale(options) -> int:
    from .star.scale.command import scale

    return scale(options)


def _scale_check(options) -> int:
    from .star.scale.command import scale_check

    return scale_check(options)


def _top(options) -> int:
    from .performance.live import LiveError, find, of_process

    try:
        if options.target and options.target.isdigit() and not Path(options.target).is_dir():
            address, _connection = of_process(int(options.target))  # the page ends with this command
        else:
            address = find(options.target, options.token)
        if options.once or not (sys.stdin.isatty() and sys.stdout.isatty()):
            from .performance.live import once

            print(once(address))
            return 0
        from .performance.live import watch

        return watch(address)
    except LiveError as error:
        return _fail(error)
    except KeyboardInterrupt:
        return 130


def _report(options) -> int:
    from .parquet.run import ParquetRun, is_parquet_run
    from .qmc.run import DcaRun, is_dca_run

    # matplotlib is imported only where something is drawn
    if is_dca_run(options.run):
        from .hubbard.page import summary_lines
        from .qmc.report import write_report

        run = DcaRun(options.run)
    elif is_parquet_run(options.run):
        from .hubbard.page import summary_lines
        from .parquet.report import write_report

        run = ParquetRun(options.run)
    else:
        from .star.facts import summary_lines
        from .star.report import write_report
        from .star.run import Run

        run = Run(options.run)
    out = options.out or options.run / "report.html"
    _need_folders(out)
    if out.is_dir():
        return _fail(f"{out}: is a folder, expected the name of a file to write")
    facts = write_report(run, out)
    lines = summary_lines(facts, out)
    facts.close()
    print("\n".join(lines))
    for warning in facts.warnings:
        print(f"parallax: {warning}", file=sys.stderr)
    for problem in facts.problems:
        print(f"parallax: {problem}", file=sys.stderr)
    return 2 if facts.problems else 0


def _film(options) -> int:
    from .star.film import write_film
    from .star.run import Run

    fps = 12 if options.fps is None else options.fps
    height = 1080 if options.height is None else options.height
    if not 1 <= fps <= 120:
        return _fail(f"--fps {fps}: expected 1 to 120 frames per second")
    if not 120 <= height <= 4320:
        return _fail(f"--height {height}: expected 120 to 4320 pixels")
    if options.width is not None and not options.width > 0:
        return _fail(f"--width {options.width}: expected a length above 0")
    _need_folders(options.out, options.poster)
    if options.sheet is not None:
        from .star.sheet import write_sheet

        if not 1 <= options.sheet <= 8:
            return _fail(f"--sheet {options.sheet}: expected 1 to 8 frames")
        for flag, given in (("--fps", options.fps), ("--height", options.height), ("--poster", options.poster)):
            if given is not None:
                return _fail(f"{flag} is for films; --sheet writes one picture")
        print(write_sheet(Run(options.run), options.sheet, options.out, options.width, options.title))
        return 0
    out = write_film(Run(options.run), options.out, fps, options.width, options.poster, height, options.title)
    print(out)
    if out.suffix == ".png" and options.out is None:
        print("parallax: ffmpeg was not found; the film is an animated PNG, which browsers play", file=sys.stderr)
    return 0


def _orbits(options) -> int:
    from .star.orbits import write_study

    _need_folders(options.out)
    print("\n".join(write_study(options.runs, options.out)))
    return 0


def _diagnose(options) -> int:
    from .performance.diagnosis import diagnose

    diagnosis = diagnose(options.run)
    print(json.dumps(diagnosis.json(), indent=1, ensure_ascii=False) if options.json else diagnosis.text())
    return 0


def _compare_repeated(options, first: list, second: list) -> int:
    from .performance.compare_repeated import compare_repeated

    for flag, given in (("--html", options.html), ("--require-equal", options.require_equal)):
        if given:
            return _fail(f"{flag} is for two runs; found {len(first)} in {options.first} and {len(second)} in {options.second}")
    found = compare_repeated(first, second)
    print("\n".join([f"a = {options.first}", f"b = {options.second}", "", *found.section.lines(), *(["", *found.state.lines()] if found.state else [])]))
    return 1 if options.fail_above is not None and 100 * found.length.low > options.fail_above else 0


def _results_of_hubbard(first: Path, second: Path):
    """The comparison of the results of two runs of plx-dca or plx-parquet; None of other programs."""
    if not any(name.exists() for folder in (first, second) for name in (folder / "result.json", folder / "iterations.csv")):
        return None
    from .hubbard.compare import compare_hubbard, is_hubbard_run

    return compare_hubbard(first, second) if is_hubbard_run(first) and is_hubbard_run(second) else None


def _compare(options) -> int:
    from .performance.compare_repeated import runs_in

    repeated = [runs_in(folder) for folder in (options.first, options.second)]
    if repeated != [[options.first], [options.second]]:
        return _compare_repeated(options, *repeated)
    if options.fail_above is not None:
        return _fail("--fail-above needs an interval: give folders that hold several runs each")
    from .star.compare import compare_runs
    from .star.run import Run

    runs = [Run(folder, of_any_program=True) for folder in (options.first, options.second)]
    comparison = compare_runs(*runs, _results_of_hubbard(*(run.folder for run in runs)))
    print(comparison.text())
    for run in (comparison.first, comparison.second):
        for path, why in run.ending.foreign:
            print(f"parallax: {path}: {why}; it is not used", file=sys.stderr)
    if options.html:
        _need_folders(options.html)
        options.html.write_text(comparison.html(), encoding="utf-8")
        print(f"page: {options.html}")
    return 1 if options.require_equal and not comparison.physics_equal else 0
