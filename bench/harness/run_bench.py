"""`./plx bench`: builds and runs the programs bench_*, prints tables, writes one JSON list. See bench/README.md."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import bench_against
import bench_coalescing
import bench_history
import bench_parquet
import bench_tables
import builds
import install
import pyenv
from console import (
    BUILD, ROOT, duration, fail, job_command, job_environment, note, output_of, run_logged, say, shown, step, table,
    why_no_jobs,
)  # fmt: skip

KEYS = {"name": str, "value": (int, float), "unit": str, "better": str}
QUICK = ("star_localities", "trace", "gpu_gravity", "gpu_parquet", "gpu_regrid", "gpu_star", "gpu_timeline", "gpu_ladder")  # programs with --quick, in addition to the workloads
WITH = {"star": ("star_localities",), "gravity": ("gpu_gravity",)}  # the same on several processes; on a device
SCALING = {"fib": [], "uts": [], "sort": [], "metg": ["--only", "stencil,nearest,random"]}  # and their arguments


def workloads() -> list[str]:
    """The programs of the group `rt`: those of bench/workloads."""
    return sorted(path.stem for path in (ROOT / "bench" / "workloads").glob("*.cpp"))


def check_rows(rows: object, program: str) -> list[dict]:
    """The rows as a program wrote them, or exits if they do not follow the convention."""
    if not isinstance(rows, list):
        fail(f"{program} wrote a {type(rows).__name__}: expected a list of objects with {', '.join(KEYS)}")
    for row in rows:
        wrong = [key for key, kind in KEYS.items() if not isinstance(row, dict) or not isinstance(row.get(key), kind)]
        if wrong:
            fail(
                f"{program} wrote {json.dumps(row)}: expected {', '.join(KEYS)}; missing or of another type: {', '.join(wrong)}"
            )
        if row["better"] not in ("lower", "higher"):
            fail(f"{program} wrote better = '{row['better']}' for {row['name']}: expected lower or higher")
    return rows


class programs:
    """The folder of the programs, and the folder of their output."""

    def __init__(self, folder: Path, out: Path):
        self.folder, self.out = folder, out
        self.curves: dict[str, dict[str, list]] = {}  # of metg, by graph and library: [[grain in us, efficiency], ...]
        self.notes: list[str] = []  # printed once, although several programs report them

    def names(self) -> list[str]:
        return sorted(path.name.removeprefix("bench_") for path in self.folder.glob("bench_*") if path.is_file())

    def environment(self, env: dict) -> dict:
        libraries = self.folder / "lib"
        if libraries.is_dir():
            env["LD_LIBRARY_PATH"] = os.pathsep.join(p for p in (str(libraries), env.get("LD_LIBRARY_PATH")) if p)
        return env

    def run(
        self, name: str, arguments: list[str] = [], label: str = "", before: list[str] = [], env: dict = os.environ
    ) -> list[dict]:
        """The rows of one run, on several processes if `before` is a launcher."""
        program = self.folder / f"bench_{name}"
        out, log = self.out / f"{name}{label}.json", self.out / f"{name}{label}.log"
        out.unlink(missing_ok=True)
        step(f"running {name}{' with ' + ' '.join(arguments) if arguments else ''}")
        begin = time.monotonic()
        command = [*before, str(program), *arguments, "--json", str(out)]
        code, lines = run_logged(command, log, name, counter=r"()([^#].*)", env=self.environment(dict(env)))
        if code != 0 or not out.exists():
            say("\n".join(lines[-20:]))
            fail(
                f"{shown(program)} ended with code {code}"
                + ("" if out.exists() else " and wrote no numbers")
                + f"; its output: {shown(log)}"
            )
        self.read_comments(lines)
        if time.monotonic() - begin > 1:
            note(duration(time.monotonic() - begin))
        return check_rows(json.loads(out.read_text()), f"bench_{name}")

    def read_comments(self, lines: list[str]) -> None:
        for line in lines:
            curve = re.match(r"# curve (\S+) (\S+) (.*)", line)
            if curve:
                graph, library, points = curve.groups()
                pairs = [[float(x) for x in point.split(":")] for point in points.split()]
                self.curves.setdefault(graph, {})[library] = pairs
            elif line.startswith("#") and line not in self.notes:
                self.notes.append(line)
                note(line[1:].strip())


# ---- benchmarks between processes
#
# A program bench_NAME with such parts understands `inside PART [--suffix TEXT] [--quick] --json FILE` in every process of
# a job of two, or of `processes`, and `inside transport`, which prints what carries its messages.


@dataclass(frozen=True)
class Part:
    name: str
    suffix: str = ""  # of the row names: the difference from the default
    settings: dict = field(default_factory=dict)  # environment
    transport: str = "ucx"  # skipped if jobs use another one; "": any
    processes: int = 2


TCP = {"UCX_TLS": "tcp,self"}
MPI = {"PLX_TRANSPORT": "mpi"}
JOBS = {
    "net": (
        Part("round_trip", transport=""), Part("rates", transport=""), Part("bandwidth", transport=""),
        Part("all_reduce", transport=""), Part("large_all_reduce", transport="", processes=4),
        Part("checkpoint", transport=""), Part("put", transport=""), Part("atomics", transport=""),
        Part("put", "_tcp", TCP), Part("atomics", "_tcp", TCP), Part("put", "_over_mpi", MPI),
        Part("atomics", "_over_mpi", MPI), Part("round_trip", "_tcp", TCP), Part("rates", "_tcp", TCP),
        Part("round_trip", "_over_mpi", MPI), Part("rates", "_over_mpi", MPI),
        Part("flood", transport=""), Part("flood", "_over_mpi", MPI),
    ),
    "parquet": (Part("rotation", transport=""),),
}


def transport_of(there: programs, name: str) -> str:
    """The transport between two processes of this program; "" if they cannot be started or do not find each other,
    which is reported in one line."""
    missing = why_no_jobs()
    if missing is None:
        words = [*job_command(2), str(there.folder / f"bench_{name}"), "inside", "transport"]
        log, env = there.out / f"{name}-transport.log", there.environment(job_environment())
        code, lines = run_logged(words, log, "transport", env=env, limit_s=60)
        found = [match[1] for line in lines if (match := re.match(r"transport (\w+)$", line))]
        if code == 0 and found:
            return found[0]
        said = [line for line in lines if line.startswith("bench_")] or lines[-1:]
        missing = said[0] if said else f"mpirun ended with code {code}"
    note(f"rows between processes are omitted: {missing}")
    return ""


def run_jobs(there: programs, name: str, common: list[str]) -> list[dict]:
    """The rows of all parts that this machine can run. """
    parts = JOBS.get(name, ())
    transport = transport_of(there, name) if parts else ""
    rows, left_out = [], []
    for part in parts if transport else ():
        if part.transport not in ("", transport):
            left_out.append(part.name + part.suffix)
            continue
        arguments = ["inside", part.name, *(["--suffix", part.suffix] if part.suffix else []), *common]
        label = f"-{part.name}{part.suffix}"
        rows += there.run(name, arguments, label, before=job_command(part.processes), env=job_environment(part.settings))
    if left_out:
        note(f"{name}: {', '.join(left_out)} are omitted, for jobs use the transport {transport} here")
    return rows


# ---- pictures and tables


def draw_curves(all_programs: programs) -> None:
    """Draws METG if matplotlib is available; writes its data in any case."""
    data, picture = all_programs.out / "metg_curves.json", all_programs.out / "metg.png"
    caption = [line[1:].strip() for line in all_programs.notes if line.startswith(("# plx", "# graphs"))]
    data.write_text(json.dumps({"caption": "; ".join(caption), "curves": all_programs.curves}) + "\n")
    if pyenv.venv_python() is None and not pyenv.has(sys.executable, ("matplotlib",)) and not install.can_install():
        note(f"no matplotlib here: draw {shown(data)} elsewhere with bench/harness/bench_plot.py {data.name} metg.png")
        return
    python = pyenv.ensure("report")
    done = subprocess.run(
        [python, "-B", str(ROOT / "bench" / "harness" / "bench_plot.py"), str(data), str(picture)], env=pyenv.environment()
    )
    if done.returncode != 0:
        fail(f"drawing {shown(data)} failed")
    say(f"curves: {shown(picture)}")


def compare(rows: list[dict], names: list[str]) -> None:
    """The summary of `./plx bench rt`: the table of libraries, and the cases in which plx is not the fastest."""
    ours = [row for row in rows if row["name"].split("/")[0] in names or bench_tables.split_name(row["name"])]
    if not ours:
        return
    say()
    say(bench_tables.rivals_table(ours))
    slower = bench_tables.behind(ours)
    say()
    say("plx is the fastest in every row." if not slower else "plx is not the fastest in:\n  " + "\n  ".join(slower))


def pack(source: programs, names: list[str], folder: Path) -> None:
    """Packs programs and their shared libraries, except the system's C library, for a machine without them."""
    (folder / "lib").mkdir(parents=True, exist_ok=True)
    for name in names:
        program = source.folder / f"bench_{name}"
        shutil.copy2(program, folder)
        for library in re.findall(r"=> (/\S+) \(", output_of(["ldd", str(program)]) or ""):
            if not re.match(r"(libc|libm|ld-linux.*|libpthread|libdl|librt)\.so", Path(library).name):
                shutil.copy2(library, folder / "lib")
    say(f"packed: {folder} ({len(names)} programs); run them with bench/harness/run_bench.py --bin {folder} rt")


def thread_counts(text: str) -> list[int]:
    counts = text.split(",")
    if not all(part.isdigit() and int(part) > 0 for part in counts):
        fail(f"--threads is '{text}': expected a number, or several as in 1,2,4", 2)
    return [int(part) for part in counts]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./plx bench", description="Run benchmarks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs, or the groups rt (bench/workloads) and gpu; default: all")
    parser.add_argument("--json", metavar="FILE", help="write the numbers as a list of {name, value, unit, better}")
    parser.add_argument(
        "--threads", metavar="N[,N...]", type=thread_counts, default=[], help="several: a scaling table in Markdown"
    )
    parser.add_argument("--repeat", metavar="N", type=int, default=1, help="run everything N times: medians, and intervals with --against")
    parser.add_argument("--against", metavar="FILE", help="compare with earlier numbers, as --json wrote them")
    parser.add_argument("--history", metavar="FILE", help="append the numbers to this file, and print where they have changed")
    parser.add_argument("--machine", metavar="NAME", help="with --history: default host name, processor, cores")
    parser.add_argument(
        "--fail-above", metavar="PERCENT", type=float, help="exit code 1 if a cost has grown by more than this, by its interval"
    )
    parser.add_argument("--quick", action="store_true", help="smaller problems and fewer repetitions, to check that everything runs")
    parser.add_argument("--out", metavar="FOLDER", default=str(BUILD / "bench"), help="folder for logs, numbers and pictures")
    parser.add_argument("--only", metavar="PART[,PART...]", help="coalescing, parquet: only these parts")
    parser.add_argument("--append", action="store_true", help="coalescing, parquet: add to the existing measurements")
    parser.add_argument("--bin", metavar="FOLDER", help="run the programs in this folder without building")
    parser.add_argument("--pack", metavar="FOLDER", help="copy the programs and their libraries to this folder without running them")
    options = parser.parse_args(arguments)
    if options.json and not Path(options.json).resolve().parent.is_dir():
        fail(f"the folder of {options.json} does not exist", 2)
    if options.repeat < 1:
        fail(f"--repeat {options.repeat}: expected 1 or more", 2)
    if len(options.threads) > 1 and (options.repeat > 1 or options.against or options.history):
        fail("--repeat, --against and --history are for one number of threads", 2)
    if options.history and options.quick:
        fail("--history is for full runs: expected no --quick, whose numbers are of other problems", 2)
    if options.machine and not options.history:
        fail("--machine needs --history FILE", 2)
    if options.history:
        bench_history.check_writable(options.history)
    if options.fail_above is not None and not (options.against and options.repeat > 1):
        fail("--fail-above needs --against FILE and --repeat N, which give an interval", 2)
    if options.bin and not Path(options.bin).is_dir():
        fail(f"--bin {options.bin}: no such folder", 2)
    if options.only:
        parts = {"coalescing": bench_coalescing.parts(options.quick), "parquet": bench_parquet.sweeps(options.quick)}
        known = [part for name in parts if name in options.names or not options.names for part in parts[name]]
        bench_coalescing.check_only(options.only, known)
    return options


def chosen(asked: list[str], known: list[str], defaults: list[str]) -> list[str]:
    """The programs named on the command line, each once."""
    groups = {"rt": [w for w in workloads() if w in known], "gpu": [n for n in known if re.match("gpu(_|$)", n)]}
    names: list[str] = []
    for name in asked or defaults:
        if name not in known and name not in groups:
            fail(f"'{name}' is not a benchmark; expected one of: {', '.join(dict.fromkeys([*(g for g in groups if groups[g]), *known]))}", 2)
        names += groups.get(name, [name])
        names += [n for n in WITH.get(name, ()) if n in known]
    return list(dict.fromkeys(names))


def provide(options: argparse.Namespace) -> tuple[programs, list[str]]:
    """Builds the programs unless they exist, and returns those to run."""
    out = Path(options.out).resolve()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"--out {options.out}: expected a folder, or a place for one: {error.strerror}", 2)
    if options.bin:
        there = programs(Path(options.bin).resolve(), out)
        known = there.names()
    else:
        install.ensure(["build", "bench"])
        builds.configure("release")
        there = programs(BUILD / "release" / "bin", out)
        known = sorted(t.removeprefix("bench_") for t in builds.targets_of("release") if t.startswith("bench_"))
    names = chosen(options.names, known, known)
    if len(options.threads) > 1:  # a scaling table: of the default programs, unless others are named
        names = [n for n in names if n in SCALING or n in options.names]
    if not names:
        fail("there are no benchmarks" + (f" in {options.bin}" if options.bin else " in this checkout"), 2)
    if not options.bin:
        builds.build("release", [f"bench_{name}" for name in names])
    return there, names


def scale(there: programs, names: list[str], options: argparse.Namespace, common: list[str]) -> list[dict]:
    """Runs the programs with each number of threads and prints how they scale. The rows of the last number."""
    by_threads = {}
    for n in options.threads:
        rows: list[dict] = []
        for name in names:
            rows += there.run(name, ["--threads", str(n), *SCALING.get(name, []), *common], f"-{n}-threads")
        by_threads[n] = [row for row in rows if not row["name"].endswith("/w1")]
    text = bench_tables.scaling_markdown(by_threads)
    (there.out / "scaling.md").write_text(text + "\n")
    say()
    say(text)
    say(f"written: {shown(there.out / 'scaling.md')}")
    return by_threads[options.threads[-1]]


def run_once(there: programs, names: list[str], options: argparse.Namespace, common: list[str]) -> list[dict]:
    """The rows of all programs."""
    contest = workloads()
    with_threads = ["--threads", str(options.threads[0])] if options.threads else []
    rows = []
    for name in names:
        if name == "coalescing":  # needs several processes
            rows += bench_coalescing.run(there, options)
            continue
        rows += there.run(name, with_threads + common if name in contest else common if name in QUICK else [])
        rows += run_jobs(there, name, common)
        if name == "parquet":
            rows += bench_parquet.run(there, options)
    return rows


def compare_with_earlier(before: list[dict], rows: list[dict], fail_above: float | None) -> int:
    """Prints the table; the exit code."""
    found = bench_against.changes(before, rows)
    say()
    say(bench_against.against_table(found) if found else "no row of the earlier run was measured again")
    for line in bench_against.summary(found, before, rows):
        say(line)
    grown = bench_against.too_slow(found, fail_above) if fail_above is not None else []
    if grown:
        say(f"grown by more than {fail_above:g} %: {', '.join(grown)}")
    return 1 if grown else 0


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    before = bench_against.read(options.against) if options.against else []
    there, names = provide(options)
    if options.pack:
        pack(there, names, Path(options.pack).resolve())
        return 0
    common = ["--quick"] if options.quick else []
    if len(options.threads) > 1:
        rows = scale(there, names, options, common)
    else:
        rows = run_once(there, names, options, common)
        if options.repeat > 1:
            rows = bench_against.merged([rows, *(run_once(there, names, options, common) for _ in range(options.repeat - 1))])
        alone = [r for r in rows if not bench_tables.split_name(r["name"])]
        if alone and not options.against:
            say()
            lines = [[r["name"], bench_tables.number(r["value"]), r["unit"], r["better"]] for r in alone]
            say(table(lines, ["name", "value", "unit", "better"], "lrll"))
        compare(rows, [name for name in names if name in workloads()])
    if there.curves:
        draw_curves(there)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
        say(f"written: {options.json}")
    kept = not options.history or bench_history.record(options.history, run_for_history(rows, options))
    code = compare_with_earlier(before, rows, options.fail_above) if options.against else 0
    return code if kept else 1


def run_for_history(rows: list[dict], options: argparse.Namespace) -> dict:
    machine, threads = options.machine or bench_history.machine_name(), options.threads[0] if options.threads else None
    return bench_history.run_of(rows, machine, threads, bench_history.commit_of())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
