"""Virtual speed-ups read from speedup.csv, in words and drawn."""

from __future__ import annotations

import pytest

from parallax import ReadError, picture
from parallax.performance.speedups import sentence, speedups_of, speedups_picture

HEAD = "type,percent,rounds,gain,gain_low,gain_high,state\n"
SETTLED = (
    "small,25,20,0.003,-0.003,0.008,settled\nsmall,50,20,0.0,-0.003,0.012,settled\nsmall,75,20,0.003,-0.001,0.016,settled\n"
    '"large, one",75,20,0.39,0.381,0.408,settled\n"large, one",25,20,0.199,0.174,0.205,settled\n'
    '"large, one",50,20,0.384,0.373,0.386,settled\n'
)


def run_of(folder, rows):
    (folder / "speedup.csv").write_text(HEAD + rows)
    return folder


def test_types_come_with_the_largest_gain_first_and_gains_by_percent(tmp_path):
    large, small = speedups_of(run_of(tmp_path, SETTLED))
    assert (large.name, small.name) == ("large, one", "small")
    assert [g.percent for g in large.gains] == [25, 50, 75] and large.largest == 0.39 and large.rounds == 20
    assert sentence(large) == 'If "large, one" took 50 % less time, a step would take 38.4 % less (37.3 to 38.6).'
    assert sentence(small) == 'If "small" took 50 % less time, a step would take no measurably different time (-0.3 to +1.2 % less).'


def test_few_rounds_have_no_bounds_and_types_without_any_are_omitted(tmp_path):
    (one,) = speedups_of(run_of(tmp_path, "solve,50,3,0.31,,,open\nnever,50,0,,,,open\n"))
    assert one.gains[0].low is None and not one.settled
    assert sentence(one) == 'If "solve" took 50 % less time, a step would take about 31 % less (few rounds).'
    assert "Not settled when the run ended: solve." in speedups_picture([one]).caption


def test_a_loss_is_reported_as_one(tmp_path):
    (one,) = speedups_of(run_of(tmp_path, "solve,50,9,-0.04,-0.05,-0.03,settled\n"))
    assert sentence(one).endswith("a step would take 4.0 % more (3.0 to 5.0).")


def test_a_run_without_them_has_none(tmp_path):
    assert speedups_of(tmp_path) == [] and speedups_picture([]) is None
    assert speedups_of(run_of(tmp_path, "")) == []


@pytest.mark.parametrize("rows", ["solve,50,9,much,,,settled\n", "solve,half,9,0.1,,,settled\n"])
def test_a_damaged_file_is_named(tmp_path, rows):
    with pytest.raises(ReadError, match=r"speedup\.csv.*expected"):
        speedups_of(run_of(tmp_path, rows))


def test_the_picture_has_the_types_apart(tmp_path):
    rows = "".join(f"type {i},{p},12,{0.001 * (i + p)},{0.001 * (i + p) - 0.002},{0.001 * (i + p) + 0.002},settled\n" for i in range(9) for p in (25, 50, 75))
    found = speedups_picture(speedups_of(run_of(tmp_path, rows)))
    assert found.name == "speedups" and "at least 12 rounds" in found.caption
    for theme in (picture.light, picture.dark):
        assert picture.render(found, theme).startswith(b"\x89PNG")
