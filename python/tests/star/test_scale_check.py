"""`parallax scale-check`: real runs on one process, the replays, the owner of each block."""

import importlib.util
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from parallax import ReadError
from parallax.cli import main
from parallax.star.scale.check import Balancer, cut_curve
from parallax.star.scale.machine import Program, Setting
from parallax.star.scale.workload import RealRuns, workload_of

root = Path(__file__).parents[3]
folder = Path(os.environ.get("PLX_BIN", root / "build" / "release" / "bin"))
cluster = root / "apps" / "scale" / "platforms" / "cluster.xml"
recorder, simulator = folder / "plx-scale-record", folder / "plx-scale"
needs_recorder = pytest.mark.skipif(not recorder.exists(), reason=f"{recorder} is not built")
needs_both = pytest.mark.skipif(not (recorder.exists() and simulator.exists()), reason=f"{simulator} is not built")


def real_program():
    """Its processes run on one core; several tests may run at the same time."""
    spec = importlib.util.spec_from_file_location("real_runs", root / "apps" / "scale" / "real_runs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cores = sorted(os.sched_getaffinity(0))
    core = cores[int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % len(cores)]
    module.cores_here, module.LIMIT_S = lambda: [core], 600
    return module


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """One process, one turn, a small mesh."""
    path = tmp_path_factory.mktemp("real") / "real.json"
    program = real_program()
    program.PROBLEMS = {"small": ("sedov.toml", ["mesh.max_level=1"], 1, 2)}
    data = program.measure(recorder, [1], ["small"], turns=1, budget_s=0)
    path.write_text(json.dumps(data))
    return path


@needs_recorder
def test_a_recording_has_the_work_of_its_steps(real):
    runs = RealRuns(real)
    (recording,) = runs.together("small", 1)
    assert [s.warm for s in recording.segments] == [True, False, False] and recording.steps == 8
    assert runs.measured_s("small", 1) == pytest.approx(sum(sum(s.step_s) for s in recording.segments if not s.warm), rel=1e-3)
    for s in recording.segments:
        assert s.seconds.shape == (3, 1, len(s.levels)) and np.all(s.seconds > 0)
        # The blocks' tasks are inside their step; printed numbers are rounded.
        assert all(step.sum() < whole + 1e-5 for step, whole in zip(s.seconds[:, 0], s.step_s))
    stages = 3 * sum(len(s.levels) * len(s.step_s) for s in recording.segments if not s.warm)
    assert recording.of_root("calls")["star.stage"] == stages
    assert 0 < recording.seconds_of("stage", "flux_correction") < recording.wall_s


@needs_both
def test_one_process_is_replayed_with_all_its_work(real, tmp_path, capsys):
    # No test asks how long something takes: the limit is out of reach.
    assert main(["scale-check", str(real), "--program", str(simulator), "--out", str(tmp_path), "--limit", "1e9"]) == 0
    (row,) = json.loads((tmp_path / "check.json").read_text())["compared"]
    assert row["processes"] == 1 and row["steps"] == 8 and row["replayed_messages"] == 0
    (recording,) = RealRuns(real).together("small", 1)
    work = [s.seconds.sum(axis=(1, 2)).mean() for s in recording.segments if not s.warm]
    assert row["phases_s"]["stepping"] >= 4 * sum(work)
    assert row["replayed_s"] == pytest.approx(sum(row["phases_s"].values()))
    assert row["uses_s"]["work"] + row["uses_s"]["overhead"] == pytest.approx(row["replayed_s"])
    assert (tmp_path / "scale_check.png").stat().st_size > 5000
    assert len((tmp_path / "check.csv").read_text().splitlines()) == 2
    assert "real ms/step" in capsys.readouterr().out


@needs_both
def test_beyond_the_limit_is_exit_code_1(real, tmp_path, capsys):
    data = json.loads(real.read_text())
    for locality in data["problems"]["small"]["together"]["1"][0]["localities"]:
        locality["wall_s"] *= 30
    (tmp_path / "slow.json").write_text(json.dumps(data))
    assert main(["scale-check", str(tmp_path / "slow.json"), "--program", str(simulator), "--out", str(tmp_path)]) == 1
    # -97 %, also where a busy machine makes the real run up to three times as long as its replay, or shorter
    assert re.search(r"beyond 15 %: small on 1 process, -(9\d|100)\.", capsys.readouterr().out)


@needs_recorder
def test_the_replay_is_of_the_recorded_run(real):
    runs = RealRuns(real)
    (recording,) = runs.together("small", 1)
    segment, costs = recording.segments[1], runs.machine_costs(recording)
    parts = np.zeros(len(segment.levels), dtype=int)
    w = workload_of(recording, segment, segment.seconds_at(1, parts), costs, parts, True)
    assert np.array_equal(w.seconds, segment.seconds[1, 0]) and w.changes_per_look == 1.0
    blocks = len(segment.levels)
    assert w.costs.totals_s * blocks * 8 == pytest.approx(recording.seconds_of("totals"))
    changed = sum(len(s.levels) for s in recording.segments if s.changed and not s.warm) / (2 * blocks)
    assert (w.costs.look_s + w.costs.rebuild_s + changed * w.costs.plan_s) * blocks * 2 == pytest.approx(
        recording.seconds_of("refinement", "regrid", "check", "adapt_mesh")
    )
    # A plan copies the mesh, the decision that it stays reads two tables.
    assert costs.plan_us_per_block > costs.rebuild_us_per_block > 0
    assert costs.task_us > 0 and costs.handoff_us > 0 and "measured" in costs.source


@needs_both
def test_a_replay_with_gravity_has_the_tasks_of_the_run(tmp_path):
    program = real_program()
    program.PROBLEMS = {"stars": ("stars/two_stars.toml", ["mesh.max_level=0"], 1, 1)}
    (tmp_path / "real.json").write_text(json.dumps(program.measure(recorder, [1], ["stars"], turns=1, budget_s=0)))
    runs = RealRuns(tmp_path / "real.json")
    (recording,) = runs.together("stars", 1)
    segment, costs = recording.segments[1], runs.machine_costs(recording)
    w = workload_of(recording, segment, segment.seconds[0, 0], costs, carried=True)
    (tmp_path / "w.toml").write_text(w.toml())
    replay = Program(simulator, tmp_path / "w.toml", cluster, costs).run(Setting(1))
    in_stages = [kind for kind in recording.data["kinds"] if kind in ("star.stage", "star.flux_correction") or ".gravity." in kind]
    calls = sum(recording.of_root("calls")[kind] for kind in in_stages)
    assert calls / recording.steps > 200  # 32 blocks and the nodes above them
    # The begin of the step, and two nodes of the exchange at its end, are not tasks of a block or refined node.
    assert replay.tasks["stepping"] == calls / recording.steps + 3
    begin = w.costs.step_s + w.costs.handoff_s
    assert replay.uses["stepping"]["work"] == pytest.approx(w.seconds.sum() + begin, rel=0.01)


@needs_recorder
def test_process_counts_above_the_cores_are_omitted_with_a_line(capsys, monkeypatch):
    program = real_program()
    monkeypatch.setattr(program, "cores_here", lambda: [min(os.sched_getaffinity(0))])
    program.PROBLEMS = {"small": ("sedov.toml", ["mesh.max_level=0"], 1, 1)}
    data = program.measure(recorder, [1, 4], ["small"], turns=1, budget_s=0)
    assert list(data["problems"]["small"]["together"]) == ["1"]
    assert "4 processes: omitted, there are only 1 core" in capsys.readouterr().out


@pytest.mark.parametrize("text, said", [("{", "JSONDecodeError"), ("{}", "KeyError"), ("[1]", "TypeError")])
def test_a_file_of_something_else_is_one_line(tmp_path, text, said):
    path = tmp_path / "real.json"
    path.write_text(text)
    with pytest.raises(ReadError) as caught:
        RealRuns(path)
    assert "written by apps/scale/real_runs.py" in str(caught.value) and said in str(caught.value)


def test_the_curve_is_cut_as_the_mesh_does():
    assert cut_curve([1, 1, 1, 1], 2).tolist() == [0, 0, 1, 1]
    assert cut_curve([3, 1, 1, 1], 2).tolist() == [0, 1, 1, 1]
    assert cut_curve([0, 0, 0], 3).tolist() == [0, 1, 2]
    assert cut_curve([9, 1, 1], 3).tolist() == [0, 1, 2]  # one at least for each


def test_blocks_move_when_imbalance_has_cost_more_than_moving():
    blocks = [(0, x, 0, 0) for x in range(8)]
    balancer = Balancer(2, block_bytes=24576.0)
    assert balancer.cut(blocks).tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    small = np.array([2e-5] * 4 + [1e-5] * 4)  # 40 us a step: moving a block costs a millisecond
    assert not balancer.looked(blocks, small, blocks, steps=4)
    balancer, large = Balancer(2, block_bytes=24576.0), 100 * small
    balancer.cut(blocks)
    assert balancer.looked(blocks, large, blocks, steps=4)
    assert balancer.cut(blocks).tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    refined = [(1, i & 1, i >> 1 & 1, i >> 2) for i in range(8)] + blocks[1:]
    assert not balancer.looked(blocks, 0 * large, refined, steps=0)
    assert balancer.cut(refined).tolist() == [0] * 8 + [0, 0, 1, 1, 1, 1, 1]  # children lie where their parent was
    assert balancer.weights[refined[0]] == balancer.weights[blocks[1]]
