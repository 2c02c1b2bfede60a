"""The volume rendering of a mesh file: what is sampled for it, and where it shows bodies."""

import numpy as np
import pytest
import synthetic

from parallax.picture import light, render
from parallax.star import render as render_module
from parallax.star.athdf import Mesh
from parallax.star.render import draw, main, project, volume, volume_picture


@pytest.fixture
def ball(tmp_path):
    """A ball of density 1 around (0.2, 0, 0), radius 0.15, in a gas of density 1e-6, on three levels."""
    path = tmp_path / "ball.00000.athdf"

    def fields(x, y, z):
        return {"rho": np.where((x - 0.2) ** 2 + y**2 + z**2 < 0.15**2, 1.0, 1e-6)}

    synthetic.write_mesh(path, synthetic.octree(0.3, 2), fields)
    return path


def test_the_cube_holds_the_dense_gas(ball):
    with Mesh(ball) as mesh:
        values, corner, edge = volume(mesh, cells=32)
        finest = mesh.cell_width.min()
    assert np.all(corner <= [0.05, -0.15, -0.15]) and np.all(corner + edge >= [0.35, 0.15, 0.15])
    assert values.max() == 0 and values.min() >= -99
    at = corner[:, None] + (np.arange(32) + 0.5) / 32 * edge
    x, y, z = np.meshgrid(*at, indexing="ij")
    far = np.sqrt((x - 0.2) ** 2 + y**2 + z**2)
    assert np.all(values[far < 0.15 - 4 * finest] == 0)  # cells of several levels
    assert np.all(values[far > 0.15 + 8 * finest] < -5)


def test_a_broken_file_is_one_line(tmp_path, capsys):
    assert main([str(tmp_path / "none.athdf"), str(tmp_path / "out.png")]) == 2
    assert "no such file" in capsys.readouterr().err
    assert main([]) == 2


def test_a_picture_that_cannot_be_written_is_one_line(ball, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(render_module, "draw", lambda values: np.zeros((4, 4, 3)))
    for out, expected in (("x.xyz", "x.xyz: expected a name that ends in .png"), ("none/x.png", "No such file or directory")):
        assert main([str(ball), str(tmp_path / out)]) == 2
        error = capsys.readouterr().err
        assert expected in error and error.count("\n") == 1
    assert main([str(ball), str(tmp_path / "x.png")]) == 0
    assert [path.name for path in tmp_path.glob("*x.*")] == ["x.png"]


def test_the_picture_shows_bodies_where_they_are(tmp_path):
    """A large ball to the left of a small one in the picture, which is farther along the view's right and higher."""
    path, places = tmp_path / "balls.athdf", np.array([[-0.25, 0.1, 0.0], [0.3, 0.05, 0.1]])

    def fields(x, y, z):
        far = [np.sqrt((x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2) for a, b, c in places]
        return {"rho": np.where((far[0] < 0.15) | (far[1] < 0.08), 1.0, 1e-6)}

    leaves = [(3, where) for where in np.ndindex(8, 8, 8)]
    synthetic.write_mesh(path, leaves, fields, 8, root=(1, 1, 1), lower=(-0.5, -0.5, -0.5), upper=(0.5, 0.5, 0.5))
    with Mesh(path) as mesh:
        values, corner, edge = volume(mesh, cells=64)
    picture = draw(values, size=120, steps=120)[..., 0]
    assert picture[:8].max() < 0.4 and picture.max() > 0.6
    at = project((places - corner) / edge - 0.5)
    columns, rows = np.meshgrid((np.arange(120) + 0.5) / 60 - 1, 1 - (np.arange(120) + 0.5) / 60)
    left = columns < at.mean(axis=0)[0]
    for half, place in ((left, at[0]), (~left, at[1])):
        bright = half & (picture > 0.5)
        assert np.count_nonzero(bright) > 30
        assert np.allclose([columns[bright].mean(), rows[bright].mean()], place, atol=0.03)
    assert np.count_nonzero(left & (picture > 0.5)) > 2 * np.count_nonzero(~left & (picture > 0.5))


def test_a_picture_of_a_report(ball):
    assert len(render(volume_picture(ball), light)) > 1000
