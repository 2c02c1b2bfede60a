"""plx-star make-model from the outside: the table, the file, a run that starts from it, and inputs without a model.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from built import BIN, ROOT, needs

h5py = pytest.importorskip("h5py")
np = pytest.importorskip("numpy")

PROGRAM = BIN / "plx-star"
pytestmark = needs("plx-star")

COARSE = [
    option
    for value in ("mesh.max_level=0", "binary.tolerance=1e-3", "gravity.order=3", "gravity.theta=0.5")
    for option in ("--set", value)
]


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=600)


def first_mesh(folder):
    with h5py.File(sorted(Path(folder).glob("mesh/*.athdf"))[0]) as file:
        return file["prim"][:]


def test_a_run_starts_from_the_file_with_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    binary = ROOT / "inputs" / "stars" / "binary.toml"
    made = run("make-model", binary, "-o", "stars.h5", *COARSE)
    assert made.returncode == 0, made.stderr
    lines = made.stdout.splitlines()
    assert lines[0].split()[:5] == ["iter", "level", "change", "virial", "energy"]
    assert lines[-2].startswith("converged after") and lines[-1] == "written: stars.h5"
    few = ["--set", "run.max_steps=1", "--quiet"]
    for out, more in (("computed", []), ("read", ["--set", "binary.model=stars.h5"])):
        done = run(binary, *COARSE, *few, *more, "--out", out)
        assert done.returncode == 0, done.stderr
    assert np.array_equal(first_mesh("computed"), first_mesh("read"))


def test_wrong_requests_have_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments, expected in (
        ([ROOT / "inputs" / "sod.toml"], "expected problem.name"),
        ([ROOT / "inputs" / "stars" / "binary.toml", "--set", "binary.masses=[1e33,0.4]"], "grams"),
        ([ROOT / "inputs" / "stars" / "binary.toml", "-o", "none/stars.h5"], "found 'none/stars.h5'"),  # before the iterations
        ([ROOT / "inputs" / "stars" / "binary.toml", "-o", "/dev/full"], "found '/dev/full', which is no file"),
    ):
        done = run("make-model", *arguments)
        assert done.returncode == 2
        assert expected in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert list(tmp_path.iterdir()) == []
