"""Run folders: what is there, what is missing, what is broken."""

import os
import re
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

from parallax import NotARun, ReadError, Run
from parallax.cli import main
from parallax.star.run import flatten, read_toml
from parallax.tables import read_table


def test_complete_run(shared_run):
    run = Run(shared_run)
    assert run.problem == "sedov"
    assert run.summary["steps"] == 200
    assert run.config["mesh.root_blocks"] == [2, 2, 2] and run.config["hydro.cfl"] == 0.4
    assert len(run.history) == 201 and run.history["step"][-1] == 200
    assert run.profile["name"][0] == "stage"
    assert run.workers.numbers("idle_s").tolist() == [1.0, 1.0]
    assert run.counters["value"].tolist() == [0.05, 0.04]
    assert [path.name for path in run.mesh_files] == [f"sedov.{i:05d}.athdf" for i in range(3)]
    with run.mesh(0) as first, run.mesh(-1) as last:
        assert (first.cycle, last.cycle) == (66, 200)


def test_young_run_has_none_for_what_is_missing(tmp_path):
    (tmp_path / "config.toml").write_text("[mesh]\nmax_level = 1\n")
    run = Run(tmp_path)
    assert run.summary is None and run.history is None and run.exact is None and run.mesh_files == []
    assert run.problem == "unknown"
    with pytest.raises(ReadError, match="no mesh files"):
        run.mesh()


@pytest.mark.parametrize(
    "make, what",
    [
        (lambda path: None, "no such folder"),
        (lambda path: path.mkdir(), "expected a run of plx-star, plx-dca or plx-parquet, found an empty folder"),
        (lambda path: path.write_text(""), "plx-parquet, found a file"),
    ],
)
def test_not_a_run(tmp_path, make, what):
    make(tmp_path / "it")
    with pytest.raises(NotARun, match=what):
        Run(tmp_path / "it")


@pytest.mark.parametrize(
    "name, content, read, what",
    [
        ("run.json", '{"steps": 3', lambda run: run.summary, "broken JSON"),
        ("run.json", "[1, 2]", lambda run: run.summary, "expected an object, found list"),
        ("config.toml", "[mesh\nmax_level = 1", lambda run: run.config, "broken TOML"),
        ("history.csv", "", lambda run: run.history, "empty"),
        ("history.csv", "a,b\n1,2\n3\n4,5\n", lambda run: run.history, "line 3: expected 2 values, found 1"),
        ("history.csv", "a,b\n1,2\n3\n", lambda run: run.history, "line 3: expected 2 values, found 1"),
        ("history.csv", "a,b\n1,x\n", lambda run: run.history.numbers("b"), "column 'b': expected numbers, found 'x'"),
        ("history.csv", "a,b\n1,2\n", lambda run: run.history["c"], "no column 'c', found: a, b"),
        ("profile.csv", "a\n\0\0\0\n", lambda run: run.profile, "not a text file"),
    ],
)
def test_broken_files_are_named(own_run, name, content, read, what):
    (own_run / name).write_text(content)
    with pytest.raises(ReadError) as caught:
        read(Run(own_run))
    assert str(own_run / name) in str(caught.value) and what in str(caught.value)


def test_bytes_that_are_no_text(own_run):
    (own_run / "history.csv").write_bytes(b"\x89HDF\xff\xfe")
    with pytest.raises(ReadError, match="history.csv: not a text file"):
        Run(own_run).history
    (own_run / "config.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ReadError, match="config.toml"):
        Run(own_run).config


def test_names_may_hold_ends_of_lines(tmp_path):
    file = tmp_path / "profile.csv"
    names = ["two\nlines", "form\x0cfeed", "line\u2028separator", "next\x85line", "# no comment"]
    file.write_text("name,calls\n# a comment\n" + "".join(f'"{name}",{i}\n' for i, name in enumerate(names)), "utf-8")
    table = read_table(file)
    assert table["name"] == names and table["calls"].tolist() == [0, 1, 2, 3, 4]
    file.write_text('name,calls\n"two\nlines",1\nshort\n"last",2\n')
    with pytest.raises(ReadError, match="line 4: expected 2 values, found 1"):
        read_table(file)
    file.write_text('name,calls\n"' + "no end of the quote\n" * 10000)
    with pytest.raises(ReadError, match="line .*field"):
        read_table(file)


def test_a_truncated_last_line_is_ignored(tmp_path):
    path = tmp_path / "history.csv"
    path.write_text("step,time\n0,0.5\n1,0.75\n2")
    table = read_table(path)
    assert table.cut_short and table["time"].tolist() == [0.5, 0.75]
    path.write_text('name,total_s\n"a, b",1e-3\n# a comment\nc,nan\n')
    table = read_table(path)
    assert not table.cut_short and table["name"] == ["a, b", "c"] and np.isnan(table["total_s"][1])


toml_text = """
# a comment
top = 1
[mesh]
root_blocks = [2, 2,   # along x, y
               4]
max_level = 4          # levels
lower = [-0.5, 1e-3, inf]
[problem]
name = "se\\"dov # not a comment"
path = 'C:\\raw'
on = true
off = false
big = 1_000
[a.b]
c = -3.5e+2
"""


def test_toml(tmp_path):
    (tmp_path / "c.toml").write_text(toml_text)
    assert flatten(read_toml(tmp_path / "c.toml")) == {
        "top": 1,
        "mesh.root_blocks": [2, 2, 4],
        "mesh.max_level": 4,
        "mesh.lower": [-0.5, 1e-3, float("inf")],
        "problem.name": 'se"dov # not a comment',
        "problem.path": "C:\\raw",
        "problem.on": True,
        "problem.off": False,
        "problem.big": 1000,
        "a.b.c": -350.0,
    }


@pytest.mark.parametrize("text", ["a = ", "a = 1\nb == 2", "x", "a = [1,\n2", "a = 1\na = 2", "a = maybe", "a = 1\n[a]\n"])
def test_broken_toml_names_the_file(tmp_path, text):
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(ReadError, match="c.toml: broken TOML"):
        read_toml(tmp_path / "c.toml")


def test_an_old_python_without_tomli_is_an_error_of_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("parallax.star.run.tomllib", None)
    (tmp_path / "config.toml").write_text("a = 1\n")
    with pytest.raises(ReadError, match="pip install tomli"):
        Run(tmp_path).config


@pytest.mark.parametrize("name, commands", [(".", ("report", "compare")), ("mesh", ("report", "compare")), ("run.json", ("report",)),
                                            ("mesh/sedov.00002.athdf", ("report", "compare")), ("profile.csv", ("compare",))])  # fmt: skip
def test_a_file_that_may_not_be_read_is_named(shared_run, quick, capsys, name, commands):
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to others
        run = Path(shutil.copytree(shared_run, Path(folder) / "run"))
        Path(folder).chmod(0o777)
        (run / name).chmod(0)
        me = os.geteuid()
        if me == 0:
            os.seteuid(65534)  # root may read everything
        try:
            for command in commands:
                arguments = [str(run), str(run)] if command == "compare" else [str(run), "--out", f"{folder}/page.html"]
                assert main([command, *arguments]) == 2
                assert re.search(f"{re.escape(str(run / name))}: [Pp]ermission denied", capsys.readouterr().err)
        finally:
            os.seteuid(me)
            (run / name).chmod(0o755)
