"""plx-dca from the outside: a short run and its files, invalid input, the options on the page.

PLX_BIN names the folder of the program (./plx test sets it).
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("PLX_BIN", ROOT / "build" / "release" / "bin")) / "plx-dca"
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not built")

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
walkers = 2
bins = 4
measurements = 80
warm_up = 200
[pairing]
frequencies = 2
"""


# An input of DCA++.
JSON = """{
  "output": {"directory": "./", "output-format": "HDF5"},
  "physics": {"beta": 1, "density": 0.9, "chemical-potential": 0.0, "adjust-chemical-potential": true},
  "single-band-Hubbard-model": {"t": 1.0, "U": 4},
  "DCA": {"initial-self-energy": "./T=2/dca.hdf5", "iterations": 2, "self-energy-mixing-factor": 0.8},
  "domains": {
    "real-space-grids": {"cluster": [[2, 0], [0, 2]]},
    "imaginary-frequency": {"sp-fermionic-frequencies": 32, "four-point-fermionic-frequencies": 2}
  },
  "Monte-Carlo-integration": {"seed": 7, "warm-up-sweeps": 10, "measurements": 100, "threaded-solver": {"walkers": 2}},
  "CT-AUX": {"expansion-parameter-K": 1, "submatrix-size": 32},
  "four-point": {"type": "PARTICLE_PARTICLE_UP_DOWN"}
}
"""


def run(folder, *arguments):
    return subprocess.run([PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in.toml").write_text(INPUT)
    (tmp_path / "in.json").write_text(JSON)
    (tmp_path / "broken.json").write_text(JSON.replace('"beta": 1,', '"beta": 1;'))
    (tmp_path / "unknown.json").write_text(JSON.replace("CT-AUX", "CT_AUX"))
    return tmp_path


def rows(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_run_writes_its_tables_and_its_config_repeats_it(folder):
    done = run(folder, "in.toml", "--out", "one", "--threads", "1")
    assert done.returncode == 0, done.stderr
    assert "no T_c: lambda_d stays below 1" in done.stdout and "lambda_d" in done.stderr
    assert [(row["t"], row["iteration"]) for row in rows(folder / "one/iterations.csv")] == [("1", "0"), ("1", "1"), ("0.5", "0")]
    temperatures = rows(folder / "one/temperatures.csv")
    assert all(float(row["lambda_d_error"]) > 0 for row in temperatures)
    assert len(rows(folder / "one/green.csv")) == 2 * 4 * 32
    assert sorted(path.name for path in (folder / "one/functions").iterdir()) == ["T0.5.h5", "T1.h5"]
    assert json.loads((folder / "one/result.json").read_text()) == {"t_c": None, "complete": True}
    again = run(folder, "one/config.toml", "--out", "two", "--threads", "3", "--quiet")
    assert again.returncode == 0 and not again.stderr
    assert (folder / "two/green.csv").read_text() == (folder / "one/green.csv").read_text()
    assert run(folder, "in.toml", "--out", "one").returncode == 2


def test_the_report_shows_a_run(folder):
    assert run(folder, "in.toml", "--out", "one", "--quiet").returncode == 0
    summary = json.loads((folder / "one/run.json").read_text())
    assert summary["program"] == "plx-dca" and summary["status"] == "finished"
    # Without the pictures, whose drawing takes seconds: python/tests/qmc has them.
    source = """
import sys
from parallax.hubbard.page import summary_lines
from parallax.qmc import curves, report, run, zone
of = run.DcaRun(sys.argv[1])
facts = report.DcaFacts(of)
pictures = [make(of) for make in (zone.zone_picture, curves.pairing_picture, curves.green_picture, curves.chain_picture)]
physics, speed = report.Physics(facts, {}), report.Speed(facts, {})
print(physics.table(), speed.tasks(), speed.diagnosis(), *summary_lines(facts, "page"))
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    command = [sys.executable, "-B", "-c", source, str(folder / "one")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    for text in ("qmc/advance", "measurements per second", "finished", "d-wave"):
        assert text in done.stdout


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], "expected an input file"),
        (["nowhere.toml"], "nowhere.toml"),
        (["in.toml", "--set", "model.uu=3"], "model.u"),
        (["in.toml", "--set", "model.density=2.5"], "model.density"),
        (["in.toml", "--set", "cluster.name=two"], "WIDTHxHEIGHT"),
        (["in.toml", "--set", "cluster.vectors=[1, 2, 2, 4]"], "found 0"),
        (["in.toml", "--set", "pairing.frequencies=40"], "at most loop.frequencies"),
        (["in.toml", "--set", "loop.frequencies=33"], "expected an even number, found 33"),
        (["broken.json"], "broken.json:3:"),
        (["unknown.json"], "unknown group 'CT_AUX'; expected 'CT-AUX'?"),
        (["in.toml", "--set", "solver.measurements=3"], "at least one per bin"),
        (["in.toml", "--nonsense"], "--nonsense"),
        (["in.toml", "--out", "in.toml"], "expected a folder"),
    ],
)
def test_wrong_input_gets_one_line(folder, arguments, words):
    done = run(folder, *arguments)
    assert done.returncode == 2
    assert words in done.stderr and done.stderr.count("\n") == 1 and not done.stdout


def test_inputs_of_dca_plus_plus_run_as_they_are(folder):
    done = run(folder, "in.json", "--out", "one", "--quiet")
    assert done.returncode == 0 and "DCA/initial-self-energy" in done.stderr
    assert len(rows(folder / "one/iterations.csv")) == 2
    assert float(rows(folder / "one/temperatures.csv")[0]["lambda_d_error"]) > 0
    again = run(folder, "one/config.toml", "--out", "two", "--quiet")
    assert again.returncode == 0
    assert (folder / "two/green.csv").read_text() == (folder / "one/green.csv").read_text()
    colder = run(folder, "in.json", "--set", "loop.temperatures=[1.0, 0.5]", "--set", "solver.method=rank_one", "--validate")
    assert colder.stdout == "the input is fine\n"


def test_validate_and_options(folder):
    assert run(folder, "in.toml", "--validate").stdout == "the input is fine\n"
    assert "solver.walkers" in run(folder, "in.toml", "--print-config").stdout
    assert (ROOT / "docs" / "plx-dca.md").read_text().endswith(run(folder, "--list-options", "markdown").stdout)
    for path in sorted((ROOT / "inputs" / "dca").glob("*.toml")):
        assert run(folder, str(path), "--validate").returncode == 0
