"""Choices that the pictures of planes make by themselves."""

import numpy as np
import pytest
import synthetic
from matplotlib.figure import Figure

from parallax.star import planes
from parallax.star.athdf import Mesh


def cut_of(tmp_path, name, values):
    """A slice of one block whose variable `name` has `values` [8] along x."""

    def fields(x, y, z):
        return {name: np.asarray(values, dtype=float)[None, None, None, :] + 0 * (y * z)}

    path = tmp_path / f"{name}{np.random.default_rng().integers(1 << 30)}.athdf"
    synthetic.write_mesh(path, [(0, (0, 0, 0))], fields, n=8, root=(1, 1, 1))
    with Mesh(path) as mesh:
        return mesh.slice(name)


def test_linear_scale_unless_it_would_hide_most(tmp_path):
    blast = planes.physics_layer(cut_of(tmp_path, "rho", [0.01, 0.02, 0.5, 6, 1, 1, 1, 1]))
    star = planes.physics_layer(cut_of(tmp_path, "rho", [1e-6, 1e-6, 1e-5, 1e-3, 1e-3, 0.5, 1, 1e-6]))
    assert (blast.log, blast.low, blast.high) == (False, 0.01, 6)
    assert star.log


def test_range_covers_the_other_slices(tmp_path):
    last, first = (cut_of(tmp_path, "rho", values) for values in ([1, 1, 1, 1, 2, 2, 2, 2], [0] * 4 + [3] * 4))
    layer = planes.physics_layer(last, [first])
    assert (layer.low, layer.high, layer.log) == (0, 3, False)
    assert planes.name_of(last) == "Density" and planes.label_of(last) == "density ρ (code units)"


def test_mass_fractions_go_from_zero_to_one(tmp_path):
    cut = cut_of(tmp_path, "s0", [1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 0.5, 0.7])
    layer = planes.physics_layer(cut)
    assert (layer.low, layer.high, layer.log) == (0, 1, False)
    assert planes.name_of(cut) == "Species 0"
    named = cut_of(tmp_path, "helium", [0, 0, 0, 0, 0, 0, 0.5, 0.7])
    assert planes.label_of(named) == "helium (mass fraction)" and planes.name_of(named) == "Helium"
    assert planes.label_of(cut_of(tmp_path, "vel2", [1] * 8)) == "vel2 (code units)"


def test_one_disturbed_block_does_not_hide_the_others(tmp_path):
    path = tmp_path / "c.athdf"
    leaves = synthetic.octree(9.0, 0, root=(16, 16, 1))
    synthetic.write_mesh(path, leaves, lambda x, y, z: {"rho": 1 + 0 * x}, n=2, root=(16, 16, 1))
    with Mesh(path) as mesh:
        cut = mesh.plane()
    cost = np.full(256, 3e-7)
    quiet = planes.cost_layer(cut, cost)
    cost[17] = 9e-7
    disturbed = planes.cost_layer(cut, cost)
    assert quiet.extend == "neither" and disturbed.extend == "max"
    assert disturbed.high == pytest.approx(300) and disturbed.label == "cost (ns per cell update)"
    assert planes.cost_layer(cut, cost * 10).label == "cost (µs per cell update)"


def test_levels_have_one_colour_each(tmp_path):
    path = tmp_path / "l.athdf"
    synthetic.write_mesh(path, synthetic.octree(0.42, 3), synthetic.blast(0.42), n=2)
    with Mesh(path) as mesh:
        layer = planes.level_layer(mesh.plane())
    assert layer.colours().N == 2 and layer.norm()(2.0) == 0 and layer.norm()(3.0) == 1


def test_halves_only_where_right_mirrors_left(tmp_path):
    symmetric = cut_of(tmp_path, "rho", [1, 2, 3, 4, 4, 3, 2, 1])
    ramp = cut_of(tmp_path, "rho", [1, 2, 3, 4, 5, 6, 7, 8])
    pictures = [
        planes.parallax_picture(cut, planes.physics_layer(cut), planes.cost_layer(cut, np.ones(1)), 1)
        for cut in (symmetric, ramp)
    ]
    assert [picture.draw.func.__name__ for picture in pictures] == ["_halves", "_beside"]


def test_borders_lie_between_pixels_of_different_numbers():
    image = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    lines = planes.borders(image, (0.0, 3.0, 0.0, 4.0))
    found = {tuple(map(tuple, line)) for line in lines.tolist()}
    assert found == {((2.0, 0.0), (2.0, 2.0)), ((2.0, 2.0), (3.0, 2.0))}
    assert len(planes.borders(np.ones((3, 3)), (0, 1, 0, 1))) == 0


def test_localities_are_drawn_when_many_wrote_the_file(tmp_path):
    path = tmp_path / "many.athdf"
    leaves = [(0, (i, j, k)) for k in range(2) for j in range(2) for i in range(2)]
    owner = np.array([0, 0, 0, 1, 1, 1, 2, 2], dtype=np.int32)
    idle = np.array([0.1, 0.5, 0.25])[owner]
    synthetic.write_mesh(path, leaves, lambda x, y, z: {"rho": 1 + x * y * z}, per_block={"Locality": owner, "LocalityIdleRate": idle})
    with Mesh(path) as mesh:
        cut = mesh.slice("rho")
        picture = planes.localities_picture(
            cut, planes.physics_layer(cut), mesh.block_values("Locality"), mesh.block_values("LocalityIdleRate"), 8,
            "from a.athdf to b.athdf",
        )
    assert "idle rate of the locality from a.athdf to b.athdf alone" in picture.caption
    figure = Figure(figsize=picture.size)
    picture.draw(figure, None)
    texts = [t.get_text() for t in figure.axes[0].texts]
    assert texts == ["1: 50 % idle", "2: 25 % idle"]  # the plane cuts the upper half
