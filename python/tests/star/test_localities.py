"""Blocks and idle rates of localities over a run."""

import numpy as np
import pytest
import synthetic
from matplotlib.figure import Figure

from parallax import ReadError
from parallax.picture import light
from parallax.star import curves

LEAVES = [(0, (i, j, k)) for k in range(2) for j in range(2) for i in range(2)]


def write(tmp_path, index, owner, idle):
    path = tmp_path / f"a.{index:05}.athdf"
    per_block = {} if owner is None else {"Locality": np.array(owner, dtype=np.int32), "LocalityIdleRate": np.array(idle)[owner]}
    synthetic.write_mesh(path, LEAVES, lambda x, y, z: {"rho": 1 + x * y * z}, time=0.5 * index, per_block=per_block)
    return path


def test_blocks_and_idle_rates_of_each_locality(tmp_path):
    paths = [
        write(tmp_path, 0, [0, 0, 0, 0, 1, 1, 1, 1], [0.9, 0.9]),
        write(tmp_path, 1, [0, 0, 0, 1, 1, 1, 1, 1], [0.25, 0.5]),
        write(tmp_path, 2, [0, 0, 0, 1, 1, 1, 2, 2], [0.1, 0.2, 0.3]),
    ]
    series = curves.read_localities(paths)
    assert series.time.tolist() == [0, 0.5, 1]
    assert series.blocks.tolist() == [[4, 4, 0], [3, 5, 0], [3, 3, 2]]
    assert series.idle[1:].tolist()[0][:2] == [0.25, 0.5] and series.idle[2].tolist() == [0.1, 0.2, 0.3]
    assert np.isnan(series.idle[0]).all() and np.isnan(series.idle[1, 2])
    picture = curves.localities_over_time(series)
    figure = Figure(figsize=picture.size)
    picture.draw(figure, light)
    above, below = figure.axes
    assert above.lines[-1].get_ydata().tolist() == pytest.approx([37.5, 20])  # the mean, without the first file
    assert [line.get_label() for line in below.lines[:3]] == ["locality 0", "locality 1", "locality 2"]


def test_files_of_one_process_count_for_the_first_locality(tmp_path):
    series = curves.read_localities([write(tmp_path, i, None, None) for i in range(3)])
    assert series.blocks.tolist() == [[8], [8], [8]] and np.isnan(series.idle).all()


def test_few_of_many_files_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(curves, "MOST_FILES", 3)
    paths = [write(tmp_path, i, [0, 0, 0, 0, 1, 1, 1, 1], [0, 0]) for i in range(8)]
    assert curves.read_localities(paths).time.tolist() in ([0, 1.5, 3.5], [0, 2, 3.5])


@pytest.mark.parametrize("owner", [-1, 1 << 24])
def test_a_number_that_no_locality_has(tmp_path, owner):
    path = tmp_path / "b.athdf"
    per_block = {"Locality": np.full(8, owner, dtype=np.int32), "LocalityIdleRate": np.zeros(8)}
    synthetic.write_mesh(path, LEAVES, lambda x, y, z: {"rho": 1 + x * y * z}, per_block=per_block)
    with pytest.raises(ReadError, match="b.athdf.*expected numbers from 0"):
        curves.read_localities([path])
