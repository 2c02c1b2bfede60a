"""plx-dca from the outside: a short run and its files, invalid input, too little memory, the options on the page."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys

import pytest
from built import ROOT
from programs import Program, messages, rows

DCA = Program("plx-dca")
run, pytestmark = DCA.run, DCA.needed

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


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in.toml").write_text(INPUT)
    (tmp_path / "in.json").write_text(JSON)
    (tmp_path / "broken.json").write_text(JSON.replace('"beta": 1,', '"beta": 1;'))
    (tmp_path / "large.json").write_text(JSON.replace('"beta": 1,', '"beta": 1e400,'))
    (tmp_path / "twice.json").write_text(JSON.replace('"beta": 1,', '"beta": 2, "beta": 1,'))
    (tmp_path / "unknown.json").write_text(JSON.replace("CT-AUX", "CT_AUX"))
    return tmp_path


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
    warnings = [line.removeprefix("plx-dca: ") for line in done.stderr.splitlines() if "warning: " in line]
    assert warnings and json.loads((folder / "one/run.json").read_text())["message"] == "; ".join(warnings)
    assert not (folder / "one/four_points.csv").exists()
    again = run(folder, "one/config.toml", "--out", "two", "--threads", "3", "--quiet")
    assert again.returncode == 0 and not messages(again)
    assert (folder / "two/green.csv").read_text() == (folder / "one/green.csv").read_text()
    assert run(folder, "in.toml", "--out", "one").returncode == 2


def test_the_end_prints_measurements_per_second_and_core(folder):
    done = run(folder, "in.toml", "--out", "one", "--threads", "3", "--quiet")
    seconds = [float(row["seconds"]) for row in rows(folder / "one/iterations.csv")]  # rounded to 1 ms
    words = done.stdout.splitlines()[-1].split()
    assert 80 * len(seconds) / float(words[0]) == pytest.approx(sum(seconds), abs=1e-3 * len(seconds))
    assert float(words[4]) == pytest.approx(float(words[0]) / 3, rel=1e-4)
    assert words[1:4] + words[5:] == "measurements per second, per core (3 workers, warm-up included)".split()
    # A run with nothing left to do measures nothing.
    assert "measurements per second" not in run(folder, "--resume", "one").stdout


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
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
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
        (["in.toml", "--set", "loop.temperatures=[10000, 1]"], "model.density: at T = 10000: density 0.9: expected one between 0.99"),
        (["in.toml", "--set", "cluster.name=two"], "WIDTHxHEIGHT"),
        (["in.toml", "--set", "cluster.vectors=[1, 2, 2, 4]"], "found 0"),
        (["in.toml", "--set", "pairing.frequencies=40"], "at most loop.frequencies"),
        (["in.toml", "--set", "loop.frequencies=33"], "expected an even number, found 33"),
        (["in.toml", "--set", "model.u=1e308"], "in [0, 1000]"),
        (["in.toml", "--set", "model.t_prime=1e308"], "in [-10, 10]"),
        (["in.toml", "--set", "model.density=1e-300"], "in [0.001, 1.999]"),
        (["in.toml", "--set", "loop.temperatures=[1e300]"], "in [0.0001, 10000]"),
        (["in.toml", "--set", "loop.temperatures=[1e-300]"], "in [0.0001, 10000]"),
        (["in.toml", "--set", "loop.temperatures=[1.0, 0.5, 0.50000001]"], "found 0.50000001 more than once"),
        (["in.toml", "--set", "solver.sweeps=1e9"], "in [0.001, 10000]"),
        (["in.toml", "--set", "solver.expansion_k=1e300"], "in [0.001, 10000]"),
        (["in.toml", "--set", "cluster.name=20x20", "--set", "pairing.frequencies=32"], "GB that are available"),
        (["in.toml", "--set", "loop.temperatures=[0.0001]", "--set", "cluster.name=8x8"], "at expansion orders up to"),
        (["broken.json"], "broken.json:3:"),
        (["large.json"], "large.json:3:"),
        (["twice.json"], "twice.json: physics/beta: expected the key once"),
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
    assert not (folder / "run-dca").exists()


def test_too_little_address_space_is_refused_at_the_start(folder):
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))  # noqa: E731
    done = run(folder, "in.toml", preexec_fn=limit)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "ulimit -v is 409600" in done.stderr
    assert not (folder / "run-dca").exists()


def test_output_that_cannot_be_written_is_an_error(folder):
    with open("/dev/full", "w") as full:
        for arguments in (["--help"], ["--version"], ["in.toml", "--validate"], ["in.toml", "--quiet"]):
            done = run(folder, *arguments, stdout=full)
            assert done.returncode == 2, arguments
            assert messages(done) == ["plx-dca: cannot write to stdout: No space left on device"], arguments
    assert json.loads((folder / "run-dca/result.json").read_text())["complete"]


def test_without_interaction(folder):
    done = run(folder, "in.toml", "--set", "model.u=0", "--out", "one", "--quiet")
    assert done.returncode == 0 and "no eigenvector has the form cos kx - cos ky at 2 of 2 temperatures" in done.stdout
    for row in rows(folder / "one/temperatures.csv"):
        assert abs(float(row["double_occupancy"]) - float(row["density"]) ** 2 / 4) < 1e-6


def test_a_density_that_was_not_reached_gets_a_warning(folder):
    few = ["--set", "loop.first_iterations=1", "--set", "loop.temperatures=[0.5]", "--set", "solver.measurements=2000"]
    done = run(folder, "in.toml", *few, "--set", "model.density=0.6", "--quiet")
    assert done.returncode == 0 and "warning: T 0.5: the density was not reached: expected 0.6, found 0." in done.stderr


def test_inputs_of_dca_plus_plus_run_as_they_are(folder):
    done = run(folder, "in.json", "--out", "one", "--quiet")
    assert done.returncode == 0 and "DCA/initial-self-energy" in done.stderr
    assert len(rows(folder / "one/iterations.csv")) == 2
    assert float(rows(folder / "one/temperatures.csv")[0]["lambda_d_error"]) > 0
    assert not (folder / "one/four_points.csv").exists()
    again = run(folder, "one/config.toml", "--out", "two", "--quiet")
    assert again.returncode == 0
    assert (folder / "two/green.csv").read_text() == (folder / "one/green.csv").read_text()
    colder = run(folder, "in.json", "--set", "loop.temperatures=[1.0, 0.5]", "--set", "solver.method=rank_one", "--validate")
    assert colder.stdout.startswith("the input is fine; the run needs 0.0")


def test_an_input_of_dca_plus_plus_with_a_fixed_chemical_potential_and_other_keys(folder):
    text = JSON.replace('"chemical-potential": 0.0, "adjust-chemical-potential": true', '"chemical-potential": -1.5, "adjust-chemical-potential": false')
    text = text.replace('"measurements": 100,', '"measurements": [40, 100], "sweeps-per-measurement": [1, 2],')
    text = text.replace('"submatrix-size": 32', '"max-submatrix-size": 32, "neglect-Bennett-updates": false')
    (folder / "fixed.json").write_text(text)
    done = run(folder, "fixed.json", "--out", "one")
    assert done.returncode == 0, done.stderr
    assert all(row["mu"] == "-1.5" and 0 < float(row["acceptance"]) < 1 and float(row["drift"]) < 1e-8 for row in rows(folder / "one/iterations.csv"))
    notes = [line for line in done.stderr.splitlines() if "note: fixed.json: " in line]
    for words in ("/measurements: all iterations use the last number of the list, 100", "per-measurement: all iterations use the last", "without effect on the run: CT-AUX/neglect-Bennett-updates, output"):
        assert sum(words in note for note in notes) == 1, (words, notes)
    assert "iteration 2/2: mu  -1.5000" in done.stderr and "accepted 0." in done.stderr
    assert "the density was not reached" not in done.stderr


def test_fewer_walkers_than_workers_get_a_note(folder):
    less = ("--set", "loop.temperatures=[1.0]")
    done = run(folder, "in.toml", *less, "--threads", "3")
    assert done.returncode == 0 and "note: 2 walkers for 3 workers: some workers may be idle; --set solver.walkers=3 uses all" in done.stderr
    assert "walkers for" not in run(folder, "in.toml", *less, "--threads", "2", "--out", "two").stderr
    resumed = run(folder, "--resume", "run-dca", "--set", "loop.temperatures=[1.0, 0.9]", "--threads", "3")
    assert resumed.returncode == 0 and "T 0.9" in resumed.stderr and "walkers for" not in resumed.stderr


def test_validate_and_options(folder):
    assert run(folder, "in.toml", "--validate").stdout.startswith("the input is fine; the run needs 0.0")
    assert "solver.walkers" in run(folder, "in.toml", "--print-config").stdout
    assert (ROOT / "docs" / "plx-dca.md").read_text().endswith(run(folder, "--list-options", "markdown").stdout)
    for path in sorted((ROOT / "inputs" / "dca").glob("*.toml")):
        assert run(folder, str(path), "--validate").returncode == 0
