"""The density in three dimensions: a volume rendering by pyvista (VTK), which draws without a display.

    python -m parallax.star.render run/mesh/binary.00010.athdf density.png

The report has it for runs with self-gravity if pyvista is installed (pip install pyvista, about 800 MB). The picture is
drawn in a process of its own, so that the report survives a crash in OpenGL. Example to read: tests/star/test_render.py.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from .. import ReadError
from ..picture import Picture
from .athdf import Mesh
from .cross_section import Points

decades = 4  # of density that are shown
limit_s = 120  # after which a drawing is stopped


def is_installed() -> bool:
    return importlib.util.find_spec("pyvista") is not None


def volume(mesh, cells: int = 160) -> tuple:
    """log10 of the density over the largest one, at the centres of equal cells [x][y][z] of a cube around all gas that is
    denser than 1e-3 of it; the lower corner of the cube, and its edge."""
    peaks = np.concatenate([mesh.read("rho", a, b).max(axis=(1, 2, 3)) for a, b in mesh.batches()])
    dense = peaks > 1e-3 * peaks.max()
    low, high = mesh.lower[dense].min(axis=0), mesh.upper[dense].max(axis=0)
    edge = float(np.max(high - low))
    corner = 0.5 * (low + high) - 0.5 * edge
    at = (np.arange(cells) + 0.5) / cells * edge
    points = corner + np.stack(np.meshgrid(at, at, at, indexing="ij"), axis=-1)
    density = Points(mesh, points).image("rho")
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log10(density / peaks.max())
    return np.where(np.isfinite(values), values, -99.0), corner, edge


def draw(values, corner, edge: float, size: int = 900) -> np.ndarray:
    """The picture [row][column][rgb]; the view is from above the orbital plane. Requires: pyvista."""
    import pyvista

    n = values.shape[0]
    grid = pyvista.ImageData(dimensions=(n, n, n), spacing=(edge / n,) * 3, origin=tuple(corner + 0.5 * edge / n))
    grid["density"] = np.clip(values, -decades, 0).ravel(order="F")
    plotter = pyvista.Plotter(off_screen=True, window_size=(size, size))
    plotter.set_background("black")
    plotter.add_volume(
        grid, scalars="density", cmap="inferno", clim=(-decades, 0), opacity=[0, 0.02, 0.06, 0.15, 0.5],
        opacity_unit_distance=edge / 40, show_scalar_bar=False,
    )
    plotter.add_mesh(grid.outline(), color="#808080")
    middle = corner + 0.5 * edge
    plotter.camera_position = [tuple(middle + edge * np.array([1.2, -2.0, 1.4])), tuple(middle), (0, 0, 1)]
    picture = plotter.screenshot(return_img=True)
    plotter.close()
    return np.asarray(picture)


def volume_picture(path: Path) -> Picture:
    """The rendering of a mesh file. Raises ReadError."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "density.png"
        command = [sys.executable, "-m", "parallax.star.render", str(path.resolve()), str(out)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=limit_s, check=False, cwd=Path(__file__).resolve().parents[2]
            )
        except subprocess.TimeoutExpired:
            raise ReadError(path, f"pyvista has not drawn the density within {limit_s} s") from None
        except OSError as error:
            raise ReadError(path, f"the density cannot be drawn: {error}") from error
        if done.returncode != 0 or not out.exists():
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise ReadError(path, f"pyvista cannot draw the density ({last[:200]})")
        import matplotlib.image

        image = matplotlib.image.imread(out)

    def show(figure, theme) -> None:
        axes = figure.subplots()
        axes.imshow(image)
        axes.set_axis_off()

    caption = (
        f"The density in the last mesh file over {decades} decades below its largest value, seen from above the plane z = 0: "
        "bright gas is dense. The frame is a cube around all gas denser than a thousandth of it."
    )
    return Picture("volume", "Density in three dimensions", caption, (6.0, 6.0), show, "Volume rendering of the density.")


def main(arguments) -> int:
    if len(arguments) != 2:
        print("usage: python -m parallax.star.render MESH.athdf OUT.png", file=sys.stderr)
        return 2
    import matplotlib.image

    try:
        with Mesh(arguments[0]) as mesh:
            picture = draw(*volume(mesh))
    except ReadError as error:
        print(error, file=sys.stderr)
        return 2
    matplotlib.image.imsave(arguments[1], picture)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
