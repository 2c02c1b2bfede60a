"""A run of plx-dca that is stopped, killed, or out of space, and continues with the same bits."""

from __future__ import annotations

import json
import resource
import signal
import struct
import time

import pytest
from children import end_of, wait_for
from programs import messages, rows
from test_plx_dca import DCA, folder  # noqa: F401

run, start, pytestmark = DCA.run, DCA.start, DCA.needed

TABLES = ("temperatures.csv", "green.csv", "momenta.csv", "sites.csv", "cluster.json")
SLOWER = ("--set", "solver.measurements=1600")


def results(run_folder):
    """The tables, without the wall time of iterations."""
    iterations = [{k: v for k, v in row.items() if k != "seconds"} for row in rows(run_folder / "iterations.csv")]
    return [iterations, *((run_folder / name).read_text() for name in TABLES), (run_folder / "result.json").read_text()]


@pytest.fixture
def whole(folder):
    done = run(folder, "in.toml", "--out", "whole", "--threads", "2", "--quiet", *SLOWER)
    assert done.returncode == 0, done.stderr
    return results(folder / "whole")


def test_a_run_stopped_within_iterations_ends_with_the_same_bits(folder):
    """More temperatures than the stops reach; those behind are given up at the end."""
    checkpoint, before = folder / "out/checkpoint.h5", None
    many = [round(1 - i / 4000, 5) for i in range(2000)]
    child = start(folder, "in.toml", "--out", "out", "--threads", "4", *SLOWER, "--set", f"loop.temperatures={many}")
    for stop in range(6):
        # A run begins with a checkpoint.
        wait_for(child, lambda: checkpoint.exists() and checkpoint.stat().st_mtime_ns != before)  # noqa: B023
        time.sleep(0.06)
        child.send_signal(signal.SIGTERM if stop % 2 else signal.SIGINT)
        output, errors = end_of(child)
        before = checkpoint.stat().st_mtime_ns
        assert child.returncode == 130, errors
        assert "stopped; continue with" in output and "stopping, with a checkpoint" in errors
        assert json.loads((folder / "out/result.json").read_text())["complete"] is False
        assert not (folder / "out/.lock").exists()
        if stop < 5:
            child = start(folder, "--resume", "out", "--threads", str(1 + stop % 3), "--quiet")
    table = folder / "out/temperatures.csv"
    reached = many[: 2 + (len(rows(table)) if table.exists() else 0)]
    less = ("--quiet", "--set", f"loop.temperatures={reached}")
    assert run(folder, "--resume", "out", *less).returncode == 0
    assert run(folder, "in.toml", "--out", "whole", "--threads", "2", *SLOWER, *less).returncode == 0
    assert results(folder / "out") == results(folder / "whole")
    changes = [(c["key"], c["by"]) for c in json.loads((folder / "out/run.json").read_text())["changed_options"]]
    assert sorted(changes[:2]) == [("loop.temperatures", "--set"), ("solver.measurements", "--set")]
    assert changes[2:] == [("loop.temperatures", "--resume")]
    # A run that is complete ends at once, with the same results.
    assert run(folder, "--resume", "out").returncode == 0
    assert results(folder / "out") == results(folder / "whole")


@pytest.mark.parametrize("endless", ["solver.warm_up=1000000000", "solver.expansion_k=100"])
def test_a_signal_stops_within_a_measurement(folder, endless):
    words = ("--set", "solver.sweeps=10000", "--set", endless, "--set", "loop.temperatures=[1.0]")
    child = start(folder, "in.toml", "--out", "out", *words)
    wait_for(child, (folder / "out/checkpoint.h5").exists)
    time.sleep(0.3)  # in the walkers; a measurement takes some hundred times as long
    child.send_signal(signal.SIGTERM)
    output, errors = end_of(child)
    assert child.returncode == 130, errors
    assert "stopped; continue with plx-dca --resume out" in output


def test_a_killed_run_continues(folder, whole):
    for delay_s in (0.05, 0.2, 0.4):
        out = folder / f"out{delay_s}"
        often = ("--set", f"output.checkpoint_interval_s={delay_s / 10}")
        child = start(folder, "in.toml", "--out", out.name, "--quiet", *SLOWER, *often)
        wait_for(child, (out / "checkpoint.h5").exists)
        time.sleep(delay_s)
        child.kill()
        end_of(child)
        with (out / "iterations.csv").open("a") as table:  # as if killed between the row and the checkpoint
            table.write("0.5,0,1\n")
        assert run(folder, "--resume", out.name, "--quiet").returncode == 0
        assert results(out) == whole


def test_a_full_disk_loses_nothing_that_was_complete(folder):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (400000, 400000))  # the Green's functions of one temperature

    larger = ["in.toml", "--quiet", "--set", "loop.frequencies=1024"]
    assert run(folder, *larger, "--out", "whole").returncode == 0
    done = run(folder, *larger, "--out", "out", preexec_fn=limit)
    lines = [line for line in messages(done) if "diagnose.csv" not in line]  # that file grows with the time of the run
    assert done.returncode == 2 and len(lines) == 1 and "out/" in lines[0], done.stderr
    again = run(folder, "--resume", "out", "--quiet")
    assert again.returncode == 0, again.stderr
    assert results(folder / "out") == results(folder / "whole")


def test_more_temperatures_after_the_end(folder):
    assert run(folder, "in.toml", "--out", "out", "--quiet", "--set", "loop.temperatures=[1.0]").returncode == 0
    assert run(folder, "--resume", "out", "--quiet", "--set", "loop.temperatures=[1.0, 0.5]").returncode == 0
    assert run(folder, "in.toml", "--out", "whole", "--quiet").returncode == 0
    assert results(folder / "out") == results(folder / "whole")


def test_a_complete_run_is_left_as_it_is(folder):
    assert run(folder, "in.toml", "--out", "out", "--quiet").returncode == 0
    before = {path.name: path.read_bytes() for path in (folder / "out").iterdir() if path.is_file()}
    again = run(folder, "--resume", "out", "--set", "loop.iterations=5")
    assert again.returncode == 0 and "no T_c" in again.stdout and "is complete" in again.stderr
    assert {path.name: path.read_bytes() for path in (folder / "out").iterdir() if path.is_file()} == before


def test_a_checkpoint_of_another_run_is_refused(folder):
    short = ("--quiet", "--set", "loop.temperatures=[1.0]")
    for name, other in (("out", "model.u=4"), ("cluster", "cluster.name=4A"), ("model", "model.u=5")):
        assert run(folder, "in.toml", "--out", name, *short, "--set", other).returncode == 0
    for name, words in (("cluster", 'cluster.name: expected "4A"'), ("model", "model.u: expected ")):
        (folder / "out/checkpoint.h5").write_bytes((folder / name / "checkpoint.h5").read_bytes())
        done = run(folder, "--resume", "out")
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert f"out/config.toml: {words}" in done.stderr and "with which the run was begun, found" in done.stderr


@pytest.mark.parametrize("name", TABLES[:3])
def test_a_damaged_table_is_refused(folder, name):
    assert run(folder, "in.toml", "--out", "out", "--quiet", "--set", "loop.temperatures=[1.0]").returncode == 0
    table, more = folder / "out" / name, ("--resume", "out", "--quiet", "--set", "loop.temperatures=[1.0, 0.5]")
    text = table.read_text()
    first = text.index("\n") + 1
    for broken, words in (
        (text[:first] + "x" + text[first + 1 :], "line 2: expected a number in the column 't', found 'x"),
        (text[:first] + "1,2\n" + text[first + 4 :], "line 2: expected a row of"),
        (text[:-5], "expected at least the"),
        (text[:-1] + "0", "expected a line break"),
        ("\0" * len(text), "line 1: expected a line with the names of the columns"),
    ):
        table.write_text(broken)
        done = run(folder, *more)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done
        assert f"out/{name}'" in done.stderr and words in done.stderr and "restore it, or start" in done.stderr, done.stderr
        assert table.read_text() == broken
    table.write_text(text)
    assert run(folder, *more).returncode == 0


def test_advice_after_a_failure_before_the_first_checkpoint(folder):
    (folder / "out").mkdir()
    (folder / "out/config.toml").write_text("")
    for arguments in (("in.toml", "--out", "out"), ("--resume", "out")):
        done = run(folder, *arguments)
        assert done.returncode == 2 and "before its first checkpoint" in done.stderr and "continue" not in done.stderr


def test_a_folder_in_use_is_left_alone(folder):
    child = start(folder, "in.toml", "--out", "out", "--set", "solver.measurements=1000000")
    wait_for(child, (folder / "out/checkpoint.h5").exists)
    refused = run(folder, "--resume", "out")
    assert refused.returncode == 2 and f"in use by process {child.pid} on " in refused.stderr
    child.send_signal(signal.SIGTERM)
    end_of(child)
    assert child.returncode == 130


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--resume", "nowhere"], "checkpoint.h5"),
        (["in.toml", "--resume", "out"], "neither an input file nor --out"),
        (["--resume", "out", "--set", "model.u=3"], "model.u: expected "),
        (["--resume", "out", "--set", "loop.temperatures=[0.9]"], "expected the first 1 unchanged"),
        (["--resume", "out", "--set", "loop.temperature=[0.9]"], "loop.temperatures"),
    ],
)
def test_wrong_resumes_get_one_line(folder, arguments, words):
    assert run(folder, "in.toml", "--out", "out", "--quiet", "--set", "loop.temperatures=[1.0]").returncode == 0
    done = run(folder, *arguments)
    assert done.returncode == 2
    assert words in done.stderr and done.stderr.count("\n") == 1 and not done.stdout


def test_damaged_checkpoints_get_one_line(folder):
    assert run(folder, "in.toml", "--out", "out", "--quiet", "--set", "loop.temperatures=[1.0]").returncode == 0
    path = folder / "out/checkpoint.h5"
    good = path.read_bytes()
    at = good.index(struct.pack("<dd", 4, 256)) + 20  # the self-energy: 4 momenta, 2 x 4 x 32 numbers
    for bad, words in (
        (good[:-200], "truncated"),
        (b"text", "not a checkpoint"),
        (good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :], "damaged"),
    ):
        path.write_bytes(bad)
        done = run(folder, "--resume", "out")
        assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1
