"""Traces that localities wrote each for itself become one."""

import gzip
import json

import pytest

from parallax import NotARun, ReadError, cli
from parallax.performance.merge_traces import merge_traces


def task(worker, serial, space=3):
    number = space << 56 | worker << 40 | serial
    return str(number)  # as the writer: larger than 2^53


def a_trace(began, workers, **more):
    """On each worker a parent and a child with an arrow between, 10 us apart."""
    events = []
    for w in range(1, workers + 1):
        events.append({"ph": "M", "pid": 1, "tid": w, "name": "thread_name", "args": {"name": f"worker {w - 1}"}})
        for serial, ts in ((1, 0.5), (2, 10.5)):
            arguments = {"task": task(w, serial)} | ({"parents": [task(w, 1)]} if serial == 2 else {})
            events.append({"ph": "X", "pid": 1, "tid": w, "ts": ts, "dur": 1.25, "name": "step", "args": arguments})
        events.append({"ph": "s", "pid": 1, "tid": w, "ts": 1.0, "id": w, "cat": "waited for", "name": "waited for"})
        events.append({"ph": "f", "pid": 1, "tid": w, "ts": 10.5, "id": w, "cat": "waited for", "name": "waited for"})
    events.append({"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "parallax locality 0"}})
    other = {"records": 2 * workers, "records_lost": 1, "share": 1, "tasks": 2 * workers, "began_unix_s": began} | more
    return {"displayTimeUnit": "ns", "traceEvents": events, "otherData": other}


def put(run, locality, trace, packed=True):
    folder = run / "localities" / str(locality) if locality else run
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(trace)
    if packed:
        (folder / "trace.json.gz").write_bytes(gzip.compress(text.encode()))
    else:
        (folder / "trace.json").write_text(text)


def read(path):
    return json.loads(gzip.decompress(path.read_bytes()))


def test_one_time_one_numbering_and_what_is_missing(tmp_path):
    put(tmp_path, 1, a_trace(1000.000002, 2))
    put(tmp_path, 3, a_trace(1000.0, 1, share=0.1), packed=False)
    said = merge_traces(tmp_path)
    assert "localities 1, 3" in said and "locality 0 left no trace" in said and "locality 2 left no trace" in said
    merged = read(tmp_path / "merged_trace.json.gz")
    slices = [e for e in merged["traceEvents"] if e["ph"] == "X"]
    # A locality that began later has later times; tasks of worker 1 of locality 3 are those of the job's third worker.
    expected = [
        (2, 1, 2.5, 1 << 40 | 1, None),
        (2, 1, 12.5, 1 << 40 | 2, [1 << 40 | 1]),
        (2, 2, 2.5, 2 << 40 | 1, None),
        (2, 2, 12.5, 2 << 40 | 2, [2 << 40 | 1]),
        (4, 1, 0.5, 3 << 40 | 1, None),
        (4, 1, 10.5, 3 << 40 | 2, [3 << 40 | 1]),
    ]
    found = [(e["pid"], e["tid"], e["ts"], e["args"]["task"], e["args"].get("parents")) for e in slices]
    assert found == expected
    starts = {e["id"]: e for e in merged["traceEvents"] if e["ph"] == "s"}
    ends = {e["id"]: e for e in merged["traceEvents"] if e["ph"] == "f"}
    assert starts.keys() == ends.keys() == {1, 2, 3}
    assert all(starts[i]["pid"] == ends[i]["pid"] for i in starts)
    names = {e["pid"]: e["args"]["name"] for e in merged["traceEvents"] if e["name"] == "process_name"}
    assert names == {
        1: "parallax locality 0 (missing)",
        2: "parallax locality 1",
        3: "parallax locality 2 (missing)",
        4: "parallax locality 3",
    }
    other = merged["otherData"]
    assert (other["records"], other["records_lost"], other["tasks"], other["share"]) == (6, 2, 6, 0.1)
    assert [m["missing"] for m in other["localities"]] == ["it left no trace", "", "it left no trace", ""]


def test_what_the_root_wrote_of_itself_is_locality_0(tmp_path):
    put(tmp_path, 0, a_trace(5.0, 1))
    put(tmp_path, 1, a_trace(5.0, 1))
    out = tmp_path / "all.json"
    merge_traces(tmp_path, out)
    assert {e["pid"] for e in json.loads(out.read_text())["traceEvents"] if e["ph"] == "X"} == {1, 2}
    with pytest.raises(ReadError, match="is one of the traces to be merged"):
        merge_traces(tmp_path, tmp_path / "trace.json.gz")
    assert read(tmp_path / "trace.json.gz") == a_trace(5.0, 1)


def test_wrong_input_is_one_line(tmp_path, capsys):
    with pytest.raises(NotARun, match="no such folder"):
        merge_traces(tmp_path / "none")
    with pytest.raises(NotARun, match="expected localities/N/trace.json.gz of a job, found an empty folder; trace the job with PLX_TRACE=json"):
        merge_traces(tmp_path)
    put(tmp_path, 1, a_trace(5.0, 1))
    put(tmp_path, 0, a_trace(5.0, 1, localities=[]))
    with pytest.raises(ReadError, match="already the merged trace of a job"):
        merge_traces(tmp_path)
    put(tmp_path, 0, a_trace(None, 1))
    with pytest.raises(ReadError, match="does not say when it began"):
        merge_traces(tmp_path)
    (tmp_path / "trace.json.gz").write_bytes(gzip.compress(b'{"traceEvents":[')[:-9])
    assert cli.main(["merge-traces", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("parallax: ") and "is incomplete or not Trace Event JSON" in error and error.count("\n") == 1
    assert not (tmp_path / "merged_trace.json.gz").exists()
    (tmp_path / "trace.json.gz").unlink()
    assert cli.main(["merge-traces", str(tmp_path), "--out", str(tmp_path / "no" / "t.json")]) == 2
    assert "no such folder" in capsys.readouterr().err
    assert cli.main(["merge-traces", str(tmp_path)]) == 0
