"""Parts of a difference that add up, and intervals from repeated runs: folders with made-up times."""

import random

import pytest

from parallax import NotARun
from parallax.cli import main
from parallax.intervals import t_quantile, welch
from parallax.performance.compare_repeated import compare_repeated, parts_of
from parallax.performance.diagnosis import Evidence

n_types = 20


def folder_of(path, types, idle_s=1.0, searching_s=0.1):
    """One worker; types: {name: (calls, total_s)}. A part of the tasks' time has no type."""
    path.mkdir(parents=True)
    tasks_s = sum(s for _, s in types.values()) + 0.01
    rows = [f"{name},{calls},0,{s!r},{s / calls!r},0,1,0,1" for name, (calls, s) in types.items()]
    (path / "profile.csv").write_text(
        "\n".join(["name,calls,yields,total_s,mean_s,min_s,max_s,stddev_s,share", *rows]) + "\n"
    )
    (path / "workers.csv").write_text(
        "worker,tasks_s,overhead_s,background_s,idle_s,tasks,steals,on_core_s,ready_s\n"
        f"0,{tasks_s!r},{searching_s!r},0,{idle_s!r},100,0,{tasks_s!r},0\n"
    )
    return path


def runs_of(folder, n, rng, slower=1.0, of=None, noise=0.01):
    """Runs of n_types types with noise; the type `of` takes longer by a factor."""
    for i in range(n):
        types = {
            f"type {k}": (100, (k + 1) * rng.gauss(1, noise) * (slower if of == f"type {k}" else 1)) for k in range(n_types)
        }
        folder_of(folder / f"run-{i}", types, idle_s=3 * rng.gauss(1, noise))
    return folder


def test_parts_add_up_to_the_difference(tmp_path):
    a = Evidence(folder_of(tmp_path / "a", {"flux": (100, 10.0), "old": (10, 1.0), "same": (5, 2.0)}))
    b = Evidence(folder_of(tmp_path / "b", {"flux": (150, 12.0), "new": (20, 3.0), "same": (5, 2.0)}, idle_s=0.25))
    parts = parts_of(a, b)
    assert sum(p.difference for p in parts) == pytest.approx(b.worker_time_s - a.worker_time_s, abs=1e-12)
    found = {p.name: p for p in parts}
    # 50 calls more at a mean of (0.1 + 0.08) / 2, and 125 calls that each take 0.02 s less
    assert (found["flux"].by_count, found["flux"].by_time) == (pytest.approx(4.5), pytest.approx(-2.5))
    assert (found["old"].by_count, found["old"].by_time) == (pytest.approx(-1.0), pytest.approx(0.0))
    assert (found["new"].by_count, found["new"].by_time) == (pytest.approx(3.0), pytest.approx(0.0))
    assert "same" not in found and found["(idle)"].difference == pytest.approx(-0.75)
    for p in parts:
        if not p.name.startswith("("):
            assert p.by_count + p.by_time == pytest.approx(p.difference, abs=1e-12)
    assert parts[0].name == "new"


def test_the_table_of_many_parts_adds_up_too(tmp_path, capsys):
    rng = random.Random(1)
    runs_of(tmp_path / "a", 1, rng)
    runs_of(tmp_path / "b", 1, rng)
    assert main(["compare", str(tmp_path / "a" / "run-0"), str(tmp_path / "b" / "run-0")]) == 0
    out = capsys.readouterr().out
    assert "Parts of the difference in worker time" in out and "smaller parts)" in out and "\n  sum " in out


@pytest.mark.parametrize("freedom, expected", [(1, 12.7062), (4, 2.77645), (8, 2.30600), (7.3, 2.34527), (200, 1.97190)])
def test_quantiles_of_student(freedom, expected):  # tables; 7.3 by scipy
    assert t_quantile(0.975, freedom) == pytest.approx(expected, rel=1e-4)


def test_intervals_cover_the_true_difference():
    rng = random.Random(7)
    inside = 0
    for _ in range(200):
        found = welch([rng.gauss(0, 1) for _ in range(5)], [rng.gauss(0.5, 3) for _ in range(5)])
        inside += found.low < 0.5 < found.high
    assert 181 <= inside <= 199  # 190 +- 3 standard errors


def test_a_slower_type_is_named(tmp_path):
    rng = random.Random(3)
    a = runs_of(tmp_path / "a", 5, rng, noise=0.004)
    b = runs_of(tmp_path / "b", 5, rng, slower=1.03, of="type 17", noise=0.004)
    found = compare_repeated(sorted(a.iterdir()), sorted(b.iterdir()))
    assert [row[0] for row in found.section.rows] == ["type 17"]


def test_equal_programs_get_no_cause(tmp_path):
    rng = random.Random(11)
    wrong = 0
    for i in range(10):
        a, b = (runs_of(tmp_path / f"{name}{i}", 5, rng) for name in "ab")
        found = compare_repeated(sorted(a.iterdir()), sorted(b.iterdir()))
        wrong += bool(found.section.rows)
    assert wrong <= 2  # 95 % for all parts together


def test_the_command_with_several_runs(tmp_path, capsys):
    rng = random.Random(5)
    a = runs_of(tmp_path / "a", 5, rng, noise=0.002)
    b = runs_of(tmp_path / "b", 5, rng, slower=1.5, of="type 19", noise=0.002)
    assert main(["compare", str(a), str(b)]) == 0
    out = capsys.readouterr().out
    assert "Time of 5 runs (a) and 5 runs (b)" in out and "more time (95 % interval" in out and "type 19" in out
    assert main(["compare", str(a), str(b), "--fail-above", "3"]) == 1
    assert main(["compare", str(b), str(a), "--fail-above", "3"]) == 0
    assert main(["compare", str(a), str(b), "--fail-above", "30"]) == 0


def test_wrong_input(tmp_path, capsys):
    rng = random.Random(6)
    a, one = runs_of(tmp_path / "a", 2, rng), folder_of(tmp_path / "one", {"x": (1, 1.0)})
    (tmp_path / "empty").mkdir()
    assert main(["compare", str(a), str(tmp_path / "empty")]) == 2
    assert "expected measurements" in capsys.readouterr().err
    assert main(["compare", str(a), str(a), "--html", str(tmp_path / "x.html")]) == 2
    assert main(["compare", str(one), str(one), "--fail-above", "3"]) == 2
    assert "several runs each" in capsys.readouterr().err
    assert main(["compare", str(a), str(one)]) == 0  # one run: no interval
    assert "at least two runs of each are needed" in capsys.readouterr().out
    (one / "workers.csv").unlink()
    with pytest.raises(NotARun, match="time of workers"):
        compare_repeated(sorted(a.iterdir()), [one])


def with_blame(folder, blame):
    """Adds the columns of blame to profile.csv: {name: idle seconds}."""
    head, *rows = (folder / "profile.csv").read_text().splitlines()
    rows = [f"{row},{blame.get(row.split(',')[0], 0)!r},0" for row in rows]
    (folder / "profile.csv").write_text("\n".join([head + ",idle_blame_s,lock_blame_s", *rows]) + "\n")
    return folder


def test_idle_time_is_split_by_what_it_is_charged_to(tmp_path):
    types = {"set-up": (1, 1.0), "flux": (100, 10.0)}
    a = Evidence(with_blame(folder_of(tmp_path / "a", types, idle_s=2.0), {"set-up": 1.5, "flux": 0.25}))
    b = Evidence(with_blame(folder_of(tmp_path / "b", types, idle_s=3.0), {"set-up": 2.25}))
    found = {p.name: p.difference for p in parts_of(a, b)}
    expected = {"set-up": 0.75, "flux": -0.25}
    assert {f"(idle, charged to {name})": s for name, s in expected.items()}.items() <= found.items()
    assert found["(idle, no task ran)"] == pytest.approx(0.5)
    assert sum(found.values()) == pytest.approx(b.worker_time_s - a.worker_time_s, abs=1e-12)
    # Against a run without blame, the idle time is one part.
    c = Evidence(folder_of(tmp_path / "c", types, idle_s=1.0))
    assert [p.name for p in parts_of(a, c)] == [p.name for p in parts_of(c, a)] == ["(idle)"]


def test_a_change_of_blame_in_repeated_runs_is_named(tmp_path):
    rng = random.Random(5)
    for name, mean_s in (("a", 1.0), ("b", 1.5)):
        for i in range(5):
            blamed = mean_s * rng.gauss(1, 0.01)
            folder = folder_of(tmp_path / name / f"run-{i}", {"set-up": (1, 1.0)}, idle_s=blamed + 0.5)
            with_blame(folder, {"set-up": blamed})
    runs = [sorted((tmp_path / name).iterdir()) for name in "ab"]
    assert [row[0] for row in compare_repeated(*runs).section.rows] == ["(idle, charged to set-up)"]
