"""Vertices in HDF5, of one process and of several, beside vertex.csv with the same values, and files that are damaged."""

from __future__ import annotations

import json
import math
import shutil

import h5py
import numpy as np
import pytest

from parallax import ReadError
from parallax.parquet.report import ParquetFacts, Physics
from parallax.parquet.run import ParquetRun
from parallax.parquet.vertex import VertexFile
from parallax.parquet.vertex_hdf5 import VertexHdf5, vertices_file

MOMENTA = [(0, 0), (math.pi, 0), (0, math.pi), (math.pi, math.pi)]
CHANNELS = ("density", "magnetic", "singlet", "triplet")


def vertex_value(c, q, k, n, k2, n2):
    """Names its place."""
    return c + 10 * q + 100 * k + 1000 * k2 + 0.1 * n + 0.01 * n2 + 1j * (n - 2 * n2 + k)


def slabs(f, momenta):
    """F_w0 of these transfers as the program writes it: [Q][channel][k'][k][2], with a last row and column of limits."""
    rows = 2 * f * 4
    found = np.full((len(momenta), 4, rows + 1, rows + 1, 2), 777.0)
    for i, q in enumerate(momenta):
        for c in range(4):
            for row2 in range(rows):
                for row in range(rows):
                    value = vertex_value(c, q, row % 4, row // 4 - f, row2 % 4, row2 // 4 - f)
                    found[i, c, row2, row] = value.real, value.imag
    return found


def write_hdf5(run, f, processes=1):
    """vertices/Ff.h5; of two processes, with two transfers each in a file of its own."""
    folder = run / "vertices"
    folder.mkdir(exist_ok=True)
    whole = slabs(f, range(4))
    with h5py.File(folder / f"F{f}.h5", "w") as file:
        file.attrs["Frequencies"], file.attrs["Channels"] = f, [c.encode() for c in CHANNELS]
        file.attrs["FirstParticleHole"], file.attrs["FirstParticleParticle"] = [-f, -f - 1], [-f, -f + 1]
        file["Momenta"] = np.array(MOMENTA, dtype=float)
        if processes == 1:
            file["F_w0"] = whole
            return
        layout = h5py.VirtualLayout(whole.shape, float)
        for rank in range(2):
            with h5py.File(folder / f"F{f}-{rank}.h5", "w") as part:
                part["F_w0"] = whole[2 * rank : 2 * rank + 2]
            layout[2 * rank : 2 * rank + 2] = h5py.VirtualSource(f"F{f}-{rank}.h5", "F_w0", (2, *whole.shape[1:]))
        file.create_virtual_dataset("F_w0", layout, fillvalue=math.nan)


def write_csv(path, header, rows):
    text = (",".join(cell if isinstance(cell, str) else f"{cell:.10g}" for cell in row) for row in rows)
    path.write_text("\n".join([header, *text]) + "\n")


def write_vertex_csv(run, f):
    rows = []
    for q in range(4):
        for n in range(-f, f):
            for k in range(4):
                for n2 in range(-f, f):
                    for k2 in range(4):
                        values = [vertex_value(c, q, k, n, k2, n2) for c in range(4)]
                        rows.append([f, *MOMENTA[q], *MOMENTA[k], n, *MOMENTA[k2], n2, *(x for v in values for x in (v.real, v.imag))])
    header = "frequencies,qx,qy,kx,ky,n,kx2,ky2,n2," + ",".join(f"{c}_re,{c}_im" for c in CHANNELS)
    write_csv(run / "vertex.csv", header, rows)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config.toml").write_text('[model]\nu = 2.0\n[cluster]\nname = "2x2"\n[grid]\nsigma_frequencies = 128\n')
    (tmp_path / "run.json").write_text(json.dumps({"program": "plx-parquet", "status": "finished"}))
    eigenvalues = [[2, c, *q, 0.49 if c == "magnetic" and sum(q) > 4 else 0.1] for c in CHANNELS for q in MOMENTA]
    write_csv(tmp_path / "eigenvalues.csv", "frequencies,channel,qx,qy,eigenvalue", eigenvalues)
    sigma = [[2, *k, math.pi / 2, 0.0, -0.1 * abs(math.sin(k[0] / 2))] for k in MOMENTA]
    write_csv(tmp_path / "self_energy.csv", "frequencies,kx,ky,w,self_energy_re,self_energy_im", sigma)
    return tmp_path


def part_of(folder):
    """(the HTML of the part, its pictures, the problems)"""
    facts, pngs = ParquetFacts(ParquetRun(folder)), {}
    physics = Physics(facts, pngs)
    return physics.part("The full vertex", physics.vertex), pngs, facts.problems


@pytest.mark.parametrize("processes", [1, 2])
def test_slabs_are_those_of_the_table(folder, processes):
    write_hdf5(folder, 2, processes)
    write_vertex_csv(folder, 2)
    table, file = VertexFile(folder / "vertex.csv"), VertexHdf5(folder / "vertices/F2.h5")
    assert file.frequencies == table.frequencies == 2
    for transfer in MOMENTA:
        a, b = table.slab(transfer), file.slab(transfer)
        assert list(a.n) == list(b.n) and a.transfer == pytest.approx(b.transfer) and np.allclose(a.momenta, b.momenta)
        for c in CHANNELS:
            assert np.abs(a.values[c] - b.values[c]).max() < 1e-7, c


@pytest.mark.parametrize("processes", [1, 2])
def test_the_pictures_are_those_of_the_table(folder, processes):
    write_vertex_csv(folder, 2)
    text, expected, problems = part_of(folder)
    (folder / "vertex.csv").unlink()
    write_hdf5(folder, 2, processes)
    found_text, found, found_problems = part_of(folder)
    assert problems == found_problems == [] and sorted(found) == ["vertex", "vertex_momenta"]
    assert found == expected and found_text == text


def test_the_largest_number_of_frequencies_and_the_table_have_precedence(folder):
    for f in (1, 2):
        write_hdf5(folder, f)
    (folder / "vertices/F10-0.h5").write_text("of a run that was stopped")
    (folder / "vertices/F9x.h5").write_text("")
    assert vertices_file(folder).name == "F2.h5"
    write_vertex_csv(folder, 1)
    assert Physics(ParquetFacts(ParquetRun(folder)), {})._vertices().frequencies == 1


def test_missing_files_are_one_note(folder):
    text, pngs, problems = part_of(folder)
    assert "no vertices/F*.h5 (output.hdf5)" in text and text.count("not shown") == 1 and not pngs and not problems
    write_hdf5(folder, 2, 2)
    (folder / "vertices/F2.h5").unlink()
    text, pngs, problems = part_of(folder)
    assert "vertices/F2.h5 is missing, which shows F2-0.h5, F2-1.h5 as one" in text and not pngs and not problems


def damage(path, how):
    data = path.read_bytes()
    if how == "empty":
        path.write_bytes(b"")
    elif how == "text":
        path.write_text("no HDF5\n" * 100)
    elif how == "cut short":
        path.write_bytes(data[: len(data) // 2])
    else:
        with h5py.File(path, "r+") as file:
            if how in file:
                del file[how]
            else:
                del file.attrs[how]


@pytest.mark.parametrize("how", ["empty", "text", "cut short", "F_w0", "Momenta", "Channels", "Frequencies", "FirstParticleHole"])
def test_a_damaged_file_is_one_note(folder, how):
    write_hdf5(folder, 2)
    damage(folder / "vertices/F2.h5", how)
    text, pngs, problems = part_of(folder)
    assert text.count("not shown") == 1 and "F2.h5" in text and not pngs and len(problems) == 1


@pytest.mark.parametrize("how, expected", [("missing", "F2-1.h5 is missing"), ("text", "F2-1.h5 is damaged"), ("cut short", "F2-1.h5 is damaged")])
def test_a_damaged_part_is_one_note(folder, how, expected):
    """The leading transfer, (pi, pi), is in the file of the second process."""
    write_hdf5(folder, 2, 2)
    part = folder / "vertices/F2-1.h5"
    part.unlink() if how == "missing" else damage(part, how)
    text, pngs, problems = part_of(folder)
    assert text.count("not shown") == 1 and expected in text and not pngs and len(problems) == 1


def test_another_shape_is_refused(folder):
    write_hdf5(folder, 2)
    with h5py.File(folder / "vertices/F2.h5", "r+") as file:
        del file["F_w0"]
        file["F_w0"] = np.zeros((4, 4, 16, 16, 2))
    with pytest.raises(ReadError, match="F_w0 has the shape"):
        VertexHdf5(folder / "vertices/F2.h5")


def test_a_folder_that_was_moved_is_read(folder, tmp_path_factory):
    write_hdf5(folder, 2, 2)
    other = tmp_path_factory.mktemp("elsewhere") / "run"
    shutil.move(folder, other)
    assert not np.any(np.isnan(VertexHdf5(other / "vertices/F2.h5").slab((0, 0)).values["density"]))
