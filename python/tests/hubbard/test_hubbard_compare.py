"""Comparing runs of plx-dca and plx-parquet: equal results are called equal, and a planted difference is found."""

from __future__ import annotations

import json
import shutil

import h5py
import numpy as np
import pytest
from parallax.cli import main
from parallax.hubbard.compare import compare_hubbard

DCA = {
    "config.toml": "[model]\nu = 6.0\n",
    "cluster.json": '{"vectors": [[2, 0], [0, 2]]}\n',
    "iterations.csv": "t,iteration,mu,seconds,wait_s,exchanged_mb\n0.5,0,-1.5,3.2,0.1,0.7\n",
    "four_points.csv": "t,channel,qx,leading,leading_error\n0.5,magnetic,0,0.7,0.02\n",
    "temperatures.csv": "t,mu,density,density_error,lambda_d,lambda_d_error\n1,-1.2,0.95,0.01,,\n0.5,-1.5,0.95,0.01,0.4,0.03\n",
    "green.csv": "t,kx,w,g_re,g_re_error\n0.5,0,1.57,0.1,0.001\n",
    "result.json": '{"t_c": {"value": 0.076, "error": 0.002}, "complete": true}\n',
    "run.json": '{"program": "plx-dca", "status": "finished", "wall_s": 3.5}\n',
}
PARQUET = {
    "config.toml": "[grid]\nsigma_frequencies = 32\n",
    "eigenvalues.csv": "frequencies,channel,qx,qy,eigenvalue\n4,density,0,0,0.1\n4,magnetic,0,0,0.3\n",
    "extrapolated.csv": "quantity,kx,ky,value,error\nself_energy_im,0,0,-0.08,0.0001\nspin_susceptibility,0,0,0.5,0.002\n",
    "result.json": '{"complete": true, "runs": [{"frequencies": 4, "converged": true}]}\n',
    "run.json": '{"program": "plx-parquet", "status": "finished", "wall_s": 3.5}\n',
}


def make(folder, files):
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def dca(tmp_path):
    a = make(tmp_path / "a", DCA)
    (a / "functions").mkdir()
    with h5py.File(a / "functions/T0.5.h5", "w") as file:
        file["Green"] = np.linspace(0, 1, 24).reshape(4, 3, 2)
        file.attrs["Temperature"] = 0.5
    return a, shutil.copytree(a, tmp_path / "b")


@pytest.fixture
def parquet(tmp_path):
    return make(tmp_path / "a", PARQUET), make(tmp_path / "b", PARQUET)


def rows_of(sections, title):
    return {row[0]: row[1:] for section in sections if section.title == title for row in section.rows}


def test_equal_runs_of_both_programs_are_equal(dca, tmp_path, capsys):
    a, b = dca
    # Wall times, and what processes send to one another, are no physics.
    (b / "iterations.csv").write_text(DCA["iterations.csv"].replace("3.2,0.1,0.7", "9.9,0,0"))
    assert main(["compare", str(a), str(b), "--require-equal"]) == 0
    out = capsys.readouterr().out
    assert "bitwise equal in 5 files" in out and "T_c" in out and "0.076 +- 0.002" in out
    runs = [make(tmp_path / name, PARQUET) for name in ("c", "d")]
    assert main(["compare", *map(str, runs), "--require-equal"]) == 0
    assert "spin susceptibility (0.00, 0.00)" in capsys.readouterr().out
    assert main(["compare", str(a), str(runs[0]), "--require-equal"]) == 1


def test_a_bit_of_a_function_is_a_difference(dca, capsys):
    a, b = dca
    with h5py.File(b / "functions/T0.5.h5", "a") as file:
        file["Green"][1, 2, 0] = np.nextafter(file["Green"][1, 2, 0], 2)
    assert main(["compare", str(a), str(b), "--require-equal"]) == 1
    assert main(["compare", str(a), str(b)]) == 0
    sections, equal = compare_hubbard(a, b)
    assert not equal and sections[0].sentences == ["1 file of 5 differs"]
    assert rows_of(sections, "Physics")["functions/T0.5.h5"][:2] == ("25", "1")


def test_differences_are_given_in_errors(dca):
    a, b = dca
    (b / "temperatures.csv").write_text(DCA["temperatures.csv"].replace("0.4,0.03", "0.45,0.04"))
    (b / "result.json").write_text(DCA["result.json"].replace("0.076", "0.078"))
    sections, equal = compare_hubbard(a, b)
    assert not equal and "result.json differs" in sections[0].sentences
    assert rows_of(sections, "Physics")["temperatures.csv"] == ("12", "2", "0.05", "1.00")
    final = rows_of(sections, "Final numbers")
    assert final["lambda d at T = 0.5"] == ("0.4 +- 0.03", "0.45 +- 0.04", "0.05", "1.00")
    assert final["density at T = 0.5"][2:] == ("0", "0") and final["T_c"][3] == "0.71"


def test_a_difference_between_four_point_functions_is_found(dca):
    a, b = dca
    (b / "four_points.csv").write_text(DCA["four_points.csv"].replace("0.7", "0.8"))
    sections, equal = compare_hubbard(a, b)
    assert not equal and rows_of(sections, "Physics")["four_points.csv"][1] == "1"


@pytest.mark.parametrize("name", ["eigenvalues.csv", "extrapolated.csv", "result.json"])
def test_a_missing_or_other_file_is_a_difference(parquet, name):
    a, b = parquet
    (b / name).write_text(PARQUET[name].replace("0.0001", "0.0002").replace("magnetic", "triplet").replace("true", "false"))
    assert not compare_hubbard(a, b)[1]
    (b / name).unlink()
    assert not compare_hubbard(a, b)[1]


def test_a_run_without_results_is_not_equal(parquet):
    a, b = parquet
    for folder in (a, b):
        for name in ("eigenvalues.csv", "extrapolated.csv"):
            (folder / name).unlink()
    sections, equal = compare_hubbard(a, b)
    assert not equal and "no results to compare" in sections[0].sentences


def test_a_broken_file_gets_one_line(dca, capsys):
    a, b = dca
    (b / "functions/T0.5.h5").write_bytes(b"nothing")
    assert main(["compare", str(a), str(b)]) == 2
    assert "T0.5.h5" in capsys.readouterr().err
    assert json.loads((a / "result.json").read_text())["complete"]
