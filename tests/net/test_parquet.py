"""plx-parquet on several processes: bitwise identical results, and one line for wrong input.
"""

from __future__ import annotations

import contextlib
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

PROGRAM = BIN / "plx-parquet"
pytestmark = needs("plx-parquet", job=True)

INPUT = """
[model]
u = 2
mu = 0.1
temperature = 1
[grid]
frequencies = [2]
sigma_frequencies = 32
[output]
vertex = true
"""
TABLES = ("self_energy.csv", "susceptibility.csv", "eigenvalues.csv", "vertex.csv", "extrapolated.csv")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.toml").write_text(INPUT)
    return tmp_path


ENDLESS = ("--set", "loop.tolerance=1e-300", "--set", "loop.iterations=100000", "--quiet", "--threads", 1)


def run(n, *arguments, threads=1):
    words = command(n, PROGRAM, *arguments, "--quiet", "--threads", threads)
    return subprocess.run(words, capture_output=True, text=True, timeout=300, env=environment())


def test_any_number_of_processes_gives_the_same_bits(folder):
    assert run(0, "in.toml", "--out", "alone").returncode == 0
    # Several workers receive and store rows at the same time.
    for n, threads, form in ((2, 3, "rows"), (3, 1, "packed"), (4, 1, "coalesced"), (2, 2, "adaptive")):
        out = f"{form}{n}"
        done = run(n, "in.toml", "--out", out, "--set", f"network.rotation={form}", threads=threads)
        assert done.returncode == 0, done.stderr
        for name in TABLES:
            assert Path(out, name).read_text() == Path("alone", name).read_text(), (out, name)
        with Path(out, "iterations.csv").open() as file:
            assert all(float(row["sent_mb"]) > 0 for row in csv.DictReader(file))


def test_processes_with_devices_give_the_same_bits(folder):
    assert run(0, "in.toml", "--out", "alone").returncode == 0
    for n, threads in ((0, 2), (2, 2), (3, 1)):  # with one, the vertices stay on the device; otherwise slabs stream
        done = run(n, "in.toml", "--out", f"device{n}", "--set", "run.device=emulated", threads=threads)
        assert done.returncode == 0, done.stderr
        for name in TABLES:
            assert Path(f"device{n}", name).read_text() == Path("alone", name).read_text(), (n, name)


def test_processes_without_the_device_end_with_one_line(folder):
    done = run(2, "in.toml", "--out", "out", "--set", "run.device=cuda")
    if done.returncode == 0:
        pytest.skip("there is a device")
    lines = complaints(PROGRAM, done.stderr)
    assert done.returncode == 2 and len(lines) == 1 and lines[0].startswith('plx-parquet: run.device = "cuda": '), lines


def test_a_killed_run_of_four_continues_on_two(folder):
    often = ("--set", "output.checkpoint_interval_s=0.01")
    job = start(command(4, PROGRAM, "in.toml", "--out", "out", *ENDLESS, *often), env=environment())
    wait_for(job, lambda: Path("out/checkpoint.h5").exists() and list(Path("out").glob("checkpoint-*-3.h5")))
    for process in processes_of(job, 4):
        with contextlib.suppress(ProcessLookupError):  # mpirun ends the others as well
            os.kill(process, signal.SIGKILL)
    end_of(job)
    assert job.returncode not in (0, 1) and not Path("out/extrapolated.csv").exists()
    # It ends with some more iterations than it has made.
    more = ("--set", f"loop.iterations={len(Path('out/iterations.csv').read_text().splitlines()) + 8}")
    done = run(2, "--resume", "out", "--set", "network.rotation=coalesced", *more)
    assert done.returncode == 1, done.stderr  # as the whole run: not converged
    assert run(0, "in.toml", "--out", "alone", "--set", "loop.tolerance=1e-300", *more).returncode == 1
    for name in TABLES:
        if Path("alone", name).exists():
            assert Path("out", name).read_text() == Path("alone", name).read_text(), name


def test_wrong_input_gets_one_line(folder):
    for arguments, words in (
        (["in.toml", "--set", "grid.bosons=7"], "at most 4"),
        (["in.toml", "--set", "memory.limit_gb=1e-3"], "processes with that memory each"),
    ):
        done = run(2, *arguments)
        ours = complaints(PROGRAM, done.stderr)
        assert done.returncode == 2 and words in ours[0] and not Path("run-parquet").exists()
        assert len(ours) == 1


@pytest.mark.parametrize(("victim", "form"), [(0, "packed"), (1, "rows"), (1, "coalesced"), (2, "adaptive")])
def test_a_killed_process_leaves_the_status_failed(folder, victim, form):
    words = ("in.toml", "--out", "out", *ENDLESS, "--set", f"network.rotation={form}")
    job = start(command(3, PROGRAM, *words, recovers=True), env=environment())
    wait_for(job, Path("out/iterations.csv").exists)
    os.kill(processes_of(job, 3)[victim], signal.SIGKILL)
    errors = end_of(job)[1]
    record = json.loads(Path("out/run.json").read_text())
    assert record["status"] == "failed" and f"locality {victim} is lost" in record["message"], (record, errors)
    ours = complaints(PROGRAM, errors)
    assert len(ours) == 1 and f"locality {victim} is lost" in ours[0], (job.returncode, errors)


def test_answers_are_given_once(folder):
    for arguments, words in ((["in.toml", "--validate"], "the input is fine"), (["--version"], "plx-parquet ")):
        assert run(2, *arguments).stdout.count(words) == 1
