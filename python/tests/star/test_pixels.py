"""Files of slices and projections, written here as plx-star writes them (src/star/output/series/images.cpp)."""

import h5py
import numpy as np
import pytest

from parallax import ReadError
from parallax.picture import light, render
from parallax.star import planes
from parallax.star.pixels import read_pixels
from parallax.star.run import Run


def write(path, units=True):
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        file.attrs.update({"Kind": b"slice", "Time": 0.25, "Step": 7, "Normal": b"y", "Level": 1, "Position": 0.1})
        file.attrs["Axes"] = np.array([b"x", b"z"])
        file.attrs["VariableNames"] = np.array([b"density", b"mach"])
        file.attrs["VariableUnits"] = np.array([b"g cm^-3", b"1"])
        file.attrs["VariableFactors"] = np.array([10.0, 1.0])
        if units:
            file.attrs.update({"LengthUnit": 2.0, "MassUnit": 3.0, "TimeUnit": 5.0})
        for axis, n in (("x", 4), ("z", 2)):
            file[f"{axis}_edges"] = np.linspace(0, n / 4, n + 1)
            file[axis] = (np.arange(n) + 0.5) / 4
        file["density"] = np.arange(8.0).reshape(2, 4)
        file["mach"] = np.ones((2, 4))
    return path


def test_values_coordinates_and_attributes_are_read(tmp_path):
    image = read_pixels(write(tmp_path / "s.00003.h5"))
    assert (image.kind, image.axes, image.normal, image.position) == ("slice", ("x", "z"), "y", 0.1)
    assert (image.time, image.step, image.weight) == (0.25, 7, "")
    assert image.extent == (0, 1, 0, 0.5)
    assert image.values["density"][1].tolist() == [4, 5, 6, 7]
    assert image.with_unit("density")[0][1].tolist() == [40, 50, 60, 70]
    assert image.units == {"density": "g cm^-3", "mach": "1"}
    assert image.coordinates["z"].tolist() == [0.125, 0.375]
    assert image.code_units == {"length_unit": (2.0, "cm"), "mass_unit": (3.0, "g"), "time_unit": (5.0, "s")}
    assert read_pixels(write(tmp_path / "t.00000.h5", units=False)).code_units == {}


def test_a_broken_file_is_one_line(tmp_path):
    with pytest.raises(ReadError, match="no such file"):
        read_pixels(tmp_path / "none.h5")
    (tmp_path / "text.h5").write_text("text")
    with pytest.raises(ReadError, match="not a file of a slice"):
        read_pixels(tmp_path / "text.h5")
    path = write(tmp_path / "s.h5")
    with h5py.File(path, "a") as file:
        del file["mach"]
        file["mach"] = np.ones(3)
    with pytest.raises(ReadError, match="dataset 'mach': expected shape"):
        read_pixels(path)


def test_a_run_lists_its_images_by_number(tmp_path):
    for name in ("a.00010.h5", "a.00002.h5", "b_1.00000.h5"):
        write(tmp_path / "series" / name)
    (tmp_path / "run.json").write_text("{}")
    images = Run(tmp_path).images
    assert {name: [path.name for path in paths] for name, paths in images.items()} == {
        "a": ["a.00002.h5", "a.00010.h5"], "b_1": ["b_1.00000.h5"],
    }


def test_an_image_can_be_drawn(tmp_path):
    picture = planes.pixels_picture(read_pixels(write(tmp_path / "s.00003.h5")))
    assert "y = 0.1" in picture.caption and "step 7" in picture.caption
    assert render(picture, light)[:4] == b"\x89PNG"
