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
from launched import command, complaints, environment, kill_beside_a_stopped_one, processes_of

PROGRAM, NO_MEMORY = BIN / "plx-parquet", BIN / "libno_memory.so"
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


SETTINGS = {"rows": (1, 0), "coalesced": (128, 1000), "packed": (0, 0)}  # in the table of iterations


def iterations(out):
    with Path(out, "iterations.csv").open() as file:
        return list(csv.DictReader(file))


def hdf5(out):
    """The arrays of the vertices, by name."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(Path(out, "vertices/F2.h5")) as file:
        return {name: file[name][:].tobytes() for name in file}


def run(n, *arguments, threads=1, **settings):
    words = command(n, PROGRAM, *arguments, "--quiet", "--threads", threads)
    return subprocess.run(words, capture_output=True, text=True, timeout=600, env=environment(**settings))


def test_any_number_of_processes_gives_the_same_bits(folder):
    assert run(0, "in.toml", "--out", "alone").returncode == 0
    # Several workers receive and store rows at the same time.
    for n, threads, form in ((2, 3, "rows"), (3, 1, "packed"), (4, 1, "coalesced"), (2, 2, "adaptive")):
        out = f"{form}{n}"
        done = run(n, "in.toml", "--out", out, "--set", f"network.rotation={form}", threads=threads)
        assert done.returncode == 0, done.stderr
        for name in TABLES:
            assert Path(out, name).read_text() == Path("alone", name).read_text(), (out, name)
        assert hdf5(out) == hdf5("alone"), out
        assert len(list(Path(out, "vertices").iterdir())) == n + 1  # a part of each process
        for row in iterations(out):
            parcels, messages = int(row["parcels"]), int(row["messages"])
            assert float(row["sent_mb"]) > 0 and 0 < float(row["network_overhead"]) <= 1, row
            assert (messages == parcels) if form in ("rows", "packed") else (0 < messages <= parcels), (form, row)
            if form != "adaptive":
                assert (int(row["coalesce_parcels"]), float(row["coalesce_interval_us"])) == SETTINGS[form], (form, row)


def test_rows_of_4_kib_and_more_share_messages(folder):
    large = ("--set", "grid.frequencies=[16]", "--set", "grid.bosons=1", "--set", "grid.sigma_frequencies=64")
    few = ("--set", "loop.iterations=3", "--set", "loop.history=0", "--set", "output.vertex=false")
    done = run(2, "in.toml", "--out", "out", *large, *few, "--set", "network.rotation=coalesced")
    assert done.returncode == 1, done.stderr  # not converged
    for row in iterations("out"):
        assert 1e6 * float(row["sent_mb"]) > 4096 * int(row["parcels"]) * 0.99, row
        assert 3 * int(row["messages"]) < int(row["parcels"]), row


def test_a_setting_of_the_user_replaces_that_of_the_form(folder):
    few = ("--set", "loop.iterations=2", "--set", "network.rotation=rows", "--set", "output.vertex=false")
    for k, setting in enumerate(("parquet_store_row=7,500,4000", "7,500,4000")):
        assert run(2, "in.toml", "--out", str(k), *few, PLX_COALESCE=setting).returncode == 1
        for row in iterations(str(k)):
            assert (row["coalesce_parcels"], row["coalesce_interval_us"], row["coalesce_bytes"]) == ("7", "500", "4000"), row
            assert int(row["messages"]) < int(row["parcels"]), row


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


@pytest.mark.parametrize("transport", ["ucx", "mpi"])
@pytest.mark.parametrize(
    ("victim", "late", "form"), [(0, 1, "packed"), (0, 2, "rows"), (1, 0, "rows"), (1, 2, "coalesced"), (2, 1, "adaptive")]
)
def test_a_killed_process_leaves_the_status_failed(folder, transport, victim, late, form):
    words = ("in.toml", "--out", "out", *ENDLESS, "--set", f"network.rotation={form}")
    job = start(command(3, PROGRAM, *words, recovers=True), env=environment(PLX_TRANSPORT=transport))
    wait_for(job, Path("out/iterations.csv").exists)
    processes = processes_of(job, 3)
    kill_beside_a_stopped_one(processes, victim, late)
    errors = end_of(job)[1]
    record = json.loads(Path("out/run.json").read_text())
    assert record["status"] == "failed" and f"locality {victim} is lost" in record["message"], (record, errors)
    assert record["process"]["pid"] == processes[1 if victim == 0 else 0]
    ours = complaints(PROGRAM, errors)
    assert len(ours) == 1 and f"locality {victim} is lost" in ours[0], (job.returncode, errors)


# NO_MEMORY and NO_RECORD of no_memory.cpp. Process 0 has no memory when it has just recorded the run, for one allocation
# or more than its end needs; one of the two has none for vertices; and ends then before it can record that.
@pytest.mark.skipif(not NO_MEMORY.exists(), reason=f"{NO_MEMORY} is not built")
@pytest.mark.parametrize(
    ("memory", "record"),
    [
        *(("0 0 1 1", ""), ("0 0 1 3", "")),
        *(("0 300000 40 0", ""), ("1 300000 40 0", "")),
        *(("0 300000 40 0", "2"), ("1 300000 40 0", "1")),
    ],
)
def test_a_process_without_memory_leaves_the_status_failed(folder, memory, record):
    options = ("loop.tolerance=1e-300", "loop.iterations=60", "grid.frequencies=[4]", "loop.history=32")
    few = [word for option in options for word in ("--set", option)]
    words = command(2, PROGRAM, "in.toml", "--out", "out", "--quiet", "--threads", 1, *few, recovers=True)
    done = end_of(start(words, env=environment(LD_PRELOAD=str(NO_MEMORY), NO_MEMORY=memory, NO_RECORD=record, NO_MEMORY_FILE="refused")))
    assert Path("refused").exists(), ("no allocation has failed", done)
    found = json.loads(Path("out/run.json").read_text())
    assert found["status"] == "failed" and "not converged" not in found["message"], (found, done)


def test_answers_are_given_once(folder):
    for arguments, words in ((["in.toml", "--validate"], "the input is fine"), (["--version"], "plx-parquet ")):
        assert run(2, *arguments).stdout.count(words) == 1
