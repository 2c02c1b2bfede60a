"""`parallax top` without a terminal: what it draws, what keys do, and how it finds a program."""

from __future__ import annotations

import http.server
import json
import threading

import pytest

from parallax import cli
from parallax.performance import live, top

NAMES = [top.TOTAL + "time/" + n for n in ("exec", "overhead", "background", "idle")]
NAMES += [top.TOTAL + "count/tasks", "/machine/memory/resident"]
UNITS = ["s"] * 4 + ["1", "bytes"]


def answer(step: int, n_workers: int = 2, n_tasks: int = 3, state: str = "running") -> dict:
    """The answer of /poll.json in the second `step`: 80 % of the time in tasks, 1000 tasks a second."""
    values = [1.6 * step, 0.1 * step, 0.1 * step, 0.2 * step, 1000.0 * step, 2.0**20 * (100 + step)]
    tasks = []
    for i in range(n_tasks):
        part = 2.0**-i
        numbers = {"calls": int(100 * step * part), "total_s": step * part, "mean_s": 1e-4, "min_s": 1e-6, "max_s": 0.02}
        more = {"stddev_s": 1e-5, "p50_s": 9e-5, "p99_s": 3e-3, "idle_blame_s": 0.25 * i, "lock_blame_s": 0.5 * i}
        tasks.append({"name": f"kind.{i}", **numbers, **more, "share": part / 2})
    pieces = [[0, 0.0, 1e6, 1], [1, 1.5e6, 0.5e6, 40]]
    return {
        "state": state,
        "time_s": float(step),
        "workers": n_workers,
        "pid": 7,
        "program": "plx-star",
        "host": "here",
        "measurement_cost": 0.0012,
        "catalog": 1,
        "list": [
            {"name": n, "unit": u, "help": f"help of {n}", "monotonic": n != NAMES[-1]} for n, u in zip(NAMES, UNITS)
        ],
        "values": values,
        "tasks": tasks,
        "timeline": {"window_s": 2, "names": ["kind.0", "kind.1"], "from": [0] * n_workers, "workers": [pieces] * n_workers},
    }


def state_after(seconds: int, **more) -> top.State:
    s = top.State()
    for step in range(1, seconds + 1):
        s.take(answer(step, **more))
    return s


def text_of(s: top.State, width: int = 80, height: int = 24, **more) -> list:
    return ["".join(t for _, t in line) for line in top.frame(s, width, height, **more)]


@pytest.mark.parametrize("width, height", [(80, 24), (200, 60), (40, 10), (20, 4), (81, 23)])
@pytest.mark.parametrize("n_workers, n_tasks", [(1, 0), (2, 3), (64, 200)])
@pytest.mark.parametrize("view", ["tasks", "counters"])
def test_it_always_fits(width, height, n_workers, n_tasks, view):
    s = state_after(3, n_workers=n_workers, n_tasks=n_tasks)
    s.view = view
    lines = text_of(s, width, height)
    assert len(lines) == height
    assert all(len(line) <= width for line in lines)
    assert text_of(top.State(), width, height)[0].startswith("parallax top")


def test_the_numbers_are_of_the_last_second():
    s = state_after(2)
    lines = text_of(s)
    assert "plx-star  running  0:02  2 workers  measuring 0.1 %" in lines[0]
    assert "tasks 80.0 %" in lines[1] and "idle 10.0 %" in lines[1]
    assert lines[2].split()[:3] == ["tasks/s", "1000", lines[2].split()[2]]
    assert "102 MiB" in lines[3]
    row = next(line for line in lines if "kind.0" in line)
    assert row.split()[2:5] == ["200", "100", "57.1"], "calls, calls/s, share of the last second"


def test_blame_and_quantiles_are_columns():
    head, *rows = [line for line in text_of(state_after(2), 120) if line.startswith("task (") or "kind." in line]
    assert head.split()[3:] == "calls calls/s now share total mean blame p99 locks p50 max".split()
    assert rows[2].split("100 µs")[1].split() == "500 ms 3.00 ms 1.00 s 90.0 µs 20.0 ms".split()
    s = state_after(2)
    s.order = "lock_blame_s"
    assert "kind.2" in next(line for line in text_of(s) if "kind." in line), "the largest first"


def test_the_timeline_has_a_mark_where_a_worker_worked():
    lines = top.frame(state_after(2), 89, 24, ascii_only=True)
    first = "".join(t for _, t in next(line for line in lines if line and line[0][1].startswith("2 s")))[9:]
    assert first == "a" * 40 + " " * 20 + "b" * 20


def test_workers_that_do_not_fit_are_counted():
    text = "\n".join(text_of(state_after(2, n_workers=64)))
    assert "more workers" in text and "kind.0" in text


def test_keys():
    s = state_after(2, n_tasks=5)
    assert not top.press(s, "q")
    top.press(s, "s")
    assert s.order == "share"
    for key in "/":
        top.press(s, key)
    for key in "kind.3":
        top.press(s, key)
    assert s.filter == "kind.3" and "filter: kind.3_" in text_of(s)[-1]
    assert top.press(s, "q") and s.filter == "kind.3q", "while typing, q is a letter"
    top.press(s, "backspace")
    top.press(s, "enter")
    assert sum("kind." in line for line in text_of(s)) == 2, "the task and the line of keys"
    top.press(s, "escape")
    top.press(s, "c")
    assert "/machine/memory/resident" in "\n".join(text_of(s))
    top.press(s, "p")
    assert s.paused and "paused" in text_of(s)[0]


def test_scrolling_stays_inside():
    s = state_after(2, n_tasks=100)
    for _ in range(300):
        top.press(s, "down")
    text_of(s)
    assert "kind.99" in "\n".join(text_of(s))
    for _ in range(300):
        top.press(s, "up")
    assert "kind.0 " in "\n".join(text_of(s))


def test_the_end_is_shown():
    s = state_after(2)
    s.take(answer(3, state="ended"))
    assert "run ended" in text_of(s)[0]


@pytest.mark.parametrize(
    "value, unit, text",
    [
        (0, "1", "0"),
        (12345, "1", "12.3 k"),
        (0.25, "1", "0.25"),
        (1.5e-7, "s", "150 ns"),
        (0.9996, "s", "1.00 s"),
        (2**20 * 1.5, "bytes", "1.50 MiB"),
        (float("nan"), "s", "-"),
        (None, "1", "-"),
    ],
)
def test_numbers(value, unit, text):
    assert top.short(value, unit) == text


class Program:
    """Something that answers like a running program."""

    def __init__(self):
        outer = self
        self.status, self.body = 200, json.dumps(answer(1)).encode()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.asked = self.headers["Authorization"]
                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(outer.body)))
                self.end_headers()
                self.wfile.write(outer.body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def program():
    p = Program()
    yield p
    p.close()


def test_a_program_is_found_by_url_address_and_folder(tmp_path, monkeypatch, program):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PLX_TOKEN", raising=False)
    url = f"http://127.0.0.1:{program.port}/?token=abc"
    (tmp_path / "plx-run").mkdir()
    (tmp_path / "plx-run" / "live.url").write_text(url + "\n")
    wanted = live.Address("127.0.0.1", program.port, "abc")
    for target in (url, "plx-run", ".", None, f"127.0.0.1:{program.port}"):
        assert live.find(target) == wanted, target
    assert live.find(f"localhost:{program.port}").token == "abc"
    assert live.find("elsewhere:80", "xyz") == live.Address("elsewhere", 80, "xyz")
    assert live.LiveRun(wanted).get("/poll.json")["program"] == "plx-star"
    assert program.asked == "Bearer abc"


@pytest.mark.parametrize("target", ["nonsense", "host:port", "h:0", "h:70000", "http://h/", "ftp://h:1/", "h:1", "empty"])
def test_a_program_that_is_not_found_is_one_line(tmp_path, monkeypatch, capsys, target):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    monkeypatch.delenv("PLX_TOKEN", raising=False)
    assert cli.main(["top", target]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("parallax: ") and said.err.count("\n") == 1 and said.out == ""


def test_refusals_and_silence_are_one_line(program, capsys):
    url = f"http://127.0.0.1:{program.port}/?token=abc"
    program.status, program.body = 403, b"the token is missing or wrong\n"
    assert cli.main(["top", url]) == 2
    assert "the token is missing or wrong" in capsys.readouterr().err
    program.status, program.body = 200, b"<html>"
    assert cli.main(["top", url]) == 2
    assert "the answer is not JSON" in capsys.readouterr().err
    program.close()
    assert cli.main(["top", url]) == 2
    assert "no answer" in capsys.readouterr().err


def test_once(program, capsys):
    assert cli.main(["top", "--once", f"http://127.0.0.1:{program.port}/?token=abc"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("plx-star  running") and "kind.2" in out and "\x1b" not in out and out.isascii()
