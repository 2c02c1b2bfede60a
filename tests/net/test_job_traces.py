"""Traces and summaries of whole jobs (job_check.cpp): the files of several processes as one trace, in which every counted
parcel has an arrow, and no arrow ends before it begins.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import shutil
import subprocess

import pytest
from built import BIN, needs
from launched import MPIRUN, environment

PROGRAM = BIN / "job_check"
pytestmark = [*needs("job_check", job=True), *needs("plx-trace")]


PATIENT = {"PLX_CHECK_STOP_DEADLINE": "600"}  # the root waits for half of it for what the others have measured


def run(n, folder, *arguments, mpirun=(), **settings):
    return subprocess.run(
        [*MPIRUN, *mpirun, "-n", str(n), str(PROGRAM), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        env=environment(**({"PLX_OUTPUT": str(folder), "PLX_THREADS": "1"} | settings)),
    )


def plx_trace(*arguments):
    done = subprocess.run([BIN / "plx-trace", *map(str, arguments)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done


def load(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def counts(output):
    """By locality: parcels sent and received, as counted by the program when the job was quiescent."""
    return {int(a): (int(b), int(c)) for a, b, c in re.findall(r"^count (\d+) (\d+) (\d+)$", output, re.M)}


@pytest.fixture(scope="module", params=[2, 3])
def traced(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("traced") / "run"
    done = run(request.param, folder, "count", PLX_TRACE="1", PLX_PROFILE="csv", **PATIENT)
    assert done.returncode == 0, done.stderr
    for command in ("json", "critical", "timeline"):
        assert plx_trace(command, folder).stderr == ""
    return request.param, folder, counts(done.stdout)


def test_every_counted_parcel_has_an_arrow(traced):
    n, folder, counted = traced
    trace = load(folder / "trace.json.gz")
    assert sorted(counted) == list(range(n)) and all(sent > 0 for sent, _ in counted.values())
    starts, ends, rows = {}, {}, {}
    for e in trace["traceEvents"]:
        if e.get("cat") == "parcel":
            if e["ph"] == "X":
                rows.setdefault((e["pid"], e["tid"]), []).append(e)
            else:
                side = starts if e["ph"] == "s" else ends
                assert e["id"] not in side
                side[e["id"]] = e
    assert starts.keys() == ends.keys()
    for locality, (sent, received) in counted.items():
        assert sum(e["pid"] == locality + 1 for e in starts.values()) == sent
        # The others notify the root when they stop recording; the root may have received that before it counted.
        left = received - sum(e["pid"] == locality + 1 for e in ends.values())
        assert 0 <= left <= (n - 1 if locality == 0 else 0)
    other = trace["otherData"]
    assert other["parcels"] == len(starts) == sum(sent for sent, _ in counted.values())
    assert [m["parcels_unmatched"] for m in other["localities"]] == [0] * n
    assert [m["missing"] for m in other["localities"]] == [""] * n
    slack_us = [1e6 * m["clock_uncertainty_s"] for m in other["localities"]]
    for number, start in starts.items():
        end = ends[number]
        assert end["ts"] + slack_us[start["pid"] - 1] + slack_us[end["pid"] - 1] >= start["ts"]
        assert end["pid"] != start["pid"]
    for row in rows.values():  # slices of a row never overlap
        for before, after in zip(row, row[1:]):
            assert round(1000 * (before["ts"] + before["dur"])) <= round(1000 * after["ts"])


def test_tasks_have_parents_on_other_localities(traced):
    _, folder, _ = traced
    tasks, pairs = {}, set()
    for e in load(folder / "trace.json.gz")["traceEvents"]:
        if e["ph"] == "X" and "task" in e.get("args", {}):
            tasks.setdefault(e["args"]["task"], []).append(e)
    for pieces in tasks.values():
        for e in pieces:
            for parent in e["args"].get("parents", []):
                assert parent in tasks
                pairs.add((tasks[parent][0]["pid"] == e["pid"], e["name"]))
    assert any(not same and "square" in name for same, name in pairs)
    assert not any(same and name == "square" for same, name in pairs), "each call came from another locality"
    path = json.loads((folder / "critical_path.json").read_text())
    assert 0 < path["span_s"] <= path["wall_s"]


def test_each_locality_has_its_own_trace(traced):
    n, folder, _ = traced
    files = [folder / "trace.plxt", *(folder / "localities" / str(i) / "trace.plxt" for i in range(1, n))]
    assert all(f.stat().st_size > 0 for f in files)
    assert "slices" in plx_trace("stats", files[-1]).stdout
    other = load(folder / "trace.json.gz")["otherData"]["localities"]
    path_s = json.loads((folder / "critical_path.json").read_text())["wall_s"]  # a round trip is shorter than the job
    assert all(0 < m["clock_uncertainty_s"] < path_s for m in other[1:])
    for name in ("job_timeline.csv", "job_parcels.csv"):
        assert len((folder / name).read_text().splitlines()) > n


def test_the_summary_matches_the_program(traced):
    n, folder, counted = traced
    with open(folder / "job_profile.csv", newline="") as file:
        kinds = {row["name"]: row for row in csv.DictReader(file)}
    square = next(row for name, row in kinds.items() if name.endswith("square"))
    assert int(square["calls"]) == 300 * n * (n - 1)
    assert 1 <= float(square["imbalance"]) <= n
    assert float(square["least_locality_s"]) <= float(square["most_locality_s"]) <= float(square["total_s"])
    with open(folder / "localities.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["locality"]) for row in rows] == list(range(n))
    for row in rows:
        sent, received = counted[int(row["locality"])]
        assert int(row["parcels_sent"]) >= sent and int(row["parcels_received"]) >= received
        assert 0 <= float(row["idle_rate"]) <= 1 and row["missing"] == ""
    assert len(json.loads((folder / "job.json").read_text())["localities"]) == n


@pytest.mark.parametrize("traced", ["0", "1"])
def test_a_locality_that_is_late_at_the_end_is_waited_for(tmp_path, traced):
    done = run(3, tmp_path / "run", "end-late", 1, 4, PLX_TRACE=traced, PLX_PROFILE="csv", **PATIENT)
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "run" / "localities.csv", newline="") as file:
        assert [row["missing"] for row in csv.DictReader(file)] == [""] * 3


@pytest.mark.skipif(shutil.which("otf2-print") is None, reason="no otf2-print (otf2-tools)")
def test_the_archive_holds_all_localities(traced):
    n, folder, counted = traced
    archive = folder / "otf2" / "traces.otf2"
    made = subprocess.run([BIN / "plx-trace", "otf2", folder], capture_output=True, text=True, timeout=600)
    if "built without OTF2" in made.stderr:
        pytest.skip("built without OTF2")
    assert made.returncode == 0, made.stderr
    printed = subprocess.run(["otf2-print", str(archive)], capture_output=True, text=True, timeout=600)
    assert printed.returncode == 0 and "warning" not in printed.stderr, printed.stderr
    sends = re.findall(r"^MPI_SEND .*Receiver: (\d+)", printed.stdout, re.M)
    receives = re.findall(r"^MPI_RECV .*Sender: (\d+)", printed.stdout, re.M)
    assert len(sends) == sum(sent for sent, _ in counted.values()) == len(receives)
    definitions = subprocess.run(["otf2-print", "-G", str(archive)], capture_output=True, text=True, timeout=600)
    assert definitions.stdout.count("LOCATION_GROUP ") == n
    assert definitions.stdout.count('"parcels"') >= n


def missing_of(folder):
    warnings = plx_trace("json", folder).stderr
    trace = load(folder / "trace.json.gz")
    slices = [e for e in trace["traceEvents"] if e["ph"] == "X" and "task" in e.get("args", {})]
    return [m["missing"] for m in trace["otherData"]["localities"]], slices, warnings


@pytest.mark.parametrize("case, lost", [(("survive", 1), 1), (("die", 2), 2), (("survive", 0), 0)])
def test_the_trace_of_a_killed_locality_is_read_as_far_as_it_goes(tmp_path, case, lost):
    done = run(3, tmp_path / "run", *case, mpirun=["--enable-recovery"], PLX_TRACE="1")
    missing, slices, warnings = missing_of(tmp_path / "run")
    assert missing[lost] in ("its trace has no end: it was killed, or is still running", "it left no trace"), done.stderr
    assert all(text == "" for i, text in enumerate(missing) if i != lost), missing
    assert {e["pid"] for e in slices} >= {i + 1 for i in range(3) if i != lost}
    tasks = [{e["args"]["task"] for e in slices if e["pid"] == i + 1} for i in range(3)]
    assert not tasks[0] & tasks[1] and not tasks[1] & tasks[2], "each task has a unique number"
    assert "has no end" in warnings or missing[lost] == "it left no trace"


# The trace of an earlier run, by all localities, is in the folder.
@pytest.mark.parametrize("every, kept", [(2, [0, 2]), (3, [0]), (7, [0])])
def test_every_kth_locality_records_a_trace(tmp_path, every, kept):
    run(3, tmp_path / "run", "count", PLX_TRACE="1", **PATIENT)
    done = run(3, tmp_path / "run", "count", f"--plx:trace-localities={every}", PLX_TRACE="1", **PATIENT)
    assert done.returncode == 0, done.stderr
    counted = counts(done.stdout)
    missing, slices, warnings = missing_of(tmp_path / "run")
    assert [text == "" for text in missing] == [i in kept for i in range(3)], missing
    assert {e["pid"] for e in slices} == {i + 1 for i in kept}
    gone = [i for i in range(3) if i not in kept]
    assert ("locality 1 left no trace" if len(gone) == 1 else "2 of 3 localities left no trace: 1, 2;") in warnings
    # Between localities with a trace each parcel has both ends.
    other = load(tmp_path / "run" / "trace.json.gz")["otherData"]
    sent = sum(counted[i][0] for i in kept)
    assert len(kept) > 1 or other["parcels"] <= sent
    assert all(m["clock_uncertainty_s"] > 0 for i, m in enumerate(other["localities"]) if i in kept[1:])
    with open(tmp_path / "run" / "localities.csv", newline="") as file:
        assert [row["missing"] for row in csv.DictReader(file)] == [""] * 3, "the summary has all localities"


@pytest.mark.parametrize("wrong", ["0", "-1", "two"])
def test_a_wrong_number_of_traced_localities_is_refused_in_one_line(tmp_path, wrong):
    done = run(2, tmp_path / "run", "count", f"--plx:trace-localities={wrong}", PLX_TRACE="1")
    lines = [line for line in done.stderr.splitlines() if line.startswith("job_check")]
    assert done.returncode != 0 and len(lines) == 1 and "--plx:trace-localities" in lines[0], done.stderr
    assert not (tmp_path / "run").exists()


def test_without_a_trace_nothing_is_written(tmp_path):
    done = run(2, tmp_path / "run", "count")
    assert done.returncode == 0 and len(counts(done.stdout)) == 2 and not (tmp_path / "run").exists()
