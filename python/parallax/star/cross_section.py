"""Points anywhere in the mesh, such as the pixels of a rectangle: the block and the cell that each lies in.

Cost: O(points x levels), and for image() reading the mesh. Example: tests/star/test_film.py.
"""

from __future__ import annotations

import numpy as np


class Points:
    """points: [...][3]. blocks: [...], the block that each point lies in, -1 outside of the mesh."""

    def __init__(self, mesh, points):
        self.mesh = mesh
        self.blocks = np.full(points.shape[:-1], -1)
        self._cells = np.zeros(points.shape[:-1], dtype=np.int64)
        roots = mesh.root_size // mesh.block_size
        for level in np.unique(mesh.levels):
            count = roots * 2 ** int(level)
            width = (mesh.domain_upper - mesh.domain_lower) / count
            at = np.floor((points - mesh.domain_lower) / width).astype(np.int64)
            inside = np.all((at >= 0) & (at < count), axis=-1)
            mine = np.flatnonzero(mesh.levels == level)
            keys = _key(mesh.locations[mine], count)
            order = np.argsort(keys)
            found = np.searchsorted(keys[order], _key(at, count)).clip(max=len(mine) - 1)
            hit = inside & (keys[order][found] == _key(at, count))
            self.blocks[hit] = mine[order][found][hit]
            part = (points - mesh.domain_lower) / width - at
            cell = np.clip((part * mesh.block_size).astype(np.int64), 0, mesh.block_size - 1)
            n = mesh.block_size
            self._cells[hit] = ((cell[..., 2] * n[1] + cell[..., 1]) * n[0] + cell[..., 0])[hit]

    def image(self, name: str) -> np.ndarray:
        """The cells of a variable."""
        out = np.full(self.blocks.shape, np.nan)
        for begin, end in self.mesh.batches():
            here = (self.blocks >= begin) & (self.blocks < end)
            if np.any(here):
                values = self.mesh.read(name, begin, end).reshape(end - begin, -1)
                out[here] = values[self.blocks[here] - begin, self._cells[here]]
        return out

    def of_blocks(self, values) -> np.ndarray:
        """One number per block of the mesh."""
        return np.where(self.blocks >= 0, np.asarray(values, dtype=float)[self.blocks], np.nan)


class CrossSection(Points):
    """The rectangle around `centre` that reaches half_width along the unit vector `right` and half_height along `up`, both
    ways: pixels [vertical][horizontal], row 0 at the bottom.

    blocks  [vertical][horizontal] the block under each pixel, -1 outside of the mesh
    extent  left, right, bottom and top, relative to the centre
    """

    def __init__(self, mesh, centre, right, up, half_width: float, half_height: float, pixels: int = 720):
        rows = max(8, round(pixels * half_height / half_width))
        across = (np.arange(pixels) + 0.5) / pixels * 2 * half_width - half_width
        along = (np.arange(rows) + 0.5) / rows * 2 * half_height - half_height
        self.extent = (-half_width, half_width, -half_height, half_height)
        points = np.add(centre, np.multiply.outer(along, up)[:, None] + np.multiply.outer(across, right)[None])
        super().__init__(mesh, points)


def _key(at, count):
    return (at[..., 2] * count[1] + at[..., 1]) * count[0] + at[..., 0]
