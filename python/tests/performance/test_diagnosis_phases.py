"""Runs whose cause is known by construction: the first sentence is true, and idle time is claimed once.

The folders say what the runtime would have written of runs with phases, with one serial part, with a long critical path,
of plx-exec, with cores taken away, and with slow instructions.
"""

from __future__ import annotations

import re

import pytest

from parallax.performance.diagnosis import Evidence, diagnose
from parallax.performance.diagnosis.idle import idle_time

SCHEDULER, THREADS = "/scheduler{locality#0/total}/", "/threads{locality#0/total}/"
IDLE_FINDINGS = ("latency", "contention", "serial", "imbalance", "chains", "starvation")


def folder_of(path, workers, profile=(), waits=(), samples=(), threads=None):
    """workers: (in tasks, overhead, idle, tasks); profile: (name, calls, total, longest); waits: (kind, object, name,
    waits, total, longest); samples: (time, name, value); threads: (begin, end, wait, ready)."""
    path.mkdir()
    tables = {
        "workers.csv": ["worker,tasks_s,overhead_s,background_s,idle_s,tasks,steals"]
        + [f"{i},{t},{o},0,{idle},{n},0" for i, (t, o, idle, n) in enumerate(workers)],
        "profile.csv": ["name,calls,yields,total_s,mean_s,min_s,max_s,stddev_s,share"]
        + [f"{name},{calls},0,{total},{total / calls},0,{most},0,1" for name, calls, total, most in profile],
        "waits.csv": ["kind,object,name,waits,total_s,max_s"] + [",".join(map(str, row)) for row in waits],
        "diagnose.csv": ["time_s,name,value,unit"] + [f"{t},{name},{value},1" for t, name, value in samples],
    }
    if threads is not None:
        tables["threads.csv"] = ["threads,row,begin_s,end_s,wait_s,ready_s"]
        tables["threads.csv"] += [f"1,{i},{b},{e},{w},{r}" for i, (b, e, w, r) in enumerate(threads)]
    for name, lines in tables.items():
        (path / name).write_text("\n".join(lines) + "\n")
    return path


def resident(end_s=10.0):
    return [(end_s * i / 100, "/machine/memory/resident", 1e9) for i in range(101)]


def first(path):
    found = diagnose(path)
    for word in ("while", "although", "more workers do not help"):
        assert word not in found.text().lower()
    claimed = sum(finding.share for finding in found.findings if finding.id in IDLE_FINDINGS)
    e = Evidence(path)
    if e.lived_equally:
        assert claimed <= e.share(e.idle_s) + 1e-9
    return found.findings[0]


def two_phases(path, waits=(), samples=()):
    """5 s in which eight workers are busy and 4000 tasks wait in queues, then 5 s of one task at a time."""
    rows = resident()
    for i in range(101):
        t = 0.1 * i
        rows += [(t, SCHEDULER + "queue/length", 4000 if t < 5 else 0), (t, THREADS + "time/idle", max(0, t - 5) * 7)]
    rows += [(10, "/machine/time/user", 45.0), (10, "/machine/time/system", 0.0), (10, THREADS + "time/span", 5.3)]
    workers = [(10.0, 0.01, 0.0, 40000)] + [(5.0, 0.01, 5.0, 40000)] * 7
    return folder_of(path, workers, [("cell", 320000, 40.0, 2e-4), ("serial", 400, 5.0, 0.0125)], waits, [*rows, *samples])


def test_a_serial_phase_is_named_with_its_interval_and_bound(tmp_path):
    finding = first(two_phases(tmp_path / "r"))
    assert finding.id == "serial"
    assert "Between 5.00 s and 10.0 s only 1.0 of 8 workers had work on average" in finding.text
    assert "at most 4.38 s (44 % of the run)" in finding.text and finding.saves_s == pytest.approx(4.375, rel=1e-3)


def test_a_queue_at_another_time_than_the_idle_workers_is_no_latency(tmp_path):
    assert [f.id for f in diagnose(two_phases(tmp_path / "r")).findings] == ["serial"]


def test_waits_for_a_lock_in_the_busy_phase_explain_no_idle_time(tmp_path):
    waits = [("mutex", "0x1", "stats", 320000, 200.0, 0.01)]
    finding = first(two_phases(tmp_path / "a", waits))
    assert finding.id == "serial" and "stats" not in diagnose(tmp_path / "a").text()
    grown = [(0.1 * i, THREADS + "wait/time/mutex", 200.0 * min(1.0, 0.1 * i / 5)) for i in range(101)]
    assert first(two_phases(tmp_path / "b", waits, grown)).id == "serial"
    assert "stats" not in diagnose(tmp_path / "b").text()


def test_waits_for_a_lock_in_the_idle_phase_do(tmp_path):
    waits = [("mutex", "0x1", "stats", 320, 35.0, 0.2)]
    grown = [(0.1 * i, THREADS + "wait/time/mutex", 7 * max(0.0, 0.1 * i - 5)) for i in range(101)]
    finding = first(two_phases(tmp_path / "r", waits, grown))
    assert finding.id == "contention" and finding.saves_s == pytest.approx(4.375, rel=0.05)
    assert "between 4.80 s and 10.0 s" in finding.text or "between 5.00 s and 10.0 s" in finding.text


def test_one_serial_part_without_samples_of_the_idle_time(tmp_path):
    workers = [(10.0, 0.01, 0, 10000)] + [(8.0, 0.01, 2.0, 10000)] * 7
    samples = resident() + [(10, THREADS + "time/span", 2.1), (10, "/machine/time/user", 66.0), (10, "/machine/time/system", 0)]
    finding = first(folder_of(tmp_path / "r", workers, [("cell", 80000, 64.0, 1e-3), ("setup", 20, 2.0, 0.1)], (), samples))
    assert finding.id == "imbalance"
    assert "Worker 0 had more work" in finding.text and "saves at most 1.75 s" in finding.text


def test_a_critical_path_bounds_what_more_workers_save(tmp_path):
    samples = resident() + [(10, THREADS + "time/span", 7.2), (10, "/machine/time/user", 28), (10, "/machine/time/system", 0)]
    run = folder_of(tmp_path / "r", [(7.0, 0.01, 3.0, 1000)] * 4, [("cell", 4000, 28.0, 0.05)], (), samples)
    finding = first(run)
    assert finding.id == "chains"
    assert "at least 7.20 s, so more workers save at most 2.81 s (28 %)" in finding.text
    assert "a shorter path saves at most 3.00 s (30 %) with these 4 workers" in finding.text


def test_a_run_of_one_task_after_the_other_is_a_chain(tmp_path):
    samples = [(0.05 * i, THREADS + "time/idle", 3 * 0.05 * i) for i in range(1, 17)] + [(0.9, THREADS + "time/span", 0.8)]
    run = folder_of(tmp_path / "r", [(0.225, 0, 0.675, 10)] * 4, [("link", 40, 0.9, 0.02)], (), samples)
    assert first(run).id == "chains"


def test_threads_that_live_for_a_part_of_the_run(tmp_path):
    """plx-exec: 9 s of main alone, then eight threads of 1 s. The run is as long as what was sampled."""
    workers, profile = [(9.0, 0, 1.0, 1)] + [(1.0, 0, 0, 1)] * 8, [("main", 1, 9.0, 9.0), ("work", 8, 8.0, 1.0)]
    waits = [("thread", "", "in main", 8, 1.0, 1.0)]
    cpu = [(10, "/machine/time/user", 17.0), (10, "/machine/time/system", 0.0)]
    finding = first(folder_of(tmp_path / "a", workers, profile, waits, resident() + cpu))
    assert diagnose(tmp_path / "a").headline.startswith("9 threads in a run of 10.0 s")
    assert finding.id == "serial" and "Thread 0 ran for 9.00 s of the run's 10.0 s" in finding.text

    threads = [(0.0, 10.0, 1.0, 0.0)] + [(9.0, 10.0, 0.0, 0.0)] * 8
    idle = [(0.1 * i, THREADS + "time/idle", max(0.0, 0.1 * i - 9)) for i in range(101)]
    finding = first(folder_of(tmp_path / "b", workers, profile, waits, resident() + cpu + idle, threads))
    assert finding.id == "serial" and "Between 0 s and 9.00 s only 1.0 of 9 threads ran on average" in finding.text
    assert finding.saves_s == pytest.approx(8.0) and '"main"' in finding.text
    assert "100 % of their time running" in diagnose(tmp_path / "b").headline  # waiting for the end of threads is no work lost
    assert diagnose(tmp_path / "b").not_judged == ""


def test_plx_exec_without_diagnose(tmp_path):
    """threads.csv and waits.csv alone, as plx-exec writes them without -d."""
    (tmp_path / "threads.csv").write_text(
        "threads,row,begin_s,end_s,wait_s,cpu_s,ready_s\n1,0,0,10,1,9,0\n" + "".join(f"1,{i},9,10,0,1,0\n" for i in range(1, 9))
    )
    (tmp_path / "waits.csv").write_text("kind,object,name,waits,total_s,max_s\nthread,0x1,in main,8,1.0,1.0\n")
    (tmp_path / "counters.csv").write_text(f"time_s,name,value,unit\n10,{THREADS}time/idle,1,s\n")
    finding = first(tmp_path)
    assert finding.id == "serial" and "Between 0 s and 9.00 s only 1.0 of 9 threads ran" in finding.text
    assert "plx-exec -d writes it" in diagnose(tmp_path).not_judged


@pytest.mark.parametrize(
    "cpu_s, ready_s, said",
    [
        ("3", "4", "30 % of their time running on a core, 40 % ready to run without one, 30 % waiting"),
        ("3", "0", "30 % of their time running on a core, under 0.1 % ready to run without one, 70 % waiting"),
        ("7", "", "70 % of their time running or ready to run, 30 % waiting"),  # the kernel does not report it
        ("8", "4", "60 % of their time running on a core, 40 % ready to run without one, under 0.1 % waiting"),  # clocks disagree
    ],
)
def test_the_headline_parts_running_from_ready(tmp_path, cpu_s, ready_s, said):
    """Two threads of 5 s, 3 s of all in waits."""
    (tmp_path / "threads.csv").write_text(
        f"threads,row,begin_s,end_s,wait_s,cpu_s,ready_s\n1,0,0,5,3,{cpu_s},{ready_s}\n1,1,0,5,0,0,{ready_s and 0}\n"
    )
    assert diagnose(tmp_path).headline == f"2 threads in a run of 5.00 s, 2.0 at a time on average: {said}."


def test_a_main_that_only_waits_for_its_threads_is_no_worker(tmp_path):
    threads = [(0.0, 10.0, 9.95, 0.0)] + [(0.0, 9.95, 0.0, 0.0)] * 4
    waits = [("thread", "", "in main", 4, 9.95, 9.95)]
    run = folder_of(tmp_path / "r", [(0.05, 0, 9.95, 1)] + [(9.95, 0, 0, 1)] * 4, (), waits, resident(), threads)
    assert diagnose(run).headline.startswith("5 threads (4 of them ran for 2 % of it or more) in a run of 10.0 s")
    assert first(run).id == "nothing"


def test_threads_that_wait_for_a_lock_in_turn(tmp_path):
    workers = [(0.1, 0, 10.0, 1)] + [(2.5, 0, 7.5, 1)] * 4
    waits = [("thread", "", "in main", 4, 10.0, 10.0), ("mutex", "0x1", "table", 1000, 30.0, 0.04)]
    samples = resident() + [(0.1 * i, THREADS + "time/idle", 4 * 0.1 * i) for i in range(101)]
    threads = [(0.0, 10.1, 10.0, 0.0)] + [(0.0, 10.0, 7.5, 0.0)] * 4
    finding = first(folder_of(tmp_path / "r", workers, [("f", 4, 10.0, 2.5)], waits, samples, threads))
    assert finding.id == "contention" and 'Threads wait for the mutex "table": 1,000 waits of 30.0 s' in finding.text
    assert "held" not in finding.text
    rows = [
        "object,name,function,file,line,holds,total_s,max_s",
        "0x1,table,insert(int),src/table.cpp,41,600,6.0,0.04",
        "0x2,,scan,src/table.cpp,70,900,9.0,0.04",  # another mutex
        "0x1,table,insert(int),src/table.cpp,41,1,0.5,0.5",
        "0x1,table,find(int),src/table.cpp,52,400,3.0,0.04",
    ]
    (tmp_path / "r" / "holds.csv").write_text("\n".join(rows) + "\n")
    assert '; "insert(int)" (table.cpp:41) held it for 6.50 s, in 601 holds; fixing' in first(tmp_path / "r").text


@pytest.mark.parametrize("ready_s, wanted", [(None, "off_core"), (20.0, "off_core"), (1.0, "waiting")])
def test_workers_on_no_core(tmp_path, ready_s, wanted):
    """A quarter of the cores taken by others, in 800 long slices; switches of service threads count for nothing."""
    samples = resident() + [
        (10, "/machine/time/user", 60.0),
        (10, "/machine/time/system", 0.0),
        (10, "/machine/context-switches/voluntary", 1500),
        (10, "/machine/context-switches/involuntary", 800),
    ]
    if ready_s is not None:
        samples.append((10, THREADS + "time/waiting-for-processor", ready_s))
    run = folder_of(tmp_path / "r", [(10.0, 0.0, 0.0, 100000)] * 8, [("cell", 800000, 80.0, 0.05)], (), samples)
    finding = first(run)
    assert finding.id == wanted
    assert "no record of which" in finding.text if ready_s is None else "no record" not in finding.text


def test_slow_instructions_and_page_faults(tmp_path):
    samples = resident() + [
        (10, "/machine/page-faults/major", 250000),
        (10, "/perf{locality#0/total}/instructions", 4e9),
        (10, "/perf{locality#0/total}/cycles", 2e11),
        (10, "/machine/time/user", 79.0),
        (10, "/machine/time/system", 0.0),
    ]
    run = folder_of(tmp_path / "r", [(9.9, 0.01, 0.05, 1000)] * 8, [("copy", 8000, 79.0, 0.02)], (), samples)
    assert first(run).id == "slow_instructions"
    assert [f.id for f in diagnose(run).findings] == ["slow_instructions", "page_faults"]


def test_causes_of_idle_time_sum_to_it(tmp_path):
    """3 s with queues and two of four idle, 3 s of waiting for a lock, 2 s alone, 2 s with half of the workers."""
    idle_rate = lambda t: 2 if t < 3 else 4 if t < 6 else 3 if t < 8 else 2  # noqa: E731
    idle_s, samples = 0.0, resident()
    for i in range(101):
        t = 0.1 * i
        samples += [(t, THREADS + "time/idle", idle_s), (t, SCHEDULER + "queue/length", 9 if t < 2.95 else 0)]
        samples.append((t, THREADS + "wait/time/mutex", 4 * min(3.0, max(0.0, t - 3))))
        idle_s += 0.1 * idle_rate(t + 0.05)
    workers = [((40 - 28) / 4, 0, 28 / 4, 1000)] * 4
    run = folder_of(tmp_path / "r", workers, [("f", 4000, 12.0, 0.01)], [("mutex", "0x1", "m", 120, 12.0, 0.1)], samples)
    parts = idle_time(Evidence(run))
    by_cause = [parts.queued.idle_s, parts.locked.idle_s, parts.alone.idle_s, parts.rest_s]
    assert sum(by_cause) == pytest.approx(28.0) and by_cause == pytest.approx([6, 12, 6, 4], abs=0.5)
    found = diagnose(run).findings
    assert {f.id for f in found} == {"latency", "contention", "serial"}
    assert sum(f.share for f in found) <= 0.7 + 1e-9
    assert all(re.search("at most .* s ", f.text) for f in found)


def test_the_headline_names_the_phases(tmp_path):
    found = diagnose(two_phases(tmp_path / "r"))
    assert "; workers with work: 8.0 from 0 s to 5.00 s, 1.0 from 5.00 s to 10.0 s." in found.headline
    assert [(p["begin_s"], p["end_s"]) for p in found.json()["phases"]] == [(0, 5), (5, 10)]


def test_a_run_without_phases_has_none(tmp_path):
    rows = resident()
    for i in range(101):  # idle for half of each second interval, and short gaps
        rows.append((0.1 * i, THREADS + "time/idle", 0.1 * i * 2 + 0.3 * (i // 2) + (0.7 if i > 50 else 0)))
    path = folder_of(tmp_path / "r", [(7.0, 0.0, 3.0, 1000)] * 8, [("cell", 8000, 56.0, 0.01)], samples=rows)
    assert diagnose(path).phases == []


def test_short_gaps_belong_to_their_phase(tmp_path):
    rows, idle = resident(), 0.0
    for i in range(101):
        rows.append((0.1 * i, THREADS + "time/idle", idle))
        idle += 0.1 * (7 if i >= 60 and i != 80 or i in (0, 1, 30) else 0)
    path = folder_of(tmp_path / "r", [(10.0, 0, 0.0, 1000)] + [(6.0, 0.0, 4.0, 1000)] * 7, [("cell", 8000, 52.0, 0.01)], samples=rows)
    assert [(round(p.begin_s, 6), round(p.end_s, 6)) for p in diagnose(path).phases] == [(0, 6), (6, 10)]
