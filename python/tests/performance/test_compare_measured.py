"""Comparing runs of any program: two folders as PLX_DIAGNOSE=1 and plx-exec write them."""

import pytest
import synthetic

from parallax import NotARun, Run
from parallax.cli import main
from parallax.star.compare import compare_runs


def folder_of(path, stage_s, lock_s, ready_s="", threads=False, trace=False):
    """Two workers of 10 s; one kind of task, one lock, and how long each worker was ready without a core."""
    path.mkdir()
    tables = {
        "workers.csv": ["worker,tasks_s,overhead_s,background_s,idle_s,tasks,steals,on_core_s,ready_s"]
        + [f"{i},{stage_s / 2},0,0,{10 - stage_s / 2},100,0,{stage_s / 2},{ready_s}" for i in range(2)],
        "profile.csv": ["name,calls,yields,total_s,mean_s,min_s,max_s,stddev_s,share"]
        + [f"stage,200,0,{stage_s},{stage_s / 200},0,1,0,1"],
        "waits.csv": ["kind,object,name,waits,total_s,max_s", f"mutex,0x1,table,50,{lock_s},0.1"]
        + [f"future,{path.name}{i},,3,0.5,0.2" for i in range(2)],
        "diagnose.csv": ["time_s,name,value,unit", "10,/machine/context-switches/involuntary,861,1"],
    }
    if threads:
        tables["threads.csv"] = ["threads,row,begin_s,end_s,wait_s,ready_s", f"1,0,0,10,0,{ready_s}", "1,1,0,10,0,0"]
    for name, lines in tables.items():
        (path / name).write_text("\n".join(lines) + "\n")
    if trace:
        (path / "trace.json.gz").write_bytes(b"")
    return path


def sections(a, b):
    found = compare_runs(Run(a, of_any_program=True), Run(b, of_any_program=True))
    return {section.title: section for section in found.sections}


def rows(section):
    return {row[0]: row[1:] for row in section.rows}


def test_two_folders_of_any_program(tmp_path, capsys):
    a, b = folder_of(tmp_path / "a", 12.0, 4.0), folder_of(tmp_path / "b", 15.0, 1.0)
    assert main(["compare", str(a), str(b)]) == 0
    out = capsys.readouterr().out
    assert "the same was measured in both" in out and "Physics" not in out and "Configuration" not in out
    found = sections(a, b)
    assert rows(found["Time per task type"])["stage"] == ("12.0 s", "15.0 s", "+3.00 s", "1.25", "200", "200")
    waits = rows(found["Waits"])
    assert waits['mutex "table"'] == ("4.00 s", "1.00 s", "-3.00 s", "0.250", "50", "50")
    assert waits["future"][:3] == ("1.00 s", "1.00 s", "+0 ns")  # addresses are of one run alone
    workers = rows(found["Workers"])
    assert workers["workers"] == ("2", "2", "1.000") and workers["length of the run"][:2] == ("10.0 s", "10.0 s")
    assert workers["share in tasks"] == ("60.00 %", "75.00 %", "1.250")


@pytest.mark.parametrize("on_core_s, slower", [(12.0, True), (6.0, False)])
def test_calls_that_take_longer_beside_other_workers(tmp_path, on_core_s, slower):
    """200 calls take 6 s with one worker and 12 s with two, in which these were on a core for on_core_s."""
    one, two = folder_of(tmp_path / "a", 6.0, 0.0), folder_of(tmp_path / "b", 12.0, 0.0)
    head = "worker,tasks_s,overhead_s,background_s,idle_s,tasks,steals,on_core_s,ready_s\n"
    (one / "workers.csv").write_text(head + "0,6,0,0,0,200,0,6,0\n")
    (two / "workers.csv").write_text(head + "".join(f"{i},6,0,0,0,100,0,{on_core_s / 2},{6 - on_core_s / 2}\n" for i in range(2)))
    for pair in ((one, two), (two, one)):
        found = sections(*pair).get("Calls beside other workers")
        assert (found is not None) == slower
        assert not slower or 'with 2 workers a call of "stage" takes 2.0 times the CPU time of one with 1' in found.sentences[0]
    assert "Calls beside other workers" not in sections(two, two)


def test_a_trace_in_one_run_alone_is_reported(tmp_path):
    found = sections(folder_of(tmp_path / "a", 12.0, 4.0, trace=True), folder_of(tmp_path / "b", 12.0, 4.0))
    assert found["Measurement"].sentences[0] == "only a was traced: trace.json.gz"
    assert "only if both runs or neither were traced" in found["Measurement"].sentences[1]


def test_cores_that_a_run_lost(tmp_path):
    found = sections(folder_of(tmp_path / "a", 10.0, 4.0, ready_s=5.0), folder_of(tmp_path / "b", 10.0, 4.0, ready_s=0.1))
    assert rows(found["Workers"])["ready without a core"] == ("10.0 s", "200 ms", "0.020")
    assert rows(found["Workers"])["context switches, involuntary"][0] == "861"
    (sentence,) = found["Workers"].sentences
    assert sentence.startswith("a lost 1.0 cores to other threads on average (10.0 s ready without a core, 50 % of the time)")


def test_a_run_of_plx_exec_and_one_of_the_runtime(tmp_path):
    found = sections(folder_of(tmp_path / "a", 12.0, 4.0, ready_s=1.0, threads=True), folder_of(tmp_path / "b", 12.0, 4.0))
    assert "only a was measured: threads.csv" in found["Measurement"].sentences
    assert rows(found["Threads"])["ready without a core"] == ("1.00 s", "-", "")


def test_a_run_of_plx_star_and_one_of_any_program(shared_run, tmp_path, capsys):
    other = folder_of(tmp_path / "b", 12.0, 4.0)
    assert main(["compare", str(shared_run), str(other)]) == 0
    out = capsys.readouterr().out
    assert "b has no config.toml" in out and "stage" in out
    assert main(["compare", str(shared_run), str(other), "--require-equal"]) == 1


def test_folders_that_are_none(tmp_path, capsys):
    (tmp_path / "a").mkdir()
    (tmp_path / "job" / "rank-0").mkdir(parents=True)
    with pytest.raises(NotARun, match="found an empty folder; run the program with PLX_DIAGNOSE=1"):
        Run(tmp_path / "a", of_any_program=True)
    assert main(["compare", str(tmp_path / "job"), str(tmp_path / "job")]) == 2
    assert "rank-0" in capsys.readouterr().err


def test_errors_shock_radius_and_order_of_two_resolutions(tmp_path, capsys):
    """The synthetic blast is exact at each cell's centre, so errors are planted: E = h."""
    runs = []
    for level in (1, 2):
        run = synthetic.write_run(tmp_path / f"level{level}", max_level=level, files=1)
        import h5py

        with h5py.File(run / "mesh" / "sedov.00000.athdf", "a") as f:
            f["prim"][0] += 0.5**level  # the density, everywhere
        runs.append(run)
    assert main(["compare", *map(str, runs)]) == 0
    out = capsys.readouterr().out
    found = sections(*runs)["Against the exact solution"]
    table = rows(found)
    assert table["L1 of density"][2] == "0.500" and "shock radius" in table and "shock radius, exact" in table
    assert any("observed order" in sentence and "1.00 (density)" in sentence for sentence in found.sentences), out


def test_the_locality_of_a_job_is_named(tmp_path):
    first, second = (folder_of(tmp_path / name, 4, 1) for name in "ab")
    text = compare_runs(*(Run(f, of_any_program=True) for f in (first, second))).text()
    assert "localities of the job" not in text and "of locality" not in text
    (second / "run.json").write_text('{"localities": 4}')
    text = compare_runs(*(Run(f, of_any_program=True) for f in (first, second))).text()
    assert "b: workers, tasks and waits are those of locality 0" in text and "a: workers" not in text
    assert ["localities of the job", "1", "4", "4.000"] in [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in text.splitlines()]
