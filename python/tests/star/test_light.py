"""Light curves: made-up tables, their picture and their place in a report."""

import numpy as np
import pytest

from parallax import ReadError
from parallax.picture import light, render
from parallax.star.curves import directions_of, light_picture, read_light


def write_light(folder, temperature=5000.0):
    t = np.linspace(0, 8, 9)
    columns = {"step": range(9), "time": t, "luminosity": 4e33 + 0 * t}
    for direction in ("plus_x", "minus_z", "plus_z"):
        columns |= {f"luminosity_{direction}": 4e33 + 1e32 * t, f"area_{direction}": 1e22 + 0 * t, f"temperature_{direction}": temperature + 0 * t}
    rows = [",".join(columns), *(",".join(str(v) for v in row) for row in zip(*columns.values()))]
    (folder / "light_curve.csv").write_text("\n".join(rows) + "\n")


def test_observers_come_from_the_columns(tmp_path):
    write_light(tmp_path)
    assert directions_of(read_light(tmp_path)) == [("+x", "plus_x"), ("-z", "minus_z"), ("+z", "plus_z")]


def test_a_picture_with_and_without_a_temperature(tmp_path):
    for temperature in (5000.0, np.nan):
        write_light(tmp_path, temperature)
        assert render(light_picture(read_light(tmp_path)), light).startswith(b"\x89PNG")


def test_no_table_no_rows_and_another_table(tmp_path):
    assert read_light(tmp_path) is None
    (tmp_path / "light_curve.csv").write_text("step,time,luminosity\n")
    assert read_light(tmp_path) is None
    (tmp_path / "light_curve.csv").write_text("step,time,other\n1,2,3\n")
    with pytest.raises(ReadError, match="no column 'luminosity'"):
        read_light(tmp_path)
