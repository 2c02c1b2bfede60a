"""Reading mesh files and cutting planes: which blocks, which cells, which pixels."""

import h5py
import numpy as np
import pytest
import synthetic

from parallax import ReadError
from parallax.star.athdf import Mesh, axis_number


def position_fields(x, y, z):
    """Each variable is a coordinate, so that every value says where it should be."""
    return {"rho": x + 0 * y * z, "vel1": y + 0 * x * z, "press": z + 0 * x * y}


@pytest.fixture(scope="module")
def corner_mesh(tmp_path_factory):
    """[0,2]^3, root 2^3, the root block at the origin refined once: 7 blocks of level 0, 8 of level 1."""
    leaves = [(0, where) for where in np.ndindex(2, 2, 2) if where != (0, 0, 0)]
    leaves += [(1, where) for where in np.ndindex(2, 2, 2)]
    path = tmp_path_factory.mktemp("mesh") / "corner.athdf"
    box = {"lower": (0, 0, 0), "upper": (2, 2, 2)}
    synthetic.write_mesh(path, leaves, position_fields, n=4, per_block={"Cost": np.arange(15.0)}, **box)
    return path


def test_header_and_geometry(corner_mesh):
    with Mesh(corner_mesh) as mesh:
        assert (mesh.time, mesh.cycle, mesh.n_blocks, mesh.n_cells) == (0.1, 100, 15, 15 * 64)
        assert mesh.variables == ["rho", "vel1", "press"]
        assert mesh.per_block == ["Cost"]
        assert mesh.domain_lower.tolist() == [0, 0, 0] and mesh.domain_upper.tolist() == [2, 2, 2]
        assert sorted({*mesh.cell_width[:, 0]}) == [0.125, 0.25]
        assert mesh.block_values("Cost")[3] == 3.0 and mesh.block_values("Owner") is None


def test_points_carry_their_position_and_fill_the_volume(corner_mesh):
    with Mesh(corner_mesh) as mesh:
        where, volumes, values = mesh.points(["rho", "vel1", "press"])
    assert np.array_equal(where[:, 0], values["rho"])
    assert np.array_equal(where[:, 1], values["vel1"])
    assert np.array_equal(where[:, 2], values["press"])
    assert volumes.sum() == 8.0


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_plane_cuts_the_right_blocks(corner_mesh, axis):
    with Mesh(corner_mesh) as mesh:
        low = mesh.plane(axis, 0.3)
        high = mesh.plane(axis, 1.0)  # on a face between blocks: the upper one
        top = mesh.plane(axis, 2.0)
    assert sorted(low.levels) == [0, 0, 0, 1, 1, 1, 1]
    assert sorted(high.levels) == [0, 0, 0, 0]
    assert np.array_equal(high.blocks, top.blocks)
    areas = (low.rects[:, 1] - low.rects[:, 0]) * (low.rects[:, 3] - low.rects[:, 2])
    assert areas.sum() == 4.0


@pytest.mark.parametrize(
    "axis, own, names",
    [("x", "rho", ("vel1", "press")), ("y", "vel1", ("rho", "press")), ("z", "press", ("rho", "vel1"))],
)
def test_slice_takes_the_layer_that_the_plane_is_in(corner_mesh, axis, own, names):
    with Mesh(corner_mesh) as mesh:
        normal = mesh.slice(own, axis, 0.3)
        fine = normal.levels == 1
        assert np.all(normal.values[fine] == 0.3125)  # the fine cell [0.25, 0.375]
        assert np.all(normal.values[~fine] == 0.375)  # the coarse cell [0.25, 0.5]
        horizontal, vertical = (mesh.slice(name, axis, 0.3).image() for name in names)
    middle = (np.arange(16) + 0.5) / 8
    assert np.all(np.abs(horizontal - middle[None, :]) <= 0.0625)  # a coarse cell covers two pixels
    assert np.all(np.abs(vertical - middle[:, None]) <= 0.0625)
    assert np.array_equal(horizontal[0, :8], middle[:8])  # the refined corner is exact


def test_plane_outside_names_the_range(corner_mesh):
    with (
        Mesh(corner_mesh) as mesh,
        pytest.raises(ValueError, match="z = 3.0 is outside the mesh, which spans 0.0 to 2.0"),
    ):
        mesh.plane("z", 3.0)
    with pytest.raises(ValueError, match="expected the axis"):
        axis_number("w")


def test_image_averages_what_is_finer_than_its_pixels(corner_mesh):
    with Mesh(corner_mesh) as mesh:
        cut = mesh.slice("rho", "z", 0.3)
    small = cut.image(max_pixels=8)
    assert small.shape == (8, 8)
    assert np.allclose(small, ((np.arange(8) + 0.5) / 4)[None, :], rtol=0, atol=1e-15)


def test_image_of_block_values(corner_mesh):
    with Mesh(corner_mesh) as mesh:
        cut = mesh.plane("z", 0.3)
    image = cut.image(cut.levels.astype(float))
    assert image.tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]


def test_outlines_are_the_left_and_lower_edges(corner_mesh):
    with Mesh(corner_mesh) as mesh:
        cut = mesh.plane("z", 0.3)
    assert cut.outlines([0]).shape == (6, 2, 2) and cut.outlines().shape == (14, 2, 2)
    assert [[0.5, 0.5], [0.5, 1.0]] in cut.outlines([1]).tolist()


def test_batches_see_every_block_once(corner_mesh, monkeypatch):
    monkeypatch.setattr("parallax.star.athdf._batch_bytes", 4 * 8 * 64)
    with Mesh(corner_mesh) as mesh:
        assert list(mesh.batches()) == [(0, 4), (4, 8), (8, 12), (12, 15)]
        cut = mesh.slice("rho", "z", 0.3)
        assert cut.values.shape == (7, 4, 4)
        assert np.array_equal(cut.values[:, 0, 0], mesh.read("rho")[cut.blocks, 0, 0, 0])


def test_single_precision_and_a_box_that_is_no_cube(tmp_path):
    leaves = [(0, (i, 0, 0)) for i in range(4)]
    path = tmp_path / "tube.athdf"
    synthetic.write_mesh(
        path, leaves, position_fields, n=4, root=(4, 1, 1), lower=(0, 0, 0), upper=(4, 1, 1), dtype=np.float32
    )
    with Mesh(path) as mesh:
        assert mesh.read("rho").dtype == np.float32
        assert mesh.slice("rho").image().shape == (4, 16)


def test_octree_of_the_tests_is_balanced():
    leaves = synthetic.octree(0.42, 3)
    finest = {}
    for level, where in leaves:
        scale = 2 ** (3 - level)
        for cell in np.ndindex(scale, scale, scale):
            finest[tuple(w * scale + c for w, c in zip(where, cell))] = level
    assert len(finest) == 16**3
    for where, level in finest.items():
        for step in np.ndindex(3, 3, 3):
            near = tuple(w + s - 1 for w, s in zip(where, step))
            assert abs(finest.get(near, level) - level) <= 1


# ---- wrong files ----


def broken(path, what):
    with pytest.raises(ReadError) as caught:
        with Mesh(path) as mesh:
            mesh.slice("rho")
    text = str(caught.value)
    assert str(path) in text and what in text and "\n" not in text


def test_truncated_file(corner_mesh, tmp_path):
    path = tmp_path / "cut.athdf"
    path.write_bytes(corner_mesh.read_bytes()[:3000])
    broken(path, "truncated, or not an HDF5 file")


def test_file_of_something_else(tmp_path):
    path = tmp_path / "words.athdf"
    path.write_text("these are words, not HDF5\n" * 100)
    broken(path, "not an HDF5 file")
    broken(tmp_path / "none.athdf", "no such file")


@pytest.mark.parametrize(
    "change, what",
    [
        (lambda f: f.attrs.__delitem__("RootGridSize"), "attribute 'RootGridSize' is missing"),
        (lambda f: f.__delitem__("Levels"), "dataset 'Levels' is missing"),
        (lambda f: f.__delitem__("prim"), "dataset 'prim' is missing"),
        (lambda f: f.attrs.__setitem__("NumMeshBlocks", 14), "expected shape"),
        (lambda f: f.attrs.__setitem__("VariableNames", np.array([b"density", b"a", b"b"])), "no variable 'rho'"),
        (lambda f: f.attrs.__setitem__("VariableNames", np.array([b"rho"])), "variable names"),
    ],
)
def test_file_of_another_layout(corner_mesh, tmp_path, change, what):
    path = tmp_path / "odd.athdf"
    path.write_bytes(corner_mesh.read_bytes())
    with h5py.File(path, "a") as f:
        change(f)
    broken(path, what)
