"""A run of plx-parquet that is stopped, killed, or out of space, and continues with the same bits."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal

import pytest
from children import catches, end_of, kill, small_pipes, wait_for
from programs import rows
from test_plx_parquet import PARQUET, folder  # noqa: F401

run, start, pytestmark = PARQUET.run, PARQUET.start, PARQUET.needed

TABLES = ("self_energy.csv", "susceptibility.csv", "eigenvalues.csv", "vertex.csv", "extrapolated.csv", "result.json")
OFTEN = ("--set", "output.checkpoint_interval_s=1e-9")  # after each iteration
SELDOM = ("--set", "output.checkpoint_interval_s=60")
# Three runs of some 210 iterations each.
LONGER = ("--set", "loop.history=0", "--set", "loop.damping=0.1", "--set", "loop.iterations=5000")
MEASURED = (
    "seconds", "rotation_seconds", "sent_mb", "parcels", "messages", "network_overhead", "coalesce_parcels", "coalesce_interval_us",
    "coalesce_bytes",
)


def results(run_folder):
    """The tables, without the work of iterations."""
    iterations = [{k: v for k, v in r.items() if k not in MEASURED} for r in rows(run_folder / "iterations.csv")]
    return [iterations, *((run_folder / name).read_text() for name in TABLES if (run_folder / name).exists())]


def start_and_hold(folder, out):
    """A run with a checkpoint of an iteration of its second run. It cannot get beyond that one: its lines are not read, and the pipe
    and the buffer of this process hold some 70 of them."""
    child = start(folder, "in.toml", "--out", out, *LONGER, *OFTEN, preexec_fn=small_pipes())
    while "frequencies 3  iteration" not in (line := child.stderr.readline()):
        assert line
    wait_for(child, lambda: list((folder / out).glob("checkpoint-*.h5")))
    return child


def stop(child, sign):
    """Its output and errors. They are read when the handler of the signal has begun."""
    child.send_signal(sign)
    wait_for(child, lambda: not catches(child, sign))
    output, errors = end_of(child)
    assert child.returncode == 130, errors
    return output, errors


def test_a_run_that_is_stopped_continues_with_the_same_bits(folder):
    assert run(folder, "in.toml", "--out", "whole", *LONGER, "--quiet").returncode == 0
    for sign in (signal.SIGTERM, signal.SIGINT):
        out = f"out{sign}"
        output, _ = stop(start_and_hold(folder, out), sign)
        assert f"stopped; continue with plx-parquet --resume {out}" in output
        assert json.loads((folder / out / "run.json").read_text())["status"] == "interrupted"
        assert run(folder, "--resume", out, "--quiet", "--threads", "2", *SELDOM).returncode == 0
        changes = json.loads((folder / out / "run.json").read_text())["changed_options"]
        assert {c["key"] for c in changes if c["by"] == "--set"} == {s.split("=")[0] for s in (*LONGER, *OFTEN)[1::2]}
        assert [(c["key"], float(c["was"])) for c in changes if c["by"] == "--resume"] == [(OFTEN[1].split("=")[0], 1e-9)]
        assert results(folder / out) == results(folder / "whole")
        assert len(list((folder / out).glob("checkpoint*"))) == 1  # without parts


def test_a_run_that_is_killed_continues_with_the_same_bits(folder):
    assert run(folder, "in.toml", "--out", "whole", *LONGER, "--quiet").returncode == 0
    kill(start_and_hold(folder, "out"))
    for name in ("iterations.csv", "vertex.csv"):  # as if killed between the rows and the checkpoint
        with (folder / "out" / name).open("a") as table:
            table.write("3,1,1\n")
    (folder / "out/checkpoint-999-0.h5").write_text("of a checkpoint that was not completed")
    for _ in range(2):  # a run that is complete ends at once, with the same results
        done = run(folder, "--resume", "out", "--quiet", *SELDOM)
        assert done.returncode == 0 and not done.stderr
        assert results(folder / "out") == results(folder / "whole")
    assert len(list((folder / "out").glob("checkpoint*"))) == 1


def test_a_full_disk_keeps_the_last_checkpoint(folder):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (500000, 500000))  # some vectors of the largest run

    few = ("--set", "output.vertex=false")
    assert run(folder, "in.toml", "--out", "whole", "--quiet", *few).returncode == 0
    done = run(folder, "in.toml", "--out", "out", "--quiet", *few, *OFTEN, preexec_fn=limit)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "out/checkpoint-" in done.stderr, done.stderr
    assert json.loads((folder / "out/run.json").read_text())["status"] == "failed"
    assert run(folder, "--resume", "out", "--quiet").returncode == 0
    assert results(folder / "out") == results(folder / "whole")


@pytest.mark.parametrize(("most", "failing"), [(95000, 2), (150000, 3)])
def test_a_resumed_run_writes_vertices_that_could_not_be_written(folder, most, failing):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    few = ("--set", "output.vertex=false", "--quiet")
    assert run(folder, "in.toml", "--out", "whole", *few).returncode == 0
    done = run(folder, "in.toml", "--out", "out", *few, preexec_fn=limit)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and f"out/vertices/F{failing}.h5" in done.stderr, done.stderr
    assert "; plx-parquet --resume out repeats the iterations since the last checkpoint and writes this file;" in done.stderr
    shutil.copytree(folder / "out", folder / "without")
    vertices = [path.name for path in (folder / "out/vertices").iterdir()]
    assert vertices == [f"F{n}.h5" for n in range(2, failing)]

    done = run(folder, "--resume", "out", "--quiet")
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert results(folder / "out") == results(folder / "whole")
    for name in ("F2.h5", "F3.h5", "F4.h5"):
        assert (folder / "out/vertices" / name).read_bytes() == (folder / "whole/vertices" / name).read_bytes(), name

    done = run(folder, "--resume", "without", "--quiet", "--set", "output.hdf5=false")
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert results(folder / "without") == results(folder / "whole")
    assert [path.name for path in (folder / "without/vertices").iterdir()] == vertices


def test_a_resumed_run_names_the_vertices_that_it_does_not_write(folder):
    few = ("--set", "output.vertex=false", "--quiet")
    assert run(folder, "in.toml", "--out", "out", *few).returncode == 0
    (folder / "out/vertices/F3.h5").unlink()
    done = run(folder, "--resume", "out", "--quiet")
    assert done.returncode == 0 and done.stderr.count("\n") == 1, done.stderr
    assert "warning: grid.frequencies 3: expected 'out/vertices/F3.h5', found none" in done.stderr
    assert "expected 'out/vertices/F3.h5'" in json.loads((folder / "out/run.json").read_text())["message"]
    assert not run(folder, "--resume", "out", "--quiet", "--set", "output.hdf5=false").stderr


@pytest.fixture
def begun(folder):
    """A folder whose run was stopped within its second run."""
    stop(start_and_hold(folder, "out"), signal.SIGTERM)
    return folder


def test_wrong_resumes_get_one_line(begun):
    for arguments, words in (
        (["--resume", "nowhere"], "nowhere: expected the folder of a run with checkpoint.h5"),
        (["in.toml", "--resume", "out"], "neither an input file nor --out"),
        (["--resume", "out", "--set", "model.u=3"], "model.u: expected 1.0"),
        (["--resume", "out", "--set", "grid.frequencies=[2, 3]"], "grid.frequencies: expected "),
        (["--resume", "out", "--set", "loop.iterations=1"], "loop.iterations: expected more than"),
        (["in.toml", "--out", "out"], "--resume out"),
    ):
        done = run(begun, *arguments, "--quiet")
        assert done.returncode == 2, words
        assert words in done.stderr and done.stderr.count("\n") == 1 and not done.stdout, done.stderr
    config = begun / "out/config.toml"
    config.write_text(config.read_text().replace('"dimer"', '"2x2"'))
    done = run(begun, "--resume", "out")
    assert done.returncode == 2 and 'expected "dimer", with which the run was begun, found "2x2"' in done.stderr


def test_damaged_checkpoints_get_one_line(begun):
    for path in ("checkpoint.h5", *(p.name for p in (begun / "out").glob("checkpoint-*.h5"))):
        file = begun / "out" / path
        good = file.read_bytes()
        at = good.index(b"[grid]") if path == "checkpoint.h5" else len(good) // 2  # the options, and a vector
        for bad, words in (
            (good[:-200], "truncated"),
            (b"text", "not a checkpoint"),
            (good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :], "damaged"),
        ):
            file.write_bytes(bad)
            done = run(begun, "--resume", "out", "--quiet")
            assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, (path, words)
        file.write_bytes(good)
    assert run(begun, "--resume", "out", "--quiet", *SELDOM).returncode == 0
