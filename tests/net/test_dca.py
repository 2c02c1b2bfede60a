"""plx-dca on several processes: bitwise identical results on any number, checkpoints that continue on any other number,
and what happens when a process dies or is stopped.

PLX_BIN names the folder of the program (./plx test sets it).
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from launched import processes_of

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("PLX_BIN", ROOT / "build" / "release" / "bin")) / "plx-dca"
pytestmark = [
    pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not built"),
    pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun: many processes cannot be started"),
]

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


def environment() -> dict:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PLX_")}
    return kept | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def command(n, *arguments, recovers=False) -> list:
    launcher = ["mpirun", "--oversubscribe", *(["--enable-recovery"] if recovers else []), "-n", n] if n > 0 else []
    return [str(word) for word in (*launcher, PROGRAM, *arguments)]


def run(n, *arguments):
    return subprocess.run(command(n, *arguments), capture_output=True, text=True, timeout=120, env=environment())


def complaints(errors: str) -> list:
    """The messages of the program itself, without those of the launcher."""
    return [line for line in errors.splitlines() if line.startswith("plx-dca: ")]


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
            lines = complaints(done.stderr)
            assert done.returncode == 2 and len(lines) == 1 and words in lines[0], done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["in.toml", "used"]
    assert {path: path.stat().st_mtime_ns for path in Path("used").rglob("*")} == before


class Started:
    """A run that is in an iteration, and has written a checkpoint within it."""

    def __init__(self, n, *arguments):
        words = command(n, *arguments, recovers=True)
        self.launcher = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
        )
        deadline, seen = time.monotonic() + 60, set()
        while len(seen) < 3:
            assert self.launcher.poll() is None and time.monotonic() < deadline, self.launcher.communicate()
            path = Path("out/checkpoint.h5")
            seen |= {path.stat().st_mtime_ns} if path.exists() else set()
            time.sleep(0.01)

    def process(self, rank, n) -> int:
        return processes_of(self.launcher, n)[rank]

    def end(self):
        output, errors = self.launcher.communicate(timeout=60)
        return output, complaints(errors)


def test_a_signal_to_one_of_two_stops_both_and_one_continues(folder):
    longer = ["--set", "solver.measurements=6000"]
    assert run(0, "in.toml", "--out", "whole", "--quiet", *longer).returncode == 0
    job = Started(2, "in.toml", "--out", "out", "--quiet", *longer, "--set", "output.checkpoint_interval_s=0.03")
    os.kill(job.process(1, 2), signal.SIGTERM)
    output, lines = job.end()
    assert lines == [] and "stopped; continue with plx-dca --resume out" in output
    assert json.loads(Path("out/run.json").read_text())["status"] == "interrupted"
    assert run(0, "--resume", "out", "--quiet").returncode == 0
    assert results(folder / "out") == results(folder / "whole")


@pytest.mark.parametrize("victim", [0, 1])
def test_one_of_three_is_killed(folder, victim):
    job = Started(3, "in.toml", "--out", "out", "--quiet", *ENDLESS)
    os.kill(job.process(victim, 3), signal.SIGKILL)
    _, lines = job.end()
    assert len(lines) == 1 and f"locality {victim} is lost" in lines[0] and "--resume out" in lines[0], lines
    if victim != 0:
        assert json.loads(Path("out/run.json").read_text())["status"] == "failed"
    # The checkpoint is whole: two processes continue from it, and are stopped.
    again = Started(2, "--resume", "out", "--quiet")
    os.kill(again.process(0, 2), signal.SIGTERM)
    output, lines = again.end()
    assert lines == [] and "stopped; continue" in output
