"""plx-dca on several processes: bitwise identical results on any number, checkpoints that continue on any other number,
and what happens when a process dies or is stopped.
"""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from built import BIN, needs
from children import end_of, start, wait_for
from launched import command, complaints, environment, processes_of

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
    subprocess.run([PROGRAM, "in.toml", "--out", "out", "--quiet"], cwd=at, check=True, timeout=120)
    return results(at / "out")


def run(n, *arguments):
    words = command(n, PROGRAM, *arguments)
    return subprocess.run(words, capture_output=True, text=True, timeout=300, env=environment())


def results(out) -> list:
    """The tables, without times and what was sent."""
    own = ("seconds", "wait_s", "exchanged_mb")
    with (out / "iterations.csv").open() as file:
        iterations = [{k: v for k, v in row.items() if k not in own} for row in csv.DictReader(file)]
    functions = [path.read_bytes() for path in sorted((out / "functions").glob("*.h5"))]
    return [iterations, *((out / name).read_text() for name in FILES), *functions]


def test_any_number_of_processes_gives_the_same_bits(folder, reference):
    for n, workers in ((1, 1), (2, 2), (4, 1)):
        done = run(n, "in.toml", "--out", f"out{n}", "--quiet", "--threads", workers)
        assert done.returncode == 0, done.stderr
        assert results(folder / f"out{n}") == reference
        with (folder / f"out{n}/iterations.csv").open() as file:
            assert all((float(row["exchanged_mb"]) > 0) == (n > 1) for row in csv.DictReader(file))


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

    def __init__(self, n, *arguments):
        self.launcher = start(command(n, PROGRAM, *arguments, recovers=True), env=environment())
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


def test_a_signal_to_one_of_two_stops_both_and_one_continues(folder):
    longer, many = ["--quiet", "--set", "solver.measurements=6000"], [round(1 - i / 400, 4) for i in range(200)]
    often = ["--set", "output.checkpoint_interval_s=0.03", "--set", f"loop.temperatures={many}"]
    job = Started(2, "in.toml", "--out", "out", *longer, *often)
    os.kill(job.process(1, 2), signal.SIGTERM)
    output, lines = job.end()
    assert lines == [] and "stopped; continue with plx-dca --resume out" in output
    assert json.loads(Path("out/run.json").read_text())["status"] == "interrupted"
    # It ends with one more temperature than it has reached.
    finished = Path("out/temperatures.csv")
    reached = many[: 1 + (len(finished.read_text().splitlines()) if finished.exists() else 1)]
    less = ["--quiet", "--set", f"loop.temperatures={reached}"]
    assert run(0, "--resume", "out", *less).returncode == 0
    assert run(0, "in.toml", "--out", "whole", *longer, *less).returncode == 0
    assert results(folder / "out") == results(folder / "whole")


@pytest.mark.parametrize("victim", [0, 1])
def test_one_of_three_is_killed(folder, victim):
    job = Started(3, "in.toml", "--out", "out", "--quiet", *ENDLESS)
    os.kill(job.process(victim, 3), signal.SIGKILL)
    _, lines = job.end()
    # The first of the others reports it. When it has left for long, another may be the first and report the same.
    assert lines and all(f"locality {victim} is lost" in line and "--resume out" in line for line in lines), lines
    if victim != 0:
        assert json.loads(Path("out/run.json").read_text())["status"] == "failed"
    # The checkpoint is whole: two processes continue from it, and are stopped.
    again = Started(2, "--resume", "out", "--quiet")
    os.kill(again.process(0, 2), signal.SIGTERM)
    output, lines = again.end()
    assert lines == [] and "stopped; continue" in output
