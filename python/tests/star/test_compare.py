"""Comparing runs: what is equal is called equal, and a planted difference is found and measured."""

import shutil

import h5py
import numpy as np
import pytest
import synthetic

from parallax import Run
from parallax.cli import main
from parallax.star.athdf import Mesh
from parallax.star.compare import compare_runs, difference


@pytest.fixture
def pair(shared_run, tmp_path):
    return shared_run, shutil.copytree(shared_run, tmp_path / "b")


def section(comparison, title):
    return next(s for s in comparison.sections if s.title == title)


def change(folder, index, where, amount):
    with h5py.File(folder / "mesh" / f"sedov.{index:05d}.athdf", "a") as f:
        f["prim"][where] += amount


def test_a_run_equals_itself(pair, capsys):
    assert main(["compare", str(pair[0]), str(pair[1]), "--require-equal"]) == 0
    out = capsys.readouterr().out
    assert "bitwise equal in 3 mesh files (the last at step 200)" in out
    assert "the same" in out


def test_planted_difference_in_one_cell(pair, capsys):
    change(pair[1], 2, (4, 7, 1, 2, 3), 0.25)
    comparison = compare_runs(Run(pair[0]), Run(pair[1]))
    assert not comparison.physics_equal
    physics = section(comparison, "Physics")
    assert "1 mesh file of 3 differs, the first at step 200" in physics.sentences[0]
    rows = {row[0]: row for row in physics.rows}
    assert rows["rho"][1:] == ("0", "0", "0", "0")
    with Run(pair[0]).mesh() as mesh:
        volume = np.prod(mesh.cell_width[7])
        cells = mesh.n_cells
    assert rows["press"][1] == "2.500e-01"
    assert rows["press"][2] == f"{0.25 * volume:.3e}"
    assert rows["press"][4] == f"1 of {cells:,}"
    assert main(["compare", str(pair[0]), str(pair[1]), "--require-equal"]) == 1
    assert main(["compare", str(pair[0]), str(pair[1])]) == 0
    assert "2.500e-01" in capsys.readouterr().out


def test_one_bit_is_a_difference(pair):
    with h5py.File(pair[1] / "mesh" / "sedov.00000.athdf", "a") as f:
        value = f["prim"][0, 0, 0, 0, 0]
        f["prim"][0, 0, 0, 0, 0] = np.nextafter(value, 2)
    assert not compare_runs(Run(pair[0]), Run(pair[1])).physics_equal


def test_the_sign_of_zero_is_a_difference_and_nan_equals_itself(tmp_path):
    def file(name, value):
        fields = lambda x, y, z: {"rho": np.full(np.broadcast_shapes(x.shape, y.shape, z.shape), value)}  # noqa: E731
        synthetic.write_mesh(tmp_path / name, [(0, (0, 0, 0))], fields, n=4, root=(1, 1, 1))
        return Mesh(tmp_path / name)

    with file("plus", 0.0) as plus, file("minus", -0.0) as minus, file("nan", np.nan) as nan:
        assert difference(nan, nan).equal
        found = difference(plus, minus)
    assert not found.equal and found.rows == [("rho", "0.000e+00", "0.000e+00", "-", "64 of 64")]


def test_order_of_blocks_does_not_matter(tmp_path):
    leaves = synthetic.octree(0.42, 2)
    synthetic.write_mesh(tmp_path / "a", leaves, synthetic.blast(0.42), n=4)
    synthetic.write_mesh(tmp_path / "b", leaves[::-1], synthetic.blast(0.42), n=4)
    with Mesh(tmp_path / "a") as a, Mesh(tmp_path / "b") as b:
        assert difference(a, b).equal


def test_other_blocks_are_reported_and_the_common_ones_compared(tmp_path):
    one, two = synthetic.octree(0.42, 2), synthetic.octree(0.3, 2)
    synthetic.write_mesh(tmp_path / "a", one, synthetic.blast(0.42), n=4)
    synthetic.write_mesh(tmp_path / "b", two, synthetic.blast(0.42), n=4)
    common = len(set(one) & set(two))
    assert 0 < common < len(one)
    with Mesh(tmp_path / "a") as a, Mesh(tmp_path / "b") as b:
        found = difference(a, b)
    assert not found.equal
    assert found.sentences == [f"{len(one)} and {len(two)} blocks, {common} in common"]
    assert all(row[1] == "0" for row in found.rows)


def test_files_of_one_run_only(pair):
    (pair[1] / "mesh" / "sedov.00001.athdf").unlink()
    comparison = compare_runs(Run(pair[0]), Run(pair[1]))
    physics = section(comparison, "Physics")
    assert physics.sentences == [
        "1 mesh file only in a (step 133)",
        "bitwise equal in 2 mesh files (the last at step 200)",
    ]
    assert comparison.physics_equal  # what both have is equal, the end included
    (pair[1] / "mesh" / "sedov.00002.athdf").unlink()
    assert not compare_runs(Run(pair[0]), Run(pair[1])).physics_equal


def test_performance_and_configuration(shared_run, tmp_path):
    slow = synthetic.write_run(tmp_path / "slow", max_level=2, slow=1.25, cfl=0.3)
    comparison = compare_runs(Run(shared_run), Run(slow))
    assert section(comparison, "Configuration").rows == [("hydro.cfl", "0.4", "0.3")]
    figures = {row[0]: row[1:] for row in section(comparison, "Outcome and performance").rows}
    assert figures["cell updates / s"][2] == "0.800"
    assert figures["time, simulation"] == ("20.0 s", "25.0 s", "1.250")
    stage = section(comparison, "Time per task type").rows[0]
    assert stage[0] == "stage" and stage[3:5] == ("+7.36 s", "1.25")
    assert comparison.physics_equal


def test_page(pair, tmp_path):
    page = tmp_path / "c.html"
    assert main(["compare", str(pair[0]), str(pair[1]), "--html", str(page)]) == 0
    text = page.read_text()
    assert "bitwise equal" in text and "http" not in text


def test_wrong_input(pair, tmp_path, capsys):
    assert main(["compare", str(pair[0]), str(tmp_path / "none")]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"parallax: {tmp_path / 'none'}: expected a run") and error.count("\n") == 1
    broken = pair[1] / "mesh" / "sedov.00002.athdf"
    broken.write_bytes(broken.read_bytes()[:5000])
    assert main(["compare", str(pair[0]), str(pair[1])]) == 2
    assert str(broken) in capsys.readouterr().err
    assert main(["compare", str(pair[0]), str(pair[0]), "--html", str(tmp_path / "no" / "c.html")]) == 2
