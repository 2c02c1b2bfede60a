"""Folders that a command cannot use: one line with what was expected, what was found, and what to do."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from parallax.cli import main

CONTENTS = {
    "none": None,
    "empty": {},
    "other": {"notes.txt": ""},
    "dca": {"run.json": json.dumps({"program": "plx-dca"}), "config.toml": ""},
    "star": {"run.json": json.dumps({"program": "plx-star"}), "config.toml": ""},
    "broken": {"run.json": "{"},
    "exec": {"threads.csv": "", "measurement.json": "{}"},
    "own": {"workers.csv": "", "measurement.json": "{}"},
    "ranks": {"rank-0/threads.csv": "", "rank-1/threads.csv": ""},
    "line\nbreak": {},
}
REPORT = "./plx report {0} draws it"
DIAGNOSE = "./plx diagnose {0} reads them"
OUT = "name the folder that --out gave it"
MEASURE = "run the program with PLX_DIAGNOSE=1, any other program under plx-exec -d"
ONE = "give one of them, such as {0}/rank-0"
CASES = [
    *((command, "none", "found no such folder; ", advice) for command, advice in (("report", OUT), ("film", OUT), ("diagnose", MEASURE))),
    *((command, "empty", "found an empty folder; ", advice) for command, advice in (("report", OUT), ("film", OUT), ("diagnose", MEASURE))),
    *((command, "ranks", "found a folder for each process; ", ONE) for command in ("report", "film", "diagnose", "scale")),
    *((command, "exec", "found measurements of plx-exec; ", DIAGNOSE) for command in ("report", "film", "scale")),
    *((command, "own", "found measurements of a program; ", DIAGNOSE) for command in ("report", "film", "scale")),
    ("film", "dca", "found a run of plx-dca; ", REPORT),
    ("film", "star", "expected mesh files of plx-star (mesh/*.athdf), found none; ", "output.mesh_interval writes them"),
    ("film", "broken", "expected mesh files of plx-star (mesh/*.athdf), found none; ", "output.mesh_interval writes them"),
    ("scale", "dca", "expected a run of plx-star, found a run of plx-dca; ", REPORT),
    ("diagnose", "dca", "found a run of plx-dca; ", MEASURE),
    ("diagnose", "other", "expected measurements (workers.csv, ", MEASURE),
    ("diagnose", "line\nbreak", "found an empty folder; ", MEASURE),
]


@pytest.mark.parametrize("command, content, found, advice", CASES)
def test_one_line_says_what_to_do(tmp_path, capsys, monkeypatch, command, content, found, advice):
    monkeypatch.chdir(tmp_path)
    for name, text in (CONTENTS[content] or {}).items():
        path = tmp_path / content / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if CONTENTS[content] == {}:
        (tmp_path / content).mkdir()
    assert main([command, content]) == 2
    out, error = capsys.readouterr()
    name = content.replace("\n", "\\n")
    assert error.startswith(f"parallax: {name}: expected ") and error.count("\n") == 1 and not out
    assert found in error and error.rstrip().endswith(advice.format(name)), error


def test_a_closed_output_is_no_error():
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    program = f"exec {shlex.quote(sys.executable)} -m parallax --help >&-"
    done = subprocess.run(["sh", "-c", program], stderr=subprocess.PIPE, text=True, env=environment)
    assert done.returncode == 0 and not done.stderr, done


@pytest.mark.parametrize("arguments", [["--help"], ["report", "--help"], ["diagnose", "own"]])
def test_output_that_cannot_be_written_is_one_line(tmp_path, arguments):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "workers.csv").write_text("worker,tasks,tasks_s,overhead_s,background_s,idle_s\n0,9,1,0,0,0\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "parallax", *arguments], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, env=environment
        )
    assert done.returncode == 2 and done.stderr == "parallax: cannot write: No space left on device\n", done


def test_the_usage_names_the_command_that_was_typed(monkeypatch, capsys):
    for command, name in ((None, "parallax"), ("./plx", "./plx")):
        monkeypatch.delenv("PLX_COMMAND", raising=False) if command is None else monkeypatch.setenv("PLX_COMMAND", command)
        assert main(["diagnose", "--help"]) == 0
        assert capsys.readouterr().out.startswith(f"usage: {name} diagnose [-h]")
