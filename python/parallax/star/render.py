"""The density in three dimensions: a volume rendering, by NumPy alone.

    python -m parallax.star.render run/mesh/binary.00010.athdf density.png

The report has it for runs with self-gravity. Gas emits and absorbs along the rays of a camera above the orbital plane; its
surfaces of equal density are lit from the side. Cost: some 5 s and 400 MB. Example to read: tests/star/test_render.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from .. import ReadError
from ..folders import complete_file
from ..picture import Picture
from .athdf import Mesh
from .cross_section import Points

decades = 4  # of density that are shown
opacity = (0, 0.03, 0.08, 0.2, 0.6)  # of a fortieth of the cube, at equal steps of these decades
eye = np.array([1.2, -2.0, 1.4])  # of the camera, relative to the middle of the cube, over its edge
light = np.array([-0.5, -0.55, 0.67])


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


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v)


def _camera() -> tuple:
    """Unit vectors of the camera: forward, right, up."""
    forward = _unit(-eye)
    right = _unit(np.cross(forward, (0.0, 0.0, 1.0)))
    return forward, right, np.cross(right, forward)


def project(points: np.ndarray) -> np.ndarray:
    """Where points [...][3] are in the picture: [...][right, up], from -1 to 1. In cubes: the edge is 1, the middle 0."""
    forward, right, up = _camera()
    away = points - eye
    return np.stack([away @ right, away @ up], axis=-1) / (away @ forward)[..., None] / _half_angle


_half_angle = 0.34  # its tangent: of the width of the picture


def _lit(values: np.ndarray) -> np.ndarray:
    """The brightness of surfaces of equal density."""
    slopes = np.stack(np.gradient(values), axis=-1)
    length = np.linalg.norm(slopes, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        towards = np.where(length > 1e-3, -(slopes @ _unit(light)) / length, 0.0)
    return (0.7 + 0.45 * towards).astype(np.float32)


def _between(fields: tuple, at: np.ndarray) -> list:
    """Fields [x][y][z] at points [point][3] in cells, linear between the centres of cells."""
    n = fields[0].shape[0]
    at = np.clip(at - 0.5, 0, n - 1.001)
    low = at.astype(np.int32)
    part = (at - low).astype(np.float32)
    first = (low[:, 0] * n + low[:, 1]) * n + low[:, 2]
    sums = [np.zeros(len(at), dtype=np.float32) for _ in fields]
    for corner in range(8):
        bits = (corner >> 2 & 1, corner >> 1 & 1, corner & 1)
        weight = np.prod([part[:, a] if bit else 1 - part[:, a] for a, bit in enumerate(bits)], axis=0)
        index = first + (bits[0] * n + bits[1]) * n + bits[2]
        for total, field in zip(sums, fields):
            total += weight * field.ravel()[index]
    return sums


def draw(values, size: int = 560, steps: int = 260) -> np.ndarray:
    """The picture [row][column][rgb], from 0 to 1, of the values of volume()."""
    from matplotlib import colormaps

    n = values.shape[0]
    fields = (np.clip(values, -decades, 0).astype(np.float32), _lit(np.clip(values, -decades, 0)))
    forward, right, up = _camera()
    across = (np.arange(size) + 0.5) / size * 2 - 1
    u, v = np.meshgrid(across, -across)
    rays = forward + _half_angle * (u.ravel()[:, None] * right + v.ravel()[:, None] * up)
    colour, clear = np.zeros((size * size, 3)), np.ones(size * size)
    scale = np.linspace(-decades, 0, len(opacity))
    depth = np.linspace(-0.87, 0.87, steps) + np.linalg.norm(eye)  # half a diagonal before and behind the middle
    for t in depth:
        at = eye + t * rays + 0.5
        here = np.flatnonzero(np.all((at > 0) & (at < 1), axis=1) & (clear > 0.01))
        density, lit = _between(fields, at[here] * n)
        seen = density > -decades
        here, density, lit = here[seen], density[seen], lit[seen]
        taken = 1 - (1 - np.interp(density, scale, opacity)) ** (40 * (depth[1] - depth[0]))
        shown = colormaps["inferno"](1 + density / decades)[:, :3] * lit[:, None]
        colour[here] += (clear[here] * taken)[:, None] * shown
        clear[here] *= 1 - taken
    picture, clear = colour.reshape(size, size, 3), clear.reshape(size, size)
    for start in np.ndindex(2, 2, 2):
        for axis in np.flatnonzero(np.array(start) == 0):  # the edges of the cube, behind the gas
            line = np.array(start) - 0.5 + np.linspace(0, 1, 2 * size)[:, None] * np.eye(3)[axis]
            x, y = ((project(line) * (1, -1) + 1) / 2 * size).astype(int).clip(0, size - 1).T
            picture[y, x] = np.maximum(picture[y, x], 0.35 * clear[y, x, None])
    return np.clip(picture, 0, 1)


def volume_picture(path: Path) -> Picture:
    """The rendering of a mesh file. Raises ReadError."""
    with Mesh(path) as mesh:
        image = draw(volume(mesh)[0])

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
        with complete_file(arguments[1]) as part:
            with Mesh(arguments[0]) as mesh:
                picture = draw(volume(mesh)[0])
            matplotlib.image.imsave(part, picture, format="png")
    except (OSError, ReadError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
