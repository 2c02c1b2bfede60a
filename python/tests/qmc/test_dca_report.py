"""The report of a run of plx-dca, from files as the program writes them."""

from __future__ import annotations

import json
import math
import re

import pytest
from parallax.cli import main
from parallax.hubbard.momenta import different_momenta, momentum_text
from parallax.hubbard.page import summary_lines
from parallax.hubbard.zone import with_error
from parallax.qmc.report import DcaFacts, Physics
from parallax.qmc.run import DcaRun

CONFIG = '[model]\nu = 6.0\ndensity = 0.95\n[cluster]\nname = "2x2"\n[solver]\nmeasurements = 100\n'
MOMENTA = [(0, 0), (math.pi, 0), (0, math.pi), (math.pi, math.pi)]


def csv(path, header, rows):
    path.write_text("\n".join([header, *(",".join(f"{cell:.10g}" if cell != "" else "" for cell in row) for row in rows)]) + "\n")


def with_errors(names):
    return ",".join(f"{name},{name}_error" for name in names)


@pytest.fixture
def folder(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.toml").write_text(CONFIG)
    (run / "result.json").write_text('{"t_c": {"value": 0.0765, "error": 0.0012}, "complete": true}\n')
    half = math.pi / 2
    cluster = {
        "vectors": [[2, 0], [0, 2]], "sites": [[0, 0], [1, 0], [0, 1], [1, 1]], "momenta": MOMENTA,
        "patch": [[-half, -half], [half, -half], [half, half], [-half, half]],
    }
    (run / "cluster.json").write_text(json.dumps(cluster))
    names = ["density", "double_occupancy", "sign"]
    csv(
        run / "iterations.csv", f"t,iteration,mu,{with_errors(names)},order,autocorrelation_time,change,seconds,acceptance,drift",
        [[t, i, -1, 0.95, 0.01, 0.07, 0.001, 0.9, 0.01, 100, 1.2, 0.1, 2, 0.45, 2e-12] for t in (0.1, 0.07) for i in range(2)],
    )
    names = ["density", "double_occupancy", "energy", "sign", "lambda_d", "lambda_leading"]
    more = ["kinetic", "potential", "double_occupancy_local", "pairs_s", "pairs_extended_s", "pairs_d"]
    csv(
        run / "temperatures.csv", f"t,mu,{with_errors(names)},d_wave_overlap,{with_errors(more)}",
        [[t, -1, *[0.95, 0.01] * 4, d, 0.02, 1.5, 0.1, 1, *[0.3, 0.01] * 6] for t, d in ((0.1, 0.8), (0.07, 1.05))],
    )
    csv(
        run / "green.csv", f"t,kx,ky,w,{with_errors(['g_re', 'g_im', 'self_energy_re', 'self_energy_im'])}",
        [
            [t, *k, (2 * n + 1) * math.pi * t, 0.1 * math.cos(k[0]) + 0.1 * math.cos(k[1]), 0.01, -0.3, 0.01, 0, 0.1, -1.25 + n, 0.1]
            for t in (0.1, 0.07) for k in MOMENTA for n in range(4)
        ],
    )
    names = ["occupation", "spin", "charge", "spin_susceptibility", "charge_susceptibility"]
    csv(
        run / "momenta.csv", f"t,kx,ky,{with_errors(names)}",
        [[t, *k, 1 + 0.3 * math.cos(k[0]), 0.01, *[0.2, 0.01] * 4] for t in (0.1, 0.07) for k in MOMENTA],
    )
    return run


def test_the_page_has_the_pictures_and_the_numbers(folder, capsys):
    assert main(["report", str(folder)]) == 0
    page = (folder / "report.html").read_text()
    for name in ("zone", "pairing", "green", "observables", "chains"):
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert page.count("<figure") == 5 and "not shown" not in page.split('id="performance"')[0]
    assert "Hubbard model, 2x2 cluster: U = 6 t, n = 0.95" in page and "0.0765" in page and "1.050(20)" in page
    assert re.search(r"<th[^>]*>λ_d</th>", page) and "0.800(20)" in page
    out = capsys.readouterr()
    assert "T_c" in out.out and "finished" in out.out and not out.err


def test_functions_of_two_particles_are_drawn_if_they_were_measured(folder):
    rows = [
        f"{t},{name},{qx},{qy},{m},{1 / t},0.1,{0.5 / t},0.05,0.3,0"
        for t in (0.1, 0.07) for name in ("magnetic", "charge") for qx, qy, m in ((0, 0, 0), (math.pi, math.pi, 0), (0, 0, 1))
    ]
    header = f"t,channel,qx,qy,frequency,{with_errors(['lattice', 'cluster', 'bubble'])}"
    (folder / "four_points.csv").write_text("\n".join([header, *rows]) + "\n")
    assert main(["report", str(folder)]) == 0
    page = (folder / "report.html").read_text()
    assert page.count("<figure") == 6 and "Susceptibilities of the lattice" in page
    assert (folder / "transfers.png").read_bytes().startswith(b"\x89PNG")
    (folder / "four_points.csv").write_text(header + "\n")
    facts = DcaFacts(DcaRun(folder))
    assert "no rows" in Physics(facts, {}).html()


def test_a_young_run_gets_notes(folder):
    for name in ("temperatures.csv", "green.csv", "momenta.csv", "result.json", "iterations.csv"):
        (folder / name).unlink()
    assert main(["report", str(folder)]) == 0
    page = (folder / "report.html").read_text()
    assert page.count("no temperature is complete") >= 4 and "not complete" in page and page.count("<figure") == 0


def test_runs_without_pairs_and_correlations(folder):
    path = folder / "temperatures.csv"
    header, *rows = path.read_text().splitlines()
    names = header.split(",")
    empty = [i for i, name in enumerate(names) if name.startswith(("lambda", "pairs", "double_occupancy_local"))]
    cut = [",".join("" if i in empty else cell for i, cell in enumerate(row.split(","))) for row in rows]
    path.write_text("\n".join([header, *cut]) + "\n")
    (folder / "result.json").write_text('{"t_c": null, "complete": true}\n')
    facts = DcaFacts(DcaRun(folder))
    physics = Physics(facts, {})
    assert "was not measured" in physics.part("Towards superconductivity", physics.pairing)
    assert "<figure" in physics.part("While it cools", physics.observables) and not facts.problems
    assert "d-wave" not in "".join(summary_lines(facts, "page"))


def test_the_columns_of_the_summary_are_apart(folder):
    facts = DcaFacts(DcaRun(folder))
    lines = summary_lines(facts, "page")[1:-1]
    assert lines and len({line.index(value) for line, (_, value, _) in zip(lines[-len(facts.tiles) :], facts.tiles)}) == 1
    starts = {line.rindex(under) for line, (_, _, under) in zip(lines[-len(facts.tiles) :], facts.tiles)}
    assert len(starts) == 1, lines
    assert all(f"{value}  " in line for line, (_, value, _) in zip(lines[-len(facts.tiles) :], facts.tiles))


def test_broken_files_are_named(folder):
    (folder / "green.csv").write_text("t,kx\n1,2,3\n0,0\n")
    facts = DcaFacts(DcaRun(folder))
    physics = Physics(facts, {})
    assert "green.csv" in physics.part("Green's function", physics.green)
    assert "green.csv" in facts.problems[0]


def test_momenta_that_symmetries_relate_are_drawn_once(folder):
    run = DcaRun(folder)
    assert [(round(x, 3), round(y, 3)) for x, y, _ in different_momenta(run.of_last_temperature(run.green))] == [
        (0, 0), (0, 3.142), (3.142, 3.142),
    ]


@pytest.mark.parametrize("k, text", [((0, math.pi), "(0, π)"), ((1.5 * math.pi, math.pi / 4), "(-π/2, π/4)")])
def test_momenta_have_names(k, text):
    assert momentum_text(*k) == text


@pytest.mark.parametrize(
    "value, error, text",
    [(0.95123, 0.0013, "0.9512(13)"), (1.0318, 0.0251, "1.032(25)"), (120, 35, "120(35)"), (0.5, 0, "0.5"), (math.nan, 1, "-")],
)
def test_errors_are_in_units_of_the_last_digits(value, error, text):
    assert with_error(value, error) == text
