"""Draws the figures of docs/problems.md: runs the classic problems with plx-star and cuts the last mesh through z.

usage: ./plx build plx-star; .venv/bin/python tools/problem_figures.py [--out docs/images] [--runs DIR] [NAME ...]
(`./plx report --help` makes .venv). Runs that are in DIR are drawn again without running them. All take a quarter of an
hour on two cores.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

import matplotlib  # noqa: E402
import numpy as np  # noqa: E402

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from parallax.star.athdf import Mesh  # noqa: E402

FINE_SQUARE = ["mesh.root_blocks=[32,32,1]", "mesh.upper=[0.5,0.5,0.03125]"]
NOH_PLANE = [
    "noh.dimensions=2",
    "mesh.root_blocks=[16,16,1]",
    "mesh.upper=[1,1,0.0625]",
    'mesh.sides=["reflecting","problem","reflecting","problem","periodic","periodic"]',
]


@dataclass
class Panel:
    """One run, and what is drawn of it: rho between low and high, with lines of equal density."""

    name: str
    problem: str
    title: str
    sets: list = field(default_factory=list)
    low: float | None = None
    high: float | None = None
    lines: int = 30
    log: bool = False
    window: tuple | None = None  # of the picture: x from, to, y from, to


FIGURES = {
    "riemann-2d": [
        Panel(f"riemann_{n}", "riemann_2d", f"configuration {n}, t = {t}",
              [*FINE_SQUARE, f"riemann_2d.configuration={n}", f"run.t_end={t}"])
        for n, t in (("3", 0.3), ("4", 0.25), ("6", 0.3), ("12", 0.25))
    ],
    "implosion": [
        Panel("implosion_1", "implosion", "t = 0.5", ["run.t_end=0.5"], 0.35, 1.1, 32),
        Panel("implosion_2", "implosion", "t = 2.5", [], 0.35, 1.1, 32),
    ],
    "noh": [
        Panel("noh_hllc", "noh", "axis, HLLC", [*NOH_PLANE, "hydro.flux=hllc"], 2.0, 18.0, 24),
        Panel("noh_hllc_lm", "noh", "axis, HLLC-LM", [*NOH_PLANE, "hydro.flux=hllc_lm"], 2.0, 18.0, 24),
    ],
    "double-mach": [
        Panel("double_mach", "double_mach", "128 cells for the height, t = 0.2", [], None, None, 30, False, (0.0, 3.2, 0.0, 1.0)),
    ],
    "blob": [
        Panel(f"blob_{n}", "blob", f"{n} growth times", [f"run.t_end={0.375 * n}"], 1.0, 40.0, 0, True, (-0.2, 1.0, -0.4, 0.4))
        for n in (0.5, 1, 2)
    ],
}  # fmt: skip


def run(panel: Panel, folder: Path) -> Path:
    """The last mesh file of the run."""
    if not list(folder.glob("mesh/*.athdf")):
        program = ROOT / "build" / "release" / "bin" / "plx-star"
        command = [program, ROOT / "inputs" / f"{panel.problem}.toml", "--quiet", "--out", folder]
        for assignment in panel.sets:
            command += ["--set", assignment]
        subprocess.run(command, check=True)
    return sorted(folder.glob("mesh/*.athdf"))[-1]


def draw(panels: list, runs: Path, path: Path) -> None:
    columns = min(len(panels), 3) if len(panels) != 4 else 2
    rows = -(-len(panels) // columns)
    shape = {1: 0.36, 2: 1.0, 3: 0.65}[columns]  # of a panel, height over width
    width = 9.0 if columns == 3 else 7.0
    figure, all_axes = pyplot.subplots(
        rows, columns, figsize=(width, width / columns * shape * rows * 0.97), layout="constrained", squeeze=False
    )
    for panel, axes in zip(panels, all_axes.flat, strict=True):
        with Mesh(run(panel, runs / panel.name)) as mesh:
            middle = 0.5 * (mesh.domain_lower[2] + mesh.domain_upper[2])
            cut = mesh.slice("rho", at=float(middle))
        image, extent = cut.image(), cut.extent
        low = float(np.nanmin(image)) if panel.low is None else panel.low
        high = float(np.nanmax(image)) if panel.high is None else panel.high
        norm = matplotlib.colors.LogNorm(low, high) if panel.log else matplotlib.colors.Normalize(low, high)
        shown = axes.imshow(image, origin="lower", extent=extent, cmap="viridis", norm=norm, interpolation="nearest")
        if panel.lines:
            # Off the uniform states, where rounding would draw lines.
            levels = low + (high - low) * (np.arange(panel.lines) + 0.37) / panel.lines
            axes.contour(image, levels=levels, origin="lower", extent=extent, colors="black", linewidths=0.25)
        if panel.window is not None:
            axes.set_xlim(panel.window[:2])
            axes.set_ylim(panel.window[2:])
        axes.set_title(panel.title, fontsize=8)
        axes.tick_params(labelsize=6)
        figure.colorbar(shown, ax=axes, shrink=0.85, pad=0.01).ax.tick_params(labelsize=6)
    figure.savefig(path, dpi=88 if len(panels) > 3 else 110)
    pyplot.close(figure)
    print(f"{path}: {path.stat().st_size // 1000} kB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="of " + ", ".join(FIGURES))
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--runs", type=Path, default=ROOT / "build" / "problem-figures")
    options = parser.parse_args()
    for name in options.names or FIGURES:
        if name not in FIGURES:
            parser.error(f"expected {', '.join(FIGURES)}; found '{name}'")
        draw(FIGURES[name], options.runs, options.out / f"problem-{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
