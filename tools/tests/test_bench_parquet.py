"""The sweep of `./plx bench parquet`: exact answers for made-up measurements, its picture, a short real run.

PLX_BIN names the folder of the programs (./plx test sets it).
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import bench_parquet
import coalescing_data as data
import pytest
import run_bench
from console import job_command, job_environment, why_no_jobs
from test_bench_coalescing import BIN, ROOT, line, written


def measured() -> list[dict]:
    """One second of work and as much for four messages; the repeated measurements in turns that become slower."""
    times = {f"{n},{us}": 1 + 4 / n for n in (1, 2, 8) for us in (10, 1000)} | {"self": 1.7, "adaptive": 1.6}
    rows = [
        line("parquet", "rows", 64, turn=turn, setting=s, phase="iteration", time_s=t, overhead=(t - 1) / t, messages=100 * (t - 1))
        for turn in (0, 1) for s, t in times.items()
    ]  # fmt: skip
    return rows + [
        line("parquet-repeats", "rows", 64, turn=turn, setting=s, phase="iteration", time_s=t * slow)
        for turn, slow in ((2, 1.0), (3, 5.0)) for s, t in {"8,10": 1.5, "8,1000": 1.6, "self": 1.8, "adaptive": 1.56}.items()
    ]  # fmt: skip


def test_the_best_settings_are_those_of_the_sweep():
    sweep = data.select(measured(), part="parquet")
    assert bench_parquet.candidates(sweep) == ["8,10", "8,1000"]
    words = bench_parquet.repeats_of(["--sizes", "64", "--settings", "1,10", "--turns", "3"], ["8,10"])
    assert words == ["--sizes", "64", "--settings", "8,10 self adaptive", "--turns", "6"]


def test_the_repeats_compare_the_policy():
    rows = measured()
    named = {row["name"]: row["value"] for row in bench_parquet.rows_of(rows)}
    assert named["parquet/correlation"] == named["parquet/correlation/nc64"] == pytest.approx(1)
    assert named["parquet/best/nc64"] == 1.5
    assert named["parquet/adaptive/nc64"] == pytest.approx(1.04) and named["parquet/self/nc64"] == pytest.approx(1.2)
    only = dict(zip(bench_parquet.TITLES, bench_parquet.lines_of(rows)[0]))
    assert only["n = 1, ms"] == "5e+03" and only["best, ms"] == "1.5e+03 (8, 10 us)" and only["adaptive"] == "1.6e+03"
    assert only["over the best"] == "1.040" and only["corr."] == "1.000" and only["parcels each"] == "2 and 1.67"


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="no matplotlib")
def test_the_sweep_has_its_picture(tmp_path):
    written(tmp_path / "a.csv", measured())
    script = [sys.executable, "-B", str(ROOT / "bench" / "harness" / "coalescing_plot.py")]
    done = subprocess.run([*script, str(tmp_path / "a.csv"), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"picture: {tmp_path / 'coalescing-parquet.png'}"]


class options:
    quick, append = True, False
    only = None


needs_processes = pytest.mark.skipif(
    not (BIN / "bench_parquet").exists() or why_no_jobs() is not None, reason="bench_parquet is not built, or there is no mpirun"
)


@needs_processes
def test_a_short_run_measures_everything(tmp_path, monkeypatch):
    monkeypatch.setattr(bench_parquet.bench_coalescing, "draw", lambda csv, folder: None)
    rows = bench_parquet.run(run_bench.programs(BIN, tmp_path), options())
    names = {row["name"] for row in run_bench.check_rows(rows, "bench_parquet")}
    assert names >= {"parquet/correlation", "parquet/best/nc16", "parquet/adaptive/nc16"}
    sweep = data.select(data.read(tmp_path / "parquet-sweep.csv"), part="parquet", size=16)
    assert len(sweep) == 2 * (6 + 2) and all(row["time_s"] > 0 and 0 <= row["overhead"] <= 1 for row in sweep)
    for row in sweep:
        assert row["parcels"] == sweep[0]["parcels"] and 0 < row["messages"] <= row["parcels"]
        assert row["n"] == (float(row["setting"].split(",")[0]) if "," in row["setting"] else row["n"])
        if row["n"] == 1:
            assert row["messages"] == row["parcels"]


@needs_processes
@pytest.mark.parametrize(
    "words, problem",
    [
        (["--settings", "128;10"], "coalesce: expected "),
        (["--sizes", "20", "--settings", "self"], "--sizes 20: expected multiples of 8"),
        (["--settings"], "--settings: expected a value after it"),
        (["--speed", "3"], "--speed: expected --sizes, "),
        (["--settings", "self", "--csv", "/missing/x.csv"], "cannot write /missing/x.csv: "),
    ],
)
def test_wrong_options_get_one_line(words, problem):
    command = [*job_command(2), str(BIN / "bench_parquet"), "inside", "sweep", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=job_environment())
    lines = [x for x in done.stderr.splitlines() if x.startswith("bench_parquet: ")]
    assert done.returncode != 0 and len(lines) == 1 and problem in lines[0], done.stderr
