"""plx-dca on several processes: bitwise identical results on any number, checkpoints that continue on any other number,
and what happens when a process dies or is stopped.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from built import BIN, needs
from children import end_of, start, wait_for
from launched import command, complaints, environment, kill_beside_a_stopped_one, processes_of

PROGRAM = BIN / "plx-dca"
pytestmark = needs("plx-dca", job=True)

INPUT = """
[model]
u = 4
density = 0.9
[loop]
temperatures = [1.0, 0.5]
first_iterations = 2
iterations = 1
frequencies = 32
[solver]
walkers = 5
bins = 2
measurements = 200
warm_up = 200
[pairing]
frequencies = 2
"""
ENDLESS = ["--set", "solver.measurements=1000000", "--set", "output.checkpoint_interval_s=0.1"]
# Functions of two particles that stay on the processes of their walkers.
FUNCTIONS = [
    word
    for assignment in (
        'channels=["magnetic", "charge"]',
        "all_transfers=true",
        "frequencies=2",
        "distribute=always",
    )
    for word in ("--set", "four_point." + assignment)
]
FILES = ("temperatures.csv", "green.csv", "momenta.csv", "sites.csv", "cluster.json", "result.json")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, with the input `in.toml`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.toml").write_text(INPUT)
    return tmp_path


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The results of a run that is started without a launcher."""
    at = tmp_path_factory.mktemp("reference")
    (at / "in.toml").write_text(INPUT)
    subprocess.run([PROGRAM, "in.toml", "--out", "out", "--quiet"], cwd=at, check=True, timeout=600)
    return results(at / "out")


def run(n, *arguments):
    words = command(n, PROGRAM, *arguments)
    return subprocess.run(words, capture_output=True, text=True, timeout=600, env=environment())


def results(out) -> list:
    """The tables, without times and what was sent."""
    own = ("seconds", "wait_s", "exchanged_mb")
    with (out / "iterations.csv").open() as file:
        iterations = [{k: v for k, v in row.items() if k not in own} for row in csv.DictReader(file)]
    functions = [path.read_bytes() for path in sorted((out / "functions").glob("*.h5"))]
    transfers = [path.read_text() for path in out.glob("four_points.csv")]
    return [iterations, *((out / name).read_text() for name in FILES), *transfers, *functions]


def test_any_number_of_processes_gives_the_same_bits(folder, reference):
    for n, workers in ((1, 1), (2, 2), (4, 1)):
        done = run(n, "in.toml", "--out", f"out{n}", "--quiet", "--threads", workers)
        assert done.returncode == 0, done.stderr
        assert results(folder / f"out{n}") == reference
        with (folder / f"out{n}/iterations.csv").open() as file:
            iterations = list(csv.DictReader(file))
        assert all((float(row["exchanged_mb"]) > 0) == (n > 1) for row in iterations)
        # Measurements of all processes per second, and per core of all processes.
        rate, core = re.search(r"([\d.e+]+) measurements per second, ([\d.e+]+) per core", done.stdout).groups()
        measured_s = sum(float(row["seconds"]) for row in iterations)  # each is rounded to 1 ms
        assert 200 * len(iterations) / float(rate) == pytest.approx(measured_s, abs=1e-3 * len(iterations))
        assert float(core) == pytest.approx(float(rate) / (n * workers), rel=1e-4)


def test_distributed_functions_of_two_particles_have_the_same_bits(folder):
    assert run(0, "in.toml", "--out", "alone", "--quiet", *FUNCTIONS).returncode == 0
    rows = (folder / "alone/four_points.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 2 * 4  # temperatures, channels, momenta
    for n in (2, 3):
        done = run(n, "in.toml", "--out", f"out{n}", *FUNCTIONS)
        assert done.returncode == 0, done.stderr
        note = f"GB of memory on each of {n} processes, functions of two particles distributed"
        assert note in done.stderr, done.stderr
        assert results(folder / f"out{n}") == results(folder / "alone")
    done = run(2, "in.toml", "--out", "never", *FUNCTIONS, "--set", "four_point.distribute=never")
    assert done.returncode == 0 and "distributed" not in done.stderr, done.stderr
    assert results(folder / "never") == results(folder / "alone")


def test_wrong_input_gets_one_line_and_writes_nothing(folder):
    assert run(0, "in.toml", "--out", "used", "--quiet", "--set", "loop.temperatures=[1]").returncode == 0
    before = {path: path.stat().st_mtime_ns for path in Path("used").rglob("*")}
    for n in (0, 2):
        for arguments, words in (
            (["in.toml", "--set", "loop.frequencies=33"], "even number"),
            (["in.toml", "--threads", "0"], "--threads"),
            (["in.toml", "--out", "used"], "--resume used"),
            (["--resume", "nowhere"], "checkpoint.h5"),
        ):
            done = run(n, *arguments)
            lines = complaints(PROGRAM, done.stderr)
            assert done.returncode == 2 and len(lines) == 1 and words in lines[0], done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["in.toml", "used"]
    assert {path: path.stat().st_mtime_ns for path in Path("used").rglob("*")} == before


class Started:
    """A run that has written some checkpoints."""

    def __init__(self, n, *arguments, **settings):
        self.launcher = start(command(n, PROGRAM, *arguments, recovers=True), env=environment(**settings))
        path, seen = Path("out/checkpoint.h5"), set()

        def writes_another():
            if path.exists():
                seen.add(path.stat().st_mtime_ns)
            return len(seen) == 3

        wait_for(self.launcher, writes_another)

    def process(self, rank, n) -> int:
        return processes_of(self.launcher, n)[rank]

    def end(self):
        output, errors = end_of(self.launcher)
        return output, complaints(PROGRAM, errors)


@pytest.mark.parametrize("more", [[], FUNCTIONS], ids=["", "functions"])
def test_a_signal_to_one_of_two_stops_both_and_one_continues(folder, more):
    longer, many = ["--quiet", "--set", "solver.measurements=6000", *more], [round(1 - i / 400, 4) for i in range(200)]
    often = ["--set", "output.checkpoint_interval_s=0.03", "--set", f"loop.temperatures={many}"]
    job = Started(2, "in.toml", "--out", "out", *longer, *often)
    os.kill(job.process(1, 2), signal.SIGTERM)
    output, lines = job.end()
    # A temperature that is finished before the signal has too few iterations for its density.
    assert [line for line in lines if "the density was not reached" not in line] == []
    assert "stopped; continue with plx-dca --resume out" in output
    assert json.loads(Path("out/run.json").read_text())["status"] == "interrupted"
    # It ends with one more temperature than it has reached.
    finished = Path("out/temperatures.csv")
    reached = many[: 1 + (len(finished.read_text().splitlines()) if finished.exists() else 1)]
    less = ["--quiet", "--set", f"loop.temperatures={reached}"]
    assert run(3 if more else 0, "--resume", "out", *less).returncode == 0
    assert run(0, "in.toml", "--out", "whole", *longer, *less).returncode == 0
    assert results(folder / "out") == results(folder / "whole")


def signal_all(processes, which):
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, which)


def is_active(process) -> bool:
    """Whether a thread of the process is not stopped."""
    for stat in Path(f"/proc/{process}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # the thread has ended meanwhile
            if stat.read_text().rsplit(")", 1)[1].split()[0] not in "TtZX":
                return True
    return False


def test_killed_processes_with_distributed_functions_continue_on_another_number(folder):
    """All are killed while the checkpoint has a part of each; those that continue remove the parts at the end."""
    longer, many = ["--quiet", "--set", "solver.measurements=3000", *FUNCTIONS], [round(1 - i / 400, 4) for i in range(200)]
    often = ["--set", "output.checkpoint_interval_s=0.02", "--set", f"loop.temperatures={many}"]
    out = Path("out")
    job = start(command(3, PROGRAM, "in.toml", "--out", "out", *longer, *often), env=environment())

    def have_named_parts():
        """Stops all while the checkpoint names three parts, which are then the latest files but itself."""
        if len(list(out.glob("checkpoint-*-*.h5"))) != 3:
            return False
        processes = processes_of(job, 3)
        signal_all(processes, signal.SIGSTOP)
        wait_for(job, lambda: not any(map(is_active, processes)))  # a call that is under way ends after the signal
        parts = list(out.glob("checkpoint-*-*.h5"))
        # A row is written before the checkpoint that does not need the parts.
        before, after = (out / name for name in ("iterations.csv", "checkpoint.h5"))
        with contextlib.suppress(FileNotFoundError):
            times = [path.stat().st_mtime_ns for path in parts]
            if len(times) == 3 and before.stat().st_mtime_ns < min(times) and max(times) < after.stat().st_mtime_ns:
                return True
        signal_all(processes, signal.SIGCONT)
        return False

    wait_for(job, have_named_parts)
    signal_all(processes_of(job, 3), signal.SIGKILL)  # mpirun ends the others as well
    end_of(job)
    finished = out / "temperatures.csv"
    reached = many[: 1 + (len(finished.read_text().splitlines()) if finished.exists() else 1)]
    less = ["--quiet", "--set", f"loop.temperatures={reached}"]
    part = next(out.glob("checkpoint-*-1.h5"))
    part.rename("aside")
    done = run(2, "--resume", "out", *less)
    assert done.returncode == 2 and "use a folder that all hosts share" in done.stderr, "the checkpoint needs its parts"
    Path("aside").rename(part)
    done = run(2, "--resume", "out", *less)
    assert done.returncode == 0, done.stderr
    assert run(0, "in.toml", "--out", "whole", *longer, *less).returncode == 0
    assert results(out) == results(folder / "whole")
    assert list(out.glob("checkpoint-*.h5")) == []


def test_a_missing_part_is_refused(folder):
    job = Started(2, "in.toml", "--out", "out", "--quiet", *ENDLESS, "--set", "loop.first_iterations=1", *FUNCTIONS)
    os.kill(job.process(0, 2), signal.SIGTERM)
    job.end()
    parts = sorted(Path("out").glob("checkpoint-*.h5"))
    assert [part.name[-4] for part in parts] == ["0", "1"]
    parts[1].unlink()
    for n in (0, 2):
        done = run(n, "--resume", "out")
        lines = complaints(PROGRAM, done.stderr)
        assert done.returncode == 2 and len(lines) == 1 and "use a folder that all hosts share" in lines[0], done.stderr
    parts[1].write_bytes(parts[0].read_bytes())
    done = run(2, "--resume", "out", "--quiet")
    lines = complaints(PROGRAM, done.stderr)
    assert done.returncode == 2 and len(lines) == 1 and "it belongs to another checkpoint" in lines[0], done.stderr


@pytest.mark.parametrize("transport", ["ucx", "mpi"])
@pytest.mark.parametrize("victim, late", [(0, 1), (0, 2), (1, 0), (1, 2)])
def test_one_of_three_is_killed(folder, transport, victim, late):
    job = Started(3, "in.toml", "--out", "out", "--quiet", *ENDLESS, PLX_TRANSPORT=transport)
    processes = [job.process(rank, 3) for rank in range(3)]
    kill_beside_a_stopped_one(processes, victim, late)
    _, lines = job.end()
    # The first survivor reports it and writes the state, whichever notices it first.
    assert len(lines) == 1 and f"locality {victim} is lost" in lines[0] and "--resume out" in lines[0], lines
    record = json.loads(Path("out/run.json").read_text())
    assert record["status"] == "failed" and f"locality {victim} is lost" in record["message"], record
    assert record["process"]["pid"] == processes[1 if victim == 0 else 0]
    # The checkpoint is whole: two processes continue from it, and are stopped.
    again = Started(2, "--resume", "out", "--quiet")
    os.kill(again.process(0, 2), signal.SIGTERM)
    output, lines = again.end()
    assert lines == [] and "stopped; continue" in output
