"""`parallax scale`: what is taken from a run, what is asked of plx-scale, tables and pictures of what it says."""

import csv
import os
import shutil
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from parallax import ReadError, Run
from parallax.cli import main
from parallax.star.run import read_toml
from parallax.star.scale.command import Plan, columns, copies_for, draw_all, settings
from parallax.star.scale.machine import Costs, Program, Setting, read_costs
from parallax.star.scale.workload import of_solve, read_workload
from parallax.tables import read_table

root = Path(__file__).parents[3]
folder = Path(os.environ.get("PLX_BIN", root / "build" / "release" / "bin"))
star, simulator = folder / "plx-star", folder / "plx-scale"
cluster = root / "apps" / "scale" / "platforms" / "cluster.xml"
needs_star = pytest.mark.skipif(not star.exists(), reason=f"{star} is not built")
needs_both = pytest.mark.skipif(not (star.exists() and simulator.exists()), reason=f"{simulator} is not built")


@pytest.fixture(scope="module")
def blast(tmp_path_factory):
    """A run on a mesh that does not change after its start."""
    out = tmp_path_factory.mktemp("scale") / "run"
    sets = [w for o in ("mesh.max_level=1", "run.max_steps=12", "refinement.interval=5") for w in ("--set", o)]
    command = [star, root / "inputs" / "sedov.toml", "--out", out, "--threads", "1", *sets]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return out


@needs_star
def test_the_measured_seconds_are_all_there(blast):
    run = Run(blast)
    w = read_workload(run)
    total = dict(zip(run.profile["name"], run.profile.numbers("total_s")))
    steps, looks = 12, 2
    block_steps = run.summary["cell_updates"] / 8**3
    stepping = (total["star.stage"] + total.get("star.flux_correction", 0)) / block_steps
    # The costs cover the last steps only: seconds differ between steps, their unit does not.
    assert 0.01 < w.seconds.mean() / stepping < 100
    assert w.costs.totals_s * block_steps == pytest.approx(total["star.totals"])
    assert w.costs.step_s * steps == pytest.approx(total["star.step"])
    looking = sum(total.get(f"star.{kind}", 0.0) for kind in ("refinement", "regrid", "adapt_mesh", "check"))
    assert w.costs.look_s * block_steps / 5 == pytest.approx(looking)
    assert looks == 2 and w.stages == 3 and w.variables == 6 and w.steps_per_look == 5
    assert w.costs.root_s >= 0 and 0 <= w.costs.jitter < 2


@needs_star
def test_the_file_says_what_was_read(blast, tmp_path):
    w = read_workload(Run(blast), Costs(rebuild_us_per_block=2.0, plan_us_per_block=3.0))
    (tmp_path / "w.toml").write_text(w.toml())
    data = read_toml(tmp_path / "w.toml")
    assert data["mesh"] == {"block_size": 8, "root_blocks": [2, 2, 2], "max_level": 1, "periodic": [False] * 3}
    assert data["costs"]["rebuild_s"] == pytest.approx(2e-6) and data["costs"]["plan_s"] == pytest.approx(3e-6)
    assert np.array_equal(data["blocks"]["seconds"], w.seconds)
    assert np.array_equal(data["blocks"]["z"], w.locations[:, 2])


@needs_star
@pytest.mark.parametrize("names", ["[]", '["iron","s_2","c"]'])
def test_species_of_any_name_are_variables(tmp_path, names):
    sets = [w for o in ("mesh.max_level=0", "run.max_steps=2", f"species.names={names}") for w in ("--set", o)]
    command = [star, root / "inputs" / "advection.toml", "--out", tmp_path, "--threads", "1", *sets]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert read_workload(Run(tmp_path)).variables == 6 + 3


@needs_star
def test_the_plan_of_a_new_mesh_is_no_work_of_the_checks(blast, tmp_path):
    shutil.copytree(blast, tmp_path / "run")
    with (blast / "history.csv").open() as file:
        header, *rows = csv.reader(file)
    rows[-1][header.index("blocks")] = "71"  # as if one of the 12 / 5 checks had made another mesh
    with (tmp_path / "run/history.csv").open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    none, planned = (read_workload(Run(tmp_path / "run"), Costs(plan_us_per_block=us)) for us in (0.0, 0.01))
    assert none.changes_per_look == pytest.approx(5 / 12) and planned.costs.plan_s == pytest.approx(1e-8)
    assert none.costs.look_s - planned.costs.look_s == pytest.approx(5 / 12 * 1e-8)


@needs_star
def test_the_passes_of_a_solve_are_those_that_a_run_measures(tmp_path):
    """All passes that begin tasks of their own, except the one that collects potentials for a stage."""
    sets = [w for o in ("mesh.max_level=0", "run.max_steps=1", "diagnostics.stars=0") for w in ("--set", o)]
    command = [star, root / "inputs" / "stars" / "two_stars.toml", "--out", tmp_path, "--threads", "1", *sets]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    measured = {name for name in Run(tmp_path).profile["name"] if name.startswith("star.gravity.")}
    assert measured - {"star.gravity.around"} == set(of_solve) - {f"star.gravity.{name}" for name in ("totals", "mean")}  # of periodic boxes


@needs_both
def test_sweep_writes_table_and_pictures(blast, tmp_path, capsys):
    options = ["--nodes", "2,4", "--workers", "2", "--strong-blocks", "64", "--weak-blocks", "32"]
    assert main(["scale", str(blast), *options, "--program", str(simulator), "--out", str(tmp_path)]) == 0
    table = read_table(tmp_path / "scale.csv")
    assert table.names() == columns
    assert set(table["curve"]) == {"strong", "weak"} and set(table["coalesced"]) == {0.0, 1.0}
    uses = [name for name in columns if name.endswith("_core_s") and not name.startswith("stepping_")]
    used = sum(table.numbers(name) for name in uses)
    assert used == pytest.approx(table["nodes"] * table["workers"] * table["time_s"])
    pictures = sorted(path.name for path in tmp_path.glob("*.png"))
    assert pictures == ["scale_events.png", "scale_idle.png", "scale_messages.png", "scale_phases.png", "scale_strong.png", "scale_weak.png"]
    printed = capsys.readouterr().out
    assert "strong, coalesced" in printed and "loss spreads" in printed
    # On four nodes: 4 (n - 1) messages, at most 2 log2(n) from one; a loss leaves three, which send each other a notice.
    four = table.numbers("nodes") == 4
    assert set(table.numbers("end_messages")[four]) == {12} and set(table.numbers("end_most")[four]) == {4}
    assert set(table.numbers("loss_messages")[four]) == {6} and set(table.numbers("end_messages")[~four]) == {0}


@needs_both
@pytest.mark.parametrize(
    "options, said",
    [
        (["--platform", "/nowhere.xml"], "/nowhere.xml: cannot be read"),
        (["--costs", "/nowhere.json"], "/nowhere.json: No such file"),
        (["--nodes", "8192", "--strong-blocks", "9000"], "8192 localities, 1 to a host: expected 8192 hosts, the platform has 4096"),
        (["--program", "/nowhere/plx-scale"], "/nowhere/plx-scale: No such file"),
    ],
)
def test_wrong_input_is_one_line(blast, tmp_path, capsys, options, said):
    before = [] if "--program" in options else ["--program", str(simulator)]
    assert main(["scale", str(blast), *before, *options, "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


@needs_star
@pytest.mark.parametrize(
    "name, change, said",
    [
        ("profile.csv", lambda text: text[: text.index("star.")], "profile.csv: no tasks star.stage: expected the whole table"),
        ("profile.csv", lambda text: re.sub(r"^(star.stage,\d+,[^,]*),[^,]*", r"\1,nan", text, flags=re.M), "star.stage: expected seconds"),
        ("config.toml", lambda text: text.replace("self = false", "self = true").replace("order = ", "# "), "no gravity.order"),
    ],
)
def test_tables_that_lack_something_are_refused(blast, tmp_path, capsys, name, change, said):
    shutil.copytree(blast, tmp_path / "run")
    table = tmp_path / "run" / name
    changed = change(table.read_text())
    assert changed != table.read_text()
    table.write_text(changed)
    assert main(["scale", str(tmp_path / "run")]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_a_run_without_costs_is_refused(shared_run, tmp_path, capsys):
    assert main(["scale", str(shared_run), "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "config.toml: no mesh.sides" in error and error.count("\n") == 1


def test_broken_platform_is_one_line(tmp_path):
    if not simulator.exists():
        pytest.skip("plx-scale is not built")
    (tmp_path / "w.toml").write_text(one_block)
    for text in ("<?xml version='1.0'?><plat", "", "<?xml version='1.0'?>\n<platform version='4.1'></platform>"):
        (tmp_path / "p.xml").write_text(text)
        with pytest.raises(ReadError) as caught:
            Program(simulator, tmp_path / "w.toml", tmp_path / "p.xml", Costs()).run(Setting(1))
        assert "p.xml" in str(caught.value)


one_block = """
[run]
stages = 3
variables = 5
steps_per_look = 4.0
[mesh]
block_size = 8
root_blocks = [1, 1, 1]
max_level = 0
periodic = [false, false, false]
[costs]
totals_s = 1e-6
look_s = 2e-6
rebuild_s = 0.0
step_s = 1e-5
root_s = 2e-5
jitter = 0.0
[blocks]
level = [0]
x = [0]
y = [0]
z = [0]
seconds = [3e-4]
"""


def test_a_step_is_the_sum_of_its_phases(tmp_path):
    if not simulator.exists():
        pytest.skip("plx-scale is not built")
    (tmp_path / "w.toml").write_text(one_block)
    replay = Program(simulator, tmp_path / "w.toml", cluster, Costs()).run(Setting(1))
    assert replay.times["stepping"] == pytest.approx(3.1e-4)
    assert replay.times["summing"] == pytest.approx(2.1e-5)
    assert replay.times["looking"] == pytest.approx(0.5e-6)
    assert replay.time_s == pytest.approx(3.315e-4)


def test_copies_are_as_equal_as_can_be():
    assert copies_for(512, 512) == (1, 1, 1)
    assert copies_for(512, 513) == (2, 1, 1)
    assert copies_for(512, 32768) == (4, 4, 4)
    assert copies_for(100, 1601) == (4, 4, 2)


def test_a_weak_scaling_point_that_is_too_large_is_omitted():
    found = settings(Plan(nodes=[1, 4, 8], weak_blocks=128, strong_blocks=512), blocks=512)
    assert [s.localities for curve, s in found if curve == "weak" and s.coalesced] == [4, 8]
    assert [s.localities for curve, s in found if curve == "strong" and not s.coalesced] == [1, 4, 8]


@pytest.mark.parametrize(
    "text, said",
    [
        ("[1]", "expected an object"),
        ('{"send": 1}', "'send' is no cost; expected send_us"),
        ('{"send_us": -1}', "send_us: expected a number of 0 or more, found -1"),
        ('{"send_us": "1"}', "send_us: expected a number"),
        ('{"messages": [[1, 2, 3]]}', "messages: expected rows of [bytes, us to send, us to receive, us between]"),
        ("{", "broken JSON"),
    ],
)
def test_wrong_costs_are_one_line(tmp_path, text, said):
    path = tmp_path / "costs.json"
    path.write_text(text)
    with pytest.raises(ReadError) as caught:
        read_costs(path)
    assert said in str(caught.value) and str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_the_costs_that_come_with_it_are_read():
    costs = read_costs(root / "apps" / "scale" / "costs.json")
    assert len(costs.messages) > 2 and costs.task_us > 0 and "measured" in costs.source


def test_pictures_are_drawn_from_a_table_with_one_curve(tmp_path):
    with (tmp_path / "scale.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for nodes in (2, 4, 8):
            writer.writerow(["strong", 1, nodes, 4, 512] + [1.0 / nodes] * (len(columns) - 5))
    paths = draw_all(tmp_path, read_table(tmp_path / "scale.csv"))
    assert len(paths) == 5 and all(path.stat().st_size > 5000 for path in paths)
