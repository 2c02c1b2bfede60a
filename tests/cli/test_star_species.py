"""Species with names and weights: diagnostics, light curves and mesh files of one gas, with and without weights."""

from __future__ import annotations

import csv
import subprocess

import h5py
import numpy as np
import pytest
from built import BIN, needs

PROGRAM = BIN / "plx-star"
pytestmark = needs("plx-star")

# A ball of helium (x < 0) and carbon (x > 0), hottest at its centre.
INPUT = """
[problem]
name = "expressions"
[expressions]
density = "1e-6 + exp(-20 * (x^2 + y^2 + z^2))"
pressure = "1e-8 + 0.5 * exp(-24 * (x^2 + y^2 + z^2))"
species = ["x < 0", "x >= 0"]
[species]
names = ["helium", "carbon"]
[units]
length = 7e10
mass = 2e33
time = "gravity"
[mesh]
root_blocks = [4, 4, 4]
lower = [-1, -1, -1]
upper = [1, 1, 1]
max_level = 0
[hydro]
gamma = 1.6666666666666667
[gravity]
self = true
order = 3
[diagnostics]
stars = 1
star_density = 0.5
interval = 1
[light_curve]
interval = 1
directions = ["+x", "-x"]
[run]
t_end = 1
max_steps = 1
[output]
precision = "double"
"""


def run(folder, *words, code=0):
    done = subprocess.run([PROGRAM, *map(str, words), "--quiet"], cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == code, done.stderr
    return done.stderr


def first_row(path) -> dict:
    return {name: float(value) for name, value in next(csv.DictReader(path.open())).items()}


def factor_of(folder, column) -> float:
    table = csv.DictReader((folder / "diagnostics_columns.csv").open())
    return next(float(row["factor"]) for row in table if row["name"] == column)


class Ball:
    """The files of the initial state of a run."""

    def __init__(self, folder):
        self.diagnostics, self.light = first_row(folder / "diagnostics.csv"), first_row(folder / "light_curve.csv")
        self.kelvin = self.diagnostics["star_1_temperature_max"] * factor_of(folder, "star_1_temperature_max")
        with h5py.File(sorted((folder / "mesh").glob("*.athdf"))[0]) as file:
            self.attributes = {key: float(file.attrs[key]) for key in file.attrs if key.startswith(("Weight_", "Temp"))}
            names = [name.decode() for name in file.attrs["VariableNames"]]
            self.values = dict(zip(names, file["prim"][:]))


@pytest.fixture(scope="module")
def balls(tmp_path_factory):
    folder = tmp_path_factory.mktemp("balls")
    (folder / "in.toml").write_text(INPUT)
    kinds = {
        "single": ["eos.molecular_weight=1.25"], "same": ["species.weights=[1.25,1.25]"],
        "mixture": ["species.weights=[1.25,2.5]"],
    }
    for name, sets in kinds.items():
        run(folder, "in.toml", "--out", name, *(word for s in sets for word in ("--set", s)))
    return folder, {name: Ball(folder / name) for name in kinds}


def test_species_of_one_weight_are_a_gas_of_this_weight(balls):
    single, same = balls[1]["single"], balls[1]["same"]
    assert single.kelvin > 1e5 and same.kelvin == pytest.approx(single.kelvin, rel=1e-12)
    assert same.light == pytest.approx(single.light, rel=1e-12) and single.light["luminosity"] > 0
    assert not any(key.startswith("Weight_") for key in single.attributes)
    assert single.attributes["TemperatureUnit"] == pytest.approx(1.25 * same.attributes["TemperatureUnit"], rel=1e-12)
    others = set(single.diagnostics) - {"star_1_temperature_max"}
    assert all(same.diagnostics[name] == single.diagnostics[name] for name in others if not np.isnan(single.diagnostics[name]))


def test_temperatures_of_a_mixture_follow_from_the_mesh_file(balls):
    same, mixture = balls[1]["same"], balls[1]["mixture"]
    weights = {key.removeprefix("Weight_"): value for key, value in mixture.attributes.items() if key.startswith("Weight_")}
    assert weights == {"helium": 1.25, "carbon": 2.5}
    assert all(np.array_equal(mixture.values[name], same.values[name]) for name in same.values)  # of the gas itself
    v = mixture.values
    star = v["rho"] > 0.5 * v["rho"].max()
    temperature = v["press"] / v["rho"] / sum(v[name] / weight for name, weight in weights.items())
    expected = temperature[star].max() * mixture.attributes["TemperatureUnit"]
    assert mixture.kelvin == pytest.approx(expected, rel=1e-12) and mixture.kelvin == pytest.approx(2 * same.kelvin, rel=1e-12)


def test_masses_of_named_species_in_a_star(balls):
    found, v = balls[1]["mixture"].diagnostics, balls[1]["mixture"].values
    star = v["rho"] > 0.5 * v["rho"].max()
    for name in ("helium", "carbon"):
        mass = (v["rho"] * v[name])[star].sum() * (2 / 32) ** 3
        assert found[f"star_1_species_{name}"] == pytest.approx(mass, rel=1e-12)


def test_each_half_shines_with_the_temperature_of_its_species(balls):
    """The ball is opaque: from +x only carbon is seen, of twice the temperature."""
    same, mixture = balls[1]["same"].light, balls[1]["mixture"].light
    assert mixture["luminosity_minus_x"] == pytest.approx(same["luminosity_minus_x"], rel=1e-9)
    assert mixture["luminosity_plus_x"] == pytest.approx(16 * same["luminosity_plus_x"], rel=1e-9)


def test_weights_do_not_change_under_rows_of_others(balls, tmp_path):
    folder = balls[0]
    run(tmp_path, folder / "in.toml", "--out", "out", "--set", "species.weights=[1.25,2.5]")
    before = (tmp_path / "out/diagnostics.csv").read_text()
    again = ["--resume", "out", "--set", "run.max_steps=2"]
    other = ["--set", "species.weights=[1.25,3]", "--allow-change", "species.weights"]
    error = run(tmp_path, *again, *other, code=2)
    assert "species.weights = [1.25, 3" in error and "out/diagnostics.csv has temperatures of these" in error
    assert (tmp_path / "out/diagnostics.csv").read_text() == before
    run(tmp_path, *again, *other, "--out", "other")
    run(tmp_path, *again, *other, "--set", "diagnostics.stars=0")
    run(tmp_path, "--resume", "out", "--set", "run.max_steps=3", "--set", "diagnostics.stars=1")
