"""plx-parquet from the outside: a short run and its files, invalid input, too little memory, the options on the page.

PLX_BIN names the folder of the program (./plx test sets it).
"""

from __future__ import annotations

import csv
import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("PLX_BIN", ROOT / "build" / "release" / "bin")) / "plx-parquet"
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not built")

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


def run(folder, *arguments):
    return subprocess.run([PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in.toml").write_text(INPUT)
    return tmp_path


def rows(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_run_writes_its_tables_and_its_config_repeats_it(folder):
    done = run(folder, "in.toml", "--out", "one", "--threads", "1")
    assert done.returncode == 0, done.stderr
    assert "GB of memory" in done.stderr and "eigenvalue" in done.stderr and done.stdout.count("iterations\n") == 3
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


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], "expected an input file"),
        (["nowhere.toml"], "nowhere.toml"),
        (["in.toml", "--set", "model.uu=3"], "model.u"),
        (["in.toml", "--set", "model.temperature=0"], "model.temperature"),
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


def test_a_signal_stops_a_run_after_an_iteration(folder):
    words = ["in.toml", "--out", "out", "--set", "loop.iterations=100000", "--set", "loop.tolerance=1e-300"]
    child = subprocess.Popen([PROGRAM, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while "iteration" not in (line := child.stderr.readline()):
        assert line
    child.send_signal(signal.SIGINT)
    output, errors = child.communicate(timeout=60)
    assert child.returncode == 130, errors
    assert "stopping after this iteration, with a checkpoint" in errors and "stopped; continue with plx-parquet --resume out" in output
    assert len(rows(folder / "out/iterations.csv")) >= 1
    assert json.loads((folder / "out/run.json").read_text())["status"] == "interrupted"
    assert not (folder / "out/.lock").exists()


def test_a_full_disk_gets_one_line(folder):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (120000, 120000))  # less than the vertices, more than a checkpoint without them

    done = subprocess.run(
        [PROGRAM, "in.toml", "--out", "out", "--quiet"],
        cwd=folder, preexec_fn=limit, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "out/vertex.csv" in done.stderr


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
