"""The report of a run of plx-parquet, from files as the program writes them."""

from __future__ import annotations

import json
import math
import os

import numpy as np
import pytest
from parallax import ReadError
from parallax.cli import main
from parallax.hubbard.page import summary_lines
from parallax.hubbard.zone import patch_of
from parallax.parquet.report import Loop, ParquetFacts, Physics, Speed, shown
from parallax.parquet.run import ParquetRun, groups, is_parquet_run, last_of
from parallax.parquet.vertex import VertexFile

CONFIG = (
    '[model]\nu = 2.0\ntemperature = 0.5\n[cluster]\nname = "2x2"\n[grid]\nfrequencies = [2, 3]\nsigma_frequencies = 128\n'
    "[loop]\ntolerance = 1e-6\n"
)
MOMENTA = [(0, 0), (math.pi, 0), (0, math.pi), (math.pi, math.pi)]
CHANNELS = ("density", "magnetic", "singlet", "triplet")
RUN = {"program": "plx-parquet", "version": "0.1.0", "status": "finished", "message": "", "machine": {"host": "elsewhere"}}


def csv(path, header, rows):
    text = (",".join(cell if isinstance(cell, str) else f"{cell:.10g}" for cell in row) for row in rows)
    path.write_text("\n".join([header, *text]) + "\n")


def vertex_value(c, q, k, n, k2, n2):
    return c + 10 * q + 100 * k + 1000 * k2 + 0.1 * n + 0.01 * n2


@pytest.fixture
def folder(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.toml").write_text(CONFIG)
    (run / "run.json").write_text(json.dumps(RUN))
    runs = [{"frequencies": n, "converged": True, "iterations": 3, "residual": 1e-7, "density": 1} for n in (2, 3)]
    (run / "result.json").write_text(json.dumps({"complete": True, "runs": runs}))
    csv(
        run / "iterations.csv",
        "frequencies,iteration,residual,asymmetry,density,eigenvalue_density,eigenvalue_magnetic,eigenvalue_singlet,"
        "eigenvalue_triplet,seconds,rotation_seconds,sent_mb,parcels,messages,network_overhead,coalesce_parcels,"
        "coalesce_interval_us,coalesce_bytes",
        [[n, i, 10.0**-i, 1e-12, 1, 0.1, 0.5, 0.02, 0.08, 0.25, 0.05, 1.5, 96, 12, 0.07, 16, 500, 0] for n in (2, 3) for i in range(3)],
    )
    csv(
        run / "self_energy.csv", "frequencies,kx,ky,w,g_re,g_im,self_energy_re,self_energy_im,exact_re,exact_im",
        [
            [n, *k, (2 * i + 1) * math.pi / 2, 0.1, -0.3, 0.01 * math.cos(k[0]), -0.1 / n**2 - 0.1 * abs(math.sin(k[0] / 2)), 0, -0.17]
            for n in (2, 3) for k in MOMENTA for i in range(5)
        ],
    )
    csv(
        run / "susceptibility.csv", "frequencies,qx,qy,w,charge,spin,pair_re,pair_im",
        [[n, *q, math.pi * m, 0.13, 0.3 - 0.1 * math.cos(q[0]), 0.16, 0] for n in (2, 3) for q in MOMENTA for m in range(2)],
    )
    csv(
        run / "eigenvalues.csv", "frequencies,channel,qx,qy,eigenvalue",
        [[n, c, *q, 0.49 if c == "magnetic" and sum(q) > 4 else 0.1] for n in (2, 3) for c in CHANNELS for q in MOMENTA],
    )
    values = {
        "self_energy_re": (0.0, 0.0), "self_energy_im": (-0.16839, -0.18149), "charge_susceptibility": (0.1349, 0.1314),
        "spin_susceptibility": (0.53473, 0.54415), "pair_susceptibility": (0.1607, 0.1577),
    }
    csv(
        run / "extrapolated.csv", "quantity,kx,ky,value,error,exact",
        [[name, *k, value, 3.1e-5, exact] for name, (value, exact) in values.items() for k in MOMENTA],
    )
    return run


def write_vertex(run):
    """Two numbers of frequencies; values that name their place."""
    keys = "frequencies,qx,qy,kx,ky,n,kx2,ky2,n2"
    rows = [
        [f, *MOMENTA[q], *MOMENTA[k], n, *MOMENTA[k2], n2, *(x for c in range(4) for x in (vertex_value(c, q, k, n, k2, n2), f))]
        for f in (1, 2) for q in (0, 3) for n in range(-f, f) for k in range(4) for n2 in range(-f, f) for k2 in range(4)
    ]
    csv(run / "vertex.csv", f"{keys},{','.join(f'{c}_re,{c}_im' for c in CHANNELS)}", rows)


def test_the_page_has_the_pictures_and_the_numbers(folder, quick, capsys):
    write_vertex(folder)
    assert main(["report", str(folder)]) == 0
    page = (folder / "report.html").read_text()
    for name in (
        "zone", "self_energy", "vertex", "vertex_momenta", "susceptibilities", "eigenvalues", "convergence", "extrapolation", "time",
    ):
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert page.count("<figure") == 9 and page.count("not shown") == 1 and "--plx:profile=csv" in page
    assert "Hubbard 2x2 cluster, parquet: U = 2 t, T = 0.5 t" in page
    assert "-0.168390(31)" in page and "-0.18149" in page and "-7.22 %" in page
    assert "4.5 MB" in page and "20.0 %" in page  # of three iterations
    for cell in ("36", "8", "125 kB", "7.00 %"):  # messages, parcels in each, their size, the share of the time
        assert f">{cell}</td>" in page, cell
    out = capsys.readouterr()
    assert "finished" in out.out and "magnetic at (π, π)" in out.out and not out.err


def test_a_picture_is_drawn_on_both_papers(folder):
    facts = ParquetFacts(ParquetRun(folder))
    pngs = {}
    assert Physics(facts, pngs).part("", Physics(facts, pngs).eigenvalues).count("base64") == 2 and "eigenvalues" in pngs


def test_a_young_run_gets_notes(folder, quick):
    for path in folder.glob("*"):
        if path.name not in ("config.toml", "run.json"):
            path.unlink()
    (folder / "run.json").write_text(json.dumps({**RUN, "status": "running"}))
    assert main(["report", str(folder)]) == 0
    page = (folder / "report.html").read_text()
    assert page.count("no number of frequencies is complete") >= 5 and page.count("<figure") == 0 and ">running<" in page


def test_a_run_that_diverged_shows_its_message_and_residuals(folder, quick, capsys):
    for name in ("self_energy.csv", "susceptibility.csv", "eigenvalues.csv", "extrapolated.csv"):
        (folder / name).unlink()
    (folder / "result.json").write_text('{"complete": false, "runs": []}')
    (folder / "run.json").write_text(json.dumps({**RUN, "status": "failed", "message": "the iteration diverges: <3 U>"}))
    assert main(["report", str(folder)]) == 0
    page = (folder / "report.html").read_text()
    assert 'state bad">failed' in page and "&lt;3 U&gt;" in page.split("<nav>")[0] and page.count("<figure") == 2
    assert "the iteration diverges" in capsys.readouterr().out


def test_a_killed_run_is_not_called_running(folder):
    boot = open("/proc/sys/kernel/random/boot_id").read().strip()
    killed = {
        **RUN, "status": "running", "machine": {"host": os.uname().nodename},
        "process": {"pid": 1, "started_ticks": -1, "boot": boot, "numbers": os.readlink("/proc/self/ns/pid")},
    }
    (folder / "run.json").write_text(json.dumps(killed))
    facts = ParquetFacts(ParquetRun(folder))
    assert facts.state == "was interrupted"
    lines = "".join(summary_lines(facts, "page"))
    assert "without writing a result" in lines and "--resume" not in lines


def test_a_truncated_line_is_omitted(folder):
    with (folder / "iterations.csv").open("a") as file:
        file.write("3,3,1e-")
    facts = ParquetFacts(ParquetRun(folder))
    assert len(facts.run.iterations) == 6 and "cut short" in facts.warnings[0] and not facts.problems


def test_runs_that_did_not_converge_are_named(folder):
    runs = [{"frequencies": n, "converged": n == 2, "iterations": 3, "residual": 1, "density": 1} for n in (2, 3)]
    (folder / "result.json").write_text(json.dumps({"complete": False, "runs": runs}))
    facts = ParquetFacts(ParquetRun(folder))
    assert "did not converge with 3 frequencies" in facts.warnings[0]
    speed = Speed(facts, {})
    assert "<td>no</td>" in speed.part("", speed.messages)


def test_results_without_exact_values_and_of_one_number_of_frequencies(folder, quick):
    csv(folder / "extrapolated.csv", "quantity,kx,ky,value,error", [["self_energy_im", *k, -0.1, math.inf] for k in MOMENTA])
    rows = (folder / "self_energy.csv").read_text().splitlines()
    kept = [",".join(row.split(",")[:8]) for row in rows if not row.startswith("3,")]
    (folder / "self_energy.csv").write_text("\n".join(kept) + "\n")
    facts = ParquetFacts(ParquetRun(folder))
    physics, loop = Physics(facts, {}), Loop(facts, {})
    assert "exact" not in physics.part("", physics.results) and "×2" in physics.part("", physics.results)
    assert "not extrapolated" in physics.part("", physics.results) and "extrapolated" not in str(facts.tiles)
    assert "<figure" in physics.part("", physics.self_energy) and "needs two" in loop.part("", loop.extrapolation)
    assert not facts.problems


def test_broken_files_are_named(folder):
    (folder / "eigenvalues.csv").write_text("frequencies,channel\n1,2,3\n0,0\n")
    (folder / "vertex.csv").write_text("frequencies,qx\n1,2\n")
    facts = ParquetFacts(ParquetRun(folder))
    physics = Physics(facts, {})
    assert "eigenvalues.csv" in physics.part("", physics.eigenvalues) and "eigenvalues.csv" in facts.problems[0]
    assert "no column 'kx'" in physics.part("", lambda: physics.vertex()) or "eigenvalues.csv" in facts.problems[0]
    with pytest.raises(ReadError, match="vertex.csv: no column 'qy'"):
        VertexFile(folder / "vertex.csv")


def test_the_vertex_is_that_of_the_last_frequencies_at_its_place(folder):
    write_vertex(folder)
    with (folder / "vertex.csv").open("a") as file:
        file.write("2,3.14")  # the program was stopped here
    file = VertexFile(folder / "vertex.csv")
    assert file.frequencies == 2 and len(file.slabs) == 2
    slab = file.slab((math.pi, math.pi))
    assert slab.transfer == pytest.approx((math.pi, math.pi)) and list(slab.n) == [-2, -1, 0, 1]
    at = slab.momenta.index((0, pytest.approx(math.pi)))
    assert slab.values["singlet"][at, 3, 0, 1] == pytest.approx(vertex_value(2, 3, 2, 1, 0, -1) + 2j)
    assert not np.any(np.isnan(slab.values["triplet"]))


def test_programs_are_distinguished(folder, tmp_path):
    assert is_parquet_run(folder) and not is_parquet_run(tmp_path)
    (folder / "run.json").write_text('{"program": "plx-dca"}')
    assert not is_parquet_run(folder)
    (folder / "run.json").write_text("{")
    assert is_parquet_run(folder)


def test_momenta_with_different_values_are_not_joined(folder):
    _, rows = last_of(ParquetRun(folder).self_energy)
    assert [len(group.points) for group in groups(rows, "kx", "ky", ("self_energy_im",))] == [1, 1, 1, 1]
    assert [len(group.points) for group in groups(rows, "kx", "ky", ("exact_im",))] == [1, 2, 1]


@pytest.mark.parametrize("points", [[(0, 0)], [(0, 0), (math.pi, 0)], MOMENTA, [(0, 0), (math.pi, math.pi)]])
def test_patches_tile_the_zone(points):
    x, y = patch_of(points).T
    area = 0.5 * abs(float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)))
    assert area == pytest.approx(4 * math.pi**2 / len(points))


@pytest.mark.parametrize("value, error, text", [(-0.16839, 3.1e-5, "-0.168390(31)"), (1e-15, 2e-15, "0"), (0.5, math.inf, "0.5")])
def test_zeros_and_rounding_are_not_shown_as_errors(value, error, text):
    assert shown(value, error) == text
