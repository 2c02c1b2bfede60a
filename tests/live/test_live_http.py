"""The live page's server with other clients: Prometheus, scripts, and malicious ones."""

from __future__ import annotations

import json
import math
import re
import socket
import stat
import subprocess
import threading
import time

import pytest
from live_run import PROGRAM


def raw(run, request: bytes, timeout: float = 300) -> bytes:
    """The server's response to these bytes, until it closes the connection."""
    with socket.create_connection((run.host, run.port), timeout=timeout) as s:
        try:
            s.sendall(request)
        except OSError:
            pass  # it may have closed before everything was sent
        answer = b""
        try:
            while more := s.recv(65536):
                answer += more
        except ConnectionResetError:
            pass
        return answer


def counters_of(run) -> dict:
    """The server's own counters."""
    return {c["name"]: c["value"] for c in json.loads(run.get("/counters.json?pattern=/live/*")[2])["counters"]}


def check_exposition(text: str) -> dict:
    """Checks Prometheus' text format 0.0.4 strictly; returns the samples by family."""
    name = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
    label = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"'
    sample = re.compile(rf"({name})(?:\{{({label}(?:,{label})*)\}})? (NaN|[+-]Inf|[-+0-9.e]+)")
    families, family, kind, seen, pending = {}, None, None, set(), None
    assert text.endswith("\n")
    for line in text.split("\n")[:-1]:
        if line.startswith("# HELP "):
            pending = line.split(" ", 3)[2]
            assert pending not in families
            continue
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split(" ")
            assert family not in families and pending in (None, family) and kind in ("counter", "gauge", "histogram")
            assert (kind == "counter") == family.endswith("_total"), family
            families[family], pending = [], None
            continue
        match = sample.fullmatch(line)
        assert match, line
        own = re.sub("_(bucket|sum|count)$", "", match[1]) if kind == "histogram" else match[1]
        assert own == family, f"{line} is not in its family"
        assert (match[1], match[2]) not in seen, f"{line} occurs twice"
        seen.add((match[1], match[2]))
        value = float(match[3])
        assert kind != "counter" or value >= 0
        families[family].append((match[2] or "", value))
    assert all(families.values()), "each family has a sample"
    return families


def test_metrics_are_readable_by_prometheus(run):
    while 'task="star.stage"' not in run.get("/metrics")[2]:
        time.sleep(0.05)  # the first step has not begun
    status, kind, text = run.get("/metrics")
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    families = check_exposition(text)
    workers = {labels for labels, _ in families["plx_threads_time_exec_seconds_total"]}
    assert workers == {'locality="0",worker="0"', 'locality="0",worker="1"'}, "of each worker, without the total"
    assert families["plx_machine_memory_resident_bytes"][0][1] > 1e6
    durations = {labels: v for labels, v in families["plx_task_duration_seconds"] if 'task="star.stage"' in labels}
    counts = [v for labels, v in durations.items() if ",le=" in labels]
    assert counts == sorted(counts) and counts[0] == 0 and counts[-1] > 0, "each bucket contains the ones before"
    first = sum(v for _, v in families["plx_threads_count_tasks_total"])
    again, deadline = first, time.monotonic() + 300
    while again <= first and time.monotonic() < deadline:
        again = sum(v for _, v in check_exposition(run.get("/metrics")[2])["plx_threads_count_tasks_total"])
    assert again > first

    parser = pytest.importorskip("prometheus_client.parser")
    parsed = {f.name: f for f in parser.text_string_to_metric_families(text)}
    memory = parsed["plx_machine_memory_resident_bytes"]
    assert memory.type == "gauge" and memory.documentation and memory.samples[0].value > 1e6
    tasks = parsed["plx_threads_count_tasks"]
    assert tasks.type == "counter" and tasks.samples[0].labels == {"locality": "0", "worker": "0"}
    assert len(parsed) == len(families)


def test_json_answers(run):
    counters = json.loads(run.get("/counters.json")[2])["counters"]
    assert {"name", "value", "unit", "help", "monotonic"} == set(counters[0])
    some = json.loads(run.get("/counters.json?pattern=/machine/memory/*")[2])["counters"]
    assert {c["name"].rsplit("/", 1)[0] for c in some} == {"/machine/memory"}
    while not (tasks := json.loads(run.get("/tasks.json")[2])["tasks"]):
        time.sleep(0.05)  # the first task has not ended
    assert sum(t["share"] for t in tasks) == pytest.approx(1, abs=1e-3)
    while json.loads(run.get("/timeline.json?window_s=0.4")[2])["end_s"] < 0.5:
        time.sleep(0.05)
    timeline = json.loads(run.get("/timeline.json?window_s=0.5")[2])
    assert len(timeline["workers"]) == 2 and timeline["window_s"] == pytest.approx(0.5, rel=1e-3)
    for pieces in timeline["workers"]:
        ends = [b + n for _, b, n, _ in pieces]
        begins = [b for _, b, _, _ in pieces]
        assert all(b >= e - 0.2 for b, e in zip(begins[1:], ends)), "slices of a worker never overlap"
    past = json.loads(run.get(f"/timeline.json?from_s={timeline['end_s'] - 0.3}&to_s={timeline['end_s'] - 0.2}")[2])
    assert past["window_s"] == pytest.approx(0.1, rel=1e-3)
    assert past["end_s"] == pytest.approx(timeline["end_s"] - 0.2, abs=1e-6)
    assert json.loads(run.get("/timeline.json?to_s=-1e300")[2])["end_s"] == 0
    late = json.loads(run.get(f"/timeline.json?from_s={timeline['end_s'] - 0.1}&to_s=nan")[2])
    assert late["end_s"] >= timeline["end_s"] and late["window_s"] == pytest.approx(late["end_s"] - timeline["end_s"] + 0.1)
    assert timeline["lanes"] == timeline["lane_from"] == timeline["lane_rows"] == [], "no device is used"
    one = json.loads(run.get("/timeline.json?first=1&count=1&rows=1")[2])
    assert (one["first"], one["of"], one["group"], len(one["workers"])) == (1, 2, 1, 1)
    both = json.loads(run.get("/timeline.json?rows=1")[2])
    assert (both["group"], len(both["workers"])) == (2, 1) and all(0 <= n <= 100 for n in both["workers"][0])
    run.get("/mesh.json")  # the request makes the run provide a picture
    for _ in range(3000):
        mesh = json.loads(run.get("/mesh.json")[2])
        if mesh:
            break
        time.sleep(0.1)
    assert len(mesh["values"]) * 3 // 4 >= 2 * mesh["width"] * mesh["height"] and mesh["blocks"]


def test_parents_are_recorded_only_when_requested(run):
    def slices() -> list:
        """The answers about the single slices of the last 20 ms."""
        t = json.loads(run.get("/timeline.json?window_s=0.02")[2])
        found = []
        for worker, pieces in enumerate(t["workers"]):
            for _, begin, length, count in pieces:
                if count == 1:
                    before = t["window_s"] * 1e6 - begin - length / 2
                    where = f"/slice.json?worker={worker}&end={t['end']}&before_us={before}&window_us={t['window_s'] * 1e6}"
                    found.append(json.loads(run.get(where)[2]))
        return [a for a in found if a["slice"]]

    deadline = time.monotonic() + 300
    while not (found := slices()):
        assert time.monotonic() < deadline
        time.sleep(11)  # a request for a slice has parents recorded for 10 s, also if the slice has been overwritten
    assert all(a["slice"]["task"] is None and a["parent"] is None for a in found)
    while not (known := [a for a in slices() if a["parent"] and a["parent"]["name"]]):
        assert time.monotonic() < deadline
        run.get("/timeline.json?parents=1")
    for a in known:
        assert a["parent"]["task"] != a["slice"]["task"] and a["parent"]["worker"] in (0, 1)


def test_the_counters_of_each_worker_are_left_to_those_that_want_them(run):
    # The smaller list first: counters are added while the run starts.
    few, every = (json.loads(run.get(f"/poll.json?parts=counters&each={each}")[2]) for each in (0, 1))
    names = [[c["name"] for c in data["list"]] for data in (every, few)]
    assert any("worker-thread#1" in name for name in names[0]) and not any("worker-thread#" in name for name in names[1])
    assert "/threads{locality#0/total}/time/exec" in names[1] and "/machine/memory/resident" in names[1]
    assert set(names[1]) < set(names[0])


def test_malicious_requests_are_refused_and_counted(run):
    good = f"GET /tasks.json?token={run.token} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    refused = {
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n": 403,
        good.replace(run.token.encode(), b"0" * 32): 403,
        good.replace(b"localhost", b"evil.example"): 403,
        good.replace(b"/tasks.json", b"/../../etc/passwd"): 404,
        good.replace(b"GET", b"POST"): 405,
        good.replace(b"GET", b"GARBAGE" * 3): 405,
        good.replace(b"HTTP/1.1", b"HTTP/9.9"): 505,
        good.replace(b"\r\n\r\n", b"\r\nX: " + b"y" * 100000 + b"\r\n\r\n"): 431,
        b"GET /" + b"z" * 100000: 414,
        b"\x00\xff" * 100: 400,
        b"\x16\x03\x01\x02\x00\x01\x00": 400,  # the start of TLS
    }
    for request, status in refused.items():
        request = request.replace(b"\r\nHost", b"\r\nConnection: close\r\nHost", 1)
        assert raw(run, request).startswith(f"HTTP/1.1 {status} ".encode()), request[:60]
    counts = counters_of(run)
    assert counts["/live/requests/refused"] == len(refused)
    assert counts["/live/refused/token"] == 2
    assert counts["/live/refused/host"] == 1
    assert counts["/live/refused/path"] == 1
    assert counts["/live/refused/malformed"] == len(refused) - 4


def test_half_open_connections_are_closed_and_do_not_block_others(run):
    silent = [socket.create_connection((run.host, run.port)) for _ in range(40)]
    for s in silent[::2]:
        s.sendall(b"GET / HT")
    assert run.get("/tasks.json")[0] == 200
    for s in silent:
        s.settimeout(300)
        assert s.recv(1) == b"", "closed after the deadline"
        s.close()
    assert counters_of(run)["/live/connections/timed-out"] == 40


def test_twenty_clients_get_the_same_answer_at_the_same_time(run):
    answers = []

    def poll():
        for _ in range(3):
            answers.append(json.loads(run.get("/poll.json?wait=1&parts=tasks")[2])["time_s"])

    threads = [threading.Thread(target=poll) for _ in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(answers) == 60
    assert len(set(answers)) == len(set(map(math.floor, answers))), "one snapshot per second for all of them"


def test_the_url_is_private_to_its_owner(run):
    mode = (run.folder / "run" / "live.url").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600
    while run.token not in (run.folder / "stderr.txt").read_text():
        time.sleep(0.05)  # the file is written before the line
    assert (run.folder / "stderr.txt").read_text().count(run.token) == 1


def test_a_second_run_on_the_same_port_reports_it_and_continues(run):
    done = subprocess.run(
        [str(PROGRAM), "in.toml", "--out", "other", "--quiet", "--set", "run.max_steps=1"]
        + [f"--plx:serve=127.0.0.1:{run.port}", "--plx:output=elsewhere"],
        cwd=run.folder,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1 and "choose another port" in done.stderr
    wrong = subprocess.run(
        [str(PROGRAM), "in.toml", "--plx:serve=0.0.0.0:0"], cwd=run.folder, capture_output=True, text=True, timeout=600
    )
    assert wrong.returncode == 2 and "--plx:serve-beyond-loopback" in wrong.stderr
