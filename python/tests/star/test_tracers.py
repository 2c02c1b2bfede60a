"""Histories of tracers, written here as plx-star writes them (src/star/tracers/tracers.cpp)."""

import numpy as np
import pytest

from parallax import ReadError
from parallax.picture import light, render
from parallax.star.tracers import read_tracers, series_of, tracers_picture

header = "step,time,tracer,star,species,x,y,z,velocity_x,velocity_y,velocity_z,density"


def write(folder, name="points", files=3, count=4):
    (folder / "series").mkdir(exist_ok=True)
    for k in range(files):
        rows = [
            f"{10 * k},{0.5 * k},{i},{i % 3},-1,{i + 0.5 * k},{-i},0,1,0,0,{'nan' if i == 3 and k == 2 else i + 1}"
            for i in range(count)
        ]
        (folder / "series" / f"{name}.{k:05d}.csv").write_text("\n".join([header, *rows]) + "\n")
    return folder


def test_columns_are_by_time_and_tracer(tmp_path):
    tracers = read_tracers(write(tmp_path))
    assert tracers.times.tolist() == [0, 0.5, 1]
    assert tracers["x"][:, 2].tolist() == [2, 2.5, 3]
    assert tracers["density"][0].tolist() == [1, 2, 3, 4]
    assert np.isnan(tracers["density"][2, 3])
    assert len(tracers) == 4
    assert tracers.star.tolist() == [0, 1, 2, 0]
    assert tracers.origin[1] == {0: "elsewhere", 1: "star 1", 2: "star 2"}


def test_profiles_are_no_tracers(tmp_path):
    write(tmp_path)
    (tmp_path / "series" / "profile_1.00000.csv").write_text("step,time,r_inner\n0,0,0\n")
    assert list(series_of(tmp_path)) == ["points"]


def test_a_file_that_cannot_be_read_is_one_line(tmp_path):
    with pytest.raises(ReadError, match="expected one series of the kind tracers, found none"):
        read_tracers(tmp_path)
    write(tmp_path)
    write(tmp_path, "others")
    with pytest.raises(ReadError, match="found others, points"):
        read_tracers(tmp_path)
    assert read_tracers(tmp_path, "others").name == "others"
    path = tmp_path / "series" / "points.00001.csv"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(ReadError, match="expected 4 tracers"):
        read_tracers(tmp_path, "points")


def test_the_picture_has_every_origin(tmp_path):
    picture = tracers_picture(read_tracers(write(tmp_path)))
    assert "4 tracers" in picture.caption and "3 files" in picture.caption
    assert len(render(picture, light)) > 1000
