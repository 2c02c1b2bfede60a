"""Films and orbit pictures of a made-up run: two clumps in orbit."""

import numpy as np
import pytest
import synthetic
from PIL import Image

from parallax.cli import main
from parallax.star import film as film_module
from parallax.star import sheet as sheet_module
from parallax.star.athdf import Mesh
from parallax.star.cross_section import CrossSection
from parallax.star.facts import Facts
from parallax.star.film import Frame, Mp4, Units, View, eos_of, frames_of, nice_length
from parallax.star.orbits import orbit_picture, read_orbits, wave_picture
from parallax.star.parts import Physics
from parallax.star.run import Run
from parallax.star.sheet import DPI, GAP, LEFT, TOP, WIDEST


def clumps(t):
    def fields(x, y, z):
        rho = 1e-6
        for mass, at in ((0.6, 0.4), (0.4, -0.6)):
            d2 = (x - at * np.cos(t)) ** 2 + (y - at * np.sin(t)) ** 2 + z**2
            rho = rho + mass * np.exp(-d2 / 0.012)
        return {"rho": rho, "vel1": 0 * rho, "vel2": 0 * rho, "vel3": 0 * rho, "press": rho**2}

    return fields


def places(x, y, z):
    return {"rho": x + 0 * y * z, "press": y + 0 * x * z}


def write_frames(run, times):
    (run / "mesh").mkdir()
    leaves = [(1, (x, y, z)) for x in range(4) for y in range(4) for z in range(2)]
    box = {"root": (2, 2, 1), "lower": (-1, -1, -0.5), "upper": (1, 1, 0.5)}
    for i, t in enumerate(times):
        cost = np.linspace(1, 2, len(leaves)) * 1e-3
        synthetic.write_mesh(
            run / "mesh" / f"two_stars.{i:05d}.athdf", leaves, clumps(t), 8, t, 1 + 10 * i, {"Cost": cost}, **box
        )


@pytest.fixture(scope="module")
def orbit(tmp_path_factory):
    """A run of two frames with diagnostics."""
    run = tmp_path_factory.mktemp("orbit")
    write_frames(run, (0.0, 0.7))
    t = np.linspace(0, 0.8, 9)
    columns = {"step": range(9), "time": t, "star_1_mass": 0.6 + 0 * t, "star_2_mass": 0.4 - 0.3 * t}
    for star, at in ((1, 0.4), (2, -0.6)):
        columns |= {f"star_{star}_centre_x": at * np.cos(t), f"star_{star}_centre_y": at * np.sin(t)}
        columns |= {f"star_{star}_spin_z": 0.01 + 0 * t}
    columns |= {"separation_1_2": 1 - 0.1 * t, "semi_major_axis_1_2": 1 - 0.1 * t, "orbits_1_2": t / (2 * np.pi)}
    columns |= {"orbital_angular_momentum_1_2": 0.24 + 0 * t, "unbound_mass": 0 * t}
    columns |= {"wave_plus": -np.cos(2 * t), "wave_cross": -np.sin(2 * t)}
    columns |= {"disrupted_star": 2 * (t > 0.7), "disruption_time": np.where(t > 0.7, 0.72, np.nan)}
    synthetic.write_csv(run / "diagnostics.csv", columns)
    units = {"name": ["star_1_mass", "separation_1_2"], "unit": ["g", "cm"], "factor": [2e33, 7e10], "meaning": ["", ""]}
    synthetic.write_csv(run / "diagnostics_columns.csv", units)
    return run


def test_a_film_without_ffmpeg_is_an_animated_png(orbit, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(film_module.shutil, "which", lambda _: None)
    out = tmp_path / "film.png"
    options = ["--height", "270", "--poster", str(tmp_path / "last.png")]
    assert main(["film", str(orbit), "--out", str(out), *options]) == 0
    with Image.open(out) as film:
        assert film.n_frames == 2 and film.size == (480, 270)
        first = np.asarray(film.convert("RGB"), dtype=float)
        film.seek(1)
        second = np.asarray(film.convert("RGB"), dtype=float)
    assert np.mean(np.abs(first - second)) > 0.5  # the stars have moved
    assert (tmp_path / "last.png").stat().st_size > 10_000
    assert not list(tmp_path.glob(".*.part"))
    assert main(["film", str(orbit), "--out", str(tmp_path / "film.mp4")]) == 2
    assert "needs the program ffmpeg" in capsys.readouterr().err
    assert main(["film", str(orbit), "--out", str(tmp_path / "film.avi")]) == 2
    assert "expected a name that ends in .mp4 or .png" in capsys.readouterr().err


def test_a_sheet_shows_the_frames_after_the_first(tmp_path, capsys):
    out, times = tmp_path / "sheet.png", (0.0, 0.7, 1.4)
    write_frames(tmp_path, times)
    assert main(["film", str(tmp_path), "--sheet", "4", "--out", str(out)]) == 0
    with Image.open(out) as image:
        colours = np.asarray(image.convert("RGB"))
        pixels = np.asarray(image.convert("L"), dtype=float) * (colours[..., 2] < 200)  # no white
    edge = round(DPI * WIDEST)
    assert abs(pixels.shape[1] - 2 * edge - DPI * (LEFT + GAP)) < DPI
    for frame, t in enumerate(times[1:]):
        x, y = round(DPI * (LEFT + frame * GAP)) + frame * edge, round(DPI * TOP)
        panel = pixels[y + 4 : y + edge - 4, x + 4 : x + edge - 4]
        bright = np.argwhere(panel > panel.max() - 6).mean(axis=0) - panel.shape[0] / 2
        assert np.arctan2(-bright[0], bright[1]) == pytest.approx(t, abs=0.05)
    assert not list(tmp_path.glob(".*.part"))
    capsys.readouterr()
    given = {"--sheet 9": "expected 1 to 8 frames", "--sheet 2 --out x.mp4": "x.mp4: expected a name that ends in .png"}
    given |= {f"--sheet 2 {flag}": f"{flag.split()[0]} is for films" for flag in ("--fps 12", "--height 1080", "--poster x.png")}
    for options, expected in given.items():
        assert main(["film", str(tmp_path), *options.split()]) == 2
        error = capsys.readouterr().err
        assert expected in error and error.count("\n") == 1


def test_a_sheet_of_one_frame_shows_the_last(tmp_path, monkeypatch):
    write_frames(tmp_path, (0.0, 0.7, 1.4))
    shown = []
    draw = sheet_module._draw
    monkeypatch.setattr(sheet_module, "_draw", lambda *given: shown.extend(f.time for f in given[4]) or draw(*given))
    assert main(["film", str(tmp_path), "--sheet", "1"]) == 0
    assert shown == [1.4]
    before = (tmp_path / "sheet.png").read_bytes()
    titles = []
    monkeypatch.setattr(sheet_module, "_draw", lambda *given: titles.append(given[0]) or draw(*given))
    for more in ([], ["--title", "Merger"], ["--title", ""]):
        assert main(["film", str(tmp_path), "--sheet", "1", *more]) == 0
    assert titles == ["Two stars", "Merger", ""]
    assert (tmp_path / "sheet.png").read_bytes() != before
    assert main(["film", str(tmp_path), "--sheet", "1"]) == 0
    monkeypatch.setattr(sheet_module.Figure, "savefig", broken_save)
    assert main(["film", str(tmp_path), "--sheet", "1"]) == 2
    assert (tmp_path / "sheet.png").read_bytes() == before and not list(tmp_path.glob(".*.part"))


def broken_save(figure, path, **options):
    path.write_bytes(b"\x89PNG")
    raise OSError(28, "No space left on device", str(path))


@pytest.mark.parametrize("kind", ["ideal", "white_dwarf", "radiation", "stiffened"])
def test_only_an_ideal_gas_is_shown_in_kelvin(tmp_path, kind):
    write_frames(tmp_path, (0.0,))
    (tmp_path / "config.toml").write_text(f'[eos]\nkind = "{kind}"\n' if kind != "ideal" else "")
    run = Run(tmp_path)
    with synthetic.h5py.File(run.mesh_files[0], "a") as file:
        file.attrs.update({"LengthUnit": 7e10, "MassUnit": 2e33, "TimeUnit": 7e3, "TemperatureUnit": 1.4e7})
    with run.mesh(0) as mesh:
        factor, label = Units(mesh, eos_of(run)).temperature
    expected = (1.4e7, "(K)") if kind == "ideal" else (1e14, "p/ρ (cm² s$^{-2}$)")
    assert factor == pytest.approx(expected[0]) and label.endswith(expected[1])


def test_species_with_weights_give_the_temperature_of_the_mixture(tmp_path):
    def mixture(x, y, z):
        share = 0.5 + 0.4 * x + 0 * y * z
        return {"rho": 1 + 0 * share, "press": 3 + 0 * share, "helium": share, "carbon": 1 - share}

    write_frames(tmp_path, ())
    path = tmp_path / "mesh" / "two_stars.00000.athdf"
    leaves = [(0, (x, y, 0)) for x in range(2) for y in range(2)]
    synthetic.write_mesh(path, leaves, mixture, 8, 0.0, 1, {}, root=(2, 2, 1), lower=(-1, -1, -0.5), upper=(1, 1, 0.5))
    view = View(np.zeros(3), np.array([0.9, 0.9, 0.4]))
    with synthetic.h5py.File(path, "a") as file:
        file.attrs.update({"Weight_helium": 1.25, "Weight_carbon": 2.0})
    with Run(tmp_path).mesh(0) as mesh:
        found = Frame(mesh, None, view, 0.0).images["temperature", "face"]
        share = CrossSection(mesh, view.centre, (1, 0, 0), (0, 1, 0), 0.9, 0.9).image("helium")
    assert np.ptp(share) > 0.3
    assert found == pytest.approx(3 / (share / 1.25 + (1 - share) / 2))
    # Films of other gas show p / rho, without weights.
    for kind, times in (("ideal", 1 / (share / 1.25 + (1 - share) / 2)), ("white_dwarf", 1)):
        (tmp_path / "config.toml").write_text(f'[eos]\nkind = "{kind}"\n')
        (frame,) = frames_of(Run(tmp_path), [0], view, None)
        assert frame.images["temperature", "face"] == pytest.approx(3 * times + 0 * share), kind


def test_frames_go_to_ffmpeg_and_its_error_is_reported(tmp_path):
    program = tmp_path / "ffmpeg"
    program.write_text(f"#!/bin/sh\nwc -c > {tmp_path}/bytes\necho no such codec >&2\nexit 1\n")
    program.chmod(0o755)
    writer = Mp4(str(program), tmp_path / "film.mp4", 12)
    writer.add(np.zeros((4, 6, 4), dtype=np.uint8))
    writer.add(np.zeros((4, 6, 4), dtype=np.uint8))
    with pytest.raises(Exception, match="ffmpeg failed .no such codec"):
        writer.end()
    assert (tmp_path / "bytes").read_text().strip() == "192"


def test_a_cross_section_shows_the_cells_under_it(orbit):
    right, up = (np.cos(0.7), np.sin(0.7), 0), (0, 0, 1)
    with Run(orbit).mesh(1) as mesh:
        plane = CrossSection(mesh, np.zeros(3), right, up, 0.9, 0.4, pixels=90)
        density, blocks = plane.image("rho"), plane.of_blocks(np.arange(mesh.n_blocks))
        outside = CrossSection(mesh, np.zeros(3), right, up, 3.0, 0.4, pixels=90)
        assert np.isnan(outside.image("rho")[0, 0]) and np.isnan(outside.of_blocks(np.zeros(64))[0, -1])
    row = density[density.shape[0] // 2]
    u = (np.arange(90) + 0.5) / 90 * 1.8 - 0.9
    assert abs(u[np.argmax(row)] - 0.4) < 0.07
    assert abs(u[np.argmax(np.where(u < 0, row, 0))] + 0.6) < 0.07
    assert np.all(np.isfinite(blocks)) and len(np.unique(blocks)) > 4


def test_a_cross_section_of_a_small_window_has_its_finest_cells(tmp_path):
    path = tmp_path / "deep.athdf"
    leaves = [(level, where) for level in range(1, 9) for where in np.ndindex(2, 2, 2) if where != (0, 0, 0) or level == 8]
    synthetic.write_mesh(path, leaves, places, n=4, root=(1, 1, 1), lower=(0, 0, 0), upper=(1, 1, 1))
    with Mesh(path) as mesh:
        finest = 2.0**-10
        section = CrossSection(mesh, np.full(3, 4 * finest), (1, 0, 0), (0, 1, 0), 2 * finest, 4 * finest, pixels=4)
        assert np.allclose(section.image("rho"), (finest * (np.arange(4) + 2.5))[None, :], rtol=0, atol=1e-12)
        assert np.allclose(section.image("press"), (finest * (np.arange(8) + 0.5))[:, None], rtol=0, atol=1e-12)


def test_orbits_have_time_units_and_disruption(orbit):
    table = read_orbits(orbit)
    assert table.stars == 2 and table.pair == "_1_2"
    assert table.at(0.4) == "0.06 orbits"
    assert table.phase(0.35) % (2 * np.pi) == pytest.approx(0.35, abs=1e-6)
    assert table.column("star_1_mass")[0] == pytest.approx(1.2e33) and table.unit("star_1_mass") == "g"
    assert table.unit("star_2_mass") == "code units"
    star, when = table.disruption
    assert star == 2 and when == pytest.approx(0.72 / (2 * np.pi))
    assert "star 2 is disrupted" in orbit_picture(table).caption
    assert wave_picture(table).title == "Gravitational waves"


def test_the_report_shows_them(orbit):
    facts, pngs = Facts(Run(orbit)), {}
    assert "Gravitational waves" in Physics(facts, pngs).orbits()
    assert sorted(pngs) == ["orbits", "waves"]
    facts.close()


def test_a_run_without_mesh_files_is_refused(tmp_path, capsys):
    (tmp_path / "run.json").write_text('{"problem": "two_stars"}')
    assert main(["film", str(tmp_path)]) == 2
    assert "expected mesh files of plx-star" in capsys.readouterr().err
    assert main(["film", str(tmp_path), "--fps", "0"]) == 2


@pytest.mark.parametrize("width,length", [(1.0, 0.2), (8.0, 2.0), (3e-3, 5e-4), (21.0, 5.0)])
def test_scale_bars_have_round_lengths(width, length):
    assert nice_length(width) == pytest.approx(length)
