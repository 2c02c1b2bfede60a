"""The volume rendering of a mesh file: what is sampled for it, and, if pyvista is installed, what it draws."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import synthetic

from parallax import ReadError
from parallax.picture import light, render
from parallax.star.athdf import Mesh
from parallax.star import render as renderer
from parallax.star.render import main, volume, volume_picture


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


def fake_pyvista(folder, monkeypatch, text):
    monkeypatch.setenv("PYTHONPATH", str(folder))
    (folder / "pyvista.py").write_text(text)


def test_a_relative_path_is_that_of_the_caller(ball, monkeypatch):
    fake_pyvista(ball.parent, monkeypatch, "raise ImportError('reached')\n")
    monkeypatch.chdir(ball.parent.parent)
    with pytest.raises(ReadError, match="reached"):  # after the mesh has been read
        volume_picture(Path(os.path.relpath(ball)))


def test_a_drawing_that_hangs_or_does_not_start_is_one_line(ball, monkeypatch):
    fake_pyvista(ball.parent, monkeypatch, "import time\ntime.sleep(600)\n")
    monkeypatch.setattr(renderer, "limit_s", 2)
    with pytest.raises(ReadError, match="pyvista has not drawn the density within 2 s"):
        volume_picture(ball)
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: (_ for _ in ()).throw(OSError("no memory")))
    with pytest.raises(ReadError, match="cannot be drawn: no memory"):
        volume_picture(ball)


def test_the_picture_shows_the_ball(ball):
    pytest.importorskip("pyvista")
    assert len(render(volume_picture(ball), light)) > 1000


def test_a_library_that_fails_is_one_line(ball, monkeypatch):
    fake_pyvista(ball.parent, monkeypatch, "raise ImportError('no OpenGL')\n")
    with pytest.raises(ReadError, match="pyvista cannot draw the density .*no OpenGL"):
        volume_picture(ball)
