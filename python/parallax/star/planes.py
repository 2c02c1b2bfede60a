"""Planes through the mesh: density, cost, level, on the same blocks.

Cells are drawn as one image per plane (never one patch per cell) and outlines as one collection per level, so 10^5
blocks draw in about the time of 10^2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib import colormaps
from matplotlib.collections import LineCollection
from matplotlib.colors import BoundaryNorm, ListedColormap, LogNorm, Normalize
from matplotlib.patches import Rectangle

from ..picture import Picture, dpi
from ..text import plural


@dataclass
class Layer:
    """One quantity on a plane: its image, colours, label. `levels`: integer values, drawn in steps."""

    image: np.ndarray
    label: str
    cmap: str
    log: bool = False
    low: float | None = None
    high: float | None = None
    levels: bool = False
    extend: str = "neither"  # which ends of the range values go beyond: colour bar with arrows

    def norm(self):
        low, high = finite_range([self.image])
        low = low if self.low is None else self.low
        high = high if self.high is None else self.high
        if self.levels:
            return BoundaryNorm(np.arange(round(low) - 0.5, round(high) + 1), max(1, round(high) - round(low) + 1))
        if self.log:
            return LogNorm(low, high)
        return Normalize(low, high if high > low else low + max(abs(low), 1.0) * 1e-9)

    def colours(self):
        if not self.levels:
            return colormaps[self.cmap]
        low, high = finite_range([self.image])
        n = max(1, round(high) - round(low) + 1)
        return ListedColormap(colormaps[self.cmap](np.linspace(0.08, 0.9, n) if n > 1 else [0.5]))


def finite_range(images) -> tuple:
    """Smallest and largest finite value; (0, 1) when there is none."""
    values = [image[np.isfinite(image)] for image in images]
    values = np.concatenate(values) if values else np.zeros(0)
    return (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)


def needs_log(images) -> bool:
    """Whether a linear scale would hide most of the picture: over half of the pixels in its lowest twentieth."""
    low, high = finite_range(images)
    if low <= 0 or high < 20 * low:
        return False
    values = np.concatenate([image[np.isfinite(image)] for image in images])
    return bool(np.mean(values < low + (high - low) / 20) > 0.5)


_labels = {"rho": "density ρ", "press": "pressure p"}
_no_species = re.compile(
    r"(rho|vel|press|density|velocity|pressure|momentum|energy|internal_energy|kinetic_energy|speed|p_over_rho|sound_speed|mach"
    r"|vorticity|level|temperature|potential|acceleration)(\d|_[xyz])?"
)


def label_of(cut) -> str:
    """'density ρ (code units)', 'species 0 (mass fraction)', 'helium (mass fraction)' for the variable of a slice."""
    if cut.name[:1] == "s" and cut.name[1:].isdigit():
        return f"species {cut.name[1:]} (mass fraction)"
    if not _no_species.fullmatch(cut.name):
        return f"{cut.name} (mass fraction)"
    return f"{_labels.get(cut.name, cut.name)} (code units)"


def name_of(cut) -> str:
    """'Density', 'Species 0'."""
    words = label_of(cut).split(" (")[0].split()
    return " ".join(word for word in words if word not in ("ρ", "p")).capitalize()


def physics_layer(cut, others=()) -> Layer:
    """The variable of a slice; with `others`, the range covers those slices, too. Mass fractions: from 0 to 1."""
    image = cut.image()
    images = [image] + [other.image(max_pixels=512) for other in others]
    low, high = finite_range(images)
    if "fraction" in label_of(cut):
        return Layer(image, label_of(cut), "inferno", False, min(0.0, low), max(1.0, high))
    return Layer(image, label_of(cut), "inferno", needs_log(images), low, high)


def cost_layer(cut, cost_s: np.ndarray) -> Layer:
    """cost_s: seconds per cell update of every block of the mesh [n_block]."""
    values = cost_s[cut.blocks]
    scale, unit = (1e6, "µs") if np.nanmedian(cost_s) >= 1e-6 else (1e9, "ns")
    image = cut.image(values * scale)
    low, high = finite_range([image])
    bulk = float(np.nanpercentile(image, 99)) if np.any(np.isfinite(image)) else high
    clipped = high > 2 * bulk > 0  # a few blocks that the machine disturbed must not hide all others
    log = needs_log([image])
    label = f"cost ({unit} per cell update)"
    if clipped and not log:
        return Layer(image, label, "viridis", False, low, bulk, extend="max")
    return Layer(image, label, "viridis", log)


def level_layer(cut) -> Layer:
    return Layer(cut.image(cut.levels.astype(float)), "refinement level", "plasma", levels=True)


def heading(cut, blocks: int) -> str:
    return f"t = {cut.time:.5g}   step {cut.cycle:,}   {plural(blocks, 'block')}"


def plane_size(cut, width: float = 5.6, bar: float = 0.85) -> tuple:
    """Size in inches so that the plane fills the figure."""
    x0, x1, y0, y1 = cut.extent
    height = (width - bar - 0.8) * (y1 - y0) / (x1 - x0)
    return width, float(np.clip(height + 0.95, 1.6, 7.5))


def draw_outlines(axes, cut, inches: float, colour: str, strength: float = 1.0) -> None:
    """Block outlines, thinner where blocks are small on paper; blocks under three pixels are omitted."""
    span = cut.extent[1] - cut.extent[0]
    for level in np.unique(cut.levels):
        rects = cut.rects[cut.levels == level]
        pixels = (rects[0, 1] - rects[0, 0]) / span * inches * dpi
        if pixels < 3:
            continue
        width = float(np.clip(pixels / 40, 0.22, 0.6))
        alpha = float(np.clip(pixels / 60, 0.25, 0.6)) * strength
        axes.add_collection(
            LineCollection(cut.outlines([level]), colors=colour, linewidths=width, alpha=alpha, zorder=3), autolim=False
        )


def draw_layer(axes, cut, layer: Layer, labels: bool = True, **more):
    """The image of a layer with the plane's own coordinates. Returns the image for a colour bar."""
    image = axes.imshow(
        layer.image, origin="lower", extent=cut.extent, norm=layer.norm(), cmap=layer.colours(),
        interpolation="nearest" if layer.levels or max(layer.image.shape) < 700 else "antialiased",
        interpolation_stage="data", aspect="equal", zorder=1, **more,
    )
    axes.set_xlim(cut.extent[:2])
    axes.set_ylim(cut.extent[2:])
    for spine in axes.spines.values():
        spine.set_visible(True)
    if labels:
        axes.set_xlabel("xyz"[cut.axes[0]])
        axes.set_ylabel("xyz"[cut.axes[1]])
    return image


def draw_bar(figure, image, axes, layer: Layer, **more):
    style = {"pad": 0.02, "aspect": 32, "extend": layer.extend, **more}
    bar = figure.colorbar(image, ax=axes, label=layer.label, **style)
    bar.outline.set_linewidth(0.5)
    if layer.levels:
        low, high = finite_range([layer.image])
        bar.set_ticks(np.arange(round(low), round(high) + 1))
        bar.ax.minorticks_off()
    return bar


def plane_picture(name, title, caption, cut, layer: Layer, blocks: int, alt: str) -> Picture:
    """One quantity with outlines."""
    size = plane_size(cut)
    flat = size[1] < 2.8

    def draw(figure, theme) -> None:
        figure.set_layout_engine("compressed")
        axes = figure.add_subplot()
        image = draw_layer(axes, cut, layer)
        draw_outlines(axes, cut, size[0] * 0.8, "#000000" if layer.levels else "#ffffff")
        axes.set_title(heading(cut, blocks))
        draw_bar(figure, image, axes, layer, **({"location": "bottom", "aspect": 50, "pad": 0.05} if flat else {}))

    return Picture(name, title, caption, (size[0], size[1] + 0.5) if flat else size, draw, alt)


def borders(image: np.ndarray, extent: tuple) -> np.ndarray:
    """The lines between pixels of different numbers as segments [m][2][2]: where blocks of two localities touch."""
    x0, x1, y0, y1 = extent
    height, width = image.shape
    x, y = np.linspace(x0, x1, width + 1), np.linspace(y0, y1, height + 1)
    j, i = np.nonzero(image[:, 1:] != image[:, :-1])
    upright = np.stack([np.stack([x[i + 1], y[j]], 1), np.stack([x[i + 1], y[j + 1]], 1)], 1)
    j, i = np.nonzero(image[1:] != image[:-1])
    flat = np.stack([np.stack([x[i], y[j + 1]], 1), np.stack([x[i + 1], y[j + 1]], 1)], 1)
    return np.concatenate([upright, flat])


def localities_picture(cut, physics: Layer, locality: np.ndarray, idle: np.ndarray, blocks: int, interval: str) -> Picture:
    """The locality that owns each block, and its idle rate, over the physics.

    locality, idle: of every block of the mesh [n_block]. interval: the time that the idle rates are of, "from A to B".
    """
    who = cut.image(locality[cut.blocks].astype(float))
    idle_layer = Layer(cut.image(100 * idle[cut.blocks]), "idle (% of the locality's time)", "viridis", low=0, high=100)
    physics = Layer(physics.image, physics.label, "gray", physics.log, physics.low, physics.high)
    size = plane_size(cut, width=6.8, bar=1.9)

    def draw(figure, theme) -> None:
        figure.set_layout_engine("compressed")
        axes = figure.add_subplot()
        draw_bar(figure, draw_layer(axes, cut, physics), axes, physics, location="left")
        draw_bar(figure, draw_layer(axes, cut, idle_layer, alpha=0.45), axes, idle_layer)
        axes.add_collection(LineCollection(borders(who, cut.extent), colors="#ffffff", linewidths=1.6, zorder=4))
        height, width = who.shape
        x0, x1, y0, y1 = cut.extent
        for k in np.unique(who[np.isfinite(who)]):
            j, i = np.nonzero(who == k)
            middle = np.argmin((j - j.mean()) ** 2 + (i - i.mean()) ** 2)  # a pixel of its own, whatever the shape
            at = x0 + (i[middle] + 0.5) / width * (x1 - x0), y0 + (j[middle] + 0.5) / height * (y1 - y0)
            share = 100 * idle[locality == k][0]
            axes.annotate(
                f"{int(k)}: {share:.0f} % idle", at, ha="center", va="center", fontsize=8, color="#ffffff", zorder=5,
                bbox={"boxstyle": "round,pad=0.25", "facecolor": "#000000", "alpha": 0.6, "linewidth": 0},
            )
        axes.set_title(heading(cut, blocks))

    caption = (
        f"Thick lines part the blocks of different localities, over the {name_of(cut).lower()}; colour and numbers are the "
        f"idle rate of the locality {interval} alone: the share of the time of its workers without work. The table of the "
        "processes has that of the whole run."
    )
    return Picture("localities", "Localities", caption, size, draw, "Owners of the blocks and their idle rates.")


def parallax_picture(cut, physics: Layer, cost: Layer, blocks: int) -> Picture:
    """The same object from two viewpoints: what is there, and what each block cost.

    Where the right half mirrors the left, each half shows one of them; other planes are shown whole, side by side or,
    when they are flat, one above the other.
    """
    x0, x1, y0, y1 = cut.extent
    ratio = (y1 - y0) / (x1 - x0)
    places = ("left", "right")
    if ratio < 0.35:
        size, draw, places = (9.6, 2 * 8.8 * ratio + 2.6), _stacked, ("above", "below")
    elif _mirrors(physics.image):
        height = min(7.0, (9.6 - 2.7) * ratio)
        size, draw = (height / ratio + 2.7, height + 0.8), _halves
    else:
        size, draw = (9.6, float(np.clip(4.3 * ratio + 1.35, 2.4, 8.0))), _beside
    what = name_of(cut).lower()
    caption = (
        f"One plane through the mesh, seen from two sides: {places[0]} the {what}, {places[1]} the time that the "
        "blocks cost per cell update since the mesh file before. Thin lines are blocks."
    )
    alt = f"{places[0]}: {what}; {places[1]}: cost per block"
    title = "Physics and cost in one picture"
    return Picture("parallax", title, caption, size, partial(draw, cut, physics, cost, blocks), alt)


def _mirrors(image: np.ndarray) -> bool:
    """Whether left and right agree within five percent of the range, on average."""
    spread = np.ptp(image[np.isfinite(image)]) if np.any(np.isfinite(image)) else 0.0
    return bool(np.nanmean(np.abs(image - image[:, ::-1])) <= 0.05 * spread) if spread > 0 else True


def _beside(cut, physics: Layer, cost: Layer, blocks: int, figure, theme) -> None:
    figure.set_layout_engine("compressed")
    pair = figure.subplots(1, 2, sharey=True)
    for axes, layer in zip(pair, (physics, cost)):
        image = draw_layer(axes, cut, layer)
        draw_outlines(axes, cut, 4.3, "#ffffff")
        draw_bar(figure, image, axes, layer, location="bottom", aspect=40, pad=0.02)
    pair[0].set_title(heading(cut, blocks))
    pair[1].set_ylabel("")


def _halves(cut, physics: Layer, cost: Layer, blocks: int, figure, theme) -> None:
    x0, x1, y0, y1 = cut.extent
    middle = 0.5 * (x0 + x1)
    figure.set_layout_engine("compressed")
    axes = figure.add_subplot()
    for layer, start, side in ((physics, x0, "left"), (cost, middle, "right")):
        image = draw_layer(axes, cut, layer)
        image.set_clip_path(Rectangle((start, y0), middle - x0, y1 - y0, transform=axes.transData))
        draw_bar(figure, image, axes, layer, location=side, pad=0.015, aspect=40)
    draw_outlines(axes, cut, 7.0, "#ffffff", 0.9)
    axes.plot([middle, middle], [y0, y1], color="#ffffff", linewidth=1.4, zorder=4)
    axes.set_title(heading(cut, blocks), loc="center")


def _stacked(cut, physics: Layer, cost: Layer, blocks: int, figure, theme) -> None:
    figure.set_layout_engine("compressed")
    pair = figure.subplots(2, 1, sharex=True)
    for axes, layer in zip(pair, (physics, cost)):
        image = draw_layer(axes, cut, layer)
        draw_outlines(axes, cut, 8.8, "#ffffff", 0.9)
        draw_bar(figure, image, axes, layer, location="bottom", pad=0.05, aspect=60)
    pair[0].set_title(heading(cut, blocks))
    pair[0].set_xlabel("")


def film_picture(cuts, blocks) -> Picture:
    """One variable of several mesh files on one colour scale."""
    columns = min(len(cuts), 5)
    rows = -(-len(cuts) // columns)
    x0, x1, y0, y1 = cuts[0].extent
    tile = 9.6 / columns
    size = (9.6, float(min(9.0, rows * (tile * (y1 - y0) / (x1 - x0) + 0.42) + 0.75)))

    def draw(figure, theme) -> None:
        figure.set_layout_engine("compressed")
        grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
        layer = physics_layer(cuts[-1], cuts[:-1])
        for axes in grid.flat[len(cuts) :]:
            axes.set_visible(False)
        for axes, cut, count in zip(grid.flat, cuts, blocks):
            small = Layer(cut.image(max_pixels=512), layer.label, layer.cmap, layer.log, layer.low, layer.high)
            image = draw_layer(axes, cut, small, labels=False)
            axes.set_xticks([])
            axes.set_yticks([])
            axes.set_title(f"t = {cut.time:.4g}\n{plural(count, 'block')}", fontsize=8.5, pad=4)
        draw_bar(figure, image, list(grid.flat), layer, location="bottom", aspect=70, shrink=0.6, pad=0.03)

    return Picture(
        "filmstrip", f"{name_of(cuts[-1])} over time", "From the first mesh file to the last, on one colour scale.",
        size, draw, "A row of slices at increasing times.",
    )


def first_last_picture(first, last, blocks) -> Picture:
    """Beginning and end side by side, with outlines."""
    x0, x1, y0, y1 = first.extent
    size = (9.6, float(np.clip(4.3 * (y1 - y0) / (x1 - x0) + 1.35, 2.4, 8.0)))

    def draw(figure, theme) -> None:
        figure.set_layout_engine("compressed")
        pair = figure.subplots(1, 2, sharey=True)
        layer = physics_layer(last, [first])
        for axes, cut, count in zip(pair, (first, last), blocks):
            own = Layer(cut.image(max_pixels=1024), layer.label, layer.cmap, layer.log, layer.low, layer.high)
            image = draw_layer(axes, cut, own)
            draw_outlines(axes, cut, 4.3, "#ffffff")
            axes.set_title(heading(cut, count))
        pair[1].set_ylabel("")
        draw_bar(figure, image, list(pair), layer, location="bottom", aspect=70, shrink=0.6, pad=0.03)

    return Picture(
        "first_last", "First and last",
        f"{name_of(last)} in the first and the last mesh file, with the blocks of each.", size, draw,
        "Slices of the first and last mesh file.",
    )


def pixels_picture(image) -> Picture:
    """All variables of a slice or projection (pixels.Pixels), side by side."""
    what = f"{image.normal} = {image.position:.6g}" if image.kind == "slice" else f"along {image.normal}"
    if image.weight:
        what += ", mean weighted by density" if image.weight == "mass" else ", integral"
    name = image.path.name[:-3]
    caption = f"{image.kind.capitalize()} {what}; step {image.step}, time {image.time:.6g}."
    width = image.extent[1] - image.extent[0]
    height = 2.9 * (image.extent[3] - image.extent[2]) / width
    size = (4.4 * len(image.values), min(max(height, 1.6), 7.0) + 0.6)

    def draw(figure, theme):
        for axes, variable in zip(figure.subplots(1, len(image.values), squeeze=False)[0], image.values):
            values, unit = image.with_unit(variable)
            label = variable.replace("_", " ") + {"1": "", "code": " (code units)"}.get(unit, f" ({unit})")
            layer = Layer(values, label, "viridis", needs_log([values]))
            drawn = axes.imshow(
                values, origin="lower", extent=image.extent, cmap=layer.colours(), norm=layer.norm(), interpolation="nearest"
            )
            axes.set(xlabel=image.axes[0], ylabel=image.axes[1])
            figure.colorbar(drawn, ax=axes, label=layer.label)

    return Picture(f"series_{name}", name.rsplit(".", 1)[0].replace("_", " "), caption, size, draw, caption)
