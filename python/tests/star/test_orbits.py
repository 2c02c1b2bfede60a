"""The orbits of several runs side by side: made-up tables of a pair whose lighter star is disrupted."""

import json

import numpy as np
import pytest

from parallax.cli import main
from parallax.star.orbits import OrbitHistory

PERIOD = 2.0


def write_run(folder, disrupted_at=None, gain=0.0, level=9, spin=False, **changed):
    """Two orbits per period of PERIOD; the lighter star, the first one, loses its mass linearly until it is half at
    `disrupted_at`; driving takes 0.1 per time, and the scheme adds `gain`, relative, by the end. `spin`: another total, 0.2 of which leaves
    per time. `changed`: columns of the diagnostics."""
    folder.mkdir()
    t = np.linspace(0, 8, 81)
    mass = 0.4 * (1 - 0.5 * t / disrupted_at).clip(min=0) if disrupted_at else 0.4 + 0 * t
    columns = {"step": range(81), "time": t, "star_1_mass": mass, "star_2_mass": 0.6 + 0 * t}
    columns |= {"separation_1_2": 3.0 - 0.1 * t, "orbits_1_2": 2 * t / PERIOD, "orbital_period_1_2": 0 * t + PERIOD}
    late = t >= (disrupted_at or 9)
    columns |= {"disrupted_star": np.where(late, 1, 0), "disruption_time": np.where(late, disrupted_at or 0, np.nan)}
    columns |= {name: np.broadcast_to(value, 81) for name, value in changed.items()}
    momentum = 5 * (1 + gain * t / 8) - 0.1 * t
    history = {"step": range(81), "time": t, "angular_momentum_z": momentum, "driving_angular_momentum": -0.1 * t}
    if spin:
        history |= {"total_angular_momentum_z": momentum - 0.2 * t, "out_total_angular_momentum_z": 0.2 * t}
        history["angular_momentum_z"] = 9 * momentum
    history["angular_momentum_z"][0] = np.nan  # as plx-star writes the first row
    history["driving_angular_momentum"][1] = -0.01
    for name, table in (("diagnostics", columns), ("history", history)):
        rows = [",".join(table), *(",".join(str(v) for v in row) for row in zip(*table.values()))]
        (folder / f"{name}.csv").write_text("\n".join(rows) + "\n")
    (folder / "run.json").write_text(json.dumps({"references": {"period": PERIOD}}))
    (folder / "config.toml").write_text(f"[mesh]\nmax_level = {level}\n")
    return folder


def test_times_are_initial_periods_and_driving_is_no_drift(tmp_path):
    history = OrbitHistory(write_run(tmp_path / "a", disrupted_at=5.0, gain=0.02))
    assert history.disrupted == 1 and history.disruption == pytest.approx(2.5) and history.turns == pytest.approx(5.0)
    assert history.lighter[0] == 1.0 and np.interp(2.5, history.time, history.lighter) == pytest.approx(0.5)
    assert history.separation[-1] == pytest.approx(2.2 / 3.0)
    assert history.momentum[-1] == pytest.approx(0.02, rel=2e-2) and history.momentum_at[-1] == pytest.approx(4.0)


def test_the_largest_drift_never_falls_and_is_unknown_while_it_is_zero(tmp_path):
    history = OrbitHistory(write_run(tmp_path / "a"))
    history.momentum = np.array([0.0, -2e-14, 1e-14, 3e-14, -1e-15])
    assert np.array_equal(history.largest_drift, [np.nan, 2e-14, 2e-14, 3e-14, 3e-14], equal_nan=True)


def test_angular_momentum_with_spin_counts_what_has_left(tmp_path):
    history = OrbitHistory(write_run(tmp_path / "a", gain=0.02, spin=True))
    assert history.momentum[-1] == pytest.approx(0.02, rel=1e-9)


def test_the_command_prints_a_line_per_run_and_draws_them(tmp_path, capsys):
    runs = [write_run(tmp_path / "coarse", 5.0, 0.02), write_run(tmp_path / "fine", None, 0.0, level=10)]
    assert main(["orbits", *map(str, runs), "--out", str(tmp_path / "orbits.png")]) == 0
    head, coarse, fine, _ = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "run" and "star 1 after 2.50 periods, 5.00 orbits" in coarse and coarse.startswith("coarse, level 9")
    assert fine.startswith("fine, level 10") and fine.endswith("none")
    assert (tmp_path / "orbits.png").read_bytes().startswith(b"\x89PNG")


def test_columns_that_a_run_lacks_are_omitted(tmp_path, capsys):
    run = write_run(tmp_path / "merged", 5.0, orbits_1_2=np.nan, separation_1_2=np.nan)
    history = (run / "history.csv").read_text().splitlines()
    rows = [row.split(",") for row in history[1:]]
    (run / "history.csv").write_text("\n".join([history[0], *(",".join([*row[:2], "0", "0"]) for row in rows)]) + "\n")
    assert main(["orbits", str(run), "--out", str(tmp_path / "orbits.png")]) == 0
    _, line, _ = capsys.readouterr().out.splitlines()
    assert "star 1 after 2.50 periods" in line and "orbits" not in line and " - " in line and "nan" in line
    assert (tmp_path / "orbits.png").read_bytes().startswith(b"\x89PNG")


def test_runs_without_a_pair_are_refused(tmp_path, capsys):
    run = write_run(tmp_path / "a")
    (run / "diagnostics.csv").unlink()
    assert main(["orbits", str(run)]) == 2
    assert "no pair of stars, expected a run with diagnostics.stars = 2" in capsys.readouterr().err
    assert main(["orbits", str(tmp_path / "none")]) == 2
    assert main(["orbits", str(write_run(tmp_path / "b")), "--out", str(tmp_path / "no" / "x.png")]) == 2
    assert "no such folder" in capsys.readouterr().err
