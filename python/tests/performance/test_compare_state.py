"""The state of the machine beside the times of two programs: folders with made-up counters."""

import random

import pytest

from parallax.cli import main
from parallax.performance.compare_state import compare_repeated_state, compare_state
from parallax.performance.diagnosis import Evidence

frequency = "/system{total}/cpu/frequency"
others = "/system/cpu/others"
throttles = "/system/throttles/core"


def folder_of(path, governor="performance", **series):
    """A run of one worker; series: {counter: values}, half a second apart."""
    path.mkdir(parents=True)
    (path / "workers.csv").write_text("worker,tasks_s,overhead_s,background_s,idle_s,tasks,steals,on_core_s,ready_s\n0,9,0,0,1,9,0,9,0\n")
    rows = [f"{0.5 * i},{name},{v!r},1" for name, values in series.items() for i, v in enumerate(values)]
    if governor:
        rows += [f"9,/system{{{name}}}/cpu/governor,{4 if name == governor else 0},1" for name in ("performance", "powersave")]
    (path / "diagnose.csv").write_text("\n".join(["time_s,name,value,unit", "0,/machine/processors,2,1", *rows]) + "\n")
    return path


def clock(rng, hz, n=40, noise=0.01):
    return [hz * rng.gauss(1, noise) for _ in range(n)]


def grown(per_s, n=40):
    return [1000 + 0.5 * i * per_s for i in range(n)]


def sentences_of(tmp_path, one, other):
    pair = [Evidence(folder_of(tmp_path / name, **series)) for name, series in (("a", one), ("b", other))]
    return compare_state(*pair)


def test_a_slower_clock_is_named(tmp_path):
    rng = random.Random(1)
    found = sentences_of(tmp_path, {frequency: clock(rng, 3e9)}, {frequency: clock(rng, 2.4e9)})
    (sentence,) = found.sentences
    assert sentence.startswith("the machine's state differs by more than its scatter: mean frequency 3.0") and "2.4" in sentence
    assert found.rows[0][0] == "mean frequency" and float(found.rows[0][3]) == pytest.approx(0.8, abs=0.01)
    assert found.rows[-1] == ("governor", "performance", "performance", "")


def test_equal_states_give_no_cause(tmp_path):
    rng = random.Random(2)
    wrong = 0
    for i in range(60):
        series = [{frequency: clock(rng, 3e9, noise=0.1), others: grown(rng.gauss(1, 0.01))} for _ in "ab"]
        wrong += bool(sentences_of(tmp_path / str(i), *series).sentences)
    assert wrong <= 8  # 95 % for all together: 3 expected


def test_a_difference_below_its_scatter_or_without_importance(tmp_path):
    rng = random.Random(3)
    wide = [{frequency: clock(rng, hz, n=8, noise=0.3)} for hz in (3e9, 2.8e9)]
    assert not sentences_of(tmp_path / "wide", *wide).sentences
    exact = [{frequency: [hz] * 40} for hz in (3e9, 2.99e9)]
    assert not sentences_of(tmp_path / "exact", *exact).sentences
    short = [{frequency: [hz] * 2} for hz in (3e9, 2e9)]
    assert not sentences_of(tmp_path / "short", *short).sentences  # two samples have no scatter


def test_counters_that_grow_are_rates(tmp_path):
    found = sentences_of(tmp_path, {throttles: grown(0), others: grown(0.1)}, {throttles: grown(4), others: grown(1.1)})
    assert "throttled cores 0 per s in a and 4.00 per s in b; used by other programs 0.100 cores in a and 1.10" in found.sentences[0]


def test_another_governor(tmp_path):
    pair = [folder_of(tmp_path / g, governor=g) for g in ("performance", "powersave")]
    found = compare_state(*map(Evidence, pair))
    assert found.sentences == ["the machine's state differs by more than its scatter: governor performance in a and powersave in b"]


def test_a_machine_without_such_counters(tmp_path, capsys):
    pair = [folder_of(tmp_path / name, governor="") for name in "ab"]
    assert compare_state(*map(Evidence, pair)) is None
    assert main(["compare", *map(str, pair)]) == 0
    assert "Machine state" not in capsys.readouterr().out
    alone = folder_of(tmp_path / "c", governor="", **{frequency: [3e9] * 9})
    found = compare_state(Evidence(pair[0]), Evidence(alone))
    assert found.rows == [("mean frequency", "-", "3.00 GHz", "")] and not found.sentences


def test_repeated_runs_scatter_between_runs(tmp_path, capsys):
    """Each run has a constant frequency: its own scatter is none, and that between runs decides."""
    rng = random.Random(4)
    of = {"a": (3e9, 0.1), "b": (3e9, 0.1), "c": (2.4e9, 0.01), "d": (3e9, 0.01)}
    for name, (hz, noise) in of.items():
        for i in range(5):
            folder_of(tmp_path / name / str(i), **{frequency: [hz * rng.gauss(1, noise)] * 20})
    runs = {name: [Evidence(path) for path in sorted((tmp_path / name).iterdir())] for name in of}
    assert not compare_repeated_state(runs["a"], runs["b"]).sentences
    assert "mean frequency" in compare_repeated_state(runs["d"], runs["c"]).sentences[0]
    assert main(["compare", str(tmp_path / "d"), str(tmp_path / "c")]) == 0
    assert "Machine state\n  the machine's state differs" in capsys.readouterr().out
