"""The vertices of a run: vertex.csv, of which one transfer at a time is read, and pictures of them, also of those in
vertices/F8.h5 (vertex_hdf5.py).

Example to read: tests/parquet/test_parquet_report.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, Normalize

from .. import ReadError
from ..hubbard.momenta import momentum_text
from ..picture import Picture
from ..text import plural
from .run import channels

keys = ("frequencies", "qx", "qy", "kx", "ky", "n", "kx2", "ky2", "n2")
symbols = dict(zip(channels, ("$F_d$", "$F_m$", "$F_s$", "$F_t$")))


@dataclass
class Slab:
    """F at one transfer Q and w = 0. values: {channel: complex [momentum][n][momentum][n]}; n: [n] numbers of frequencies,
    (2n + 1) pi T; momenta: [(kx, ky)]."""

    transfer: tuple
    momenta: list
    n: np.ndarray
    values: dict


class VertexFile:
    """Finds the slabs of the largest number of frequencies. Cost: one pass over the file, O(1) memory; 16 slabs of 128 rows:
    half a second. Raises ReadError."""

    def __init__(self, path: Path):
        self.path = path
        self.slabs: dict = {}  # (qx, qy): (begin, end) in bytes, of the largest number of frequencies
        self.frequencies = 0
        with path.open("rb") as file:
            self.names = file.readline().decode("utf-8", "replace").strip().split(",")
            expected = [*keys, *(f"{c}_{part}" for c in channels for part in ("re", "im"))]
            if missing := [name for name in expected if name not in self.names]:
                raise ReadError(path, f"no column '{missing[0]}', found: {', '.join(self.names)}")
            if tuple(self.names[:3]) != keys[:3]:
                raise ReadError(path, f"expected columns that begin with {', '.join(keys[:3])}")
            self._scan(file)
        if not self.slabs:
            raise ReadError(path, "no rows")

    def _scan(self, file) -> None:
        begin, last = file.tell(), b""
        for line in file:
            end = begin + len(line)
            head = line[: line.find(b",", line.find(b",", line.find(b",") + 1) + 1)]
            if head != last:
                try:
                    n, *transfer = (float(cell) for cell in head.split(b","))
                    place = (transfer[0], transfer[1])
                except (ValueError, IndexError):
                    if not line.endswith(b"\n"):
                        return  # cut short
                    text = line[:60].decode("utf-8", "replace").strip()
                    raise ReadError(self.path, f"expected numbers, found '{text}'") from None
                if n > self.frequencies:
                    self.frequencies, self.slabs = int(n), {}
                last = head
            if line.endswith(b"\n"):
                self.slabs[place] = (self.slabs.get(place, (begin, end))[0], end)
            begin = end

    def slab(self, transfer: tuple) -> Slab:
        begin, end = self.slabs[min(self.slabs, key=lambda q: abs(q[0] - transfer[0]) + abs(q[1] - transfer[1]))]
        with self.path.open("rb") as file:
            file.seek(begin)
            lines = file.read(end - begin).decode("utf-8", "replace").splitlines()
        try:
            table = np.loadtxt(lines, delimiter=",", ndmin=2)
        except ValueError as error:
            raise ReadError(self.path, f"expected numbers: {error}") from None
        if table.shape[1] != len(self.names):
            raise ReadError(self.path, f"expected {plural(len(self.names), 'value')} per line, found {table.shape[1]}")
        of = {name: table[:, i] for i, name in enumerate(self.names)}
        momenta = list(dict.fromkeys(zip(of["kx"], of["ky"])))
        n = np.unique(of["n"]).astype(int)
        number = {k: i for i, k in enumerate(momenta)}
        try:
            first = np.array([number[k] for k in zip(of["kx"], of["ky"])])
            second = np.array([number[k] for k in zip(of["kx2"], of["ky2"])])
            place = (first, np.searchsorted(n, of["n"]), second, np.searchsorted(n, of["n2"]))
            values = {}
            for c in channels:
                values[c] = np.full((len(momenta), len(n)) * 2, np.nan, dtype=complex)
                values[c][place] = of[f"{c}_re"] + 1j * of[f"{c}_im"]
        except (KeyError, IndexError):
            raise ReadError(self.path, f"the rows of Q = {momentum_text(*transfer)} are incomplete") from None
        return Slab((float(of["qx"][0]), float(of["qy"][0])), momenta, n, values)


def _image(figure, axes, theme, values, bare: float, extent) -> None:
    """Colours diverge from the bare vertex, which is the colour of the paper."""
    largest = float(np.nanmax(np.abs(values - bare), initial=0.0)) or 1.0
    colours = LinearSegmentedColormap.from_list("about_bare", [theme.series[0], theme.paper, theme.series[1]])
    shades = Normalize(bare - largest, bare + largest)
    image = axes.imshow(values, origin="lower", cmap=colours, norm=shades, extent=extent, interpolation="nearest")
    bar = figure.colorbar(image, ax=axes, location="bottom", aspect=28, shrink=0.9, pad=0.02)
    bar.outline.set_linewidth(0.5)
    bar.set_ticks([bare - largest, bare, bare + largest])
    bar.set_ticklabels([f"{v:.3g}" for v in (bare - largest, bare, bare + largest)])


def slices_picture(slabs: list, momentum: tuple, u: float) -> Picture:
    """Re F of the four channels over (n, n2) at K = K' = momentum; a row per slab."""
    bare = dict(zip(channels, (u, -u, 2 * u, 0.0)))
    several = len(slabs[0].momenta) > 1

    def draw(figure, theme) -> None:
        for row, (slab, line) in enumerate(zip(slabs, figure.subplots(len(slabs), 4, squeeze=False))):
            k = min(range(len(slab.momenta)), key=lambda i: np.hypot(*np.subtract(slab.momenta[i], momentum)))
            extent = (slab.n[0] - 0.5, slab.n[-1] + 0.5) * 2
            for axes, c in zip(line, channels):
                _image(figure, axes, theme, slab.values[c][k, :, k, :].real, bare[c], extent)
                place = f"  at Q = {momentum_text(*slab.transfer)}" if several else ""
                axes.set_title(f"{symbols[c]}, {c}{place}", fontsize=9.5)
                axes.set_xlabel("$n'$")
                for spine in axes.spines.values():
                    spine.set_visible(False)
            line[0].set_ylabel("n")

    where = f" at K = K' = {momentum_text(*momentum)}" if several else ""
    imaginary = max(float(np.nanmax(np.abs(s.values[c].imag))) for s in slabs for c in channels)
    caption = (
        f"Real part of the full vertex at w = 0 over the fermionic frequencies (2n + 1)πT{where}, in units of t. "
        f"The bare vertex (U, −U, 2U, 0) has the colour of the paper. "
        f"The largest imaginary part of all momenta is {imaginary:.2g}."
    )
    alt = "Vertices of four channels over two frequencies."
    return Picture("vertex", "The full vertex", caption, (10.4, 3.3 * len(slabs) + 0.1), draw, alt)


def slab_picture(slab: Slab, u: float) -> Picture:
    """Re F of the four channels over all (K, n) and (K', n2), a block for each pair of momenta."""
    bare = dict(zip(channels, (u, -u, 2 * u, 0.0)))
    order = sorted(range(len(slab.momenta)), key=lambda i: (-round(np.sum(np.cos(slab.momenta[i])), 9), slab.momenta[i]))
    rows, size = len(order), len(slab.n)

    def draw(figure, theme) -> None:
        for axes, c in zip(figure.subplots(2, 2).flat, channels):
            whole = slab.values[c].real[order][:, :, order].reshape(rows * size, rows * size)
            _image(figure, axes, theme, whole, bare[c], (0, rows, 0, rows))
            for edge in range(1, rows):
                axes.axhline(edge, color=theme.muted, linewidth=0.35, alpha=0.6)
                axes.axvline(edge, color=theme.muted, linewidth=0.35, alpha=0.6)
            names = [momentum_text(*slab.momenta[i]) for i in order]
            small, step = {"fontsize": 8 if rows <= 4 else 6.5}, -(-rows // 8)
            middles = np.arange(0, rows, step) + 0.5
            axes.set_xticks(middles, names[::step], rotation=0 if rows <= 4 else 90, **small)
            axes.set_yticks(middles, names[::step], **small)
            axes.tick_params(length=0)
            axes.set_title(f"{symbols[c]}, {c}")
            for spine in axes.spines.values():
                spine.set_visible(False)

    caption = (
        f"Re F(K, n; K', n') at Q = {momentum_text(*slab.transfer)}, w = 0, of all pairs of momenta: a block for each, with n "
        f"and n' from {slab.n[0]} to {slab.n[-1]} inside. Diagonal lines are scattering by the transfers of other channels."
    )
    alt = "Vertices of four channels over momenta and frequencies."
    return Picture("vertex_momenta", "Between all momenta", caption, (10.4, 11.4), draw, alt)
