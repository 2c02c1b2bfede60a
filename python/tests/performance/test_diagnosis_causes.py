"""Causes that are distinguished by what ran meanwhile: single tasks, devices, other users of the cores."""

from __future__ import annotations

import pytest
from test_diagnosis import TOTAL, folder_of, ids, job_of, only, write

from parallax.performance.diagnosis import diagnose

STEPS = ((0.7, 0.0, 0.3), (0.72, 0.0, 0.28), (0.68, 0.0, 0.32), (0.7, 0.0, 0.3))  # workers: in tasks, searching, idle


def steps(path, stddev_s=0.02, gaps=60, workers=STEPS, idle_blame_s=1.1, calls=80, span_s=None):
    """Tasks of 35 ms on average and at most 80 ms; workers slept `gaps` times."""
    counters = {TOTAL + "count/idle-periods": gaps, **({TOTAL + "time/span": span_s} if span_s else {})}
    run = folder_of(path, workers=workers, tasks=calls // 4, counters=counters)
    write(run / "profile.csv", ["name,calls,total_s,mean_s,min_s,max_s,stddev_s,share,idle_blame_s,lock_blame_s",
                                f"relax,{calls},2.8,{2.8 / calls},0.01,0.08,{stddev_s},1,{idle_blame_s},0"])  # fmt: skip
    return run


def test_an_imbalance_that_moves_between_workers(tmp_path):
    finding = only(steps(tmp_path / "r", span_s=0.95))
    assert finding.id == "uneven" and finding.saves_s == pytest.approx(0.3)
    assert '"relax" takes up to 80.0 ms, the mean is 35.0 ms, and workers were idle 60 times, for 20.0 ms on average' in finding.text
    assert "each worker was in tasks for 680 ms to 720 ms" in finding.text


def test_too_few_tasks_at_a_time(tmp_path):
    finding = only(steps(tmp_path / "r", stddev_s=0.001))
    assert finding.id == "coarse" and 'each of 80 tasks "relax" takes 35.0 ms, and workers were idle 60 times' in finding.text


def test_equal_tasks_that_are_too_few_burden_the_same_worker_each_time(tmp_path):
    workers = ((0.9, 0.0, 0.1), (0.62, 0.0, 0.38), (0.6, 0.0, 0.4), (0.58, 0.0, 0.42))
    assert only(steps(tmp_path / "r", stddev_s=0.001, workers=workers)).id == "coarse"
    assert only(steps(tmp_path / "s", workers=workers)).id == "imbalance"


@pytest.mark.parametrize(
    "other",
    [
        {"gaps": 10},  # idle for longer than a task takes
        {"gaps": 100_000},  # searches between tasks
        {"idle_blame_s": 0.2},  # something else ran meanwhile
        {"workers": ((1.0, 0, 0), (0.6, 0, 0.4), (0.6, 0, 0.4), (0.6, 0, 0.4))},  # one worker had more
        {"idle_blame_s": 7.0},  # one task at a time
        {"stddev_s": 0.001, "span_s": 0.9},  # a chain
    ],
)
def test_other_reasons_to_be_idle_are_neither(tmp_path, other):
    assert not {"uneven", "coarse"} & {f.id for f in diagnose(steps(tmp_path / "r", **other)).findings}


def beside_device(path, busy_s, unattributed_s):
    """Two workers, idle for 80 % of a second; a device that was busy, in kernels of 0.2 s, for busy_s of it."""
    run = folder_of(path, workers=((0.2, 0.0, 0.8),) * 2, profile=[("host", 100, 0.4, 0.01)])
    write(run / "device_profile.csv", ["device,kind,name,calls,items,failed,total_s,mean_s,min_s,max_s,share,bytes,bytes_per_s",
                                       f"gpu 0,kernel,relax,5,5,0,{busy_s},0.16,0.1,0.2,1,0,0"])  # fmt: skip
    with open(run / "diagnose.csv", "a") as f:
        for i in range(21):
            f.write(f"{0.05 * i},/gpu{{locality#0/device#0}}/time/busy,{busy_s * (i // 4) / 5},s\n")
            f.write(f"{0.05 * i},{TOTAL}idle/unattributed,{unattributed_s * i / 20},s\n")
    return run


def test_workers_that_wait_for_a_device(tmp_path):
    finding = only(beside_device(tmp_path / "r", 0.8, 1.6))
    assert finding.id == "device" and finding.figures["kernel"] == "relax"
    assert 'most of the time of gpu 0 is "relax", 5 calls of 160 ms on average' in finding.text
    assert 0.6 <= finding.share <= 0.8  # no more than the device was busy


@pytest.mark.parametrize("busy_s, unattributed_s", [(0.05, 1.6), (0.8, 0.1)])
def test_a_device_that_is_idle_or_beside_tasks_is_no_cause(tmp_path, busy_s, unattributed_s):
    assert "device" not in {f.id for f in diagnose(beside_device(tmp_path / "r", busy_s, unattributed_s)).findings}


def calling(path, unanswered_s, other_s):
    """A root of two workers, idle for 0.8 s as no task ran, for unanswered_s of it with calls to a locality that worked other_s."""
    run = job_of(folder_of(path, workers=((0.2, 0.0, 0.8),) * 2, profile=[("host", 100, 0.4, 0.01)]), [0.4, other_s])
    with open(run / "diagnose.csv", "a") as f:
        for i in range(21):
            f.write(f"{0.05 * i},/calls{{locality#0/total}}/time/unanswered,{unanswered_s * i / 20},s\n")
            f.write(f"{0.05 * i},{TOTAL}idle/unattributed,{1.6 * i / 20},s\n")
    return run


@pytest.mark.parametrize("other_s, advice", [(0.7, "Make the tasks that answer faster"), (0.01, "The messages themselves")])
def test_workers_that_wait_for_answers(tmp_path, other_s, advice):
    first = diagnose(calling(tmp_path / "r", 0.7, other_s)).findings[0]
    assert first.id == "answers" and first.share == pytest.approx(0.7) and first.suggestion.startswith(advice)
    assert "calls to other localities had no answer; of these, locality 1 was in tasks most" in first.text


def test_calls_that_are_answered_at_once_are_no_cause(tmp_path):
    assert "answers" not in ids(calling(tmp_path / "r", 0.05, 0.7))


def crowded(path, on_core, own):
    """Two workers of 1 s on two cores, on a core for a share of it and ready for the rest; own: CPU time of other threads."""
    run = folder_of(path)
    write(run / "workers.csv", ["worker,tasks_s,overhead_s,background_s,idle_s,tasks,steals,on_core_s,ready_s"]
          + [f"{i},1,0,0,0,1000,0,{on_core},{1 - on_core}" for i in range(2)])  # fmt: skip
    lines = ["time_s,name,value,unit", "1,/machine/processors,2,1"]
    for t in (0.05 * i for i in range(21)):
        lines += [f"{t},{TOTAL}time/processor,{2 * on_core * t},s", f"{t},{TOTAL}time/waiting-for-processor,{2 * (1 - on_core) * t},s"]
        lines += [f"{t},/machine/time/user,{(2 * on_core + own) * t},s", f"{t},/machine/time/system,0,s"]
    write(run / "diagnose.csv", lines)
    return run


@pytest.mark.parametrize("own, by", [(0.9, "threads"), (0.1, "programs")])
def test_the_user_of_the_cores_is_named(tmp_path, own, by):
    finding = only(crowded(tmp_path / "r", 0.5, own))
    assert finding.id == "off_core" and finding.figures["by"] == by
    said = {"threads": "as other threads of the program ran, which used 900 ms", "programs": "as other programs ran"}
    assert said[by] in finding.text


def test_more_workers_than_cores(tmp_path):
    run = crowded(tmp_path / "r", 0.5, 0.0)
    text = (run / "diagnose.csv").read_text()
    (run / "diagnose.csv").write_text(text.replace("processors,2", "processors,1"))
    assert only(run).figures["by"] == "workers" and "as there are 2 workers for 1 core;" in only(run).text
