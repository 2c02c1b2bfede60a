"""The report of a whole run, and of runs with holes in them."""

import base64
import json
import re
import shutil

import h5py
import numpy as np
import pytest
import synthetic

from parallax.cli import main
from parallax.picture import render
from parallax.star import parts as part_module

pictures = [
    "parallax",
    "density",
    "cost",
    "level",
    "profile",
    "first_last",
    "filmstrip",
    "conserved",
    "throughput",
    "workers",
    "idle",
    "timeline",
    "concurrency",
    "scatter",
]


@pytest.fixture(scope="module")
def made(shared_run, tmp_path_factory):
    """The report of a complete run: (folder, page, terminal output)."""
    run = shutil.copytree(shared_run, tmp_path_factory.mktemp("made") / "run")
    import contextlib
    import io

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["report", str(run)])
    assert code == 0 and err.getvalue() == ""
    return run, (run / "report.html").read_text(), out.getvalue()


def test_page_holds_every_picture_twice_and_nothing_from_outside(made):
    run, page, _ = made
    for name in pictures:
        assert (run / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
    assert page.count("data:image/png;base64,") == 2 * len(pictures)
    assert page.count("prefers-color-scheme: dark") == len(pictures) + 1
    assert not re.search(r'(src|href)="(?!data:|#)', page) and "@import" not in page and "url(" not in page
    assert 'class="card note' not in page
    assert page.startswith("<!DOCTYPE html>") and page.rstrip().endswith("</html>")


def test_page_holds_flame_graphs(shared_run, tmp_path):
    run = shutil.copytree(shared_run, tmp_path / "run")
    svgs = {name: f'<svg xmlns="http://www.w3.org/2000/svg"><text>{name}</text></svg>\n'.encode() for name in ("flame.svg", "stacks.svg")}
    for contents in (svgs, {"flame.svg": svgs["flame.svg"][:20], "stacks.svg": b""}):
        for name, content in contents.items():
            (run / name).write_bytes(content)
        assert main(["report", str(run)]) == 0
        page = (run / "report.html").read_text()
        for name, svg in svgs.items():
            assert (f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}" in page) == (contents is svgs)
            assert (f"{name} is not a complete picture" in page) != (contents is svgs)


def test_page_holds_configuration_machine_and_tasks(made):
    _, page, _ = made
    for text in ("max_level = 2", "Imaginary CPU", "avx512", "stage", "80.0 %", "Sedov blast", "Nothing left through"):
        assert text in page


@pytest.mark.parametrize("summary, shown", [('{"energy_j":{"tasks":60.5,"no_task":12}}', True), ('{"energy_j":[1]}', False), (None, False)])
def test_page_holds_the_energy_of_task_types(own_run, quick, summary, shown):
    head, *rows = (own_run / "profile.csv").read_text().splitlines()
    (own_run / "profile.csv").write_text("\n".join([f"{head},energy_j", *(f"{row},{i + 0.25}" for i, row in enumerate(rows))]) + "\n")
    if summary is not None:
        (own_run / "measurement.json").write_text(summary)
    assert main(["report", str(own_run)]) == 0
    page = (own_run / "report.html").read_text()
    assert ">energy</th>" in page and ">0.250 J</td>" in page and ">4.25 J</td>" in page
    assert ("60.5 J while workers were in tasks, 12.0 J while they were not" in page) == shown


def test_page_holds_events_and_the_roofline(own_run, quick):
    head, *rows = (own_run / "profile.csv").read_text().splitlines()
    own = [f"{row},{1000 * i},2.5,1e9,5e8" for i, row in enumerate(rows)]
    (own_run / "profile.csv").write_text("\n".join([f"{head},perf:page-faults,perf:task-clock,flops,bytes", *own]) + "\n")
    limits = {"threads": 2, "vector_bits": 512, "flops_per_s": 1e11, "bytes_per_s": 2e10}
    events = {"page-faults": {"tasks": 10000, "no_task": 1234}, "task-clock": {"tasks": 12.5, "no_task": 0.5}}
    summary = {"limits": limits, "perf": {"counted": 0.75, "failed_reads": 0, "events": events}}
    (own_run / "measurement.json").write_text(json.dumps(summary))
    assert main(["report", str(own_run)]) == 0
    page = (own_run / "report.html").read_text()
    assert ">page-faults</th>" in page and ">3,000</td>" in page and ">2.50 s</td>" in page
    assert "Events, counted for 75.0 % of the time; outside of tasks: page-faults 1,234, task-clock 500 ms." in page
    assert (own_run / "roofline.png").exists() and "of the memory limit" in page


def test_page_holds_the_changed_options(made):
    cells = "".join(f"<td>{text}</td>" for text in ("mesh.max_level", "1", "2", "--set", "2026-01-01T00:00:00Z"))
    assert f"<tr>{cells}</tr>" in made[1]


def test_page_holds_the_ledger(made):
    _, page, _ = made
    row = "".join(f'<td class="num">{text}</td>' for text in ("+2.00e-14", "1", "+2.00e-14", "0", "0", "0", "0"))
    assert f"<td>mass</td>{row}<td>start</td>" in page
    names = ("remainder", "start", "change", "boundaries", "floors", "sources", "regrids")
    assert "<th>total</th>" + "".join(f'<th class="num">{name}</th>' for name in names) + "<th>relative to</th>" in page
    assert "<td>walls or inflow</td>" in page and "No floor was applied." in page


def test_ten_lines_on_the_terminal(made):
    run, _, out = made
    lines = out.splitlines()
    assert len(lines) == 10
    assert lines[0] == "Sedov blast · t = 0.10000 after 200 steps · finished"
    assert lines[1] == "  mesh          456 blocks of 8×8×8, 233,472 cells, levels 1 to 2"
    shock = re.fullmatch(r"  shock radius  (0\.4\d+), exact 0\.4200 \(([+-]\d\.\d\d) %\)", lines[2])
    assert shock and abs(float(shock.group(1)) - 0.42) < 0.01
    assert float(shock.group(2)) == pytest.approx(100 * (float(shock.group(1)) / 0.42 - 1), abs=0.02)
    assert re.fullmatch(r"  error         L1\(rho\) = \d\.\d{3}e-0[345] against the exact solution", lines[3])
    wiggle = np.cumsum(np.sin(np.arange(201) * 12.9898) > 0)[-1] * 2.0**-52
    assert f"relative drift of mass {wiggle:.1e}, energy {wiggle / 2:.1e}" in lines[4]
    assert lines[5] == "  throughput    2.33 million cell updates/s (1.17 million on each of 2 workers)"
    assert lines[6] == "  time          20.0 s in the simulation, 21.0 s in all, measurement cost 0.31 %"
    assert lines[7] == "  workers       tasks 92.0 %, overhead 2.00 %, background 1.00 %, idle 5.00 %"
    assert lines[8] == "  most time in  stage 80.0 %, gather 11.0 %, regrid 5.00 %, write 3.00 %"
    assert lines[9] == f"  report        {run / 'report.html'}"


def test_no_half_written_files(made):
    assert not list(made[0].glob("*.part")) and not list(made[0].glob(".*"))


def test_out_puts_the_pictures_beside_the_page(own_run, tmp_path, quick, capsys):
    (tmp_path / "there").mkdir()
    assert main(["report", str(own_run), "--out", str(tmp_path / "there" / "page.html")]) == 0
    assert (tmp_path / "there" / "page.html").exists() and (tmp_path / "there" / "density.png").exists()
    assert not (own_run / "report.html").exists()


@pytest.mark.parametrize(
    "name, note",
    [
        ("run.json", "the run has no run.json"),
        ("config.toml", "the run has no config.toml"),
        ("history.csv", "the run has no history.csv"),
        ("profile.csv", "the run has no profile.csv"),
        ("workers.csv", "the run has no workers.csv"),
        ("exact.csv", "No exact solution (exact.csv)"),
        ("mesh", "the run has no mesh files"),
    ],
)
def test_a_missing_file_is_a_note(own_run, quick, capsys, name, note):
    path = own_run / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert main(["report", str(own_run)]) == 0
    captured = capsys.readouterr()
    assert note in (own_run / "report.html").read_text()
    assert captured.err == "" and len(captured.out.splitlines()) == (9 if name == "exact.csv" else 10)


def test_nothing_but_a_configuration(tmp_path, quick, capsys):
    (tmp_path / "config.toml").write_text("[mesh]\nmax_level = 1\n")
    assert main(["report", str(tmp_path)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 8  # neither a shock nor an error without a problem
    assert "max_level = 1" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    "name, content",
    [
        ("run.json", b'{"problem": "se'),
        ("config.toml", b"[mesh\n"),
        ("history.csv", b"step,time\n1,2\n3\n4,5\n"),
        ("history.csv", b"step,time,mass\n0,0,one\n"),
        ("profile.csv", b"\x00\x01\x02"),
        ("workers.csv", b"worker\n1\n"),
        ("exact.csv", b"r,rho\n0,a\n"),
        ("mesh/sedov.00002.athdf", b"\x89HDF\r\n\x1a\n cut"),
        ("mesh/sedov.00000.athdf", b""),
    ],
)
def test_a_broken_file_is_named_and_the_rest_is_drawn(own_run, quick, capsys, name, content):
    (own_run / name).write_bytes(content)
    assert main(["report", str(own_run)]) == 2
    captured = capsys.readouterr()
    assert re.search(rf"^parallax: \S*{re.escape(name)}: ", captured.err, re.MULTILINE)
    assert all(line.startswith("parallax: ") for line in captured.err.splitlines())
    assert len(captured.out.splitlines()) == 10
    page = (own_run / "report.html").read_text()
    assert "note bad" in page and name in page and page.count("data:image/png") > 4


@pytest.mark.parametrize("planted", [{"kinds": True}, {"kinds": [3]}, {"span_s": None}, {"parallelism": []}])
def test_values_of_another_type_are_a_note(own_run, quick, capsys, planted):
    path = own_run / "critical_path.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **planted}))
    assert main(["report", str(own_run)]) == 2
    captured = capsys.readouterr()
    assert "Critical path cannot be drawn" in captured.err and len(captured.out.splitlines()) == 10


def test_truncated_last_mesh_leaves_the_one_before(own_run, quick, capsys):
    path = own_run / "mesh" / "sedov.00002.athdf"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert main(["report", str(own_run)]) == 2
    page = (own_run / "report.html").read_text()
    assert "truncated" in page and "Radial profile" in page


def test_history_cut_short_is_a_warning(own_run, quick, capsys):
    path = own_run / "history.csv"
    path.write_text(path.read_text()[:-20])
    assert main(["report", str(own_run)]) == 0
    assert "the last line was cut short" in capsys.readouterr().err


def test_final_file_without_costs_takes_those_of_the_file_before(own_run, quick, capsys):
    with h5py.File(own_run / "mesh" / "sedov.00002.athdf", "a") as f:
        f["Cost"][:] = 0
    assert main(["report", str(own_run)]) == 0
    assert "sedov.00001.athdf" in (own_run / "report.html").read_text()


def test_no_costs_at_all(own_run, quick, capsys):
    for path in (own_run / "mesh").glob("*.athdf"):
        with h5py.File(path, "a") as f:
            del f["Cost"]
    assert main(["report", str(own_run)]) == 0
    assert "the mesh files hold no cost per block" in (own_run / "report.html").read_text()


def test_not_a_number_in_the_mesh(own_run, quick, capsys, monkeypatch):
    """Drawn for real where the values decide the colours."""
    filled = part_module.render
    drawn = []

    def some(picture, paper):
        if picture.name != "density" or drawn:
            return filled(picture, paper)
        drawn.append(picture.name)
        return render(picture, paper)

    monkeypatch.setattr(part_module, "render", some)
    with h5py.File(own_run / "mesh" / "sedov.00002.athdf", "a") as f:
        f["prim"][:] = np.nan
    assert main(["report", str(own_run)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 10 and drawn


def test_interrupted_run_shows_its_state_and_message(own_run, quick, capsys):
    summary = json.loads((own_run / "run.json").read_text())
    summary.update(status="failed", message="block 7: density <0>")
    (own_run / "run.json").write_text(json.dumps(summary))
    assert main(["report", str(own_run)]) == 0
    page = (own_run / "report.html").read_text()
    assert 'class="state bad">failed' in page and "block 7: density &lt;0&gt;" in page


def test_species_are_shown_where_the_density_says_nothing(tmp_path, quick, capsys):
    (tmp_path / "mesh").mkdir()

    def fields(x, y, z):
        still = {"rho": 1 + 1e-3 * x + 0 * y * z, "vel1": 0 * x, "vel2": 0 * x, "vel3": 0 * x, "press": 1 + 0 * x}
        return {**still, "s0": 1.0 * (x > 0) + 0 * y * z}

    synthetic.write_mesh(tmp_path / "mesh" / "advection.00000.athdf", synthetic.octree(9.0, 0), fields, n=4)
    assert main(["report", str(tmp_path)]) == 0
    assert "<h3>Species 0</h3>" in (tmp_path / "report.html").read_text()


def test_summary_with_odd_values(own_run, quick, capsys):
    summary = json.loads((own_run / "run.json").read_text())
    odd = {"measurement_cost_percent": None, "wall_s": "long", "workers": None, "time": None, "machine": "mine"}
    summary.update(odd, references={"shock_radius": 0.42})
    (own_run / "run.json").write_text(json.dumps(summary))
    assert main(["report", str(own_run)]) == 0
    assert "Exact values of this problem" in (own_run / "report.html").read_text()
    assert main(["compare", str(own_run), str(own_run)]) == 0


def test_tube_along_x(tmp_path, quick, capsys):
    """A flat, wide mesh; profile along x; one mesh file."""
    (tmp_path / "mesh").mkdir()
    leaves = [(0, (i, 0, 0)) for i in range(16)]
    synthetic.write_mesh(
        tmp_path / "mesh" / "sod.00000.athdf",
        leaves,
        lambda x, y, z: {"rho": 1 + x + 0 * y * z, "vel1": x, "vel2": 0 * x, "vel3": 0 * x, "press": x},
        n=4,
        root=(16, 1, 1),
        lower=(0, 0, 0),
        upper=(1, 1 / 16, 1 / 16),
        per_block={"Cost": np.ones(16)},
    )
    synthetic.write_csv(tmp_path / "exact.csv", {"x": [-0.5, 0.5], "rho": [1, 2], "vel": [0, 1], "press": [0, 1]})
    assert main(["report", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "Sod shock tube" in out and "shock radius" not in out
    page = (tmp_path / "report.html").read_text()
    assert "Profile along x" in page and "needs at least 2 mesh files, this run has 1" in page


@pytest.mark.parametrize(
    "arguments, what",
    [
        (["report", "{tmp}/none"], "no such folder"),
        (["report", "{tmp}"], "expected a run of plx-star, plx-dca or plx-parquet, found "),
        (
            ["report", "{run}", "--out", "{tmp}/none/report.html"],
            "no such folder, expected one to write report.html into",
        ),
        (["report", "{run}", "--out", "{tmp}"], "is a folder, expected the name of a file"),
    ],
)
def test_wrong_input_is_one_line_and_code_2(shared_run, tmp_path, capsys, arguments, what):
    given = [a.format(tmp=tmp_path, run=shared_run) for a in arguments]
    assert main(given) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and len(captured.err.splitlines()) == 1 and what in captured.err
    assert list(tmp_path.iterdir()) == []


def test_single_tasks_are_drawn_where_steps_were_traced(own_run, quick, capsys):
    assert main(["report", str(own_run)]) == 0
    page = (own_run / "report.html").read_text()
    for title in ("Diagnosis", "Idle rate", "Timeline", "Concurrency", "Critical path", "Length of tasks", "Waits"):
        assert f"<h3>{title}</h3>" in page, title
    assert "-40.0 %" in page  # what if: 0.6 s instead of 1 s
    assert "2 without a name" in page and "0x77" in page and "cells" in page


def test_each_idle_rate_says_what_it_is_of(made):
    """They differ: of the workers in the whole run, of the samples, of the interval between two mesh files."""
    _, page, _ = made
    assert "of the whole run; idle 5.00 %" in page and "Each worker of this process, over the whole run." in page
    assert "Shares of the whole run: of the time of all its workers together." in page
    assert re.search(r"idle \d+\.\d % from the first sample, at 0 s, to the last, at 19\.0 s\. The diagnosis has", page)


def test_a_broken_table_of_tasks_is_a_note(own_run, quick, capsys):
    (own_run / "timeline.csv").write_text("worker,name\n1,2,3\n4,5\n")
    assert main(["report", str(own_run)]) == 2
    assert "timeline.csv: line 2" in (own_run / "report.html").read_text()


def test_the_processes_of_a_job_are_shown(own_run, quick, capsys):
    def of_job(i, missing=""):
        row = {"locality": i, "missing": missing}
        if missing:
            return row
        times = {key: 1.0 + i for key in ("exec_s", "idle_s", "overhead_s", "background_s", "wait_s")}
        counts = dict.fromkeys(("parcels", "messages", "bytes"), 1234)
        both = {f"{key}_{way}": value for key, value in counts.items() for way in ("sent", "received")}
        return row | {"host": f"node{i}", "workers": 2, "tasks": 9, "idle_rate": 0.25, "network_overhead": 0.02} | times | both

    kind = {"name": "update", "calls": 7, "total_s": 3, "min_s": 0, "max_s": 1, "least_locality_s": 1,
            "most_locality_s": 2, "most_at": 1, "imbalance": 1.3333}  # fmt: skip
    job = {"localities": [of_job(0), of_job(1), of_job(2, "it is lost: gone")], "tasks": [kind]}
    (own_run / "job.json").write_text(json.dumps(job))
    lines = ["locality,worker,name,key,begin_s,end_s"]
    lines += [f"{i % 2},{i // 2 % 2},update,,{1 + i * 1e-3},{1 + i * 1e-3 + 5e-4}" for i in range(40)]
    (own_run / "job_timeline.csv").write_text("\n".join(lines) + "\n")
    (own_run / "job_parcels.csv").write_text(
        "from,to,name,bytes,sent_s,received_s\n0,1,f,40,1.001,1.002\n1,0,f,40,1.003,1.0031\n1,0,f,40,9,9.1\n"
    )
    assert main(["report", str(own_run)]) == 0
    page = (own_run / "report.html").read_text()
    assert "node1" in page and "it is lost: gone" in page and "1.33" in page
    assert "of the whole run, locality 0 alone; idle" in page and "all workers of that process, in the whole run." in page
    assert "Timeline of the job" in page and "2 parcels were sent between them, each drawn as an arrow" in page
