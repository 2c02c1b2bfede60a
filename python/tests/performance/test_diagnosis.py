"""Each rule of a diagnosis on folders whose answer is known by construction; programs of C++ are in tests/diagnose."""

from __future__ import annotations

import json

import pytest

from parallax import NotARun, ReadError
from parallax.cli import main
from parallax.performance.diagnosis import diagnose

TOTAL = "/threads{locality#0/total}/"


def folder_of(
    path,
    workers=((1.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
    tasks=1000,
    profile=(),
    waits=(),
    counters=None,
    memory=None,
    path_json=None,
    blame=None,
):
    """workers: (in tasks, overhead, idle) of each; tasks: of each; profile: (name, calls, total, longest);
    waits: (kind, object, name, waits, total, longest); counters: {name: last value}; memory: bytes, a second apart;
    blame: {name: (idle, locks)}. Idle
    time and waits for mutexes grow evenly over the first second."""
    path.mkdir()
    lines = ["worker,tasks_s,overhead_s,background_s,idle_s,tasks,steals"]
    lines += [f"{i},{t},{o},0,{idle},{tasks},0" for i, (t, o, idle) in enumerate(workers)]
    write(path / "workers.csv", lines)
    more = ",idle_blame_s,lock_blame_s" if blame else ""
    lines = ["name,calls,total_s,mean_s,min_s,max_s,stddev_s,share" + more]
    for name, calls, total, most in profile:
        charged = "," + ",".join(map(str, blame.get(name, (0, 0)))) if blame else ""
        lines.append(f"{name},{calls},{total},{total / calls},0,{most},0,1{charged}")
    write(path / "profile.csv", lines)
    write(path / "waits.csv", ["kind,object,name,waits,total_s,max_s", *(",".join(map(str, row)) for row in waits)])
    known = {"/machine/time/user": 1e9, "/machine/time/system": 0, **(counters or {})}
    lines = ["time_s,name,value,unit"]
    lines += [f"{i},/machine/memory/resident,{value},bytes" for i, value in enumerate(memory or [1e6] * 20)]
    idle, locked = sum(row[2] for row in workers), sum(row[4] for row in waits if row[0] == "mutex")
    for i in range(21):
        lines += [f"{0.05 * i},{TOTAL}time/idle,{idle * i / 20},s"]
        lines += [f"{0.05 * i},{TOTAL}wait/time/mutex,{locked * i / 20},s"]
    lines += [f"20,{name},{value},1" for name, value in known.items()]
    write(path / "diagnose.csv", lines)
    if path_json is not None:
        (path / "critical_path.json").write_text(json.dumps(path_json))
    return path


def write(path, lines):
    path.write_text("\n".join(lines) + "\n")


def ids(path) -> list:
    return [finding.id for finding in diagnose(path).findings]


def only(path):
    (finding,) = diagnose(path).findings
    return finding


COST = {"/scheduler{locality#0/total}/task-cost": 1e-6}


def test_sampled_stacks_name_the_function_to_make_faster(tmp_path):
    run = folder_of(tmp_path / "r", profile=[("solve", 2000, 2.0, 0.01), ("other", 1, 0.1, 0.1)], counters=COST)
    head = "task,function,cpu_s,share,file,line,line_cpu_s"
    rows = ['other,f,9,0.8,,,', 'solve,"ns::inner<int, 2>",1.5,0.1,/a/b/inner.cpp,17,0.4', "solve,g,0.5,0.05,,,"]
    write(run / "stacks.csv", [head, *rows])
    assert 'make "solve" faster: 75 % of its CPU time is in ns::inner<int, 2> (inner.cpp:17).' in only(run).suggestion
    write(run / "stacks.csv", [head, "solve,g,0.5,0.05,,,"])
    assert only(run).suggestion.endswith('make "solve" faster: 100 % of its CPU time is in g.')
    write(run / "stacks.csv", [head, "other,g,0.5,0.05,,,"])
    assert only(run).suggestion.endswith('make "solve" faster.')
    write(run / "stacks.csv", [head])
    assert only(run).suggestion.endswith('make "solve" faster.')


def test_nothing_stands_out(tmp_path):
    finding = only(folder_of(tmp_path / "r", profile=[("solve", 2000, 2.0, 0.01)], counters=COST))
    assert finding.id == "nothing"
    assert "100 %" in finding.text and "1,000 times the overhead per task of 1.00 µs" in finding.text and '"solve"' in finding.suggestion


@pytest.mark.parametrize("tasks, said", [(100_100, True), (99_900, False)])
def test_small_grain_from_a_tenth_of_the_time_on(tmp_path, tasks, said):
    # Two workers of 1 s, each task costs 1 us: 2 * 100,000 of them a tenth of the time.
    run = folder_of(tmp_path / "r", tasks=tasks, profile=[("tiny", 2 * tasks, 2.0, 1e-3)], counters=COST)
    assert ("grain" in ids(run)) == said


def test_the_figures_of_small_grain(tmp_path):
    run = folder_of(
        tmp_path / "r",
        workers=((0.8, 0.2, 0.0),) * 2,
        tasks=100_000,
        counters=COST,
        profile=[("tiny", 199_990, 1.5, 1e-3), ("parent", 10, 0.1, 0.1)],
    )
    finding = only(run)
    assert finding.figures["overhead_per_task_s"] == pytest.approx(1e-6 + 0.4 / 200_000)
    assert finding.figures["work_s"] == pytest.approx(1.6 / 200_000 - 1e-6)
    assert '"tiny"' in finding.text
    assert "at least 30.0 µs (10 times the overhead per task of 3.00 µs;" in finding.suggestion


def test_without_the_cost_of_a_task_its_share_of_the_search_is_known(tmp_path):
    run = folder_of(tmp_path / "r", workers=((0.5, 0.5, 0.0),) * 2, tasks=100_000)
    assert only(run).figures["overhead_per_task_s"] == pytest.approx(5e-6)


def test_contention_names_the_lock_and_sums_what_has_one_name(tmp_path):
    waits = [
        ("mutex", "0x1", "cells", 10, 0.3, 0.1),
        ("mutex", "0x2", "cells", 5, 0.2, 0.15),
        ("mutex", "0x3", "other", 1, 0.4, 0.4),
        ("future", "", "", 100, 50.0, 1.0),
    ]
    run = folder_of(tmp_path / "r", workers=((0.8, 0.0, 0.2),) * 2, waits=waits)
    finding = next(f for f in diagnose(run).findings if f.id == "contention")
    assert finding.figures["lock"] == "cells"
    assert finding.figures["waits"] == 15 and finding.figures["waited_s"] == pytest.approx(0.5)
    assert "150 ms" in finding.text


def test_a_lock_without_a_name_has_its_address_and_advice_to_name_it(tmp_path):
    run = folder_of(tmp_path / "r", workers=((0.5, 0.0, 0.5),) * 2, waits=[("mutex", "0x7f01", "", 9, 1.0, 0.3)])
    finding = diagnose(run).findings[0]
    assert "0x7f01" in finding.text and "plx::mutex m(" in finding.suggestion


def test_waiting_for_a_lock_costs_nothing_while_workers_are_busy(tmp_path):
    run = folder_of(tmp_path / "r", waits=[("mutex", "0x1", "cells", 10, 3.0, 0.1)])
    assert ids(run) == ["nothing"]


def test_contention_that_explains_the_idle_time_is_the_only_finding(tmp_path):
    run = folder_of(tmp_path / "r", workers=((0.2, 0.0, 0.8),) * 4, waits=[("mutex", "0x1", "one", 10, 3.0, 0.3)])
    assert ids(run) == ["contention"]


@pytest.mark.parametrize("idle, said", [(0.16, True), (0.14, False)])
def test_starvation(tmp_path, idle, said):
    run = folder_of(tmp_path / "r", workers=((1 - idle, 0.0, idle),) * 2)
    assert ("starvation" in ids(run)) == said


def test_the_counters_of_another_locality_are_those_of_its_process(tmp_path):
    first = folder_of(tmp_path / "first", tasks=100_100, counters=COST)
    second = folder_of(tmp_path / "second", tasks=100_100, counters=COST)
    text = (second / "diagnose.csv").read_text()
    (second / "diagnose.csv").write_text(text.replace("locality#0", "locality#2"))
    assert ids(second) == ids(first) == ["grain"]


def test_starvation_counts_busy_workers(tmp_path):
    run = folder_of(tmp_path / "r", workers=((0.25, 0.0, 0.75),) * 4, tasks=2)
    assert only(run).figures["busy"] == pytest.approx(1.0)
    assert "only 8 tasks" in only(run).text


def test_imbalance_names_the_worker_and_the_long_task(tmp_path):
    workers = ((1.0, 0.0, 0.0), (0.4, 0.0, 0.6), (0.4, 0.0, 0.6), (0.4, 0.0, 0.6))
    run = folder_of(tmp_path / "r", workers=workers, profile=[("long", 1, 0.9, 0.9), ("short", 130, 1.3, 0.01)])
    finding = only(run)
    assert finding.id == "imbalance"
    assert "Worker 0" in finding.text and '"long"' in finding.text


def test_equal_idleness_is_no_imbalance(tmp_path):
    assert "imbalance" not in ids(folder_of(tmp_path / "r", workers=((0.5, 0.0, 0.5),) * 4))


def test_latency_is_idleness_beside_full_queues(tmp_path):
    run = folder_of(tmp_path / "r", workers=((0.5, 0.0, 0.5),) * 2)
    with open(run / "diagnose.csv", "a") as f:
        for time in range(20):
            f.write(f"{0.05 * time},/scheduler{{locality#0/total}}/queue/length,30,1\n")
    assert ids(run) == ["latency"]
    assert "30 ready tasks waited in queues and at least 1.0 of 2 workers were idle" in only(run).text


def test_chains_come_from_the_critical_path(tmp_path):
    path = {
        "span_s": 0.9,
        "kinds": [{"name": "step", "path_s": 0.8, "on_path": 80, "if_half": {"span_s": 0.5, "wall_s": 0.6}}],
    }
    run = folder_of(tmp_path / "r", workers=((0.5, 0.0, 0.5),) * 4, path_json=path, profile=[("step", 80, 0.8, 0.01)])
    finding = only(run)
    assert finding.id == "chains"
    assert '"step" in 80 slices' in finding.text
    assert 'If "step" took half the time, the run would take 600 ms.' in finding.suggestion
    assert finding.figures["parallelism"] == pytest.approx(2.0 / 0.9)
    assert diagnose(run).not_judged == ""


def test_a_short_critical_path_is_no_chain(tmp_path):
    run = folder_of(tmp_path / "r", workers=((0.5, 0.0, 0.5),) * 4, path_json={"span_s": 0.1, "kinds": []})
    assert ids(run) == ["starvation"]


def test_latency_is_also_delay_along_the_longest_chain(tmp_path):
    run = folder_of(
        tmp_path / "r", workers=((0.5, 0.0, 0.5),) * 4, path_json={"span_s": 0.5, "path_delay_s": 0.4, "kinds": []}
    )
    assert ids(run) == ["latency"]
    assert "400 ms of 1.00 s" in only(run).text


def test_the_span_may_come_without_the_path(tmp_path):
    run = folder_of(tmp_path / "r", workers=((0.5, 0.0, 0.5),) * 4, counters={TOTAL + "time/span": 0.9})
    assert ids(run) == ["chains"]


def cpu(seconds, voluntary=0, involuntary=0, sleeps=0):
    return {
        "/machine/time/user": seconds,
        "/machine/context-switches/voluntary": voluntary,
        "/machine/context-switches/involuntary": involuntary,
        TOTAL + "count/sleeps": sleeps,
    }


READY = TOTAL + "time/waiting-for-processor"


def test_tasks_that_are_blocked_in_calls(tmp_path):
    counters = {**cpu(1.0, voluntary=500), READY: 0.05, "/machine/io/read": 3 * 2**20, "/machine/io/disk-read": 2**20}
    finding = only(folder_of(tmp_path / "r", counters=counters))
    assert finding.id == "waiting" and "read 3.00 MiB (1.00 MiB of it from disks);" in finding.text
    assert finding.figures["off_core_s"] == pytest.approx(1.0) and finding.saves_s == pytest.approx(0.475)


def test_workers_that_wait_for_a_core(tmp_path):
    # However often threads gave their cores away: the time counts.
    finding = only(folder_of(tmp_path / "r", counters={**cpu(1.0, voluntary=500), READY: 0.95}))
    assert finding.id == "off_core" and "ready to run but had no core" in finding.text
    assert finding.saves_s == pytest.approx(0.475)


def test_time_off_core_without_a_record_of_its_reason(tmp_path):
    finding = only(folder_of(tmp_path / "r", counters=cpu(1.0, voluntary=500, involuntary=300)))
    assert finding.id == "off_core" and "waited for a core or were blocked in calls" in finding.text


def test_the_columns_of_the_workers_count_before_those_of_the_process(tmp_path):
    run = folder_of(tmp_path / "r", counters=cpu(1e9))
    write(run / "workers.csv", ["worker,tasks_s,overhead_s,background_s,idle_s,tasks,steals,on_core_s,ready_s"]
          + [f"{i},1,0,0,0,1000,0,0.7,0.3" for i in range(2)])  # fmt: skip
    assert only(run).id == "off_core" and only(run).figures["ready_s"] == pytest.approx(0.6)
    write(run / "workers.csv", ["worker,tasks_s,overhead_s,background_s,idle_s,tasks,steals,on_core_s,ready_s"]
          + [f"{i},1,0,0,0,1000,0,," for i in range(2)])  # fmt: skip
    assert ids(run) == ["nothing"]


def test_time_that_workers_lose_between_tasks(tmp_path):
    """Workers in tasks or idle for 1.3 s, whose threads ran or were ready for 2 s."""
    run = folder_of(tmp_path / "r", counters=cpu(1e9))
    write(run / "workers.csv", ["worker,tasks_s,overhead_s,background_s,idle_s,tasks,steals,on_core_s,ready_s"]
          + [f"{i},1.3,0,0,0,1000,0,0.4,1.6" for i in range(2)])  # fmt: skip
    found = diagnose(run)
    assert found.headline.startswith("2 workers for 2.00 s: 65 % in tasks") and "35 % without a core between" in found.headline
    assert found.findings[0].id == "off_core" and "For 3.20 s, 80 % of their time" in found.findings[0].text
    assert found.findings[0].saves_s == pytest.approx(1.6)


def test_workers_whose_clocks_differ_are_workers_all_the_same(tmp_path):
    run = folder_of(tmp_path / "r", workers=((1.0, 0.0, 0.0), (0.8, 0.0, 0.0)))
    assert diagnose(run).headline.startswith("2 workers")
    write(run / "workers.csv", ["worker,tasks_s,overhead_s,background_s,idle_s,tasks,steals,on_core_s,ready_s"]
          + [f"{i},{t},0,0,0,1000,0,{t},0" for i, t in enumerate((1.0, 0.2))])  # fmt: skip
    assert diagnose(run).headline.startswith("2 workers")


def test_cores_that_are_used_are_no_finding(tmp_path):
    assert ids(folder_of(tmp_path / "r", counters=cpu(1.9, voluntary=500))) == ["nothing"]
    assert ids(folder_of(tmp_path / "s", counters={**cpu(1.9, voluntary=500), READY: 0.1})) == ["nothing"]


def test_instructions_that_take_many_cycles(tmp_path):
    counted = {"/perf{locality#0/total}/instructions": 1e9, "/perf{locality#0/total}/cycles": 5e9}
    finding = only(folder_of(tmp_path / "r", counters=counted))
    assert finding.id == "slow_instructions" and "0.20 instructions per cycle" in finding.text
    of_exec = {name.replace("locality#0/total", "process"): value for name, value in counted.items()}
    assert ids(folder_of(tmp_path / "t", counters=of_exec)) == ["slow_instructions"]
    counted["/perf{locality#0/total}/cycles"] = 1e9
    assert ids(folder_of(tmp_path / "s", counters=counted)) == ["nothing"]


def test_page_faults(tmp_path):
    major = only(folder_of(tmp_path / "a", counters={"/machine/page-faults/major": 5000}))
    assert major.id == "page_faults" and "5,000 page faults that read from a disk, 5,000 per second" in major.text
    assert ids(folder_of(tmp_path / "b", counters={"/machine/page-faults/major": 500})) == ["nothing"]
    kernel = {"/machine/time/user": 1.5, "/machine/time/system": 0.5, "/machine/page-faults/minor": 1e5}
    assert "kernel took 25 %" in only(folder_of(tmp_path / "c", counters=kernel)).text
    kernel["/machine/time/system"] = 0.2
    assert "page_faults" not in ids(folder_of(tmp_path / "d", counters=kernel))


def test_memory_that_grows_steadily(tmp_path):
    run = folder_of(
        tmp_path / "r",
        memory=[(100 + 10 * i) * 2**20 for i in range(20)],
        counters={"/machine/memory/total": 10 * 2**30},
    )
    finding = diagnose(run).findings[-1]
    assert finding.id == "memory_growth"
    assert finding.figures["bytes_per_s"] == pytest.approx(10 * 2**20, rel=0.1)
    assert "minutes" in finding.text


@pytest.mark.parametrize("memory", [
    [500e6] * 20,  # constant
    [100e6, *[500e6] * 19],  # all at the start
    [(100 + 30 * (i % 7)) * 1e6 for i in range(28)],  # up and down
    [100e6 + 1e5 * i for i in range(20)],  # slowly
    [1e6 + 1e6 * i for i in range(20)],  # little
])  # fmt: skip
def test_memory_that_does_not(tmp_path, memory):
    assert "memory_growth" not in ids(folder_of(tmp_path / "r", memory=memory))


def test_the_most_costly_comes_first_and_ten_sentences_are_the_most(tmp_path):
    waits = [("mutex", "0x1", "cells", 10, 0.25, 0.1)]
    run = folder_of(
        tmp_path / "r",
        workers=((0.7, 0.0, 0.3),) * 2,
        tasks=100_000,
        waits=waits,
        counters={**COST, **cpu(0.1, voluntary=9)},
        memory=[(100 + 10 * i) * 2**20 for i in range(20)],
    )
    said = diagnose(run)
    shares = [finding.share for finding in said.findings]
    assert shares == sorted(shares, reverse=True) and len(shares) >= 3
    assert len(said.sentences()) <= 10


def test_a_missing_file_is_reported_with_the_setting_that_writes_it(tmp_path):
    run = folder_of(tmp_path / "r", workers=((0.5, 0.0, 0.5),) * 2)
    assert "critical_path.json is missing; PLX_TRACE=1 and then plx-trace critical RUN writes it" in diagnose(run).not_judged
    (run / "waits.csv").unlink()
    (run / "diagnose.csv").unlink()
    assert "waits.csv" in diagnose(run).not_judged and "diagnose.csv" in diagnose(run).not_judged


def test_a_folder_with_a_profile_alone_is_judged_as_far_as_it_goes(tmp_path):
    run = folder_of(tmp_path / "r")
    (run / "workers.csv").unlink()
    assert only(run).id == "unknown"


def test_a_folder_without_anything_is_an_error(tmp_path, capsys):
    with pytest.raises(NotARun, match="PLX_DIAGNOSE=1"):
        diagnose(tmp_path)
    assert main(["diagnose", str(tmp_path / "none")]) == 2
    assert "no such folder" in capsys.readouterr().err
    (tmp_path / "job" / "rank-0").mkdir(parents=True)
    with pytest.raises(NotARun, match="job/rank-0"):
        diagnose(tmp_path / "job")


@pytest.mark.parametrize("file", ["workers.csv", "waits.csv", "diagnose.csv", "critical_path.json"])
def test_a_broken_file_is_named(tmp_path, file):
    run = folder_of(tmp_path / "r", workers=((0.5, 0.0, 0.5),) * 2)
    (run / file).write_text("worker,tasks_s\n1,2,3\n4,5\n")
    with pytest.raises(ReadError, match=file):
        diagnose(run)


@pytest.mark.parametrize("value", ["nan", "inf"])
@pytest.mark.parametrize(
    "file, column", [("workers.csv", "idle_s"), ("waits.csv", "waits"), ("profile.csv", "calls"), ("diagnose.csv", "time_s")]
)
def test_times_and_counts_are_finite(tmp_path, capsys, file, column, value):
    run = folder_of(tmp_path / "r", waits=[("mutex", "0x1", "m", 3, 0.1, 0.1)], profile=[("f", 3, 0.1, 0.1)])
    lines = (run / file).read_text().split("\n")
    cells = lines[1].split(",")
    cells[lines[0].split(",").index(column)] = value
    (run / file).write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]))
    for command in (["diagnose", str(run)], ["compare", str(run), str(run)]):
        if command[0] == "compare" or file != "profile.csv":  # a diagnosis reads the profile only where it names a task
            assert main(command) == 2
            err = capsys.readouterr().err
            assert file in err and f"column '{column}': expected finite numbers, found '{value}'" in err


def test_empty_tables_are_no_error(tmp_path):
    run = folder_of(tmp_path / "r", workers=((0.0, 0.0, 0.0),) * 2, tasks=0)
    assert only(run).id == "unknown"


def test_the_command_prints_text_and_json(tmp_path, capsys):
    run = folder_of(tmp_path / "r", workers=((0.5, 0.0, 0.5),) * 2)
    assert main(["diagnose", str(run)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("2 workers for 1.00 s: 50 % in tasks, under 0.1 % searching for tasks, 50 % idle.\n1. Ready tasks")
    assert main(["diagnose", "--json", str(run)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["findings"][0]["id"] == "starvation" and said["figures"]["share_idle"] == 0.5


def job_of(path, exec_s, network=0.0, missing="", parcels=1000, messages=1000, sent=40_000):
    """job.json of localities with one worker each, whose tasks took exec_s; one kind of task."""
    rows = [
        {"locality": i, "host": "h", "workers": 1, "tasks": 10, "exec_s": t, "idle_s": max(exec_s) - t, "overhead_s": 0,
         "background_s": 0, "idle_rate": 0, "network_overhead": network, "wait_s": 0, "parcels_sent": parcels,
         "parcels_received": parcels, "messages_sent": messages, "messages_received": messages, "bytes_sent": sent,
         "bytes_received": sent, "missing": ""}
        for i, t in enumerate(exec_s)
    ]  # fmt: skip
    if missing:
        rows.append({"locality": len(rows), "missing": missing})
    kind = {"name": "solve", "calls": 10 * len(exec_s), "total_s": sum(exec_s), "min_s": 0, "max_s": 1,
            "least_locality_s": min(exec_s), "most_locality_s": max(exec_s), "most_at": exec_s.index(max(exec_s)),
            "imbalance": max(exec_s) * len(exec_s) / sum(exec_s)}  # fmt: skip
    (path / "job.json").write_text(json.dumps({"localities": rows, "tasks": [kind]}))
    return path


@pytest.mark.parametrize("most, said", [(1.18, True), (1.17, False)])
def test_localities_that_are_not_balanced(tmp_path, most, said):
    # Two times 1 s and `most`: (most - mean) / most = 2/3 (1 - 1 / most), a tenth at 1.176.
    run = job_of(folder_of(tmp_path / "r"), [1.0, most, 1.0], missing="it is lost")
    assert ("localities" in ids(run)) == said


def test_the_locality_with_most_work_is_named(tmp_path):
    finding = only(job_of(folder_of(tmp_path / "r"), [1.0, 1.0, 4.0, 2.0]))
    assert finding.id == "localities" and finding.figures["locality"] == 2
    assert "locality 2 was in tasks for 4.00 s, the mean is 2.00 s" in finding.text and '"solve"' in finding.text


def test_the_locality_of_the_sentences_is_named(tmp_path):
    """That of the folder: the job's own has the files of locality 0, localities/2 those of locality 2."""
    alone = diagnose(folder_of(tmp_path / "alone"))
    assert alone.place == "" and "locality" not in alone.text()
    run = job_of(folder_of(tmp_path / "r"), [1.0, 1.0, 1.0])
    place = "The job has 3 localities; a sentence that names none is about locality 0."
    assert diagnose(run).text().endswith(place) and diagnose(run).sentences()[-1] == place and diagnose(run).json()["place"] == place
    (run / "localities").mkdir()
    assert diagnose(folder_of(run / "localities" / "2")).place.endswith("about locality 2.")


def test_a_network_that_takes_much(tmp_path):
    run = job_of(folder_of(tmp_path / "a"), [1.0, 1.0], network=0.2)
    finding = only(run)
    assert finding.id == "network" and "20 %" in finding.text and "PLX_COALESCE" in finding.suggestion
    assert only(job_of(folder_of(tmp_path / "b"), [1.0, 1.0], network=0.09)).id == "nothing"
    large = only(job_of(folder_of(tmp_path / "c"), [1.0, 1.0], network=0.2, sent=1e9))
    assert "PLX_COALESCE" not in large.suggestion


def test_a_broken_summary_of_the_job_is_named(tmp_path):
    run = folder_of(tmp_path / "r")
    (run / "job.json").write_text("{}")
    with pytest.raises(ReadError, match="job.json"):
        diagnose(run)
    for rows in ([{"locality": 0}], [7]):
        (run / "job.json").write_text(json.dumps({"localities": rows, "tasks": []}))
        with pytest.raises(ReadError, match="job.json.*a row lacks .*host"):
            diagnose(run)


SERIAL = dict(workers=((1.0, 0.0, 0.0), (0.2, 0.0, 0.8), (0.2, 0.0, 0.8)), profile=[("relax", 900, 0.9, 0.01), ("set-up", 10, 0.5, 0.1)])


def test_the_first_finding_names_the_task_type_that_idle_time_is_charged_to(tmp_path):
    run = folder_of(tmp_path / "r", **SERIAL, blame={"set-up": (1.52, 0), "relax": (0.05, 0)})
    first = diagnose(run).findings[0]
    assert first.text.startswith('"set-up" is charged 95 % of the workers\' idle time (1.52 s), as it ran meanwhile; ')
    assert first.figures["blamed"] == "set-up" and first.figures["blamed_share"] == pytest.approx(0.95)


def test_idle_time_without_a_task_is_charged_to_none(tmp_path):
    run = folder_of(tmp_path / "r", **SERIAL, blame={"set-up": (0.1, 0), "relax": (0.1, 0)})
    first = diagnose(run).findings[0]
    assert first.text.startswith("In 88 % of the workers' idle time (1.40 s) no task ran; ")
    assert first.figures["blamed"] is None


def test_idle_time_that_many_share_names_none(tmp_path):
    run = folder_of(tmp_path / "r", **SERIAL, blame={"set-up": (0.7, 0), "relax": (0.6, 0)})
    assert "charged" not in diagnose(run).findings[0].text
    (tmp_path / "r" / "workers.csv").unlink()
    assert "charged" not in diagnose(run).text()


def test_contention_names_the_holder(tmp_path):
    waits = [("mutex", "0x1", "cells", 10, 1.0, 0.1)]
    run = folder_of(
        tmp_path / "r", workers=((0.6, 0.0, 0.4),) * 2, waits=waits, profile=[("a", 1, 0.5, 0.5), ("b", 1, 0.7, 0.7)],
        blame={"a": (0.3, 0.9), "b": (0.3, 0.1)},
    )
    finding = next(f for f in diagnose(run).findings if f.id == "contention")
    assert 'while "a" held a lock' in finding.text and "90 %" in finding.text and finding.figures["holder"] == "a"
