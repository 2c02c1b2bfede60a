"""The output files of a run as read by other programs: JSON (strictly), Perfetto, OTF2's own tools, CSV, DOT.

The program known_graph builds a known graph, which every file must contain.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trace_processor
from built import BIN, needs

PROGRAM = BIN / "known_graph"
pytestmark = [*needs("known_graph"), *needs("plx-trace")]
ROUNDS, WIDTH = 20, 40  # a sum has more inputs than the 16 that a slice may list
ALL = ("profile=csv,tau", "trace=1")


def run(folder, *settings, rounds=ROUNDS, width=WIDTH, limit_bytes=None):
    def limit():
        if limit_bytes is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    env = {k: v for k, v in os.environ.items() if not k.startswith("PLX_")}
    env["PLX_OUTPUT"] = str(folder)
    env.update(("PLX_" + k.upper().replace("-", "_"), v) for k, v in (s.split("=", 1) for s in settings))
    done = subprocess.run(
        [str(PROGRAM), str(rounds), str(width)], capture_output=True, text=True, env=env, preexec_fn=limit, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == str(rounds * width)
    return done


def plx_trace(*arguments, code=0) -> subprocess.CompletedProcess:
    done = subprocess.run([BIN / "plx-trace", *map(str, arguments)], capture_output=True, text=True, timeout=600)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    there = tmp_path_factory.mktemp("traces") / "run"
    run(there, *ALL)
    for command in ("json", "tree", "graph", "concurrency", "critical", "scatter"):
        assert plx_trace(command, there).stderr == ""
    return there


def load(path) -> dict:
    """Strictly: json.loads alone accepts NaN, and the last of two members with the same name."""

    def unique(pairs):
        assert len({k for k, _ in pairs}) == len(pairs), pairs
        return dict(pairs)

    def refuse(constant):
        raise ValueError(constant)

    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8", errors="strict") as file:
        return json.load(file, object_pairs_hook=unique, parse_constant=refuse)


def check_graph(tasks: dict, rounds=ROUNDS, width=WIDTH):
    """tasks: number -> name, key, parents (numbers). The graph must be the one that the program built."""
    place = {(t["name"], t["key"]): n for n, t in tasks.items() if t["key"] is not None}
    assert len(place) == rounds * (width + 1)
    main = {n for n, t in tasks.items() if t["key"] is None}
    assert len(main) == 1
    for r in range(rounds):
        leaves = {place["leaf", r * width + i] for i in range(width)}
        for leaf in leaves:
            assert set(tasks[leaf]["parents"]) == main
        needed = leaves | ({place['sum "all"', r - 1]} if r else set())
        assert set(tasks[place['sum "all"', r]]["parents"]) - main == needed


def test_the_json_trace_contains_the_graph(folder):
    trace = load(folder / "trace.json.gz")
    tasks, rows = {}, {}
    for e in trace["traceEvents"]:
        if e["ph"] != "X":
            continue
        rows.setdefault(e["tid"], []).append(e)
        a = e["args"]
        task = tasks.setdefault(a["task"], {"name": e["name"], "key": a.get("key"), "parents": []})
        task["parents"] += a.get("parents", [])
        assert a.get("wait_us", 0) >= 0
    check_graph(tasks)
    for row in rows.values():
        for before, after in zip(row, row[1:]):
            assert round(before["ts"] * 1000) + round(before["dur"] * 1000) <= round(after["ts"] * 1000)


def test_arrows_begin_and_end_in_slices(folder):
    events = load(folder / "trace.json.gz")["traceEvents"]
    slices = {}
    for e in events:
        if e["ph"] == "X":
            slices.setdefault(e["tid"], []).append((round(e["ts"] * 1000), round(e["dur"] * 1000)))
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert starts and starts.keys() == ends.keys()
    for number, start in starts.items():
        at, to = round(start["ts"] * 1000), round(ends[number]["ts"] * 1000)
        assert any(ts <= at < max(ts + dur, ts + 1) for ts, dur in slices[start["tid"]])
        assert any(ts == to for ts, _ in slices[ends[number]["tid"]])
        assert at <= to and ends[number]["bp"] == "e"


@pytest.mark.skipif(bool(trace_processor.missing()), reason=trace_processor.missing())
def test_perfetto_reads_the_graph_from_the_json_trace(folder):
    slices, arguments, arrows, complaints = trace_processor.ask(
        folder / "trace.json.gz",
        "select track_id, name, ts, dur, arg_set_id from slice order by track_id, ts",
        "select arg_set_id, flat_key, int_value from args",
        "select slice.ts as began, later.ts as at from flow"
        " join slice on slice.id = slice_out join slice later on later.id = slice_in",
        "select name, value from stats where severity in ('error', 'data_loss') and value > 0",
    )
    assert complaints == []
    of_set = {}
    for a in arguments:
        of_set.setdefault(a["arg_set_id"], {}).setdefault(a["flat_key"], []).append(a["int_value"])
    tasks = {}
    for s in slices:
        values = of_set[s["arg_set_id"]]
        (number,) = values["args.task"]
        task = tasks.setdefault(number, {"name": s["name"], "key": values.get("args.key", [None])[0], "parents": []})
        task["parents"] += values.get("args.parents", [])
    check_graph(tasks)
    for before, after in zip(slices, slices[1:]):
        assert before["track_id"] != after["track_id"] or before["ts"] + before["dur"] <= after["ts"]
    written = load(folder / "trace.json.gz")["traceEvents"]
    assert len(slices) == sum(e["ph"] == "X" for e in written)
    assert len(arrows) == sum(e["ph"] == "s" for e in written) > 0
    assert all(a["began"] <= a["at"] for a in arrows)


@pytest.mark.skipif(bool(trace_processor.missing()), reason=trace_processor.missing())
def test_perfetto_reads_the_protobuf(folder, tmp_path):
    slices, arguments, arrows, complaints, tracks = trace_processor.ask(
        Path(plx_trace("perfetto", folder, "-o", tmp_path / "trace.pftrace.gz").stdout.strip()),
        "select id, track_id, name, ts, dur, arg_set_id from slice order by track_id, ts",
        "select arg_set_id, key, int_value from args",
        "select slice_out, slice_in from flow",
        "select name, value from stats where severity in ('error', 'data_loss') and value > 0",
        "select distinct track.name as name from slice join track on track.id = track_id",
    )
    assert complaints == []
    assert {t["name"] for t in tracks} <= {"worker 0", "worker 1"}
    of_set = {}
    for a in arguments:
        of_set.setdefault(a["arg_set_id"], {})[a["key"]] = a["int_value"]
    task_of, tasks, ready_by = {}, {}, {}
    for s in slices:
        values = of_set[s["arg_set_id"]]
        task_of[s["id"]] = number = values["debug.task"]
        task = tasks.setdefault(number, {"name": s["name"], "key": values.get("debug.key"), "parents": set()})
        ready_by.setdefault(number, values.get("debug.ready_by"))
        assert s["dur"] >= 0 and values.get("debug.wait_ns", 0) >= 0
    for before, after in zip(slices, slices[1:]):
        assert before["track_id"] != after["track_id"] or before["ts"] + before["dur"] <= after["ts"]
    for a in arrows:
        tasks[task_of[a["slice_in"]]]["parents"].add(task_of[a["slice_out"]])
    place = {(t["name"], t["key"]): n for n, t in tasks.items()}
    assert len(place) == ROUNDS * (WIDTH + 1) + 1
    for r in range(ROUNDS):
        leaves = {place["leaf", r * WIDTH + i] for i in range(WIDTH)}
        main = {n for (_, key), n in place.items() if key is None}
        assert all(tasks[n]["parents"] == main and {ready_by[n]} == main for n in leaves)
        parents = tasks[place['sum "all"', r]]["parents"]
        assert parents and parents <= leaves | main | ({place['sum "all"', r - 1]} if r else set())


def test_a_range_of_time_selects_slices(folder, tmp_path):
    begin = [float(line.split()[0]) for line in plx_trace("find", folder, "--order", "first", "--rows", "2000").stdout.splitlines()[3:]]
    assert begin == sorted(begin) and len(begin) >= ROUNDS * (WIDTH + 1) + 1
    # Between two begins, where no slice of a worker ends as another one begins, which both parts would contain.
    at = max(range(len(begin) // 3, 2 * len(begin) // 3), key=lambda i: begin[i + 1] - begin[i])
    middle = (begin[at] + begin[at + 1]) / 2
    counts = {}
    for name, limits in {"whole": (), "before": ("--to", middle), "after": ("--from", middle)}.items():
        counts[name] = int(plx_trace("find", folder, "--type", "leaf", *limits).stdout.split()[0])
    assert counts["whole"] == ROUNDS * WIDTH and 0 < counts["before"] < counts["whole"]
    assert counts["whole"] <= counts["before"] + counts["after"] <= counts["whole"] + 2  # both contain what runs at that moment
    done = plx_trace("json", folder, "--from", middle, "-o", tmp_path / "part.json")
    assert "a part of the run" in done.stderr
    later = [e for e in load(tmp_path / "part.json")["traceEvents"] if e["ph"] == "X"]
    assert 0 < len(later) < len(begin) and all((e["ts"] + e["dur"]) * 1e-6 >= middle - 1e-8 for e in later)
    wrong = [("--from", 2, "--to", 1), ("--from", "nan"), ("--to", "-1"), ("--from", "x"), ("--at-least", "nan")]
    for limits in [*wrong, ("--task", "-1"), ("--key", "-1"), ("--type", "laef")]:
        assert len(plx_trace("find", folder, *limits, code=2).stderr.splitlines()) == 1, limits


def test_an_unknown_command_names_the_nearest(folder):
    assert "did you mean 'flame'?" in plx_trace("flam", folder, code=2).stderr
    assert "expected plx-trace COMMAND RUN" in plx_trace(folder, "flame", code=2).stderr


@pytest.mark.skipif(not (BIN / "plx-what-if").exists(), reason="plx-what-if is not built")
def test_what_if_is_that_of_the_program_beside(folder):
    questions = [str(folder), "--workers", "4", "--json"]  # a trace that may be too short for predictions
    commands = [[str(BIN / "plx-trace"), "what-if", *questions], [str(BIN / "plx-what-if"), *questions]]
    answers = [subprocess.run(command, capture_output=True, text=True, timeout=600) for command in commands]
    assert answers[0].returncode == answers[1].returncode and answers[0].stdout == answers[1].stdout
    assert "predictions" in json.loads(answers[0].stdout)
    assert "RUN is required" in plx_trace("what-if", code=2).stderr


def test_a_trace_is_not_replaced_by_what_is_made_of_it(folder):
    trace = folder / "trace.plxt"
    before = trace.read_bytes()
    for name in ("perfetto", "json"):
        assert "expected another file than the trace" in plx_trace(name, folder, "-o", trace, code=2).stderr
    assert trace.read_bytes() == before


def test_the_flame_graph_has_the_time_of_all_tasks(folder, tmp_path):
    names = plx_trace("flame", folder, "-o", tmp_path / "flame").stdout.split()
    assert names == [f"{tmp_path}/flame.svg", f"{tmp_path}/flame.txt"]
    lines = [line.rsplit(" ", 1) for line in (tmp_path / "flame.txt").read_text().splitlines()]
    work_us = 1e6 * load(folder / "critical_path.json")["work_s"]
    assert abs(sum(int(us) for _, us in lines) - work_us) <= len(lines) + 1
    assert any(path.endswith(";leaf") for path, _ in lines)
    assert (tmp_path / "flame.svg").read_text().startswith("<svg ")


@pytest.mark.skipif(bool(trace_processor.missing()), reason=trace_processor.missing())
def test_perfetto_refuses_an_invalid_trace(tmp_path):
    """Shows that reading our traces is a meaningful test."""
    (tmp_path / "trace.json").write_text('{"traceEvents": [{"ph": "X", "name": "cut of')
    with pytest.raises(RuntimeError, match="the trace processor: "):
        trace_processor.ask(tmp_path / "trace.json", "select count(*) from slice")


def otf2_reader():
    for python in (sys.executable, "/usr/bin/python3"):
        if Path(python).exists() and subprocess.run([python, "-c", "import otf2"], capture_output=True).returncode == 0:
            return python
    return None


@pytest.mark.skipif(otf2_reader() is None, reason="no Python with OTF2's reader (python3-otf2)")
def test_the_otf2_archive_contains_the_graph(tmp_path):
    run(tmp_path / "run", "trace=1")
    done = subprocess.run([BIN / "plx-trace", "otf2", tmp_path / "run"], capture_output=True, text=True, timeout=600)
    if "built without OTF2" in done.stderr:
        pytest.skip("built without OTF2")
    assert done.returncode == 0, done.stderr
    archive = tmp_path / "run" / "otf2" / "traces.otf2"
    script = Path(__file__).with_name("otf2_graph.py")
    read = subprocess.run([otf2_reader(), str(script), str(archive)], capture_output=True, text=True, timeout=600)
    assert read.returncode == 0, read.stderr
    found = json.loads(read.stdout)
    assert found["problems"] == []
    check_graph({int(n): t for n, t in found["tasks"].items()})
    assert found["locations"] == ["worker 0", "worker 1"]
    assert sorted(r for r in found["regions"] if "lambda" not in r) == ["leaf", 'sum "all"']
    assert found["counts"]["Enter"] == found["counts"]["Leave"] == found["switches"]
    assert found["completed"] == len(found["tasks"])
    if shutil.which("otf2-print"):
        printed = subprocess.run(["otf2-print", str(archive)], capture_output=True, text=True, timeout=600)
        assert printed.returncode == 0 and "warning" not in printed.stderr
        assert printed.stdout.count("\nENTER ") == found["counts"]["Enter"]


def table(path) -> list[dict]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_tables_agree_with_each_other(folder):
    profile = {row["name"]: row for row in table(folder / "profile.csv")}
    assert int(profile["leaf"]["calls"]) == ROUNDS * WIDTH
    assert abs(sum(float(row["share"]) for row in profile.values()) - 1) < 1e-4
    tree = table(folder / "tree.csv")
    assert sum(int(row["tasks"]) for row in tree) == ROUNDS * (WIDTH + 1) + 1
    assert tree[0]["depth"] == "0" and abs(float(tree[0]["share"]) - 1) < 1e-6
    path = table(folder / "critical_path.csv")
    assert abs(sum(float(row["path_share"]) for row in path) - 1) < 1e-4
    summary = load(folder / "critical_path.json")
    assert 0 < summary["span_s"] <= summary["wall_s"] and summary["span_s"] <= summary["work_s"]
    assert abs(sum(float(row["work_s"]) for row in path) - summary["work_s"]) < 1e-6
    cells = table(folder / "concurrency.csv")
    width = (float(cells[-1]["time_s"]) - float(cells[0]["time_s"])) / (len(cells) - 1)
    busy = sum(float(cell["running"]) for cell in cells) * width
    assert abs(busy - summary["work_s"]) < 0.01 * summary["work_s"]
    scatter = [row for row in table(folder / "scatter.csv") if row["kind"] == "task"]
    assert len(scatter) == ROUNDS * (WIDTH + 1) + 1
    assert abs(sum(float(row["value"]) for row in scatter) - summary["work_s"]) < 1e-5


def test_the_summary_names_existing_files(tmp_path):
    run(tmp_path / "run", *ALL)
    summary = load(tmp_path / "run" / "measurement.json")
    assert summary["tasks"] == ROUNDS * (WIDTH + 1) + 1
    assert summary["trace"]["records_lost"] == 0 and summary["trace"]["records"] > summary["tasks"]
    files = {f["name"] for f in summary["files"]}
    assert files | {"measurement.json", "trace.plxt", "flame.svg"} == {f.name for f in (tmp_path / "run").iterdir()}
    assert not any("failure" in f for f in summary["files"])
    assert {f.name for f in (tmp_path / "run" / "tau").iterdir()} == {"profile.0.0.0", "profile.0.0.1"}


def test_statistics_count_every_task(folder):
    lines = plx_trace("stats", folder).stdout.splitlines()
    assert "0 dropped; 2 workers for " in lines[0]
    counts = {line[:32].strip(): int(line[32:].split()[0].replace(",", "")) for line in lines[3:]}
    assert counts["leaf"] == ROUNDS * WIDTH and counts['sum "all"'] == ROUNDS
    assert all(len(line) <= 110 for line in lines)
    bars = plx_trace("histogram", folder, "--type", "leaf").stdout.splitlines()
    assert bars[0] == f"leaf: {ROUNDS * WIDTH} slices, up to"
    assert sum(int(line.split()[2 if line.split()[1].endswith("s") else 1].replace(",", "")) for line in bars[1:]) == ROUNDS * WIDTH


def test_a_difference_is_explained_by_number_and_length(folder, tmp_path):
    run(tmp_path / "run", "trace=1", rounds=2 * ROUNDS)
    lines = plx_trace("diff", folder, tmp_path / "run").stdout.splitlines()
    leaf = next(line for line in lines if line.startswith("leaf "))
    number = leaf[36:].split("+")[2 if leaf[36:].strip().startswith("+") else 1]
    assert number.strip(), "twice as many leaves take more time by their number"
    same = plx_trace("diff", folder, folder).stdout
    assert "(+0)" in same.splitlines()[0]


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_draws_the_graph(folder):
    subprocess.run(["dot", "-Tsvg", "-o", os.devnull, str(folder / "graph.dot")], check=True, timeout=600)


def test_a_full_disk_ends_the_trace_and_not_the_program(tmp_path):
    limit = 50_000
    done = run(tmp_path / "run", *ALL, rounds=50, width=200, limit_bytes=limit)
    complaints = done.stderr.splitlines()
    assert sum("trace.plxt': File too large: the trace ends here" in line for line in complaints) == 1, done.stderr
    assert all(line.startswith(("error: ", "warning: ")) for line in complaints)
    summary = load(tmp_path / "run" / "measurement.json")
    assert "File too large" in summary["trace"]["failure"] and not any("failure" in f for f in summary["files"])
    assert (tmp_path / "run" / "trace.plxt").stat().st_size <= limit
    assert "has no end" in plx_trace("json", tmp_path / "run").stderr
    assert load(tmp_path / "run" / "trace.json.gz")["traceEvents"]
    assert not any(".part" in f.name for f in (tmp_path / "run").iterdir())


def test_a_file_that_cannot_be_written_is_one_line(folder, tmp_path):
    folder_missing = tmp_path / "no" / "t"
    for arguments in (*((command, "-o", folder_missing) for command in ("json", "perfetto", "flame", "tree")), ("otf2", "-o", "/dev/null/x")):
        done = plx_trace(*arguments, folder, code=2)
        assert done.stdout == "" and len(done.stderr.splitlines()) == 1 and done.stderr.startswith("plx-trace: ")
    assert "has no trace.plxt: record one with PLX_TRACE=1" in plx_trace("stats", tmp_path, code=2).stderr


def test_an_invalid_folder_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    done = run(tmp_path / "file" / "run", "trace=1", "profile=csv")
    assert len(done.stderr.splitlines()) == 1 and "Not a directory" in done.stderr


def test_many_tasks_are_complete_or_reported_as_missing(tmp_path):
    run(tmp_path / "run", "trace=1", rounds=100, width=1000)
    warnings = plx_trace("json", tmp_path / "run").stderr
    trace = load(tmp_path / "run" / "trace.json.gz")
    other = trace["otherData"]
    if other["records_lost"] == 0:
        assert other["tasks"] == 100 * 1001 + 1 and other["edges_with_an_unknown_end"] == 0 and warnings == ""
        assert sum(e["ph"] == "X" for e in trace["traceEvents"]) >= other["tasks"]
    else:
        assert other["tasks"] < 100 * 1001 + 1 and "records were dropped" in warnings
