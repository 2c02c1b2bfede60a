"""plx-parquet on several processes: bitwise identical results, and one line for wrong input.

PLX_BIN names the folder of the program (./plx test sets it).
"""

from __future__ import annotations

import contextlib
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
PROGRAM = Path(os.environ.get("PLX_BIN", ROOT / "build" / "release" / "bin")) / "plx-parquet"
pytestmark = [
    pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not built"),
    pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun: many processes cannot be started"),
]

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


LONGER = ("--set", "loop.tolerance=1e-300", "--set", "loop.iterations=16")


def command(n, *arguments, threads=1):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PLX_")}
    env = kept | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    launcher = ["mpirun", "--oversubscribe", "-n", str(n)] if n > 0 else []
    words = [*launcher, PROGRAM, *arguments, "--quiet", "--threads", str(threads)]
    return words, env


def run(n, *arguments, threads=1):
    words, env = command(n, *arguments, threads=threads)
    return subprocess.run(words, capture_output=True, text=True, timeout=120, env=env)


def start(n, *arguments):
    words, env = command(n, *arguments)
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


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


def test_a_killed_run_of_four_continues_on_two(folder):
    assert run(0, "in.toml", "--out", "alone", *LONGER).returncode == 1
    often = ("--set", "output.checkpoint_interval_s=0.01")
    child = start(4, "in.toml", "--out", "out", *LONGER, *often)
    parts = "checkpoint-*-3.h5"
    while child.poll() is None and not (Path("out/checkpoint.h5").exists() and list(Path("out").glob(parts))):
        time.sleep(0.002)
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = line.read_bytes().split(b"\0")
            if words[0] == str(PROGRAM).encode() and str(folder).encode() == os.readlink(line.parent / "cwd").encode():
                os.kill(int(line.parent.name), signal.SIGKILL)
    child.communicate(timeout=120)
    assert child.returncode not in (0, 1) and not Path("out/extrapolated.csv").exists()
    done = run(2, "--resume", "out", "--set", "network.rotation=coalesced")
    assert done.returncode == 1, done.stderr  # as the whole run: not converged
    for name in TABLES:
        if Path("alone", name).exists():
            assert Path("out", name).read_text() == Path("alone", name).read_text(), name


def test_wrong_input_gets_one_line(folder):
    for arguments, words in (
        (["in.toml", "--set", "grid.bosons=7"], "at most 4"),
        (["in.toml", "--set", "memory.limit_gb=1e-3"], "processes with that memory each"),
    ):
        done = run(2, *arguments)
        ours = [line for line in done.stderr.splitlines() if line.startswith("plx-parquet: ")]
        assert done.returncode == 2 and words in ours[0] and not Path("run-parquet").exists()
        assert len(ours) == 1


@pytest.mark.parametrize(("victim", "form"), [(0, "packed"), (1, "rows"), (1, "coalesced"), (2, "adaptive")])
def test_a_killed_process_leaves_the_status_failed(folder, victim, form):
    longest = ("--set", "loop.iterations=100000", "--set", "loop.tolerance=1e-300")
    words, env = command(3, "in.toml", "--out", "out", *longest, "--set", f"network.rotation={form}")
    words.insert(1, "--enable-recovery")
    job = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    while not Path("out/iterations.csv").exists():
        assert job.poll() is None
        time.sleep(0.02)
    os.kill(processes_of(job, 3)[victim], signal.SIGKILL)
    _, errors = job.communicate(timeout=120)
    ours = [line for line in errors.splitlines() if line.startswith("plx-parquet: ")]
    assert len(ours) == 1 and f"locality {victim} is lost" in ours[0], errors
    record = json.loads(Path("out/run.json").read_text())
    assert record["status"] == "failed" and f"locality {victim} is lost" in record["message"]


def test_answers_are_given_once(folder):
    for arguments, words in ((["in.toml", "--validate"], "the input is fine"), (["--version"], "plx-parquet ")):
        assert run(2, *arguments).stdout.count(words) == 1
