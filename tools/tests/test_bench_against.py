"""`./plx bench --against`: intervals from repetitions, verdicts, exit codes, for given numbers and for a program that makes some."""

import json
import random

import bench_against
import pytest
from toy_bench import bench, folder  # noqa: F401


def row(name, values, better="lower", unit="ns"):
    return {"name": name, "value": bench_against.median(values), "unit": unit, "better": better, "values": values}


def noisy(rng, middle, n=6, noise=0.01):
    return [middle * rng.gauss(1, noise) for _ in range(n)]


def test_a_higher_time_and_a_lower_rate_are_the_same_cost():
    rng = random.Random(1)
    base = noisy(rng, 1)
    before = [row("time", [10 * x for x in base]), row("rate", [5 / x for x in base], "higher", "M/s")]
    now = [row("time", [11 * x for x in base]), row("rate", [5 / 1.1 / x for x in base], "higher", "M/s")]
    first, second = bench_against.changes(before, now)
    assert first.change == pytest.approx(0.1) and second.change == pytest.approx(0.1)
    assert first.low == pytest.approx(second.low) and first.low > 0 and first.verdict() == "slower"
    back = bench_against.changes(now, before)
    assert all(c.verdict() == "faster" for c in back)


def test_many_equal_rows_are_the_same():
    rng = random.Random(2)
    wrong = 0
    for _ in range(20):
        before, now = ([row(f"r{i}", noisy(rng, 1 + i)) for i in range(30)] for _ in range(2))
        wrong += any(c.verdict() != "same" for c in bench_against.changes(before, now))
    assert wrong <= 4  # 5 % of the lists


def test_rows_without_repetitions_have_no_verdict():
    before, now = [{"name": "x", "value": 1.0, "unit": "s", "better": "lower"}], [row("x", [2.0, 2.1], unit="s")]
    (c,) = bench_against.changes(before, now)
    assert c.verdict() == "" and c.change > 0.9 and bench_against.too_slow([c], 5) == []
    assert bench_against.summary([c], before, now) == ["no intervals: they need --repeat in both runs"]
    assert bench_against.changes(before, [row("x", [2.0], unit="ms")]) == []  # another unit


def test_repetitions_are_merged():
    merged = bench_against.merged([[row("a", [3.0])], [row("a", [1.0]), row("b", [5.0])], [row("a", [2.0])]])
    assert [(r["name"], r["value"], r["values"]) for r in merged] == [("a", 2.0, [3.0, 1.0, 2.0]), ("b", 5.0, [5.0])]


def test_the_command(folder, capsys):
    earlier = str(folder / "earlier.json")
    assert bench(folder, 10, "--repeat", "3", "--json", earlier) == 0
    assert len(json.loads((folder / "earlier.json").read_text())[0]["values"]) == 3
    again = ("--repeat", "3", "--against", earlier, "--fail-above", "5")
    assert bench(folder, 10, *again) == 0
    assert "same" in capsys.readouterr().out
    assert bench(folder, 12, *again) == 1
    out = capsys.readouterr().out
    assert "+20.0 %" in out and "slower" in out and "grown by more than 5 %: toy" in out
    assert bench(folder, 8, *again) == 0


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["--against", "/no/file.json"], "No such file"),
        (["--against", __file__], "expected a list of {name, value, unit, better}"),
        (["--repeat", "0"], "expected 1 or more"),
        (["--repeat", "2", "--fail-above", "3"], "needs --against FILE"),
        (["--repeat", "2", "--threads", "1,2"], "one number of threads"),
    ],
)
def test_wrong_arguments(folder, capsys, arguments, expected):
    with pytest.raises(SystemExit) as stop:
        bench(folder, 1, *arguments)
    assert stop.value.code == 2
    assert expected in "".join(capsys.readouterr())
