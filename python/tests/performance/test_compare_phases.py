"""Phases of two runs side by side: folders whose phases are known, with a program that stands for plx-trace."""

from __future__ import annotations

import itertools
import re
import stat

import pytest

from parallax.cli import main
from parallax.performance.compare_phases import ComparedPhase, compare_phases, compared_phases_of, pairs_of
from parallax.performance.diagnosis import Evidence
from parallax.performance.diagnosis.phases import RunPhase

THREADS, SCHEDULER = "/threads{locality#0/total}/", "/scheduler{locality#0/total}/"
workers = 8


def run_of(path, phases, queued=()):
    """phases: [(length in s, workers with work, task type)], sampled every 0.1 s; queued: phases with tasks in queues. The file
    trace.plxt has the types, for the program below."""
    path.mkdir()
    idle, t, rows, types = 0.0, 0.0, [], []
    for number, (length_s, busy, name) in enumerate(phases):
        types.append(f"{t:.3f} {name}")
        for _ in range(round(10 * length_s)):
            rows += [(t, THREADS + "time/idle", idle), (t, SCHEDULER + "queue/length", 50 if number in queued else 0)]
            t, idle = t + 0.1, idle + 0.1 * (workers - busy)
    rows += [(t, THREADS + "time/idle", idle), (t, SCHEDULER + "queue/length", 0)]
    (path / "diagnose.csv").write_text("time_s,name,value,unit\n" + "".join(f"{a:.6f},{n},{v!r},1\n" for a, n, v in rows))
    tasks_s = (workers * t - idle) / workers
    (path / "workers.csv").write_text(
        "worker,tasks_s,overhead_s,background_s,idle_s,tasks,steals\n"
        + "".join(f"{i},{tasks_s!r},0,0,{idle / workers!r},100,0\n" for i in range(workers))
    )
    (path / "trace.plxt").write_text("\n".join(types))
    return path


@pytest.fixture
def plx_trace(tmp_path, monkeypatch):
    """stats of such a file: the type that begins last before the middle of the part."""
    program = tmp_path / "bin" / "plx-trace"
    program.parent.mkdir()
    program.write_text(
        "#!/usr/bin/env python3\nimport sys\nbegin, end = float(sys.argv[4]), float(sys.argv[6])\n"
        "types = [line.split(' ', 1) for line in open(sys.argv[2]).read().splitlines()]\n"
        "name = [n for t, n in types if float(t) <= (begin + end) / 2][-1]\n"
        "print('185 records in 4,066 bytes, 0 dropped; 8 workers for 382 ms\\n')\n"
        "print('task type                           slices     total  share     mean   median     99 %      max     wait')\n"
        "print(f'{name:35}     76    1.53 s 100.0%  20.1 ms  20.6 ms  20.6 ms  20.6 ms   181 ms')\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")


def compared(a, b):
    section = compare_phases(Evidence(a), Evidence(b))
    return section, {row[0]: row for row in section.rows}


def seconds_of(text):
    unit = {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
    sign, number, name = re.match(r"([+-])([\d.]+) (\w+)", text).groups()
    return float(sign + number) * unit[name]


def adds_up(section):
    *parts, whole = [seconds_of(row[3]) for row in section.rows]
    return sum(parts) == pytest.approx(whole, abs=0.02)


def test_phases_that_correspond(tmp_path, plx_trace):
    a = run_of(tmp_path / "a", [(2, 1, "read input"), (4, 8, "flux 2"), (2, 1, "write")])
    b = run_of(tmp_path / "b", [(2, 1, "read input"), (4, 8, "flux 2"), (4, 1, "write")])
    section, rows = compared(a, b)
    assert section.sentences == [] and adds_up(section)
    assert list(rows)[:3] == ['few workers, "read input"', 'many workers, "flux 2"', 'few workers, "write"']
    # 2 s more, of which seven of eight workers are idle
    assert rows['few workers, "write"'][1:] == ("2.00 s", "4.00 s", "+2.00 s", "2.000", "idle beside one worker with work +1.75 s")
    assert rows['many workers, "flux 2"'][3:] == ("+0 ns", "1.000", "") and rows["length of the run"][3] == "+2.00 s"


def test_the_cause_of_a_phase_that_became_longer(tmp_path, plx_trace):
    a = run_of(tmp_path / "a", [(4, 8, "flux"), (2, 2, "tree")])
    b = run_of(tmp_path / "b", [(6, 8, "flux"), (4, 2, "tree")], queued=[1])
    _, rows = compared(a, b)
    assert rows['many workers, "flux"'][5] == "work +2.00 s"
    # 1.5 of 2 s and 3 of 4 s are idle: without and with tasks in queues, but for the last interval of 0.1 s
    assert rows['few workers, "tree"'][5].startswith("idle beside queued tasks +2.9")


def test_a_phase_without_a_counterpart_is_named(tmp_path, plx_trace):
    a = run_of(tmp_path / "a", [(4, 8, "flux"), (2, 1, "write")])
    b = run_of(tmp_path / "b", [(1, 1, "set up"), (4, 8, "flux"), (2, 1, "write")])
    section, rows = compared(a, b)
    assert section.sentences == ['1 phase of b without a counterpart, whose length counts in full: few workers, "set up" from 0 s to 1.00 s']
    assert rows['few workers, "set up"'][1:] == ("-", "1.00 s", "+1.00 s", "", "only in b") and adds_up(section)
    back, _ = compared(b, a)
    assert "1 phase of a without" in back.sentences[0] and adds_up(back)


def test_another_main_type_is_another_phase(tmp_path, plx_trace):
    a = run_of(tmp_path / "a", [(4, 8, "flux"), (2, 1, "write")])
    b = run_of(tmp_path / "b", [(4, 8, "flux"), (2, 1, "check")])
    section, rows = compared(a, b)
    assert "1 phase of a without" in section.sentences[0] and "1 phase of b without" in section.sentences[1]
    assert rows['few workers, "write"'][2] == "-" and rows['few workers, "check"'][1] == "-" and adds_up(section)


def test_without_traces_order_and_workers_decide(tmp_path, plx_trace):
    a = run_of(tmp_path / "a", [(4, 8, "flux"), (2, 1, "write")])
    b = run_of(tmp_path / "b", [(4, 8, "flux"), (3, 1, "check")])
    (b / "trace.plxt").unlink()
    section, rows = compared(a, b)
    assert "unknown in b (PLX_TRACE=1" in section.sentences[0] and rows['few workers, "write"'][3] == "+1.00 s"
    (a / "trace.plxt").unlink()
    section, rows = compared(a, b)
    assert "unknown in a and b" in section.sentences[0] and rows["few workers"][3] == "+1.00 s" and adds_up(section)


def test_runs_without_phases(tmp_path, plx_trace, capsys):
    a = run_of(tmp_path / "a", [(4, 8, "flux"), (2, 1, "write")])
    even = run_of(tmp_path / "even", [(4, 8, "flux")])
    section, _ = compared(a, even)
    assert section.rows == [] and "b has no phases, so the 2 phases of a have no counterpart" in section.sentences[0]
    assert compare_phases(Evidence(even), Evidence(even)) is None and compare_phases(None, Evidence(a)) is None
    assert main(["compare", str(a), str(a)]) == 0
    assert 'many workers, "flux"  4.00 s  4.00 s' in capsys.readouterr().out


def test_parts_sum_to_the_length(tmp_path):
    for p in compared_phases_of(Evidence(run_of(tmp_path / "a", [(4, 7, "flux"), (2, 1, "write")], queued=[0]))):
        assert sum(p.parts.values()) == pytest.approx(p.length_s) and min(p.parts.values()) >= -1e-12
        assert p.parts["work"] == pytest.approx(p.length_s * (7 if p.many else 1) / 8)


def phase(many, main_type, length_s):
    return ComparedPhase(RunPhase(0.0, length_s, 1.0), many, main_type, {})


def test_pairs_are_those_of_all_assignments_in_order():
    """The largest number of pairs, by brute force."""
    kinds = [(m, t) for m in (False, True) for t in ("", "x", "y")]
    for a_kinds in itertools.product(kinds[::2], repeat=3):
        for b_kinds in itertools.product(kinds[1:4], repeat=3):
            a, b = ([phase(*kind, 1.0 + i) for i, kind in enumerate(some)] for some in (a_kinds, b_kinds))
            most = max(
                n for n in range(4) for i in itertools.combinations(range(3), n) for j in itertools.combinations(range(3), n)
                if all(a[x].fits(b[y]) for x, y in zip(i, j))
            )
            pairs = pairs_of(a, b)
            assert sum(p is not None and q is not None for p, q in pairs) == most
            assert [p for p, _ in pairs if p] == a and [q for _, q in pairs if q] == b


def test_of_equal_phases_the_most_similar_lengths_are_paired():
    a, b = [phase(True, "x", 1.0)], [phase(True, "x", 9.0), phase(True, "x", 1.1)]
    assert pairs_of(a, b) == [(None, b[0]), (a[0], b[1])]
