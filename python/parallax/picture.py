"""Figures that can be drawn on light and on dark paper, and their colours and type. Not interactive: no window system, no
global state."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Callable

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


@dataclass(frozen=True)
class Theme:
    name: str
    paper: str  # behind everything
    ink: str  # text, exact solutions
    muted: str  # axes, secondary text
    grid: str
    series: tuple  # categorical, distinguishable without red-green vision

    def rc(self) -> dict:
        """Settings for matplotlib.rc_context."""
        return {
            "figure.facecolor": self.paper,
            "savefig.facecolor": self.paper,
            "axes.facecolor": self.paper,
            "axes.edgecolor": self.muted,
            "axes.labelcolor": self.ink,
            "axes.titlecolor": self.ink,
            "axes.titlesize": 10.5,
            "axes.titlelocation": "left",
            "axes.titlepad": 8,
            "axes.labelsize": 9.5,
            "axes.linewidth": 0.7,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": False,
            "grid.color": self.grid,
            "grid.linewidth": 0.7,
            "axes.axisbelow": True,
            "text.color": self.ink,
            "xtick.color": self.muted,
            "ytick.color": self.muted,
            "xtick.labelcolor": self.ink,
            "ytick.labelcolor": self.ink,
            "xtick.labelsize": 8.5,
            "ytick.labelsize": 8.5,
            "xtick.major.width": 0.7,
            "ytick.major.width": 0.7,
            "xtick.major.size": 3,
            "ytick.major.size": 3,
            "legend.frameon": False,
            "legend.fontsize": 8.5,
            "font.family": "DejaVu Sans",
            "font.size": 9,
            "lines.linewidth": 1.5,
            "mathtext.default": "regular",
            "axes.formatter.useoffset": False,
            "figure.constrained_layout.use": True,
        }


light = Theme(
    "light",
    "#ffffff",
    "#1b2230",
    "#667085",
    "#e6e9ee",
    ("#2c66b0", "#d9661f", "#2f8f6b", "#8a5aa8", "#a88218", "#5b6472"),
)
dark = Theme(
    "dark",
    "#171b22",
    "#e7eaf0",
    "#98a2b3",
    "#2c333f",
    ("#7db1f2", "#f59a5f", "#63c39c", "#c29be3", "#e2c15a", "#aab3c0"),
)


dpi = 144


@dataclass
class Picture:
    """draw(figure, theme) fills an empty figure of `size` inches. `alt` is its description for screen readers."""

    name: str
    title: str
    caption: str
    size: tuple
    draw: Callable
    alt: str = ""


def render(picture: Picture, theme: Theme) -> bytes:
    """The picture as PNG."""
    with matplotlib.rc_context(theme.rc()):
        figure = Figure(figsize=picture.size, dpi=dpi)
        FigureCanvasAgg(figure)
        picture.draw(figure, theme)
        out = io.BytesIO()
        figure.savefig(out, format="png", metadata={"Software": "parallax"})
    return out.getvalue()
