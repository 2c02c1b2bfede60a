"""The output of `./plx bench coalescing` for its measurements: exact answers, pictures of synthetic ones, a short real run.

PLX_BIN names the folder of the programs (./plx test sets it).
"""

from __future__ import annotations

import importlib.util
import math
import os
import random
import subprocess
import sys
from pathlib import Path

import bench_coalescing
import bench_parquet
import coalescing_data as data
import pytest
import run_bench
from console import job_command, job_environment, why_no_jobs

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("PLX_BIN", ROOT / "build" / "release" / "bin"))
HEADER = ",".join(data.COLUMNS) + "\n"


def line(part="toy", variant="calls", size=0, turn=0, setting="8,100", phase="0", at_s=0.0, time_s=1.0, overhead=0.5, **more):
    n, us = setting.split(",") if "," in setting else (0, 0)
    row = dict(part=part, variant=variant, size=size, turn=turn, setting=setting, n=int(n), interval_us=float(us), phase=phase)
    row |= dict(at_s=at_s, time_s=time_s, overhead=overhead, parcels=100.0, messages=10.0, bytes=1000.0) | more
    return row


def written(path: Path, rows: list[dict]) -> Path:
    quoted = ("variant", "setting")
    lines = [",".join(f'"{r[k]}"' if k in quoted else str(r[k]) for k in data.COLUMNS) + "\n" for r in rows]
    path.write_text(HEADER + "".join(lines))
    return path


def test_a_file_is_read_as_it_was_written(tmp_path):
    rows = [line(), line(setting="self", phase="3", time_s=0.25)]
    assert data.read(written(tmp_path / "a.csv", rows)) == rows


@pytest.mark.parametrize(
    "text, problem",
    [
        ("", "expected the columns part,"),
        ("a,b\n", "found a,b"),
        (HEADER + "toy,calls,0\n", "a.csv:2: expected 14 values"),
        (HEADER + 'toy,calls,0,0,"8,1",8,1,0,0,long,0,0,0,0\n', "a.csv:2: expected 14 values"),
    ],
)
def test_a_wrong_file_is_reported_in_one_line(tmp_path, text, problem):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError) as error:
        data.read(tmp_path / "a.csv")
    assert problem in str(error.value) and "\n" not in str(error.value)


def test_turns_continue_where_they_ended(tmp_path):
    assert data.turns_in(tmp_path / "none.csv") == 0
    assert data.turns_in(written(tmp_path / "a.csv", [])) == 0
    assert data.turns_in(written(tmp_path / "a.csv", [line(turn=4), line(turn=2)])) == 5


def test_correlations():
    assert data.correlation([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)
    assert data.correlation([1, 2, 3], [-2, -4, -6]) == pytest.approx(-1)
    assert math.isnan(data.correlation([1], [1])) and math.isnan(data.correlation([1, 2], [3, 3]))


def test_a_setting_is_the_median_of_its_turns():
    rows = [line(turn=t, phase=str(p), time_s=time, overhead=o) for t, p, time, o in
            [(0, 0, 1.0, 0.2), (0, 1, 3.0, 0.6), (1, 0, 5.0, 0.1), (1, 1, 5.0, 0.1), (2, 0, 100.0, 1.0), (2, 1, 0.0, 0.0)]]  # fmt: skip
    point = data.per_setting(rows)["8,100"]
    assert point["time_s"] == 10 and point["turns"] == 3
    assert point["overhead"] == pytest.approx(0.5)  # of 0.5, 0.1 and 1: weighted by time
    assert (point["parcels"], point["messages"], point["bytes"]) == (200, 20, 2000)


def test_the_correlation_is_of_settings_with_numbers():
    # A second of work, and as much for 3 messages: the ratio is 3 / n, the share 3 / (3 + n).
    rows = [line(setting=f"{n},10", time_s=1 + 3 / n, overhead=3 / (3 + n)) for n in (1, 2, 4, 8)]
    rows.append(line(setting="self", time_s=9.0, overhead=0.0))
    assert data.overhead_correlation(rows) == pytest.approx(1)
    shares, times = [3 / (3 + n) for n in (1, 2, 4, 8)], [1 + 3 / n for n in (1, 2, 4, 8)]
    named = {r["name"]: r["value"] for r in data.rows_of(rows)}
    share = pytest.approx(data.correlation(shares, times))
    one = pytest.approx(1)
    assert named == {"net/toy/correlation": one, "net/toy/correlation_share": share, "net/toy/correlation_short": one}


def test_intervals_that_are_too_long_for_the_measurement_are_omitted():
    # 10 ms of work and 30 ms for as many messages as parcels; the last parcels wait for the interval.
    rows = [line(setting=f"{n},{us}", time_s=0.01 + 0.03 / n + (n > 1) * us * 1e-6, overhead=3 / (3 + n))
            for n in (1, 2, 4, 8) for us in (1, 1000, 10000)]  # fmt: skip
    short = data.of_short_intervals(data.static_points(rows))
    assert {p["interval_us"] for p in short} == {1, 1000}  # the shortest takes 13.75 ms
    assert len(short) == 8
    assert data.overhead_correlation(rows) < 0.92 < 0.99 < data.overhead_correlation(rows, short=True)
    line_ = dict(zip(data.SWEEP_TITLES, data.sweep_lines(rows)[0]))
    assert (line_["ms"], line_["n = 1"], line_["best"], line_["turns"]) == ("toy", "40", "13.8 (8, 1 us)", "1")
    assert line_["self"] == "" and float(line_["short"]) > 0.99


def swept(noise: float, unseen: float) -> list[dict]:
    """A sweep of 8 turns: work and messages, noise of each measurement, and a cost of each setting outside the overhead."""
    random_ = random.Random(3)
    return [
        line(setting=f"{n},{us}", turn=turn, time_s=1 + 3 / n + noise * random_.gauss(0, 1) + unseen * (n * us % 7),
             overhead=3 / (3 + n))
        for turn in range(8) for n in (1, 2, 4, 8, 16) for us in (1, 10, 100)
    ]  # fmt: skip


def test_noise_is_distinguished_from_unexplained_time():
    exact, noisy, unseen = (data.repeatable(swept(*how)) for how in ((0, 0), (1.0, 0), (0.01, 0.3)))
    assert exact["ceiling"] == pytest.approx(1)
    assert 0.6 < noisy["ceiling"] < 0.95 and abs(noisy["rest"]) < 0.6
    assert data.overhead_correlation(swept(1.0, 0)) == pytest.approx(noisy["ceiling"], abs=0.15)
    assert unseen["ceiling"] > 0.99 and unseen["rest"] > 0.95
    assert all(math.isnan(v) for v in data.repeatable([line(turn=t) for t in range(3)]).values())
    named = {r["name"]: r["value"] for r in data.rows_of(swept(1.0, 0))}
    assert named["net/toy/correlation_ceiling"] == noisy["ceiling"]


def phases(traffic="toy"):
    rows = []
    for kind, best in (("dense", 1.0), ("sparse", 2.0), ("bursty", 4.0)):
        for turn in (0, 1, 2):
            rows += [line("phases", traffic, turn=turn, setting=s, phase=kind, time_s=t) for s, t in
                     (("8,100", best * (1 + turn)), ("64,10", best * 2), ("1,1", best * 9))]  # fmt: skip
            for i in range(30):  # it finds what is good after 1.2 s
                time_s = best * (5 if i < 12 else 1.9)
                rows.append(line("phases", traffic, turn=turn, setting="adaptive", phase=kind, at_s=0.1 * (i + 1),
                                 time_s=time_s * 1e-6))  # fmt: skip
    return rows


def test_phases_are_compared_with_the_best_setting_of_each():
    rows = phases()
    for row in rows:
        row["time_s"] *= 1 if row["setting"] == "adaptive" else 1e-6
    assert data.against_best(rows, "adaptive") == {k: pytest.approx(0.95) for k in data.KINDS}
    assert data.against_best(rows, "adaptive", settled_s=0) == {k: pytest.approx(0.95) for k in data.KINDS}
    assert data.against_best(rows, "self") == {}
    rows.append(line("phases", "rotation", setting="8,100", phase="dense", time_s=1.0))
    rows.append(line("phases", "rotation", setting="adaptive", phase="dense", time_s=1.5))
    named = {r["name"]: r["value"] for r in data.rows_of(rows)}
    assert named == {f"net/adaptive/worst{ending}": pytest.approx(1.5) for ending in ("", "_halves")}


def test_a_lucky_turn_of_a_setting_does_not_make_it_the_best():
    times = {"8,100": [10, 10, 10, 10], "16,100": [11, 11, 11, 1], "self": [9, 12, 9, 12]}
    rows = [line("phases", setting=s, phase="dense", turn=i, time_s=t) for s, ts in times.items() for i, t in enumerate(ts)]
    # Turns 0 and 2 choose 8,100: 12 / 10 in 1 and 3. These choose 16,100 (its median is 6): 9 / 11 in 0 and 2.
    assert data.against_best(rows, "self") == {"dense": pytest.approx((12 / 10 + 9 / 11) / 2)}


def test_a_setting_of_two_moods_is_not_hidden_by_halves():
    times = {"8,100": [9, 40, 9, 40], "16,100": [10, 10, 10, 10], "self": [12, 12, 12, 12]}
    rows = [line("phases", "toy", setting=s, phase="dense", turn=i, time_s=t) for s, ts in times.items() for i, t in enumerate(ts)]
    # Turns 0 and 2 choose 8,100, of which 1 and 3 say 40; these choose 16,100. By all turns 16,100 is the best.
    assert data.against_best(rows, "self") == {"dense": pytest.approx((12 / 40 + 12 / 10) / 2)}
    assert data.over_best(rows, "self") == {"dense": pytest.approx(1.2)}
    assert data.over_best(rows, "adaptive") == {}
    named = {r["name"]: r["value"] for r in data.rows_of(rows)}
    assert named == {"net/selfclock/worst": pytest.approx(1.2), "net/selfclock/worst_halves": pytest.approx(0.75)}


def test_repeats_compare_what_the_phases_have_chosen():
    sweep = {"8,100": 10, "16,100": 11, "64,100": 1000, "self": 9, "adaptive": 9}
    rows = [line("phases", "toy", setting=s, phase="dense", time_s=t * 1e-3) for s, t in sweep.items()]
    assert data.candidates(rows) == ["8,100", "16,100"]
    # Each turn is slower than the one before; 16,100 was lucky in the sweep, and 64,100 here, which is not asked.
    repeats = []
    for turn, slow in ((1, 1.0), (2, 3.0), (3, 9.0)):
        for s, t in {"8,100": 10, "16,100": 20, "64,100": 1, "self": 10.3, "adaptive": 11}.items():
            for at_s, late in ((0.05, 50), (0.5, 7), (1.3, 1)):  # all are slow at first
                repeats.append(line("repeats", "toy", setting=s, phase="dense", turn=turn, at_s=at_s, time_s=t * slow * late * 1e-3))
    assert data.in_repeats(rows, repeats, "self") == {"dense": pytest.approx(1.03)}
    assert data.in_repeats(rows, repeats, "adaptive") == {"dense": pytest.approx(1.1)}
    named = {r["name"]: r["value"] for r in data.rows_of(rows + repeats)}
    assert named["net/adaptive/worst"] == pytest.approx(1.1)
    assert named["net/adaptive/worst_sweep"] == pytest.approx(0.9)
    assert data.repeat_lines(rows + repeats) == [["toy, dense", "8,100 16,100", "1.030", "1.100", "3"]]


def test_repeats_need_phases(capsys):
    asked = ["repeats", "--traffic", "toy", "--settings", bench_coalescing.BEST]
    rows = [line("phases", "toy", setting="8,100", phase="dense")]
    assert bench_coalescing.with_the_best(asked, rows, ["self"])[-1] == "8,100 self"
    with pytest.raises(SystemExit):
        bench_coalescing.with_the_best(asked, [], ["self"])
    assert "run that before" in capsys.readouterr().err


def test_when_a_setting_has_found_what_is_good():
    units = [line(at_s=0.1 * (i + 1), time_s=5.0 if i < 12 else 1.0) for i in range(30)]
    assert data.found_after_s(units, 1.05) == pytest.approx(1.0)  # from there on three of five are good
    assert data.found_after_s(units[12:], 1.05) == 0
    assert data.found_after_s(units, 0.5) == math.inf


def test_a_phase_has_found_what_it_will_stay_at():
    rows = [{**row, "time_s": row["time_s"] * (1 if row["setting"] == "adaptive" else 1e-6)} for row in phases()]
    assert data.found_in_s(rows) == {kind: pytest.approx(1.0) for kind in data.KINDS}
    named = {r["name"]: r["value"] for r in data.rows_of(rows)}
    assert named["net/adaptive/found"] == pytest.approx(1.0)
    lines = [dict(zip(data.PHASE_TITLES, found)) for found in data.phase_lines(rows)]
    assert [row["traffic"] for row in lines] == ["toy, dense", "toy, sparse", "toy, bursty"]
    assert all((row["adaptive over it"], row["found in, s"], row["turns"]) == ("0.950", "1.00", "3") for row in lines)


def test_bytes_per_second_of_what_leaves_its_locality():
    size = 32
    payload = 8 * size**3 * 16 * 3 / 4
    rows = [line("rotation", "rows", size, setting=s, time_s=t) for s, t in
            (("1,1", 4.0), ("1,10", 4.0), ("8,10", 2.0), ("16,10", 1.0), ("self", 0.5))]  # fmt: skip
    rows += [line("rotation", "packed", size, setting="packed", time_s=0.25)]
    rows += [line("carrier", "heads", size, setting="none", time_s=2.0, bytes=16 * size + 24.0)]
    rows += [line("carrier", "pieces", 0, setting="none", time_s=2.0, bytes=7.0)]
    assert data.bandwidths(rows) == {
        "row parcels": {size: payload / 4},
        "coalesced": {size: payload},
        "self-clocking": {size: payload * 2},
        "packed": {size: payload * 4},
        "transport": {size: pytest.approx(8.0 * size)},
        "transport, 1 MiB": {0: 3.5},
    }


def made_up() -> list[dict]:
    grid = [(n, us) for n in (1, 8, 64) for us in (10, 1000)]
    settings = [f"{n},{us}" for n, us in grid] + ["self", "adaptive"]
    rows = [line(setting=s, phase=str(p), time_s=1.0 + i + p, overhead=0.1 * i) for i, s in enumerate(settings) for p in range(4)]
    for first, last in (("64,10", "1,10"), ("1,10", "64,10")):
        rows += [line("change", first, setting=first if p < 2 else last, phase=str(p), at_s=p + 0.1 * k, time_s=0.1)
                 for p in range(4) for k in range(5)]  # fmt: skip
    rows += [line("rotation", "rows", 32, setting=s, time_s=1.0 + i, overhead=0.1 * i) for i, s in enumerate(settings)]
    rows += [line("rotation", "packed", 32, setting="packed"), line("carrier", "heads", 32, setting="none")]
    rows += [line("carrier", "pieces", 0, setting="none", bytes=2e9)]
    return rows + phases() + phases("rotation")


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="no matplotlib")
def test_every_experiment_has_its_picture(tmp_path):
    written(tmp_path / "a.csv", made_up())
    script = [sys.executable, "-B", str(ROOT / "bench" / "harness" / "coalescing_plot.py")]
    done = subprocess.run([*script, str(tmp_path / "a.csv"), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    names = [f"coalescing-{what}.png" for what in ("toy", "change", "rotation", "phases", "bandwidth")]
    assert done.stdout.splitlines() == [f"picture: {tmp_path / name}" for name in names]
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in names)
    done = subprocess.run([*script, str(tmp_path / "b.csv"), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


class options:
    quick, append = True, False
    only = None


def test_without_mpirun_one_line_says_so(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert bench_coalescing.run(run_bench.programs(tmp_path, tmp_path), options()) == []
    said = capsys.readouterr().out.strip().splitlines()
    assert len(said) == 1 and "coalescing is omitted: mpirun was not found" in said[0]


@pytest.mark.parametrize(
    "words, problem",
    [
        (["--only", "toy,rotatoin"], "--only rotatoin: expected one of toy, change, "),
        (["parquet", "--only", "toy"], "--only toy: expected one of sweep64, sweep128, sweep256"),
        (["net", "--only", "toy"], "--only toy: expected the benchmarks coalescing or parquet, which have parts"),
    ],
)
def test_an_unknown_part_is_named(capsys, words, problem):
    with pytest.raises(SystemExit):
        run_bench.parse(words)
    assert problem in capsys.readouterr().err


def test_parts_of_one_program_leave_out_the_other(monkeypatch, tmp_path):
    for module in (bench_coalescing, bench_parquet):
        monkeypatch.setattr(module, "why_no_jobs", lambda: None)
    (tmp_path / "coalescing.csv").write_text("earlier measurements\n")
    there = run_bench.programs(tmp_path, tmp_path)  # without programs: a part that begins fails
    assert bench_coalescing.run(there, run_bench.parse(["--only", "sweep64"])) == []
    assert bench_parquet.run(there, run_bench.parse(["--only", "toy"])) == []
    assert (tmp_path / "coalescing.csv").exists()


needs_processes = pytest.mark.skipif(
    not (BIN / "bench_coalescing").exists() or why_no_jobs() is not None,
    reason="bench_coalescing is not built, or there is no mpirun",
)


@needs_processes
def test_a_short_run_measures_everything(tmp_path, monkeypatch):
    monkeypatch.setattr(bench_coalescing, "draw", lambda csv, folder: None)
    rows = bench_coalescing.run(run_bench.programs(BIN, tmp_path), options())
    named = {row["name"]: row for row in run_bench.check_rows(rows, "bench_coalescing")}
    assert {"net/toy/correlation", "net/rotation/correlation", "net/rotation/packed", "net/selfclock/worst"} <= set(named)
    measured = data.read(tmp_path / "coalescing.csv")
    # The share of a measurement as short as a task may exceed 1: a task's time is known at its end.
    assert all(row["time_s"] > 0 and 0 <= row["overhead"] < math.inf for row in measured)
    toy = data.select(measured, part="toy", setting="16,1000")
    # Calls and answers of both, and what the barriers around them send.
    assert all(2 * 2 * 5000 <= row["parcels"] < 2 * 2 * 5000 + 20 for row in toy) and len(toy) == 4
    single = data.select(measured, part="toy", setting="1,1000")
    assert all(row["messages"] >= 2 * 2 * 5000 for row in single)
    rotation = data.select(measured, part="rotation", variant="rows", size=16)
    assert {row["parcels"] // 100 * 100 for row in rotation} == {8 * 16**2 * 3 / 4 // 100 * 100}


@needs_processes
@pytest.mark.parametrize(
    "processes, words, problem",
    [
        (2, ["dance"], "'dance' is not a part; expected: mpirun"),
        (2, ["toy", "--settings", "128;10"], "coalesce: expected "),
        (2, ["toy", "--settings"], "--settings: expected a value after it"),
        (3, ["toy", "--settings", "self"], "this part needs two localities"),
        (3, ["rotation", "--settings", "self", "--sizes", "16"], "expected multiples of the number of localities"),
        (2, ["toy", "--settings", "self", "--csv", "/nowhere/a.csv"], "cannot write /nowhere/a.csv"),
    ],
)
def test_wrong_usage_is_reported_in_one_line(processes, words, problem):
    command = [*job_command(processes), str(BIN / "bench_coalescing"), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=job_environment())
    said = {x for x in done.stderr.splitlines() if x.startswith("bench_coalescing: ")}
    # mpirun may kill the failed process before it prints its message; then another one reports that it is lost, and why.
    own = {x for x in said if "is lost" not in x}
    assert done.returncode != 0 and len(own) <= 1 and all(problem in x for x in own), done.stderr
    assert any(problem in x for x in said), done.stderr
