"""plx-parquet from the outside: a short run and its files, invalid input, too little memory, the options on the page."""

from __future__ import annotations

import json
import os
import resource
import signal
import time
from pathlib import Path

import pytest
from children import end_of, small_pipes, wait_for
from built import ROOT
from programs import Program, rows

PARQUET = Program("plx-parquet")
run, start, pytestmark = PARQUET.run, PARQUET.start, PARQUET.needed

INPUT = """
[model]
u = 1
mu = 0.3
temperature = 1
[cluster]
name = "dimer"
[grid]
frequencies = [2, 3, 4]
sigma_frequencies = 32
[output]
vertex = true
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in.toml").write_text(INPUT)
    return tmp_path


def test_a_run_writes_its_tables_and_its_config_repeats_it(folder):
    done = run(folder, "in.toml", "--out", "one", "--threads", "1")
    assert done.returncode == 0, done.stderr
    assert "GB of memory" in done.stderr and "eigenvalue" in done.stderr and done.stdout.count("iterations, residual ") == 3
    assert done.stdout.endswith("finished: one/ (plot it with ./plx report one)\n"), done.stdout
    assert done.stdout.count("extrapolated ") == 5 and ", exact " in done.stdout
    result = json.loads((folder / "one/result.json").read_text())
    assert result["complete"] and [r["frequencies"] for r in result["runs"]] == [2, 3, 4]
    assert len(rows(folder / "one/iterations.csv")) == sum(r["iterations"] for r in result["runs"])
    assert len(rows(folder / "one/self_energy.csv")) == 3 * 2 * 32
    assert len(rows(folder / "one/susceptibility.csv")) == 2 * (2 + 3 + 4)
    assert len(rows(folder / "one/eigenvalues.csv")) == 3 * 4 * 2
    vertex = rows(folder / "one/vertex.csv")
    assert len(vertex) == 2 * (8**2 + 12**2 + 16**2)
    assert all(float(row["density_re"]) != 0 for row in vertex)
    for row in rows(folder / "one/extrapolated.csv"):  # beside exact diagonalization
        assert abs(float(row["value"]) - float(row["exact"])) < 2e-4, row
        assert 0 < float(row["error"]) < 1e-3, row
    again = run(folder, "one/config.toml", "--out", "two", "--threads", "3", "--quiet")
    assert again.returncode == 0 and not again.stderr
    for name in ("self_energy.csv", "vertex.csv", "extrapolated.csv"):
        assert (folder / "two" / name).read_text() == (folder / "one" / name).read_text()
    assert run(folder, "in.toml", "--out", "one").returncode == 2


def test_free_electrons_are_exact(folder):
    done = run(folder, "in.toml", "--out", "free", "--set", "model.u=0")
    assert done.returncode == 0 and "nan" not in done.stdout + done.stderr, done.stderr
    for row in rows(folder / "free/extrapolated.csv"):
        assert abs(float(row["value"]) - float(row["exact"])) < 1e-7, row
    assert all(float(row["eigenvalue_magnetic"]) == 0 for row in rows(folder / "free/iterations.csv"))


def names(path):
    return sorted(entry.name for entry in path.iterdir())


def test_parts_of_other_runs_are_removed(folder):
    vertices = folder / "one/vertices"
    vertices.mkdir(parents=True)
    for name in ("F2-2.h5", "F2-10.h5", "F2-7.txt", "F22-0.h5"):
        (vertices / name).write_text("")
    assert run(folder, "in.toml", "--out", "one", "--quiet").returncode == 0
    assert names(vertices) == ["F2-7.txt", "F2.h5", "F22-0.h5", "F3.h5", "F4.h5"]


def test_vertices_are_in_hdf5(folder):
    h5py, np = pytest.importorskip("h5py"), pytest.importorskip("numpy")
    assert run(folder, "in.toml", "--out", "one", "--quiet").returncode == 0
    assert names(folder / "one/vertices") == ["F2.h5", "F3.h5", "F4.h5"]
    with h5py.File(folder / "one/vertices/F4.h5") as file:
        assert file.attrs["Program"] == b"plx-parquet" and file.attrs["U"] == 1 and file.attrs["Frequencies"] == 4
        channels, momenta, first = [c.decode() for c in file.attrs["Channels"]], file["Momenta"][:], file.attrs["FirstParticleHole"][0]
        f, phi, sigma = (file[name][:].view(complex)[..., 0] for name in ("F_w0", "Phi_w0", "Sigma"))
        assert f.shape == phi.shape == (2, 4, 17, 17) and file["F_w1"].shape == (2, 4, 15, 15, 2)
        assert np.abs(f - phi)[:, 3, -1, :].max() == 0  # Gamma of the triplet is zero outside, as the bare vertex is
    at = {tuple(np.round(k, 6)): i for i, k in enumerate(momenta)}
    row_of = lambda k, n: (int(n) - first) * 2 + k  # noqa: E731
    for row in rows(folder / "one/vertex.csv"):
        if row["frequencies"] == "4":
            q, k, k2 = (at[tuple(round(float(row[x]), 6) for x in names)] for names in (("qx", "qy"), ("kx", "ky"), ("kx2", "ky2")))
            for i, c in enumerate(channels):
                found = f[q, i, row_of(k2, row["n2"]), row_of(k, row["n"])]
                assert abs(found - complex(float(row[f"{c}_re"]), float(row[f"{c}_im"]))) < 1e-9, (row, c)
    table = [row for row in rows(folder / "one/self_energy.csv") if row["frequencies"] == "4"]
    expected = np.array([complex(float(row["self_energy_re"]), float(row["self_energy_im"])) for row in table])
    assert np.abs(sigma.ravel() - expected).max() < 1e-9
    assert run(folder, "in.toml", "--out", "two", "--quiet", "--set", "output.hdf5=false").returncode == 0
    assert not (folder / "two/vertices").exists()


def test_the_size_of_the_vertices_is_known_before_a_run(folder):
    size = ["--set", "grid.frequencies=[4, 8]", "--set", "output.vertex=false"]
    done = run(folder, "in.toml", "--out", "one", *size)
    line = next(line for line in done.stderr.splitlines() if "GB of memory" in line)
    expected = float(line.split(", and ")[1].removesuffix(" GB on the disk for vertices (output.hdf5)"))
    found = 1e-9 * sum(path.stat().st_size for path in (folder / "one/vertices").iterdir())
    assert done.returncode == 0 and expected < found < 1.1 * expected, (line, found)
    assert line in run(folder, "in.toml", *size, "--validate").stdout
    assert "disk" not in run(folder, "in.toml", *size, "--set", "output.hdf5=false", "--validate").stdout


def test_comparisons_are_printed_as_a_table(folder):
    done = run(folder, "--compare-references", "fast", "--threads", "2")
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert lines[0].split()[:3] == ["model", "reference", "quantity"] and lines[-1].endswith("differences, 0 missed")
    assert {"atom,", "dimer,", "2x2,"} == {line.split()[0] for line in lines[1:-1]}
    assert len(lines) > 25 and "MISSED" not in done.stdout and not list(folder.glob("run-parquet"))


def test_a_device_gives_the_files_of_the_workers(folder):
    one = run(folder, "in.toml", "--out", "cpu", "--quiet")
    two = run(folder, "in.toml", "--out", "device", "--quiet", "--set", "run.device=emulated")
    assert one.returncode == two.returncode == 0, two.stderr
    for name in ("self_energy.csv", "vertex.csv", "extrapolated.csv", "eigenvalues.csv", "result.json"):
        assert (folder / "device" / name).read_text() == (folder / "cpu" / name).read_text(), name


def test_a_missing_device_is_refused_with_one_line(folder):
    done = run(folder, "in.toml", "--out", "out", "--set", "run.device=cuda", env=os.environ | {"CUDA_VISIBLE_DEVICES": ""})
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith('plx-parquet: run.device = "cuda": ')
    assert done.stderr.endswith('; run.device = "cpu" needs none\n')
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], "expected an input file"),
        (["nowhere.toml"], "nowhere.toml"),
        (["in.toml", "--set", "model.uu=3"], "model.u"),
        (["in.toml", "--set", "model.temperature=0"], "model.temperature"),
        (["in.toml", "--set", "run.device=gpu"], "run.device"),
        (["in.toml", "--compare-references"], "--compare-references: expected no input"),
        (["--compare-references", "fast", "--resume", "run"], "--compare-references: expected no input"),
        (["in.toml", "--set", "model.temperature=1e300"], "in [0.0001, 10000]"),
        (["in.toml", "--set", "model.u=1e300"], "in [0, 1000]"),
        (["in.toml", "--set", "model.u=1e-200"], "model.u: expected 0 or at least 1e-6"),
        (["in.toml", "--set", "model.t_prime=1e300"], "in [-1000, 1000]"),
        (["in.toml", "--set", "cluster.name=trimer"], "atom, dimer, WIDTHxHEIGHT"),
        (["in.toml", "--set", "cluster.vectors=[1, 2, 2]"], "found 3"),
        (["in.toml", "--set", "grid.frequencies=[4, 2]"], "ascending"),
        (["in.toml", "--set", "grid.bosons=5"], "at most 4"),
        (["in.toml", "--set", "grid.frequencies=[16]"], "at least 48"),
        (["in.toml", "--set", "memory.limit_gb=1e-6"], "GB (memory.limit_gb)"),
        (["in.toml", "--set", "cluster.name=16x16", "--validate"], "available now"),
        (["in.toml", "--nonsense"], "--nonsense"),
        (["in.toml", "--out=", "--print-config"], "--out=: expected a value"),
        (["in.toml", "--out", "in.toml"], "expected a folder"),
    ],
)
def test_wrong_input_gets_one_line(folder, arguments, words):
    done = run(folder, *arguments)
    assert done.returncode == 2
    assert words in done.stderr and done.stderr.count("\n") == 1 and not done.stdout


def test_runs_that_fail_say_so(folder):
    few = run(folder, "in.toml", "--set", "loop.iterations=3", "--out", "few", "--quiet")
    assert few.returncode == 1 and "not converged after 3 iterations" in few.stderr and few.stderr.count("\n") == 1
    assert not json.loads((folder / "few/result.json").read_text())["complete"]
    strong = ["--set", "model.u=12", "--set", "model.mu=0", "--set", "model.temperature=0.2", "--set", "loop.damping=1"]
    wild = run(folder, "in.toml", *strong, "--set", "loop.history=0", "--out", "wild", "--quiet")
    assert wild.returncode == 1 and "diverges" in wild.stderr and wild.stderr.count("\n") == 1
    assert not json.loads((folder / "wild/result.json").read_text())["complete"]
    record = json.loads((folder / "wild/run.json").read_text())
    assert record["program"] == "plx-parquet" and record["status"] == "failed" and "diverges" in record["message"]


# The first number of frequencies converges beyond an instability.
BEYOND = [
    "in.toml", "--set", "model.u=6", "--set", "model.mu=0", "--set", "model.temperature=0.05", "--set", "loop.tolerance=0.1",
    "--set", "loop.damping=1", "--set", "loop.history=8", "--set", "output.vertex=false",
]  # fmt: skip
WARNING = "warning: grid.frequencies 1: expected eigenvalues below 1, found "


def test_a_warning_is_kept_if_a_later_run_fails(folder):
    done = run(folder, *BEYOND, "--set", "grid.frequencies=[1, 3]", "--out", "out", "--quiet")
    assert done.returncode == 1 and WARNING in done.stderr and done.stderr.count("\n") == 2, done.stderr
    record = json.loads((folder / "out/run.json").read_text())
    assert record["status"] == "failed" and "grid.frequencies 3" in record["message"] and f"; {WARNING}" in record["message"]


def test_a_warning_is_kept_if_a_later_run_is_stopped(folder):
    longer = ["--set", "grid.frequencies=[1, 24]", "--set", "grid.sigma_frequencies=96", "--set", "loop.iterations=100000"]
    child = start(folder, *BEYOND, *longer, "--out", "out", "--quiet")
    assert WARNING in child.stderr.readline()
    child.send_signal(signal.SIGINT)
    _, errors = end_of(child)
    assert child.returncode == 130, errors
    record = json.loads((folder / "out/run.json").read_text())
    assert record["status"] == "interrupted" and record["message"].startswith(WARNING)


def test_a_signal_stops_a_run(folder):
    words = ["in.toml", "--out", "out", "--set", "loop.iterations=100000", "--set", "loop.tolerance=1e-300"]
    child = start(folder, *words)
    while "iteration" not in (line := child.stderr.readline()):
        assert line
    child.send_signal(signal.SIGINT)
    output, errors = end_of(child)
    assert child.returncode == 130, errors
    assert "stopping, with a checkpoint" in errors and "stopped; continue with plx-parquet --resume out" in output
    assert len(rows(folder / "out/iterations.csv")) >= 1
    assert json.loads((folder / "out/run.json").read_text())["status"] == "interrupted"
    assert not (folder / "out/.lock").exists()


def test_a_signal_stops_a_run_within_its_first_iteration(folder):
    # The bubbles of 65536 frequencies take minutes.
    child = start(folder, "in.toml", "--out", "out", "--set", "grid.sigma_frequencies=65536")
    wait_for(child, (folder / "out/run.json").exists)
    time.sleep(0.3)
    child.send_signal(signal.SIGTERM)
    output, errors = end_of(child)
    assert child.returncode == 130 and "stopped; continue with plx-parquet --resume out" in output, errors
    assert json.loads((folder / "out/run.json").read_text())["status"] == "interrupted"
    assert not (folder / "out/iterations.csv").exists()


def test_an_exception_leaves_the_status_failed(folder):
    # Some 140 iterations with 10 frequencies; the program gets through half of them before its lines are read.
    slow = ["--set", "loop.history=0", "--set", "loop.damping=0.15", "--set", "loop.iterations=1000"]
    larger = ["--set", "grid.frequencies=[10, 40]", "--set", "grid.sigma_frequencies=128", *slow]
    child = start(folder, "in.toml", "--out", "out", *larger, preexec_fn=small_pipes())
    while "iteration 1:" not in (line := child.stderr.readline()):
        assert line
    pages = int((Path("/proc") / str(child.pid) / "statm").read_text().split()[0])
    most = pages * resource.getpagesize() + (130 << 20)  # the second number of frequencies needs 260 MB
    resource.prlimit(child.pid, resource.RLIMIT_AS, (most, most))
    _, errors = end_of(child)
    assert child.returncode == 1 and "out of memory" in errors
    record = json.loads((folder / "out/run.json").read_text())
    assert record["status"] == "failed" and "out of memory" in record["message"]


def test_too_little_address_space_is_refused_at_the_start(folder):
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))  # noqa: E731
    done = run(folder, "in.toml", preexec_fn=limit)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "ulimit -v is 409600" in done.stderr
    assert not (folder / "run-parquet").exists()


def test_output_that_cannot_be_written_is_an_error(folder):
    with open("/dev/full", "w") as full:
        for arguments in (["--help"], ["in.toml", "--quiet"]):
            done = run(folder, *arguments, stdout=full)
            assert done.returncode == 2 and set(done.stderr.splitlines()) == {
                "plx-parquet: cannot write to stdout: No space left on device"
            }, arguments
    assert json.loads((folder / "run-parquet/result.json").read_text())["complete"]


def test_a_full_disk_gets_one_line(folder):
    for bytes_, name in ((120000, "vertex.csv"), (4000, "self_energy.csv")):
        out = name.removesuffix(".csv")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_))  # noqa: E731, B023
        done = run(folder, "in.toml", "--out", out, "--quiet", "--set", "output.hdf5=false", preexec_fn=limit)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and f"{out}/{name}" in done.stderr
        assert all(path.stat().st_size > 0 for path in (folder / out).iterdir())


def test_validate_and_options(folder):
    # The same memory as the run, with as many workers as it starts.
    few = ("in.toml", "--set", "loop.history=0", "--set", "loop.iterations=1")
    needed = [run(folder, *few, "--threads", n, "--validate").stdout.removeprefix("the input is fine; ") for n in "13"]
    assert all(words.startswith("the run needs") for words in needed) and needed[0] != needed[1]
    default = run(folder, *few, "--validate").stdout.removeprefix("the input is fine; ")
    assert default in run(folder, *few, "--out", "default").stderr
    assert "loop.damping" in run(folder, "in.toml", "--print-config").stdout
    assert (ROOT / "docs" / "plx-parquet.md").read_text().endswith(run(folder, "--list-options", "markdown").stdout)
    for path in sorted((ROOT / "inputs" / "parquet").glob("*.toml")):
        assert run(folder, str(path), "--validate").returncode == 0
