"""A run of plx-parquet that is stopped, killed, or out of space, and continues with the same bits."""

from __future__ import annotations

import json
import resource
import signal
import time

import pytest
from programs import rows
from test_plx_parquet import PARQUET, folder  # noqa: F401

run, start, pytestmark = PARQUET.run, PARQUET.start, PARQUET.needed

TABLES = ("self_energy.csv", "susceptibility.csv", "eigenvalues.csv", "vertex.csv", "extrapolated.csv", "result.json")
OFTEN = ("--set", "output.checkpoint_interval_s=0.01")
LONGER = ("--set", "loop.tolerance=1e-300", "--set", "loop.iterations=24")
MEASURED = ("seconds", "rotation_seconds", "sent_mb", "messages")


def results(run_folder):
    """The tables, without the work of iterations."""
    iterations = [{k: v for k, v in r.items() if k not in MEASURED} for r in rows(run_folder / "iterations.csv")]
    return [iterations, *((run_folder / name).read_text() for name in TABLES if (run_folder / name).exists())]


def start_and_wait(folder, out, *arguments):
    """Starts a run and waits until its second run has a checkpoint of an iteration."""
    child = start(folder, "in.toml", "--out", out, *arguments)
    table = folder / out / "self_energy.csv"
    while child.poll() is None and not (table.exists() and list((folder / out).glob("checkpoint-*.h5"))):
        time.sleep(0.001)
    return child


def test_a_run_that_is_stopped_continues_with_the_same_bits(folder):
    assert run(folder, "in.toml", "--out", "whole", *LONGER, "--quiet").returncode == 1
    for sign in (signal.SIGTERM, signal.SIGINT):
        out = f"out{sign}"
        child = start_and_wait(folder, out, *LONGER, *OFTEN)
        child.send_signal(sign)
        output, errors = child.communicate(timeout=60)
        assert child.returncode == 130, errors
        assert f"stopped; continue with plx-parquet --resume {out}" in output
        assert json.loads((folder / out / "run.json").read_text())["status"] == "interrupted"
        assert run(folder, "--resume", out, "--quiet", "--threads", "2").returncode == 1
        assert results(folder / out) == results(folder / "whole")
        assert len(list((folder / out).glob("checkpoint*"))) == 1  # without parts


def test_a_run_that_is_killed_continues_with_the_same_bits(folder):
    assert run(folder, "in.toml", "--out", "whole", "--quiet").returncode == 0
    child = start_and_wait(folder, "out", *OFTEN, "--quiet")
    child.kill()
    child.communicate(timeout=60)
    for name in ("iterations.csv", "vertex.csv"):  # as if killed between the rows and the checkpoint
        with (folder / "out" / name).open("a") as table:
            table.write("3,1,1\n")
    (folder / "out/checkpoint-999-0.h5").write_text("of a checkpoint that was not completed")
    for _ in range(2):  # a run that is complete ends at once, with the same results
        done = run(folder, "--resume", "out", "--quiet")
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


@pytest.fixture
def begun(folder):
    """A folder whose run was killed within its second run."""
    child = start_and_wait(folder, "out", *OFTEN, "--quiet")
    child.kill()
    child.communicate(timeout=60)
    return folder


def test_wrong_resumes_get_one_line(begun):
    for arguments, words in (
        (["--resume", "nowhere"], "nowhere/checkpoint.h5"),
        (["in.toml", "--resume", "out"], "neither an input file nor --out"),
        (["--resume", "out", "--set", "model.u=3"], "model.u: a resumed run cannot change it; expected 1.0"),
        (["--resume", "out", "--set", "grid.frequencies=[2, 3]"], "grid.frequencies: a resumed run cannot change it"),
        (["--resume", "out", "--set", "loop.iterations=1"], "loop.iterations: expected more than"),
        (["in.toml", "--out", "out"], "--resume out"),
    ):
        done = run(begun, *arguments, "--quiet")
        assert done.returncode == 2, words
        assert words in done.stderr and done.stderr.count("\n") == 1 and not done.stdout, done.stderr
    config = begun / "out/config.toml"
    config.write_text(config.read_text().replace('"dimer"', '"2x2"'))
    done = run(begun, "--resume", "out")
    assert done.returncode == 2 and 'expected "dimer", as in the checkpoint, found "2x2"' in done.stderr


def test_damaged_checkpoints_get_one_line(begun):
    for path in ("checkpoint.h5", *(p.name for p in (begun / "out").glob("checkpoint-*.h5"))):
        file = begun / "out" / path
        good = file.read_bytes()
        for bad, words in (
            (good[:-200], "truncated"),
            (b"text", "not a checkpoint"),
            (good[: len(good) // 2] + bytes([good[len(good) // 2] ^ 1]) + good[len(good) // 2 + 1 :], "damaged"),
        ):
            file.write_bytes(bad)
            done = run(begun, "--resume", "out", "--quiet")
            assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, (path, words)
        file.write_bytes(good)
    assert run(begun, "--resume", "out", "--quiet").returncode == 0
