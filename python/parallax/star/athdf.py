"""A plane through the mesh: the rectangles of the blocks it cuts, their cells, and a uniform image of both.

Nothing here reads files. Cost: O(pixels + cells), vectorized per level. Example to read: tests/star/test_athdf.py.
"""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from .. import ReadError


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


_batch_bytes = 64 << 20


def yt_units(attributes) -> dict:
    units = {"length_unit": ("LengthUnit", "cm"), "mass_unit": ("MassUnit", "g"), "time_unit": ("TimeUnit", "s")}
    return {name: (float(attributes[key]), unit) for name, (key, unit) in units.items() if key in attributes}


def load_yt(path: str | Path):
    """A yt data set of a mesh file in CGS, with the [units] of its run; in code units if the run has none.

    Errors: ReadError if it is not a mesh file, ImportError without yt (pip install yt). Cost: that of yt.load().
    """
    import yt

    with Mesh(path) as mesh:
        units = mesh.yt_units
    return yt.load(str(path), units_override=units, unit_system="cgs") if units else yt.load(str(path))


class Mesh:
    """One mesh file.

    time, cycle        physical time (code units) and step number
    block_size         [3] cells of a block along x, y, z; root_size [3] cells of the root grid
    levels             [n_block] refinement level, 0 is the root grid
    locations          [n_block][3] position of the block on its level, in blocks
    lower, upper       [n_block][3] corners of the blocks (code units)
    domain_lower/upper [3] corners of the mesh
    variables          names of the physical variables, in the order of the file
    per_block          names of the datasets with one number per block (Cost, Owner, ...)
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        try:
            self.file = h5py.File(self.path, "r")
        except FileNotFoundError:
            raise ReadError(self.path, "no such file") from None
        except PermissionError:
            raise ReadError(self.path, "permission denied") from None
        except OSError as error:
            raise ReadError(self.path, f"truncated, or not an HDF5 file ({_short(error)})") from None
        try:
            self._read_header()
            self._read_geometry()
        except ReadError:
            self.close()
            raise
        except (KeyError, OSError, ValueError, TypeError, IndexError) as error:
            self.close()
            raise ReadError(self.path, f"not a mesh file as expected ({_short(error)})") from None

    def __enter__(self) -> Mesh:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        self.file.close()

    @property
    def yt_units(self) -> dict:
        """For yt.load(path, units_override=...), see load_yt(): the [units] of the run; {} without them."""
        return yt_units(self.file.attrs)

    # ---- geometry ----

    def _attribute(self, name: str):
        if name not in self.file.attrs:
            raise ReadError(self.path, f"attribute '{name}' is missing, expected the layout of an Athena++ file")
        return self.file.attrs[name]

    def _read_header(self) -> None:
        self.time = float(np.ravel(self._attribute("Time"))[0])
        self.cycle = int(np.ravel(self._attribute("NumCycles"))[0])
        self.n_blocks = int(np.ravel(self._attribute("NumMeshBlocks"))[0])
        self.block_size = np.array(self._attribute("MeshBlockSize"), dtype=np.int64)
        self.root_size = np.array(self._attribute("RootGridSize"), dtype=np.int64)
        datasets = _names(self._attribute("DatasetNames"))
        counts = [int(n) for n in np.ravel(self._attribute("NumVariables"))]
        names = _names(self._attribute("VariableNames"))
        if len(datasets) != len(counts) or sum(counts) != len(names):
            raise ReadError(self.path, f"{len(names)} variable names for datasets {datasets} of {counts} variables")
        places = [(dataset, index) for dataset, n in zip(datasets, counts) for index in range(n)]
        self._place = dict(zip(names, places))
        self.variables = names
        shape = (self.n_blocks, *(int(n) for n in self.block_size[::-1]))
        for dataset, n in zip(datasets, counts):
            self._check_parts(self._dataset(dataset))
            found = self._dataset(dataset).shape
            if found != (n, *shape):
                raise ReadError(self.path, f"dataset '{dataset}': expected shape {(n, *shape)}, found {found}")

    def _dataset(self, name: str) -> h5py.Dataset:
        if name not in self.file:
            raise ReadError(self.path, f"dataset '{name}' is missing")
        return self.file[name]

    def _check_parts(self, dataset: h5py.Dataset) -> None:
        """Files that many localities wrote refer to parts; HDF5 reads a missing one as if it held no numbers."""
        for part in dataset.virtual_sources() if dataset.is_virtual else ():
            if not (self.path.parent / part.file_name).is_file():
                raise ReadError(self.path, f"its part '{part.file_name}' is missing: expected beside it")

    def _read_geometry(self) -> None:
        self.levels = self._per_block_array("Levels", (self.n_blocks,)).astype(np.int64)
        self.locations = self._per_block_array("LogicalLocations", (self.n_blocks, 3)).astype(np.int64)
        faces = [
            self._per_block_array(f"x{axis + 1}f", (self.n_blocks, int(self.block_size[axis]) + 1)) for axis in range(3)
        ]
        self.lower = np.stack([face[:, 0] for face in faces], axis=1).astype(float)
        self.upper = np.stack([face[:, -1] for face in faces], axis=1).astype(float)
        if self.n_blocks == 0:
            raise ReadError(self.path, "holds no blocks")
        self.domain_lower, self.domain_upper = self.lower.min(axis=0), self.upper.max(axis=0)
        self.per_block = [
            name
            for name, item in self.file.items()
            if isinstance(item, h5py.Dataset) and item.shape == (self.n_blocks,) and name != "Levels"
        ]

    def _per_block_array(self, name: str, shape: tuple) -> np.ndarray:
        found = self._dataset(name)
        if found.shape != shape:
            raise ReadError(self.path, f"dataset '{name}': expected shape {shape}, found {found.shape}")
        return self._load(found, ())

    def _load(self, dataset: h5py.Dataset, selection) -> np.ndarray:
        try:
            return dataset[selection]
        except OSError as error:
            raise ReadError(self.path, f"dataset '{dataset.name}' cannot be read ({_short(error)})") from None

    @property
    def cell_width(self) -> np.ndarray:
        """[n_block][3] width of the cells of each block."""
        return (self.upper - self.lower) / self.block_size

    @property
    def n_cells(self) -> int:
        return self.n_blocks * int(np.prod(self.block_size))

    # ---- values ----

    def block_values(self, name: str):
        """A per-block dataset as floats [n_block], or None when the file has none of that name."""
        return self._load(self.file[name], ()).astype(float) if name in self.per_block else None

    def read(self, name: str, begin: int = 0, end: int | None = None) -> np.ndarray:
        """Values of one variable in blocks begin..end: [n_block][k][j][i], in the file's own precision."""
        if name not in self._place:
            raise ReadError(self.path, f"no variable '{name}', found: {', '.join(self.variables)}")
        dataset, index = self._place[name]
        return self._load(self.file[dataset], (index, slice(begin, end)))

    def batches(self):
        """Ranges (begin, end) of blocks that fit comfortably in memory."""
        size = max(1, _batch_bytes // (8 * int(np.prod(self.block_size))))
        for begin in range(0, self.n_blocks, size):
            yield begin, min(begin + size, self.n_blocks)

    def centres(self, begin: int = 0, end: int | None = None) -> list:
        """Cell centres of blocks begin..end: [x, y, z], which broadcast to [n_block][k][j][i]."""
        lower, width = self.lower[begin:end], self.cell_width[begin:end]
        out = []
        for axis in range(3):
            points = lower[:, axis, None] + (np.arange(self.block_size[axis]) + 0.5) * width[:, axis, None]
            shape = [len(points), 1, 1, 1]
            shape[3 - axis] = int(self.block_size[axis])
            out.append(points.reshape(shape))
        return out

    def points(self, names: list, begin: int = 0, end: int | None = None):
        """Cells as points: (positions [n][3], volumes [n], {name: values [n]}) of blocks begin..end."""
        values = {name: self.read(name, begin, end) for name in names}
        shape = (len(self.lower[begin:end]), *(int(n) for n in self.block_size[::-1]))
        positions = np.stack([np.broadcast_to(c, shape).ravel() for c in self.centres(begin, end)], axis=1)
        volumes = np.repeat(np.prod(self.cell_width[begin:end], axis=1), int(np.prod(self.block_size)))
        return positions, volumes, {name: value.ravel() for name, value in values.items()}

    # ---- planes ----

    def plane(self, axis="z", at: float | None = None) -> Slice:
        """The blocks that the plane `axis = at` cuts, without values. Default: through the middle of the mesh.

        A plane on the face between two cells takes the upper one. Requires: `at` inside the mesh.
        """
        normal = axis_number(axis)
        lower, upper = self.domain_lower[normal], self.domain_upper[normal]
        at = float(0.5 * (lower + upper) if at is None else at)
        if not lower <= at <= upper:
            raise ValueError(f"the plane {'xyz'[normal]} = {at} is outside the mesh, which spans {lower} to {upper}")
        inside = (self.lower[:, normal] <= at) & ((at < self.upper[:, normal]) | (self.upper[:, normal] == upper))
        if at == upper:
            inside = self.upper[:, normal] == upper
        return Slice(self, normal, at, np.flatnonzero(inside))

    def slice(self, name: str, axis="z", at: float | None = None) -> Slice:
        """The cells of one variable that the plane `axis = at` cuts. See Slice for what comes back."""
        cut = self.plane(axis, at)
        chosen = np.zeros(self.n_blocks, dtype=bool)
        chosen[cut.blocks] = True
        pieces = []
        for begin, end in self.batches():
            local = np.flatnonzero(chosen[begin:end])
            if len(local):
                first, last = local[0], local[-1] + 1
                values = self.read(name, begin + first, begin + last)[local - first]
                pieces.append(cut.pick_layer(values, local + begin))
        cut.values = np.concatenate(pieces)
        cut.name = name
        return cut


def _names(attribute) -> list:
    return [n.decode() if isinstance(n, bytes) else str(n) for n in np.ravel(attribute)]


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
