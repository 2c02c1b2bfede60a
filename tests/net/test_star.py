"""plx-star on many processes: bitwise identical results on any number, checkpoints that can be continued on any other
number, and what happens when a process dies, is stopped, or cannot write.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest
from built import BIN, needs
from children import end_of, start, wait_for
from launched import command, complaints, environment, kill_beside_a_stopped_one, processes_of

h5py = pytest.importorskip("h5py")
np = pytest.importorskip("numpy")

PROGRAM = BIN / "plx-star"
pytestmark = needs("plx-star", job=True)

INPUT = """
[problem]
name = "sedov"
[mesh]
root_blocks = [2, 2, 2]
max_level = 2
lower = [-0.5, -0.5, -0.5]
upper = [0.5, 0.5, 0.5]
[refinement]
interval = 2
gradient_of = ["press"]
[run]
t_end = 0.05
max_steps = 10
[output]
precision = "double"
"""
ENDLESS = ["--set", "run.max_steps=100000", "--set", "run.t_end=10"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, with the input `in.toml`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.toml").write_text(INPUT)
    return tmp_path


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The last mesh of the same run on one process, started without a launcher."""
    at = tmp_path_factory.mktemp("reference")
    (at / "in.toml").write_text(INPUT)
    subprocess.run([PROGRAM, "in.toml", "--out", "out", "--quiet"], cwd=at, check=True, timeout=600)
    return last_mesh(at / "out")


def run(n, *arguments):
    words = command(n, PROGRAM, *arguments, "--quiet")
    return subprocess.run(words, capture_output=True, text=True, timeout=600, env=environment())


def last_mesh(out) -> dict:
    path = sorted((Path(out) / "mesh").glob("*.athdf"))[-1]
    with h5py.File(path) as f:
        names = ("Levels", "LogicalLocations", "Updates", "prim", "x1f", "x2v")
        return {"time": float(f.attrs["Time"]), **{name: f[name][()] for name in names}}


def same(a: dict, b: dict) -> bool:
    return all(np.array_equal(a[name], b[name]) for name in a if name != "Updates")


@pytest.mark.parametrize(
    "n, workers",
    [pytest.param(n, w, marks=() if (n + w) % 2 else pytest.mark.slow) for n in (1, 2, 3, 4) for w in (1, 2)],
)
def test_any_number_of_processes_gives_the_same_bits(folder, reference, n, workers):
    done = run(n, "in.toml", "--out", "out", "--threads", workers)
    assert done.returncode == 0, done.stderr
    found = last_mesh("out")
    assert same(found, reference)
    assert len(found["Levels"]) > 64
    summary = json.loads(Path("out/run.json").read_text())
    assert summary["status"] == "finished" and summary["localities"] == n
    with h5py.File("out/mesh/sedov.00001.athdf") as f:
        assert ("Locality" in f) == (n > 1)
        if n > 1:
            assert list(np.unique(f["Locality"])) == list(range(n))
            idle = f["LocalityIdleRate"][()]
            assert np.all((0 <= idle) & (idle <= 1))
            for k in range(n):  # one value per locality
                assert len(np.unique(idle[f["Locality"][()] == k])) == 1


@pytest.mark.parametrize("n", [2, 3])
def test_devices_of_many_processes_give_the_same_bits(folder, reference, n):
    done = run(n, "in.toml", "--out", "out", "--threads", 1, "--set", "run.device=emulated")
    assert done.returncode == 0, done.stderr
    assert same(last_mesh("out"), reference)
    summary = json.loads(Path("out/run.json").read_text())
    assert summary["status"] == "finished" and summary["localities"] == n


def test_device_time_is_the_cost_of_blocks_on_a_fixed_mesh(folder):
    sets = ["--set", "run.device=emulated", "--set", "mesh.max_level=0"]
    done = run(2, "in.toml", "--out", "out", "--threads", 1, *sets)
    assert done.returncode == 0, done.stderr
    with h5py.File("out/mesh/sedov.00001.athdf") as f:
        assert np.all(f["Cost"][()] > 0) and np.all(f["Updates"][()] == 10)


def test_a_checkpoint_of_devices_continues_on_the_cpu(folder, reference):
    device = ["--set", "run.device=emulated", "--threads", 1]
    done = run(2, "in.toml", "--out", "out", "--set", "run.max_steps=5", *device)
    assert done.returncode == 0, done.stderr
    done = run(3, "--resume", "out", "--set", "run.max_steps=10", "--set", "run.device=cpu", "--threads", 1)
    assert done.returncode == 0, done.stderr
    assert same(last_mesh("out"), reference)


@pytest.mark.parametrize("first,then", [(4, 1), (1, 4), (2, 3)])
def test_a_checkpoint_continues_on_another_number(folder, reference, first, then):
    done = run(first, "in.toml", "--out", "out", "--set", "run.max_steps=5", "--threads", 1)
    assert done.returncode == 0, done.stderr
    done = run(then, "--resume", "out", "--set", "run.max_steps=10", "--threads", 1)
    assert done.returncode == 0, done.stderr
    assert same(last_mesh("out"), reference)


def test_wrong_input_is_one_line(folder):
    done = run(3, "in.toml", "--set", "hydro.cfl=2", "--out", "out")
    lines = complaints(PROGRAM, done.stderr)
    assert done.returncode == 2 and len(lines) == 1 and "hydro.cfl" in lines[0], done.stderr
    assert not Path("out").exists()


class Started:
    """An endless run on four processes, which writes a checkpoint after almost every step."""

    def __init__(self, **settings):
        words = ["in.toml", "--out", "out", *ENDLESS, "--quiet", "--threads", 1, "--set", "output.checkpoint_interval_s=0.05"]
        self.launcher = start(command(4, PROGRAM, *words, recovers=True), env=environment(**settings))
        wait_for(self.launcher, lambda: len(list(Path("out/checkpoint").glob("*.h5"))) >= 2)

    def processes(self) -> list:
        return processes_of(self.launcher, 4)

    def end(self):
        output, errors = end_of(self.launcher)
        return self.launcher.returncode, output, complaints(PROGRAM, errors)


@pytest.mark.parametrize("transport", ["ucx", "mpi"])
@pytest.mark.parametrize("victim, late", [(0, 1), (0, 3), (2, 0), (2, 1)])
def test_one_of_four_is_killed(folder, transport, victim, late):
    job = Started(PLX_TRANSPORT=transport)
    kill_beside_a_stopped_one(job.processes(), victim, late)
    _, _, lines = job.end()
    assert len(lines) == 1 and f"locality {victim} is lost" in lines[0] and "--resume out" in lines[0], lines
    summary = json.loads(Path("out/run.json").read_text())
    assert summary["status"] == "failed" and f"locality {victim} is lost" in summary["message"]
    step = int(sorted(Path("out/checkpoint").glob("*.h5"))[-1].name.split(".")[1])
    whole = subprocess.run([PROGRAM, "in.toml", "--out", "whole", "--quiet", *ENDLESS, "--set", f"run.max_steps={step + 4}"])
    assert whole.returncode == 0
    done = run(3, "--resume", "out", "--set", f"run.max_steps={step + 4}", "--threads", 1)
    assert done.returncode == 0, done.stderr
    assert same(last_mesh("out"), last_mesh("whole"))
    assert not list(Path("out").rglob("*.part"))


def test_a_full_disk_at_one_of_four_ends_all(folder):
    job = Started()
    resource.prlimit(job.processes()[2], resource.RLIMIT_FSIZE, (1000, 1000))  # emulates a full disk
    _, _, lines = job.end()
    assert len(lines) == 1 and "locality 2: cannot write" in lines[0] and "File too large" in lines[0], lines
    assert json.loads(Path("out/run.json").read_text())["status"] == "failed"
    assert not list(Path("out").rglob("*.part"))
    newest = sorted(Path("out/checkpoint").glob("*.h5"))[-1]
    assert len(list(Path("out/checkpoint/parts").glob(f"{newest.stem}.*"))) == 4
    step = int(newest.name.split(".")[1])
    done = run(2, "--resume", "out", "--set", f"run.max_steps={step + 1}")
    assert done.returncode == 0, done.stderr


def test_a_full_disk_at_the_last_mesh_file_is_no_finished_run(folder):
    steps = ["--set", "run.max_steps=200", "--set", "run.t_end=10", "--set", "output.checkpoint_at_end=false"]
    steps += ["--set", "output.mesh_at_start=false", "--set", "output.counters_interval_s=0"]
    words = ["in.toml", "--out", "out", "--quiet", "--threads", 1, *steps]
    job = start(command(4, PROGRAM, *words), env=environment())
    history = Path("out/history.csv")
    wait_for(job, lambda: history.exists() and len(history.read_text().splitlines()) > 1)
    # Enough for counters.csv, not for the last mesh file, the only other one that locality 2 writes.
    resource.prlimit(processes_of(job, 4)[2], resource.RLIMIT_FSIZE, (200_000, 200_000))
    _, errors = end_of(job)
    lines = complaints(PROGRAM, errors)
    assert job.returncode != 0 and len(lines) == 1, errors
    assert "locality 2: cannot write" in lines[0] and "/mesh/" in lines[0] and "File too large" in lines[0], lines
    assert json.loads(Path("out/run.json").read_text())["status"] == "failed"
    assert len(history.read_text().splitlines()) == 1 + 201
    assert not [path for path in Path("out/mesh").rglob("*") if path.is_file()]


def test_a_signal_to_one_of_four_stops_all_with_a_checkpoint(folder):
    job = Started()
    os.kill(job.processes()[3], signal.SIGTERM)
    _, output, lines = job.end()
    assert lines == [] and "plx-star --resume out" in output
    assert json.loads(Path("out/run.json").read_text())["status"] == "interrupted"


def test_a_missing_part_is_named(folder):
    assert run(4, "in.toml", "--out", "out", "--set", "run.max_steps=2").returncode == 0
    part = sorted(Path("out/checkpoint/parts").iterdir())[1]
    part.unlink()
    for n in (1, 3):
        done = run(n, "--resume", "out", "--set", "run.max_steps=4")
        assert done.returncode == 2
        lines = complaints(PROGRAM, done.stderr)
        assert len(lines) == 1 and f"its part 'parts/{part.name}': No such file" in lines[0], lines
