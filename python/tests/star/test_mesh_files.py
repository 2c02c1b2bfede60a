"""Mesh files as the program writes them (build/.../bin/mesh_sample), opened by its readers: h5py, our own reader,
yt, and for the .xdmf an XML parser that follows every reference into the .athdf."""

import os
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import h5py
import numpy as np
import pytest

from parallax import ReadError
from parallax.star.athdf import Mesh, load_yt


def program() -> Path:
    folders = [Path(os.environ["PLX_BIN"])] if "PLX_BIN" in os.environ else []
    build = Path(__file__).parents[3] / "build"
    folders += [build / preset / "bin" for preset in ("release", "debug", "asan", "tsan")]
    for folder in folders:
        if (folder / "mesh_sample").exists():
            return folder / "mesh_sample"
    pytest.skip("mesh_sample is not built: ./plx build, or set PLX_BIN to the folder it is in")


@pytest.fixture(scope="module", params=["one file", "3"])
def sample(tmp_path_factory, request):
    """The file as one process writes it, and as three."""
    path = tmp_path_factory.mktemp("mesh") / "sample.athdf"
    subprocess.run([program(), path, *(["3"] if request.param == "3" else [])], check=True)
    return path


def expected_rho(x, y, z):
    return 1 + x + 10 * y + 100 * z


def test_layout_of_athena(sample):
    with h5py.File(sample) as f:
        a = f.attrs
        blocks = a["NumMeshBlocks"]
        assert blocks == 2 + 7 + 14  # one root block split, then two of its children: 2:1 holds already
        assert list(a["MeshBlockSize"]) == [8, 8, 8]
        assert list(a["RootGridSize"]) == [16, 8, 8]
        assert list(a["RootGridX1"]) == [-1, 1, 1]
        assert a["MaxLevel"] == 2 == f["Levels"][:].max()
        assert a["Time"] == 0.75 and a["NumCycles"] == 12
        assert a["Coordinates"].decode() == "cartesian"
        assert [n.decode() for n in a["DatasetNames"]] == ["prim"]
        assert [n.decode() for n in a["VariableNames"]] == ["rho", "press"]
        assert list(a["NumVariables"]) == [2]
        assert f["prim"].shape == (2, blocks, 8, 8, 8) and f["prim"].dtype == np.float32
        assert f["LogicalLocations"].shape == (blocks, 3)
        for axis, cells in (("x1", 16), ("x2", 8), ("x3", 8)):
            faces, centres = f[axis + "f"][:], f[axis + "v"][:]
            assert faces.shape == (blocks, 9) and centres.shape == (blocks, 8)
            np.testing.assert_allclose(centres, (faces[:, 1:] + faces[:, :-1]) / 2, atol=1e-15)
            location = f["LogicalLocations"][:, int(axis[1]) - 1]
            origin, top, _ = a["RootGridX" + axis[1]]
            width = (top - origin) / cells / 2.0 ** f["Levels"][:]
            np.testing.assert_allclose(faces[:, 0], origin + location * 8 * width, atol=1e-15)
        z, y, x = (f[n][:] for n in ("x3v", "x2v", "x1v"))
        rho = expected_rho(x[:, None, None, :], y[:, None, :, None], z[:, :, None, None])
        np.testing.assert_allclose(f["prim"][0], rho, rtol=1e-7)
        np.testing.assert_array_equal(f["prim"][1], np.broadcast_to(2.0 ** f["Levels"][:][:, None, None, None], rho.shape))
        np.testing.assert_allclose(f["Cost"], 1e-3 * np.arange(blocks))
        assert set(f["Owner"]) == {0, 1} and set(f["IdleRate"]) == {0.25}
        assert sorted(set(f["Slot"])) == sorted(f["Slot"])


def test_our_own_reader(sample):
    with Mesh(sample) as mesh:
        assert mesh.time == 0.75 and mesh.cycle == 12
        assert list(mesh.variables) == ["rho", "press"]
        assert {"Cost", "Owner", "IdleRate"} <= set(mesh.per_block)
        assert np.prod(mesh.upper - mesh.lower, axis=1).sum() == pytest.approx(2.0)
        assert list(mesh.domain_lower) == [-1, 0, 0]


def test_a_missing_part_is_named(tmp_path):
    subprocess.run([program(), tmp_path / "sample.athdf", "3"], check=True)
    (tmp_path / "part1.h5").unlink()
    with pytest.raises(ReadError, match="its part 'part1.h5' is missing"):
        Mesh(tmp_path / "sample.athdf")


def test_yt(sample):
    yt = pytest.importorskip("yt")
    yt.set_log_level(40)
    ds = yt.load(str(sample))
    assert ds.index.max_level == 2
    assert float(ds.current_time) == 0.75
    everything = ds.all_data()
    x, y, z = (everything["index", c].d for c in "xyz")
    np.testing.assert_allclose(everything["athena_pp", "rho"].d, expected_rho(x, y, z), rtol=1e-6)
    assert float(everything["index", "cell_volume"].sum()) == pytest.approx(2.0)
    ray = ds.ortho_ray("x", (0.03, 0.03))
    np.testing.assert_allclose(ray["athena_pp", "rho"].d, expected_rho(ray["x"].d, ray["y"].d, ray["z"].d), rtol=1e-6)


def test_yt_has_the_units_of_the_run(sample, tmp_path):
    """A solar radius, two solar masses, an hour; without units, those of the file."""
    pytest.importorskip("yt").set_log_level(40)
    for file in sample.parent.iterdir():
        shutil.copy(file, tmp_path)
    path = tmp_path / "sample.athdf"
    assert float(load_yt(path).domain_width[0].to("code_length")) == 2.0
    length, mass, time = 6.957e10, 3.977e33, 3600.0
    with h5py.File(path, "r+") as file:
        file.attrs.update({"LengthUnit": length, "MassUnit": mass, "TimeUnit": time})
    ds = load_yt(path)
    assert float(ds.domain_width[0].to("cm")) == pytest.approx(2 * length)
    assert float(ds.current_time.to("s")) == pytest.approx(0.75 * time)
    everything = ds.all_data()
    x, y, z = (everything["index", c].to("code_length").d for c in "xyz")
    density = everything["gas", "density"].to("g/cm**3").d
    np.testing.assert_allclose(density, expected_rho(x, y, z) * mass / length**3, rtol=1e-6)
    assert float(everything["index", "cell_volume"].sum().to("cm**3")) == pytest.approx(2.0 * length**3)


def numbers(item):
    return [int(word) for word in item.text.split()]


def read_item(item, folder):
    """The data that a DataItem of the .xdmf refers to; a hyperslab's first child holds start, stride, count."""
    if item.get("ItemType") == "HyperSlab":
        selection, source = item.findall("DataItem")
        start, stride, count = np.array(numbers(selection)).reshape(3, -1)
        whole = read_item(source, folder)
        assert whole.ndim == len(start)
        part = whole[tuple(slice(s, s + d * c, d) for s, d, c in zip(start, stride, count))]
        return part.reshape([int(n) for n in item.get("Dimensions").split()])
    name, dataset = item.text.split(":/")
    with h5py.File(folder / name) as f:
        data = f[dataset][:]
    assert list(data.shape) == [int(n) for n in item.get("Dimensions").split()]
    assert data.dtype.itemsize == int(item.get("Precision"))
    assert (data.dtype.kind == "f") == (item.get("NumberType") == "Float")
    return data


def test_xdmf_leads_to_the_same_numbers(sample, tmp_path):
    for file in sample.parent.iterdir():  # can be moved together
        shutil.copy(file, tmp_path)
    grids = ElementTree.parse(tmp_path / "sample.xdmf").getroot().findall("./Domain/Grid/Grid")
    assert len(grids) == 23
    for grid in grids:
        assert grid.find("Topology").get("Dimensions") == "9 9 9"
        faces = [read_item(item, tmp_path) for item in grid.find("Geometry")]
        x, y, z = ((f[1:] + f[:-1]) / 2 for f in faces)
        values = {a.get("Name"): read_item(a.find("DataItem"), tmp_path) for a in grid.findall("Attribute")}
        rho = expected_rho(x[None, None, :], y[None, :, None], z[:, None, None])
        np.testing.assert_allclose(values["rho"], rho, rtol=1e-6)
        assert values["press"].max() == 2.0 ** values["Level"][0]
        assert values["IdleRate"][0] == 0.25
        assert values.get("Locality", [0])[0] in (0, 1, 2)
        assert values.get("LocalityIdleRate", [0.25])[0] == 0.25
