"""Tracers of runs: the same bits with any number of workers, and after a resume; times in orbits."""

from __future__ import annotations

import csv
import math
import subprocess

import pytest
from built import BIN, ROOT, needs

PROGRAM = BIN / "plx-star"
pytestmark = needs("plx-star")

SETS = [
    "mesh.root_blocks=[2,2,2]", "mesh.max_level=1", "refinement.interval=2", "tracers.number=100",
    "output.series=[{name=\"points\",kind=\"tracers\",variables=[\"density\",\"p_over_rho\"],every_steps=2}]",
]


def run(*words, code=0):
    done = subprocess.run([PROGRAM, *map(str, words), "--quiet"], capture_output=True, text=True, timeout=600)
    assert done.returncode == code, done.stderr
    return done.stderr


def start(out, *more, threads=2, name="sedov"):
    words = [word for s in [*SETS, *more] for word in ("--set", s)]
    run(ROOT / "inputs" / f"{name}.toml", *words, "--threads", threads, "--out", out)


def files(out):
    return {path.name: path.read_text() for path in sorted((out / "series").glob("*.csv"))}


def test_histories_have_the_same_bits_on_any_workers_and_after_a_resume(tmp_path):
    start(tmp_path / "whole", "run.max_steps=8")
    whole = files(tmp_path / "whole")
    assert list(whole) == [f"points.{i:05d}.csv" for i in range(5)]
    rows = list(csv.DictReader(whole["points.00004.csv"].splitlines()))
    assert len(rows) == 100 and [int(row["tracer"]) for row in rows] == list(range(100))
    assert all(float(row["density"]) > 0 for row in rows)

    start(tmp_path / "parts", "run.max_steps=4", threads=1)
    run("--resume", tmp_path / "parts", "--set", "run.max_steps=8", "--threads", 3)
    assert files(tmp_path / "parts") == whole


def test_tracers_may_begin_where_a_run_continues(tmp_path):
    start(tmp_path / "out", "run.max_steps=2", "tracers.number=0", "output.series=[]")
    change = ["--set", "tracers.number=20", "--allow-change", "tracers.number"]
    run("--resume", tmp_path / "out", "--set", SETS[-1], "--set", "run.max_steps=4", *change)
    assert len(files(tmp_path / "out")["points.00000.csv"].splitlines()) == 21
    again = ["--resume", tmp_path / "out", "--set", "tracers.number=30", "--allow-change", "tracers.number"]
    assert "expected the 20 tracers" in run(*again, code=2)


def test_tracers_that_begin_where_a_run_continues_are_of_no_star(tmp_path):
    """Its stars have moved: only the initial state knows them."""
    stars = ["mesh.root_blocks=[4,4,2]", "mesh.max_level=0", "gravity.order=3", "diagnostics.stars=0", "output.series=[]", "run.max_steps=1"]
    start(tmp_path / "out", *stars, "tracers.number=0", name="stars/two_stars")
    change = ["--set", "tracers.number=20", "--set", "run.max_steps=2", "--set", SETS[-1]]
    refused = run(
        "--resume", tmp_path / "out", *change, "--set", "tracers.placement=stars", "--allow-change",
        "tracers.number,tracers.placement", code=2,
    )
    assert "its stars have moved since the start; expected" in refused and refused.count("\n") == 1
    run("--resume", tmp_path / "out", *change, "--allow-change", "tracers.number")
    rows = list(csv.DictReader(files(tmp_path / "out")["points.00000.csv"].splitlines()))
    assert len(rows) == 20 and {row["star"] for row in rows} == {"0"}


def test_a_star_without_cells_is_one_line(tmp_path):
    sets = ["mesh.max_level=0", "two_stars.radii=[0.3,0.005]", "gravity.order=3", "tracers.number=9", "tracers.placement=stars"]
    words = [word for s in sets for word in ("--set", s)]
    refused = run(ROOT / "inputs" / "stars" / "two_stars.toml", *words, "--out", tmp_path / "out", code=2)
    assert "no cell has its centre in star 2" in refused and refused.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_times_in_orbits(tmp_path):
    """Two stars of mass 1/2 at a distance of 1: the orbit has the period 2 pi."""
    sets = ["mesh.max_level=0", "gravity.order=3", "run.time_unit=orbit", "run.t_end=0.02", "run.dt_max=0.002", "output.mesh_interval=0.01"]
    sets += ["output.series=[{name=\"late\",kind=\"slice\",every_time=0.01}]", "diagnostics.stars=0"]
    words = [word for s in sets for word in ("--set", s)]
    run(ROOT / "inputs" / "stars" / "two_stars.toml", *words, "--out", tmp_path / "out")
    with open(tmp_path / "out" / "history.csv", newline="") as file:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    assert rows[-1]["time"] / 0.02 == pytest.approx(2 * math.pi, rel=1e-6)
    assert max(row["dt"] for row in rows) <= 0.002 * rows[-1]["time"] / 0.02 * (1 + 1e-12)
    assert len(list((tmp_path / "out" / "mesh").glob("*.athdf"))) == 3
    assert len(list((tmp_path / "out" / "series").glob("late.*.h5"))) == 3
    refused = run("--resume", tmp_path / "out", "--set", "run.t_end=0.01", code=2)
    assert "run.t_end = 0.01 orbits: checkpoint" in refused and "is at time 0.02 orbits already" in refused
    still = ["--set", "rotating_star.omega=0", "--set", "run.time_unit=orbit"]
    refused = run(ROOT / "inputs" / "stars" / "rotating_star.toml", *still, "--out", tmp_path / "no", code=2)
    assert "expected a star that rotates, found rotating_star with an angular velocity of 0" in refused
    refused = run(ROOT / "inputs" / "sedov.toml", "--set", "run.time_unit=orbit", "--out", tmp_path / "no", code=2)
    assert "expected a problem with an orbit" in refused
