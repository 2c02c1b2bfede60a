"""`parallax film run/`: density, temperature and the cost of blocks, in the orbital plane and edge-on, as a film.

Each mesh file is a frame (output.mesh_interval). The film is an mp4 if ffmpeg is installed, otherwise an animated PNG,
which browsers play. Colours have one range for the whole film. Memory: one frame, and all frames of an animated PNG.
Cost: some 0.3 s per frame. Example to read: tests/star/test_film.py.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from .. import NotARun, ReadError
from ..folders import complete_file, program_of, refusal
from ..picture import dark
from ..text import plural
from .analysis import cost_per_update
from .cross_section import CrossSection
from .orbits import read_orbits
from .run import Run

SIZE = (13.3334, 7.5)  # inches: 16:9
SOLAR_RADIUS_CM = 6.957e10


@dataclass
class View:
    """The part of the domain that is shown: its centre, and half of its extent along each axis."""

    centre: np.ndarray
    half: np.ndarray

    def limits(self, plane: str) -> tuple:
        """x0, x1, y0, y1 of a plane, relative to the centre."""
        across, up = float(self.half[0]), float(self.half[1 if plane == "face" else 2])
        return -across, across, -up, up


@dataclass
class Ranges:
    """Smallest and largest value of each colour scale over the film."""

    density: tuple
    temperature: tuple
    cost: tuple | None


def weights_of(mesh) -> dict:
    """{variable: atomic masses per particle} of the species, if the run has species.weights."""
    return {key[7:]: float(weight) for key, weight in mesh.file.attrs.items() if key.startswith("Weight_")}


class Frame:
    """The planes of one mesh file, "face" (z = the middle) and "edge" (along the line of centres of the stars, or the x
    axis). images: {(quantity, plane): [vertical][horizontal]}; the cost is in µs. Extents are relative to the centre. ideal:
    whether p / rho, times the mean weight of species with weights, is the temperature; otherwise p / rho is shown."""

    def __init__(self, mesh, previous_cycle: int | None, view: View, phase: float, ideal: bool = True):
        self.time, self.step, self.blocks = mesh.time, mesh.cycle, mesh.n_blocks
        cost = cost_per_update(mesh, previous_cycle)
        self.images, self.extents = {}, {}
        along = np.array([np.cos(phase), np.sin(phase), 0.0])
        sections = {
            "face": CrossSection(mesh, view.centre, (1, 0, 0), (0, 1, 0), view.half[0], view.half[1]),
            "edge": CrossSection(mesh, view.centre, along, (0, 0, 1), view.half[0], view.half[2]),
        }
        for plane, section in sections.items():
            self.extents[plane] = section.extent
            self.images["density", plane] = section.image("rho")
            self.images["temperature", plane] = section.image("press") / self.images["density", plane]
            if ideal and (weights := weights_of(mesh)):
                self.images["temperature", plane] /= sum(section.image(name) / weight for name, weight in weights.items())
            if cost is not None:
                self.images["cost", plane] = section.of_blocks(1e6 * cost)
        self.outlines = mesh.plane("z", float(view.centre[2])).outlines() - view.centre[:2]


def view_of(run: Run, indices: list, width: float | None) -> View:
    """Shows all gas that is denser than 1e-4 of the largest density, in the first and the last of these mesh files.
    width: of the planes instead, code lengths."""
    low, high, lower, upper = [], [], None, None
    for i in {indices[0], indices[-1]}:
        with run.mesh(i) as mesh:
            lower, upper = mesh.domain_lower, mesh.domain_upper
            peak = max(float(mesh.read("rho", a, b).max()) for a, b in mesh.batches())
            for a, b in mesh.batches():
                dense = mesh.read("rho", a, b).max(axis=(1, 2, 3)) > 1e-4 * peak
                if np.any(dense):
                    low.append(mesh.lower[a:b][dense].min(axis=0))
                    high.append(mesh.upper[a:b][dense].max(axis=0))
    centre = 0.5 * (lower + upper)
    far = np.maximum(centre - np.min(low, axis=0), np.max(high, axis=0) - centre)
    reach = 0.5 * width if width else 1.05 * max(far[0], far[1])
    half = np.minimum([reach, reach, max(1.2 * far[2], 0.35 * reach) if not width else 0.5 * reach], upper - centre)
    return View(centre, half)


def ranges_of(frames: list) -> Ranges:
    """Density: five decades below the largest value; temperature: that of gas within these, without the extremes."""
    peak = max(float(np.nanmax(f.images["density", "face"])) for f in frames)
    density = (1e-5 * peak, peak)
    hot = [f.images["temperature", n][f.images["density", n] > 1e-4 * peak] for f in frames for n in ("face", "edge")]
    low, high = np.nanpercentile(np.concatenate(hot), [1.0, 99.9])
    cost = [f.images["cost", "face"] for f in frames if ("cost", "face") in f.images]
    cost = [c[np.isfinite(c)] for c in cost]
    known = np.concatenate(cost) if cost else np.zeros(0)
    spread = tuple(np.percentile(known, [1.0, 99.0])) if np.any(known > 0) else None  # a device measures no blocks
    return Ranges(density, (float(max(low, 1e-3 * high)), float(high)), spread)


def nice_length(width: float) -> float:
    """1, 2 or 5 times a power of ten, at most a quarter of the width."""
    power = 10.0 ** np.floor(np.log10(0.25 * width))
    return float(max(step * power for step in (1, 2, 5) if step * power <= 0.25 * width))


class Units:
    """Labels of a run's lengths, densities and temperatures."""

    def __init__(self, mesh, eos: str = "ideal"):
        """eos: eos.kind of the run; p / rho is a temperature of an ideal gas only."""
        attributes = mesh.file.attrs
        self.ideal = eos == "ideal"
        self.length = float(attributes["LengthUnit"]) if "LengthUnit" in attributes else None
        self.mass = float(attributes["MassUnit"]) if self.length else 1.0
        self.time = float(attributes["TimeUnit"]) if self.length else 1.0
        self.kelvin = float(attributes["TemperatureUnit"]) if "TemperatureUnit" in attributes else None

    @property
    def density(self) -> tuple:
        return (self.mass / self.length**3, "density ρ (g cm$^{-3}$)") if self.length else (1.0, "density ρ (code units)")

    @property
    def temperature(self) -> tuple:
        """p / rho, which is k T / (mu m_u) of an ideal gas: then in kelvin if the run has eos.molecular_weight, or, times
        the mean weight of each cell, species.weights. The total pressure of other gas has the parts of electrons or
        radiation, so it never is in kelvin."""
        if self.ideal and self.kelvin:
            return self.kelvin, "p/ρ, temperature of an ideal gas (K)"
        factor = (self.length / self.time) ** 2 if self.length else 1.0
        name = "p/ρ, temperature of an ideal gas" if self.ideal else "p/ρ"
        return factor, f"{name} ({'cm² s$^{-2}$' if self.length else 'code units'})"

    def bar(self, width: float) -> tuple:
        """(length in code units, its label) of a scale bar."""
        if self.length is None:
            length = nice_length(width)
            return length, f"{length:g}"
        solar = self.length / SOLAR_RADIUS_CM
        length = nice_length(width * solar)
        return length / solar, f"{length:g} R$_\\odot$"


def draw_scale_bar(axes, units: Units, limits) -> None:
    x0, x1, y0, y1 = limits
    length, label = units.bar(x1 - x0)
    x, y = x0 + 0.04 * (x1 - x0), y0 + 0.05 * (y1 - y0)
    axes.plot([x, x + length], [y, y], color="#ffffff", linewidth=2.0, solid_capstyle="butt")
    axes.text(x, y + 0.015 * (y1 - y0), label, color="#ffffff", ha="left", va="bottom", fontsize=9)


class Painter:
    """Draws frames into one figure, whose images are replaced from frame to frame."""

    def __init__(self, title: str, units: Units, view: View, ranges: Ranges, orbits, frame_title, height: int):
        self.units, self.view, self.ranges, self.orbits, self.frame_title = units, view, ranges, orbits, frame_title
        self.figure = Figure(figsize=SIZE, dpi=height / SIZE[1])
        self.canvas = FigureCanvasAgg(self.figure)
        self.images, self.lines, self.markers = {}, None, []
        self.columns = ["density", "temperature"] + (["cost"] if ranges.cost else [])
        self._lay_out(title)

    def _lay_out(self, title: str) -> None:
        view, figure = self.view, self.figure
        tall, flat = 2 * view.half[1], 2 * view.half[2]
        has_curves = self.orbits is not None and self.orbits.pair is not None
        # Inches: planes as large as they fit, with a colour bar below and curves under them.
        top, gap, bar, curves = 0.62, 0.1, 0.66, 1.25 if has_curves else 0.15
        height = SIZE[1] - top - gap - bar - curves
        width = min((SIZE[0] - 0.6 - gap * (len(self.columns) - 1)) / len(self.columns), height * 2 * view.half[0] / (tall + flat))
        scale = width / (2 * view.half[0])
        left = 0.5 * (SIZE[0] - len(self.columns) * width - gap * (len(self.columns) - 1))
        y_bar = SIZE[1] - top - scale * (tall + flat) - gap - 0.21

        def place(x, y, w, h):
            return figure.add_axes((x / SIZE[0], y / SIZE[1], w / SIZE[0], h / SIZE[1]))

        norms = {
            "density": LogNorm(*(self.units.density[0] * v for v in self.ranges.density)),
            "temperature": LogNorm(*(self.units.temperature[0] * v for v in self.ranges.temperature)),
            "cost": Normalize(*self.ranges.cost) if self.ranges.cost else None,
        }
        maps = {"density": "inferno", "temperature": "cividis", "cost": "viridis"}
        labels = {
            "density": self.units.density[1], "temperature": self.units.temperature[1],
            "cost": "cost of blocks (µs per cell update)",
        }
        for c, name in enumerate(self.columns):
            x = left + c * (width + gap)
            y = SIZE[1] - top - scale * tall
            for plane, y, h in (("face", y, tall), ("edge", y - gap - scale * flat, flat)):
                axes = place(x, y, width, scale * h)
                colours = colormaps[maps[name]]
                colours = colours.with_extremes(bad=colours(0.0))
                image = axes.imshow(
                    np.full((2, 2), np.nan), origin="lower", norm=norms[name], cmap=colours, aspect="auto",
                    interpolation="nearest" if name == "cost" else "bilinear", interpolation_stage="data",
                )
                limits = view.limits(plane)
                axes.set_xlim(limits[:2])
                axes.set_ylim(limits[2:])
                axes.set_xticks([])
                axes.set_yticks([])
                for spine in axes.spines.values():
                    spine.set_visible(True)
                    spine.set_color("#3a4454")
                self.images[name, plane] = image
                if name == "cost" and plane == "face":
                    self.lines = axes.add_collection(
                        LineCollection([], colors="#ffffff", linewidths=0.35, alpha=0.45), autolim=False
                    )
                if c == 0:
                    through = "edge-on, along the line of centres" if has_curves else "edge-on"
                    axes.text(
                        0.02, 1 - 0.1 / (scale * h), "orbital plane" if plane == "face" else through,
                        transform=axes.transAxes, color="#ffffff", va="top", fontsize=9, alpha=0.9,
                    )
                    if plane == "face":
                        draw_scale_bar(axes, self.units, limits)
            bar_axes = place(x + 0.04 * width, y_bar, 0.92 * width, 0.11)
            extend = "both" if name == "temperature" else "min" if name == "density" else "neither"
            drawn = figure.colorbar(self.images[name, "face"], cax=bar_axes, orientation="horizontal", extend=extend)
            drawn.set_label(labels[name], fontsize=9)
            drawn.ax.xaxis.set_minor_formatter(NullFormatter())
            if name == "cost":
                drawn.ax.xaxis.set_major_locator(MaxNLocator(5))
            drawn.outline.set_linewidth(0.4)
        figure.text(left / SIZE[0], 1 - 0.2 / SIZE[1], title, fontsize=14, va="top", color=dark.ink, weight="bold")
        self.heading = figure.text(
            1 - left / SIZE[0], 1 - 0.22 / SIZE[1], "", fontsize=11, va="top", ha="right", color=dark.ink
        )
        if has_curves:
            self._curves(place, left, SIZE[0] - 2 * left)

    def _curves(self, place, left: float, width: float) -> None:
        """Separation, and the masses over those at the start, with a mark at the time of the frame."""
        orbits = self.orbits
        x, label = orbits.axis
        each = 0.5 * (width - 0.9)
        curves = (
            (left + 0.25, [("separation", orbits.column(f"separation{orbits.pair}"), dark.series[0])], "separation"),
            (
                left + 0.9 + each,
                [
                    (f"star {s}", orbits.column(f"star_{s}_mass") / orbits.column(f"star_{s}_mass")[0], dark.series[s])
                    for s in range(1, orbits.stars + 1)
                ],
                "mass / initial",
            ),
        )
        for at, lines, title in curves:
            axes = place(at, 0.36, each, 0.62)
            for name, y, colour in lines:
                axes.plot(x, y, color=colour, label=name, linewidth=1.3)
            axes.set_xlim(x[0], x[-1])
            axes.set_ylabel(title, fontsize=8.5)
            axes.set_xlabel(label, fontsize=8.5, labelpad=1)
            axes.tick_params(labelsize=7.5)
            if len(lines) > 1:
                axes.legend(loc="lower left", fontsize=7.5, ncols=len(lines))
            self.markers.append(axes.axvline(x[0], color=dark.ink, linewidth=1.0, alpha=0.8))

    def draw(self, frame: Frame) -> np.ndarray:
        """The picture of a frame: [height][width][4] bytes."""
        factors = {"density": self.units.density[0], "temperature": self.units.temperature[0], "cost": 1.0}
        for (name, plane), image in self.images.items():
            image.set_data(factors[name] * frame.images.get((name, plane), np.full((2, 2), np.nan)))
            image.set_extent(frame.extents[plane])
            limits = self.view.limits(plane)
            image.axes.set_xlim(limits[:2])
            image.axes.set_ylim(limits[2:])
        if self.lines is not None:
            self.lines.set_segments(frame.outlines)
        self.heading.set_text(self.frame_title(frame))
        if self.orbits is not None:
            now = float(np.interp(frame.time, self.orbits.time, self.orbits.axis[0]))
            for marker in self.markers:
                marker.set_xdata([now, now])
        self.canvas.draw()
        return np.asarray(self.canvas.buffer_rgba())


class Mp4:
    """Frames through a pipe to ffmpeg."""

    suffix = ".mp4"

    def __init__(self, program: str, path: Path, fps: int):
        self.path, self.program, self.fps, self.process = path, program, fps, None

    def add(self, picture: np.ndarray) -> None:
        if self.process is None:
            height, width = picture.shape[:2]
            command = [
                self.program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgba", "-s", f"{width}x{height}", "-r",
                str(self.fps), "-i", "-", "-vf", "crop=trunc(iw/2)*2:trunc(ih/2)*2", "-c:v", "libx264", "-pix_fmt", "yuv420p",
                "-crf", "18", "-movflags", "+faststart", "-f", "mp4", str(self.path),
            ]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            self.process.stdin.write(picture.tobytes())
        except BrokenPipeError:
            self.end()

    def end(self) -> None:
        if self.process is None:
            return
        _, errors = self.process.communicate()
        if self.process.returncode != 0:
            text = " ".join(errors.decode(errors="replace").split())[-300:]
            raise ReadError(self.path, f"ffmpeg failed ({text}); write an animated PNG instead: --out NAME.png")


class AnimatedPng:
    suffix = ".png"

    def __init__(self, path: Path, fps: int):
        self.path, self.fps, self.pictures = path, fps, []

    def add(self, picture: np.ndarray) -> None:
        from PIL import Image

        self.pictures.append(Image.fromarray(picture[..., :3].copy()))

    def end(self) -> None:
        if self.pictures:
            first, rest = self.pictures[0], self.pictures[1:]
            first.save(self.path, format="PNG", save_all=True, append_images=rest, duration=round(1000 / self.fps), loop=0)


def frames_of(run: Run, indices: list, view: View, orbits):
    for i in indices:
        previous = None
        if i > 0:
            with run.mesh(i - 1) as before:
                previous = before.cycle
        with run.mesh(i) as mesh:
            yield Frame(mesh, previous, view, orbits.phase(mesh.time) if orbits is not None else 0.0, eos_of(run) == "ideal")


def mesh_files_of(run: Run) -> int:
    """Their number. Raises NotARun if there is none."""
    if not run.mesh_files:
        if program_of(run.folder) in (None, "plx-star"):
            raise NotARun(f"{run.folder}: expected mesh files of plx-star (mesh/*.athdf), found none; output.mesh_interval writes them")
        raise refusal(run.folder, "a run of plx-star with mesh files", "output.mesh_interval writes them")
    return len(run.mesh_files)


def eos_of(run: Run) -> str:
    """eos.kind of the run."""
    return (run.config or {}).get("eos.kind", "ideal")


def title_of(run: Run) -> str:
    from .facts import titles

    return titles.get(run.problem, run.problem.replace("_", " ").capitalize())


def write_film(
    run: Run, out: Path | None = None, fps: int = 12, width: float | None = None, poster: Path | None = None,
    height: int = 1080, title: str | None = None,
) -> Path:
    """Writes the film of a run and returns its path. width: of the planes, code lengths. poster: a PNG of the last frame.
    height: of the frames, pixels. title: default that of the problem.

    Raises NotARun without mesh files, ReadError for a file that cannot be read or a film that cannot be written.
    """
    indices = list(range(mesh_files_of(run)))
    ffmpeg = shutil.which("ffmpeg")
    out = out or run.folder / ("film.mp4" if ffmpeg else "film.png")
    with complete_file(out, (Mp4.suffix, AnimatedPng.suffix)) as part:
        if out.suffix == Mp4.suffix and ffmpeg is None:
            raise ReadError(out, "an mp4 needs the program ffmpeg, which was not found; install it or write NAME.png")
        writer = Mp4(ffmpeg, part, fps) if out.suffix == Mp4.suffix else AnimatedPng(part, fps)
        view = view_of(run, indices, width)
        sample = sorted({indices[round(float(i))] for i in np.linspace(0, len(indices) - 1, min(6, len(indices)))})
        orbits = read_orbits(run.folder)
        ranges = ranges_of(list(frames_of(run, sample, view, orbits)))
        with run.mesh(0) as mesh:
            units = Units(mesh, eos_of(run))

        def frame_title(frame: Frame) -> str:
            when = orbits.at(frame.time) if orbits is not None else f"t = {frame.time:.4g}"
            return f"{when}    step {frame.step:,}    {plural(frame.blocks, 'block')}"

        with matplotlib.rc_context({**dark.rc(), "figure.constrained_layout.use": False}):
            heading = title_of(run) if title is None else title
            painter = Painter(heading, units, view, ranges, orbits, frame_title, height)
            for frame in frames_of(run, indices, view, orbits):
                writer.add(painter.draw(frame))
            writer.end()
            if poster is not None:
                painter.figure.savefig(poster, format="png")
    return out
