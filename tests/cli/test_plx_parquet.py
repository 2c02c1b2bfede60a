"""plx-parquet from the outside: a short run and its files, invalid input, too little memory, the options on the page."""

from __future__ import annotations

import json
import os
import resource
import signal
import time
from pathlib import Path

import pytest
from children import end_of, wait_for
from built import ROOT
from programs import Program, rows

PARQUET = Program("plx-parquet")
run, start, pytestmark = PARQUET.run, PARQUET.start, PARQUET.needed

INPUT = """
[model]
u = 1
mu = 0.3
temperature = 1
[cluster]
name = "dimer"
[grid]
frequencies = [2, 3, 4]
sigma_frequencies = 32
[output]
vertex = true
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in.toml").write_text(INPUT)
    return tmp_path


def test_a_run_writes_its_tables_and_its_config_repeats_it(folder):
    done = run(folder, "in.toml", "--out", "one", "--threads", "1")
    assert done.returncode == 0, done.stderr
    assert "GB of memory" in done.stderr and "eigenvalue" in done.stderr and done.stdout.count("iterations\n") == 3
    assert done.stdout.count("extrapolated ") == 5 and ", exact " in done.stdout
    result = json.loads((folder / "one/result.json").read_text())
    assert result["complete"] and [r["frequencies"] for r in result["runs"]] == [2, 3, 4]
    assert len(rows(folder / "one/iterations.csv")) == sum(r["iterations"] for r in result["runs"])
    assert len(rows(folder / "one/self_energy.csv")) == 3 * 2 * 32
    assert len(rows(folder / "one/susceptibility.csv")) == 2 * (2 + 3 + 4)
    assert len(rows(folder / "one/eigenvalues.csv")) == 3 * 4 * 2
    vertex = rows(folder / "one/vertex.csv")
    assert len(vertex) == 2 * (8**2 + 12**2 + 16**2)
    assert all(float(row["density_re"]) != 0 for row in vertex)
    for row in rows(folder / "one/extrapolated.csv"):  # beside exact diagonalization
        assert abs(float(row["value"]) - float(row["exact"])) < 2e-4, row
        assert 0 < float(row["error"]) < 1e-3, row
    again = run(folder, "one/config.toml", "--out", "two", "--threads", "3", "--quiet")
    assert again.returncode == 0 and not again.stderr
    for name in ("self_energy.csv", "vertex.csv", "extrapolated.csv"):
        assert (folder / "two" / name).read_text() == (folder / "one" / name).read_text()
    assert run(folder, "in.toml", "--out", "one").returncode == 2


def test_a_device_gives_the_files_of_the_workers(folder):
    one = run(folder, "in.toml", "--out", "cpu", "--quiet")
    two = run(folder, "in.toml", "--out", "device", "--quiet", "--set", "run.device=emulated")
    assert one.returncode == two.returncode == 0, two.stderr
    for name in ("self_energy.csv", "vertex.csv", "extrapolated.csv", "eigenvalues.csv", "result.json"):
        assert (folder / "device" / name).read_text() == (folder / "cpu" / name).read_text(), name


def test_a_missing_device_is_refused_with_one_line(folder):
    done = run(folder, "in.toml", "--out", "out", "--set", "run.device=cuda", env=os.environ | {"CUDA_VISIBLE_DEVICES": ""})
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith('plx-parquet: run.device = "cuda": ')
    assert done.stderr.endswith('; run.device = "cpu" needs none\n')
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], "expected an input file"),
        (["nowhere.toml"], "nowhere.toml"),
        (["in.toml", "--set", "model.uu=3"], "model.u"),
        (["in.toml", "--set", "model.temperature=0"], "model.temperature"),
        (["in.toml", "--set", "run.device=gpu"], "run.device"),
        (["in.toml", "--set", "model.temperature=1e300"], "in [0.0001, 10000]"),
        (["in.toml", "--set", "model.u=1e300"], "in [1e-06, 1000]"),
        (["in.toml", "--set", "model.t_prime=1e300"], "in [-1000, 1000]"),
        (["in.toml", "--set", "cluster.name=trimer"], "atom, dimer, WIDTHxHEIGHT"),
        (["in.toml", "--set", "cluster.vectors=[1, 2, 2]"], "found 3"),
        (["in.toml", "--set", "grid.frequencies=[4, 2]"], "ascending"),
        (["in.toml", "--set", "grid.bosons=5"], "at most 4"),
        (["in.toml", "--set", "grid.frequencies=[16]"], "at least 48"),
        (["in.toml", "--set", "memory.limit_gb=1e-6"], "GB (memory.limit_gb)"),
        (["in.toml", "--set", "cluster.name=16x16", "--validate"], "available now"),
        (["in.toml", "--nonsense"], "--nonsense"),
        (["in.toml", "--out=", "--print-config"], "--out=: expected a value"),
        (["in.toml", "--out", "in.toml"], "expected a folder"),
    ],
)
def test_wrong_input_gets_one_line(folder, arguments, words):
    done = run(folder, *arguments)
    assert done.returncode == 2
    assert words in done.stderr and done.stderr.count("\n") == 1 and not done.stdout


def test_runs_that_fail_say_so(folder):
    few = run(folder, "in.toml", "--set", "loop.iterations=3", "--out", "few", "--quiet")
    assert few.returncode == 1 and "not converged after 3 iterations" in few.stderr and few.stderr.count("\n") == 1
    assert not json.loads((folder / "few/result.json").read_text())["complete"]
    strong = ["--set", "model.u=12", "--set", "model.mu=0", "--set", "model.temperature=0.2", "--set", "loop.damping=1"]
    wild = run(folder, "in.toml", *strong, "--set", "loop.history=0", "--out", "wild", "--quiet")
    assert wild.returncode == 1 and "diverges" in wild.stderr and wild.stderr.count("\n") == 1
    assert not json.loads((folder / "wild/result.json").read_text())["complete"]
    record = json.loads((folder / "wild/run.json").read_text())
    assert record["program"] == "plx-parquet" and record["status"] == "failed" and "diverges" in record["message"]


def test_a_signal_stops_a_run(folder):
    words = ["in.toml", "--out", "out", "--set", "loop.iterations=100000", "--set", "loop.tolerance=1e-300"]
    child = start(folder, *words)
    while "iteration" not in (line := child.stderr.readline()):
        assert line
    child.send_signal(signal.SIGINT)
    output, errors = end_of(child)
    assert child.returncode == 130, errors
    assert "stopping, with a checkpoint" in errors and "stopped; continue with plx-parquet --resume out" in output
    assert len(rows(folder / "out/iterations.csv")) >= 1
    assert json.loads((folder / "out/run.json").read_text())["status"] == "interrupted"
    assert not (folder / "out/.lock").exists()


def test_a_signal_stops_a_run_within_its_first_iteration(folder):
    # The bubbles of 65536 frequencies take minutes.
    child = start(folder, "in.toml", "--out", "out", "--set", "grid.sigma_frequencies=65536")
    wait_for(child, (folder / "out/run.json").exists)
    time.sleep(0.3)
    child.send_signal(signal.SIGTERM)
    output, errors = end_of(child)
    assert child.returncode == 130 and "stopped; continue with plx-parquet --resume out" in output, errors
    assert json.loads((folder / "out/run.json").read_text())["status"] == "interrupted"
    assert not (folder / "out/iterations.csv").exists()


def test_an_exception_leaves_the_status_failed(folder):
    larger = ["--set", "grid.frequencies=[10, 40]", "--set", "grid.sigma_frequencies=128", "--set", "loop.history=1"]
    child = start(folder, "in.toml", "--out", "out", *larger)
    while "iteration 1:" not in (line := child.stderr.readline()):
        assert line
    pages = int((Path("/proc") / str(child.pid) / "statm").read_text().split()[0])
    most = pages * resource.getpagesize() + (300 << 20)  # the second number of frequencies needs 530 MB
    resource.prlimit(child.pid, resource.RLIMIT_AS, (most, most))
    _, errors = end_of(child)
    assert child.returncode == 1 and "out of memory" in errors
    record = json.loads((folder / "out/run.json").read_text())
    assert record["status"] == "failed" and "out of memory" in record["message"]


def test_too_little_address_space_is_refused_at_the_start(folder):
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))  # noqa: E731
    done = run(folder, "in.toml", preexec_fn=limit)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "ulimit -v is 409600" in done.stderr
    assert not (folder / "run-parquet").exists()


def test_output_that_cannot_be_written_is_an_error(folder):
    with open("/dev/full", "w") as full:
        for arguments in (["--help"], ["in.toml", "--quiet"]):
            done = run(folder, *arguments, stdout=full)
            assert done.returncode == 2 and set(done.stderr.splitlines()) == {
                "plx-parquet: cannot write to stdout: No space left on device"
            }, arguments
    assert json.loads((folder / "run-parquet/result.json").read_text())["complete"]


def test_a_full_disk_gets_one_line(folder):
    for bytes_, name in ((120000, "vertex.csv"), (4000, "self_energy.csv")):
        out = name.removesuffix(".csv")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_))  # noqa: E731, B023
        done = run(folder, "in.toml", "--out", out, "--quiet", preexec_fn=limit)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and f"{out}/{name}" in done.stderr
        assert all(path.stat().st_size > 0 for path in (folder / out).iterdir())


def test_validate_and_options(folder):
    # The same memory as the run, with as many workers as it starts.
    few = ("in.toml", "--set", "loop.history=0", "--set", "loop.iterations=1")
    needed = [run(folder, *few, "--threads", n, "--validate").stdout.removeprefix("the input is fine; ") for n in "13"]
    assert all(words.startswith("the run needs") for words in needed) and needed[0] != needed[1]
    default = run(folder, *few, "--validate").stdout.removeprefix("the input is fine; ")
    assert default in run(folder, *few, "--out", "default").stderr
    assert "loop.damping" in run(folder, "in.toml", "--print-config").stdout
    assert (ROOT / "docs" / "plx-parquet.md").read_text().endswith(run(folder, "--list-options", "markdown").stdout)
    for path in sorted((ROOT / "inputs" / "parquet").glob("*.toml")):
        assert run(folder, str(path), "--validate").returncode == 0
