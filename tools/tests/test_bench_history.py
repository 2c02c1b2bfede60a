"""`./plx bench --history`: the file, whatever happens to it, and change points of series that are known."""

import json
import math
import random
import resource

import bench_history
import pytest
from toy_bench import bench, folder  # noqa: F401
from parallax.intervals import t_quantile, t_tail


def row(name, value, better="lower", unit="ns"):
    return {"name": name, "value": value, "unit": unit, "better": better}


def run(day, rows, machine="m", threads=None):
    return bench_history.run_of(rows, machine, threads, f"commit{day}", at_s=1.7e9 + 86400 * day)


def noisy(rng, levels, noise=0.01):
    return [level * rng.gauss(1, noise) for level in levels]


# ---- the test ----


@pytest.mark.parametrize("t", [0.1, 0.7, 1, 3, 30, 1e4])
def test_the_tail_of_students_t(t):
    assert t_tail(t, 1) == pytest.approx(math.atan2(1, t) / math.pi, rel=1e-9)
    # 1/2 - t / (2 sqrt(2 + t^2)) cancels: as a quotient
    root = math.sqrt(2 + t * t)
    assert t_tail(t, 2) == pytest.approx(1 / (root * (root + t)), rel=1e-9)


@pytest.mark.parametrize("freedom", [3, 6.5, 28, 150])
@pytest.mark.parametrize("p", [0.6, 0.95, 0.999])
def test_the_tail_and_the_quantile_agree(freedom, p):
    assert 1 - t_tail(t_quantile(p, freedom), freedom) == pytest.approx(p, abs=1e-7)


# ---- change points ----


def least_scatter(x):
    """The two-part division with the least sum of squares, by brute force."""
    def squares(part):
        middle = sum(part) / len(part)
        return sum((v - middle) ** 2 for v in part)

    x = [math.log(v) for v in x]
    return min(range(4, len(x) - 3), key=lambda k: squares(x[:k]) + squares(x[k:]))


@pytest.mark.parametrize("where", [4, 9, 26])
def test_a_step_is_found_where_the_scatter_is_least(where):
    rng = random.Random(where)
    for _ in range(20):
        values = noisy(rng, [10] * where + [10.6] * (30 - where))
        found = bench_history.change_points(values)
        assert found == [least_scatter(values)] and abs(found[0] - where) <= 1


@pytest.mark.parametrize(
    "levels, expected",
    [
        ([10] * 4 + [20] * 4, [4]),
        ([10] * 12 + [11] * 5 + [10] * 12, [12, 17]),  # a division into two parts does not separate these
        ([10] * 8 + [11] * 8 + [12] * 8, [8, 16]),
        ([10] * 3 + [20] * 9, []),  # too few before
        ([10] * 9 + [20] * 3, []),
        ([10] * 9 + [50] + [10] * 9, []),  # an outlier is none
    ],
)
def test_series_with_several_parts(levels, expected):
    assert bench_history.change_points(noisy(random.Random(3), levels, 0.003)) == expected


def test_values_without_scatter_and_without_a_sign():
    assert bench_history.change_points([7.0] * 20) == [] and bench_history.change_points([0.1 + 0.2] * 9 + [0.3] * 9) == []
    assert bench_history.change_points([7.0] * 6 + [8.0] * 6) == [6]
    assert bench_history.change_points(noisy(random.Random(4), [-1.0] * 6 + [1.0] * 6)) == [6]
    assert bench_history.change_points([]) == bench_history.change_points([1.0]) == []


@pytest.mark.parametrize("n", [8, 12, 40])
def test_scatter_alone_has_no_change_points(n):
    rng = random.Random(n)
    wrong = sum(bool(bench_history.change_points(noisy(rng, [5] * n))) for _ in range(300))
    assert wrong <= 9  # 3 are expected at 1 %; more than 9 with a probability of 0.1 %


def test_more_names_need_clearer_changes():
    values = noisy(random.Random(1), [10] * 8 + [10.4] * 8)
    assert bench_history.change_points(values) == [8] and bench_history.change_points(values, names=10**9) == []


def test_the_report_names_date_commits_and_ratio():
    rng = random.Random(5)
    runs = [run(d, [row("slow", rng.gauss(10, 0.1) * (1.2 if d >= 6 else 1)), row("rate", rng.gauss(5, 0.05), "higher", "M/s")]) for d in range(12)]
    runs += [run(d, [row("slow", 99.0)], machine="other") for d in range(12)] + [run(d, [row("slow", 50.0)], threads=2) for d in range(12)]
    series = bench_history.series_of(runs, "m", None, [row("slow", 0), row("rate", 0, unit="M/s"), row("new", 0)])
    (c,) = bench_history.changes(series)
    assert (c.name, c.first_after["commit"], c.last_before["commit"]) == ("slow", "commit6", "commit5") and c.is_worse
    slow = sorted(r["rows"][0]["value"] for r in runs[6:12])
    assert c.after == (slow[2] + slow[3]) / 2 and c.ratio == pytest.approx(1.2, abs=0.02)
    text = "\n".join(bench_history.report(series))
    assert "2023-11-20 22:13" in text and "commit6" in text and f"{c.ratio:.3f}" in text and "worse" in text
    assert "no change point: 1 name," in text and "not tested: 1 name with fewer than 8 runs" in text


# ---- the file ----


@pytest.fixture
def file(tmp_path):
    return tmp_path / "history.jsonl"


@pytest.mark.parametrize(
    "line",
    [
        '{"date": "2026-', "[1]", '{"date": "2026-11-30T00:00:00Z"}', "\xff\xfe",
        json.dumps({**run(1, []), "date": "yesterday"}),
        json.dumps(run(1, [row("x", math.nan)])), json.dumps(run(1, [row("x", True)])), json.dumps({**run(1, []), "rows": [3]}),
    ],
)  # fmt: skip
def test_damaged_lines_are_numbered_and_skipped(file, line):
    bench_history.append(file, run(2, [row("x", 2.0)]))
    with file.open("ab") as out:
        out.write(line.encode("latin1") + b"\n")
    bench_history.append(file, run(1, [row("x", 1.0)]))
    runs, problems = bench_history.read(file)
    assert [r["rows"][0]["value"] for r in runs] == [1.0, 2.0]  # by date
    assert len(problems) == 1 and "line 2 is damaged" in problems[0]


def test_a_line_that_another_program_cut_short_does_not_take_the_next_with_it(file):
    bench_history.append(file, run(1, [row("x", 1.0)]))
    file.write_bytes(file.read_bytes() + b'{"da')
    bench_history.append(file, run(2, [row("x", 2.0)]))
    runs, problems = bench_history.read(file)
    assert len(runs) == 2 and "line 2" in problems[0]


def test_a_full_disk_leaves_the_file_as_it_was(file, capsys):
    bench_history.append(file, run(1, [row("x", 1.0)]))
    before = file.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, hard))  # the first 20 bytes are written, then no more
    try:
        assert not bench_history.record(str(file), run(2, [row("x", 2.0)]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.read_bytes() == before
    lines = capsys.readouterr().out.splitlines()
    assert "as before" in lines[0] and json.loads(lines[1]) == run(2, [row("x", 2.0)])


# ---- the command ----


def test_the_command(folder, capsys):
    history = ["--history", str(folder / "h.jsonl")]
    for cost in [10] * 5 + [12] * 4:
        assert bench(folder, cost, *history) == 0
    out = capsys.readouterr().out
    assert "not tested: 1 name" in out and out.count("1.194  worse") == 1
    first = json.loads((folder / "h.jsonl").read_text().splitlines()[0])
    assert first["machine"] == bench_history.machine_name() and first["rows"] == [row("toy", 10.0)] and len(first["commit"]) >= 7
    assert bench(folder, 12, *history, "--machine", "another") == 0
    assert "9 runs of other machines or numbers of threads not used" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["--history", "/no/folder/file"], "a new one in an existing folder"),
        (["--history", "/"], "expected a file"),
        (["--history", "h", "--quick"], "expected no --quick"),
        (["--history", "h", "--threads", "1,2"], "one number of threads"),
        (["--machine", "m"], "needs --history"),
    ],
)
def test_wrong_arguments(folder, capsys, arguments, expected):
    with pytest.raises(SystemExit) as stop:
        bench(folder, 1, *arguments)
    assert stop.value.code == 2 and expected in "".join(capsys.readouterr())
