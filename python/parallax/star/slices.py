"""A plane through the mesh: the rectangles of the blocks it cuts, their cells, and a uniform image of both.

Nothing here reads files. Cost: O(pixels + cells), vectorized per level. Example to read: tests/star/test_athdf.py.
"""

from __future__ import annotations

import numpy as np


def axis_number(axis) -> int:
    """0, 1, 2 of 'x', 'y', 'z' (numbers pass)."""
    number = {"x": 0, "y": 1, "z": 2, 0: 0, 1: 1, 2: 2}.get(axis)
    if number is None:
        raise ValueError(f"expected the axis x, y or z, found '{axis}'")
    return number


class Slice:
    """The plane `axis = at`.

    axes      the two axes of the plane: (horizontal, vertical)
    blocks    [n] indices of the blocks in the mesh file
    levels    [n] their levels
    rects     [n][4] their outlines x0, x1, y0, y1 in the plane
    values    [n][vertical][horizontal] the cells, or None (see Mesh.slice)
    extent    x0, x1, y0, y1 of the whole mesh
    """

    def __init__(self, mesh, axis: int, at: float, blocks: np.ndarray):
        self.axis, self.at, self.blocks = axis, at, blocks
        self.axes = tuple(a for a in range(3) if a != axis)
        u, v = self.axes
        self.levels = mesh.levels[blocks]
        self.rects = np.stack(
            [mesh.lower[blocks, u], mesh.upper[blocks, u], mesh.lower[blocks, v], mesh.upper[blocks, v]], axis=1
        )
        self.extent = tuple(float(value) for a in self.axes for value in (mesh.domain_lower[a], mesh.domain_upper[a]))
        self.time, self.cycle = mesh.time, mesh.cycle
        self.values, self.name = None, ""
        self._lower, self._width = mesh.lower[:, axis], mesh.cell_width[:, axis]
        self._normal_cells = int(mesh.block_size[axis])
        self._locations = mesh.locations[blocks][:, self.axes]
        self._block_size = mesh.block_size[list(self.axes)]
        self._root_size = mesh.root_size[list(self.axes)]

    def pick_layer(self, values: np.ndarray, blocks: np.ndarray) -> np.ndarray:
        """From [n][k][j][i] of the given blocks the layer of cells that the plane cuts: [n][vertical][horizontal]."""
        layer = np.floor((self.at - self._lower[blocks]) / self._width[blocks]).astype(int)
        layer = np.clip(layer, 0, self._normal_cells - 1)
        return np.moveaxis(values, 3 - self.axis, 1)[np.arange(len(blocks)), layer]

    def image(self, values: np.ndarray | None = None, max_pixels: int = 1536) -> np.ndarray:
        """A uniform image [vertical][horizontal], row 0 at the bottom.

        values: the slice's own cells (None), or [n] one number per block. A pixel is as wide as the cells of the finest
        level that fits max_pixels; finer cells are averaged. Pixels outside the mesh are NaN.
        """
        values = self.values if values is None else np.asarray(values, dtype=float)
        per_block = values.ndim == 1
        cells = np.array([1, 1]) if per_block else self._block_size
        roots = self._root_size // self._block_size * cells  # pixels of the root level
        finest = int(self.levels.max(initial=0))
        while finest > 0 and np.max(roots) * 2**finest > max_pixels:
            finest -= 1
        width, height = (int(n) for n in roots * 2**finest)
        total, count = np.zeros((height, width)), np.zeros((height, width))
        for level in np.unique(self.levels):
            mine = self.levels == level
            block = values[mine].astype(float).reshape(-1, cells[1], cells[0])
            start = self._locations[mine] * cells
            if level <= finest:
                self._paint(total, count, block, start, 2 ** int(finest - level))
            else:
                self._pool(total, count, block, start, 2 ** int(level - finest))
        with np.errstate(invalid="ignore", divide="ignore"):
            return total / count

    @staticmethod
    def _paint(total, count, block, start, factor) -> None:
        block = np.repeat(np.repeat(block, factor, axis=1), factor, axis=2)
        start = start * factor
        rows = start[:, 1, None] + np.arange(block.shape[1])
        columns = start[:, 0, None] + np.arange(block.shape[2])
        total[rows[:, :, None], columns[:, None, :]] = block
        count[rows[:, :, None], columns[:, None, :]] = 1

    @staticmethod
    def _pool(total, count, block, start, factor) -> None:
        rows = (start[:, 1, None] + np.arange(block.shape[1])) // factor
        columns = (start[:, 0, None] + np.arange(block.shape[2])) // factor
        where = np.broadcast_arrays(rows[:, :, None], columns[:, None, :])
        np.add.at(total, tuple(where), block)
        np.add.at(count, tuple(where), 1)

    def outlines(self, levels=None) -> np.ndarray:
        """Left and lower edges of the blocks as segments [m][2][2]; with the mesh's frame they draw every outline."""
        rects = self.rects if levels is None else self.rects[np.isin(self.levels, levels)]
        x0, x1, y0, y1 = rects.T
        left = np.stack([np.stack([x0, y0], 1), np.stack([x0, y1], 1)], 1)
        low = np.stack([np.stack([x0, y0], 1), np.stack([x1, y0], 1)], 1)
        return np.concatenate([left, low])
