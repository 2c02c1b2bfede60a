"""A figure that can be drawn on light and on dark paper. Not interactive: no window system, no global state."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Callable

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .theme import Theme

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
