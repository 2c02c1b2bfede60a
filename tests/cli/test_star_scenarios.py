"""The inputs of stars, on coarse meshes: they start, their stars are found, and the centre of mass is at rest.
"""

from __future__ import annotations

import csv
import math
import subprocess

import pytest
from built import BIN, ROOT, needs

PROGRAM = BIN / "plx-star"
pytestmark = needs("plx-star")


def box(half, level):
    """A cube about the origin, its root grid one block."""
    return [f"mesh.lower=[{-half},{-half},{-half}]", f"mesh.upper=[{half},{half},{half}]", f"mesh.max_level={level}"]


COARSE = ["gravity.order=3", "gravity.theta=0.5", "run.max_steps=3", "diagnostics.interval=1", "output.analysis_interval=1"]
COARSE += ["output.analysis=[\"rotation\"]"]
MODEL = ["binary.tolerance=1e-2"]
SMALL = ["mesh.lower=[-1,-1,-0.75]", "mesh.upper=[1,1,0.75]", "mesh.root_blocks=[4,4,3]"]  # fifty_orbits with a third of the cells

# Input, options for a coarse mesh, and the masses of the stars in their order.
SCENARIOS = [
    ("two_stars", ["mesh.max_level=0"], [0.5, 0.5]),
    ("fifty_orbits", ["mesh.max_level=0", "output.history_interval=1", *SMALL, *MODEL], [0.5, 0.5]),
    ("merger_demo", ["mesh.max_level=0"], [0.6, 0.4]),
    ("collision", ["mesh.max_level=0"], [0.6, 0.4]),
    ("triple", [], [0.4, 0.3, 0.3]),
    ("dwd_q07", [*box(0.09484375, 2), *MODEL, "refinement.regions=[-0.047,0.047,-0.047,0.047,-0.02,0.02,2]"], [0.5, 0.35]),
    ("v1309", [*box(12.72, 3), *MODEL, "refinement.regions=[-6.4,6.4,-6.4,6.4,-3.2,3.2,2]"], [1.54, 0.17]),
]


def table(path):
    with open(path, newline="") as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


SLOW = ("stars/triple",)  # half of the time of all


@pytest.mark.parametrize(
    "name,sets,masses",
    [pytest.param(*s, id=s[0], marks=pytest.mark.slow if s[0] in SLOW else ()) for s in SCENARIOS],
)
def test_a_scenario_starts_with_its_stars_at_rest(tmp_path, monkeypatch, name, sets, masses):
    monkeypatch.chdir(tmp_path)
    words = [word for s in [*COARSE, *sets] for word in ("--set", s)]
    command = [PROGRAM, ROOT / "inputs" / "stars" / f"{name}.toml", *words, "--quiet", "--threads", "2", "--out", "out"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    history, rows = table("out/history.csv"), table("out/diagnostics.csv")
    assert len(history) == len(rows) == 4
    for row in (rows[0], rows[-1]):
        found = [row[f"star_{s + 1}_mass"] for s in range(len(masses))]
        assert found == pytest.approx(masses, rel=0.02)
        assert f"star_{len(masses) + 1}_mass" not in row
    # Momentum is small at the start, and constant to rounding with the outflow.
    first, last = history[0], history[-1]
    size = math.sqrt(2 * first["mass"] * first["energy"])
    start, end = ([row[f"momentum_{a}"] + row[f"out_momentum_{a}"] for a in "xyz"] for row in (first, last))
    assert math.hypot(*start) < 1e-3 * size
    changes = name in ("fifty_orbits", "merger_demo", "dwd_q07", "v1309")  # driving, or a mesh that rotates
    assert math.dist(start, end) < (1e-4 if changes else 1e-13) * size
    for row in table("out/analysis_rotation.csv"):
        assert math.hypot(*(row[f"centre_{a}"] for a in "xyz")) < 5e-3 * max(abs(rows[0]["star_1_centre_x"]), 0.1)


@pytest.mark.slow
def test_two_stars_keep_their_orbit_for_a_period(tmp_path, monkeypatch):
    """On the coarsest mesh, 5.2 cells per polar radius; fifty periods on finer ones: docs/verification.md."""
    monkeypatch.chdir(tmp_path)
    sets = ["mesh.max_level=0", "gravity.order=3", "run.t_end=1", "diagnostics.interval=20", "output.history_interval=20"]
    sets += SMALL
    command = [PROGRAM, ROOT / "inputs" / "stars" / "fifty_orbits.toml", *(word for s in sets for word in ("--set", s))]
    done = subprocess.run([*command, "--quiet", "--out", "out"], capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr
    history, rows = table("out/history.csv"), table("out/diagnostics.csv")
    assert rows[-1]["separation_1_2"] == pytest.approx(rows[0]["separation_1_2"], rel=0.03)
    assert rows[-1]["orbits_1_2"] == pytest.approx(1.0, abs=5e-3)
    spin = [row["total_angular_momentum_z"] + row["out_total_angular_momentum_z"] for row in history[1:]]
    assert max(spin) - min(spin) < 2e-14 * spin[0]
    assert history[-1]["angular_momentum_z"] == pytest.approx(spin[0], rel=0.1)  # of the velocities
    energy = [row["energy"] + row["gravity_energy"] + row["out_energy"] - row["from_floors_energy"] for row in history[1:]]
    assert max(energy) - min(energy) < 1e-13 * abs(energy[0])
