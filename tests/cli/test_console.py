"""All programs alike: answers that cannot be written, and names with control characters."""

from __future__ import annotations

import csv
import json
import subprocess

import pytest
from built import BIN, ROOT
from programs import Program

SOLVERS = ("plx-star", "plx-dca", "plx-parquet")
ANSWERS = [
    *((p, "--help") for p in (*SOLVERS, "plx-what-if", "plx-trace", "plx-scale", "plx-scale-record", "plx-exec")),
    *((p, "--version") for p in (*SOLVERS, "plx-exec")),
    *((p, "--list-options") for p in SOLVERS),
]
SHORT = {
    "plx-star": [ROOT / "inputs/sedov.toml", "--set", "mesh.max_level=0", "--set", "run.max_steps=1"],
    "plx-dca": [ROOT / "inputs/dca/quick.toml", "--set", "loop.temperatures=[1.0]", "--set", "loop.iterations=1"]
    + ["--set", "solver.measurements=64", "--set", "solver.warm_up=2"],
    "plx-parquet": [ROOT / "inputs/parquet/2x2.toml", "--set", "grid.frequencies=[2]", "--set", "loop.tolerance=0.1"],
}
NAME = "a\nb\x1b[2J\x9b\r, \"c'"  # a line break, three ways to steer a terminal, and what tables and JSON quote


def built(name: str):
    if not (BIN / name).exists():
        pytest.skip(f"{name} is not built")
    return Program(name)


@pytest.mark.parametrize("name, option", ANSWERS)
def test_an_answer_that_cannot_be_written_is_an_error(tmp_path, name, option):
    with open("/dev/full", "w") as full:
        done = built(name).run(tmp_path, option, stdout=full)
    assert done.returncode not in (0, -6, -11), done
    assert done.stderr.count("\n") == 1 and "cannot write to stdout: No space left on device" in done.stderr, done


@pytest.mark.parametrize("name, option", ANSWERS)
def test_an_answer_is_complete_on_stdout(tmp_path, name, option):
    done = built(name).run(tmp_path, option)
    assert done.returncode == 0 and not done.stderr and len(done.stdout) > 10 and done.stdout.endswith("\n")


MISTYPED = [
    *((p, [option, "4"], "--threads") for p in SOLVERS for option in ("--thread", "--treads", "-threads")),
    *((p, ["--thread=4", "input.toml"], "--threads") for p in SOLVERS),
    *((p, ["--resum", "run"], "--resume") for p in SOLVERS),
    ("plx-star", ["make-model", "input.toml", "--ou", "model.h5"], "--out"),
    ("plx-trace", ["stats", "run", "--row", "5"], "--rows"),
    ("plx-trace", ["json", "--form", "1", "run"], "--from"),
    ("plx-what-if", ["run", "--worker", "4"], "--workers"),
]


@pytest.mark.parametrize("name, words, meant", MISTYPED)
def test_a_mistyped_option_is_one_line_with_the_nearest(tmp_path, name, words, meant):
    done = built(name).run(tmp_path, *words)
    wrong = next(word for word in words if word.startswith("-")).split("=")[0]
    shown = name.replace("-what", " what")
    assert done.returncode == 2 and not done.stdout, done
    assert done.stderr == f"{shown}: unknown option '{wrong}'; did you mean '{meant}'?\n"


def test_an_option_far_from_all_or_at_the_wrong_place(tmp_path):
    done = built("plx-star").run(tmp_path, "--zzzzzz")
    assert done.returncode == 2 and done.stderr == "plx-star: unknown option '--zzzzzz'; plx-star --help lists the options\n"
    for words in (["in.toml", "-5"], ["-x"]):  # every short option is one letter away
        done = built("plx-star").run(tmp_path, *words)
        assert done.returncode == 2 and done.stderr == f"plx-star: unknown option '{words[-1]}'; plx-star --help lists the options\n"
    done = built("plx-star").run(tmp_path, "in.toml", "--", "-x")  # behind -- are arguments
    assert done.returncode == 2 and "unknown option" not in done.stderr and "-x" in done.stderr, done
    done = built("plx-trace").run(tmp_path, "--rows", "5", "stats", "run")
    assert done.returncode == 2 and done.stderr == "plx-trace: unknown option '--rows' here; it is an option of 'stats'\n"
    assert not list(tmp_path.iterdir())


INPUTS = {
    "plx-star": ["inputs/sedov.toml", "inputs/stars/polytrope.toml"],
    "plx-dca": ["inputs/dca/quick.toml", "inputs/dca/tc.toml"],
    "plx-parquet": ["inputs/parquet/4x4.toml", "inputs/parquet/atom.toml"],
}


def foreign(path, other, own) -> str:
    return f"{path} is an input of {other}, and this is {own}; run it with {other}, or give {own} an input of its own\n"


@pytest.mark.parametrize("name", SOLVERS)
def test_an_input_of_another_program_is_one_line(tmp_path, name):
    for other, paths in INPUTS.items():
        for path in [ROOT / path for path in paths]:
            done = built(name).run(tmp_path, path, "--validate")
            if other == name:
                assert done.returncode == 0, done
            else:
                assert done.returncode == 2 and not done.stdout, done
                assert done.stderr == f"{name}: {foreign(path, other, name)}"
    assert not list(tmp_path.iterdir())


def test_an_input_with_an_error_is_still_that_of_its_program(tmp_path):
    (tmp_path / "in.toml").write_text("[model]\nuu = 3\n[loop]\ntemperatures = [1]\n")
    done = built("plx-dca").run(tmp_path, "in.toml")
    assert done.returncode == 2 and "unknown key 'model.uu'; did you mean 'model.u'?" in done.stderr
    (tmp_path / "dotted.toml").write_text("grid.frequencies = [4]  # of plx-parquet\n")
    done = built("plx-dca").run(tmp_path, "dotted.toml")
    assert done.stderr == f"plx-dca: {foreign('dotted.toml', 'plx-parquet', 'plx-dca')}"
    # A section of its own keeps an input that of its program, also if a key or section of another is in it.
    (tmp_path / "in.toml").write_text("[model]\nu = 3\ntemperature = 1\n[cluster]\nname = '2x2'\n")
    done = built("plx-dca").run(tmp_path, "in.toml")
    assert done.returncode == 2 and "unknown key 'model.temperature'" in done.stderr, done
    (tmp_path / "in.toml").write_text("[run]\nt_end = 1\n[sedov]\nenergy = 1\n[solver]\nwarm_up = 1\n")
    done = built("plx-star").run(tmp_path, "in.toml")
    assert done.returncode == 2 and "problem.name is missing" in done.stderr, done
    (tmp_path / "in.toml").write_text("[model]\nu = 3\n[hydro]\ncfl = 0.5\n[solver]\nwarm_up = 1\n")
    done = built("plx-dca").run(tmp_path, "in.toml")
    assert done.returncode == 2 and "unknown section 'hydro'" in done.stderr, done
    (tmp_path / "neither.toml").write_text('[modell]\nu = 1\ntext = "[grid]"\n')
    done = built("plx-dca").run(tmp_path, "neither.toml")
    assert done.returncode == 2 and "unknown section 'modell'" in done.stderr and "did you mean 'model'?" in done.stderr
    (tmp_path / "dca.json").write_text("{}")
    for name in ("plx-star", "plx-parquet"):
        done = built(name).run(tmp_path, "dca.json")
        assert done.stderr == f"{name}: {foreign('dca.json', 'plx-dca', name)}"


def test_an_option_of_another_program_is_named(tmp_path):
    for name, setting, other in (
        ("plx-dca", "hydro.cfl=0.3", "plx-star"),
        ("plx-star", "solver.walkers=3", "plx-dca"),
        ("plx-parquet", "mesh.max_level=1", "plx-star"),
    ):
        done = built(name).run(tmp_path, ROOT / INPUTS[name][0], "--set", setting, "--validate")
        assert done.returncode == 2 and f"; it is an option of {other}, and this is {name}\n" in done.stderr, done
    done = built("plx-dca").run(tmp_path, ROOT / INPUTS["plx-dca"][0], "--set", "model.uu=3", "--validate")
    assert "did you mean 'model.u'?" in done.stderr and "option of" not in done.stderr, done


@pytest.mark.parametrize("name, task", [("plx-dca", "qmc/run"), ("plx-parquet", "parquet/run")])
def test_the_task_of_the_run_has_a_plain_name(tmp_path, name, task):
    done = built(name).run(tmp_path, *SHORT[name], "--out", "run", "--quiet", "--plx:profile=csv")
    assert done.returncode == 0, done
    names = [row["name"] for row in csv.DictReader((tmp_path / "run/profile.csv").open())]
    assert task in names and not [n for n in names if "::" in n], names


def is_plain(text: str) -> bool:
    return not any(ord(c) < 0x20 and c != "\n" or 0x7F <= ord(c) < 0xA0 for c in text)


@pytest.mark.parametrize("name", SOLVERS)
def test_names_with_control_characters(tmp_path, name):
    program = built(name)
    done = program.run(tmp_path, *SHORT[name], "--out", NAME)
    assert done.returncode == 0, done
    assert is_plain(done.stdout + done.stderr), done
    assert not [line for line in done.stdout.splitlines() if line.startswith("b")], done.stdout
    out = tmp_path / NAME
    for path in [*out.rglob("*.json"), *out.rglob("*.csv"), *out.rglob("*.toml"), *out.rglob("*.txt")]:
        text = path.read_text()
        assert is_plain(text), path
        if path.suffix == ".json":
            json.loads(text)
        if path.suffix == ".csv":
            table = list(csv.reader(text.splitlines()))
            assert {len(row) for row in table} == {len(table[0])}, path
    for wrong in (["--resume", f"{NAME}2"], [f"{NAME}.toml"], ["--resume", NAME, "--set", f"{NAME}=1"], [f"--{NAME}"]):
        done = program.run(tmp_path, *wrong)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and is_plain(done.stderr), done


def test_the_input_may_have_such_a_name(tmp_path):
    (tmp_path / f"{NAME}.toml").write_text((ROOT / "inputs/sedov.toml").read_text())
    program = built("plx-star")
    done = program.run(tmp_path, f"{NAME}.toml", "--print-config")
    assert done.returncode == 0 and is_plain(done.stdout), done
    assert all(" = " in line for line in done.stdout.splitlines() if line and line[0] not in "#["), done.stdout


def test_plx_exec_counts_and_quotes(tmp_path):
    built("plx-exec")
    done = subprocess.run([BIN / "plx-exec", "-d", "-o", NAME, "true"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and done.stderr.startswith("plx: 1 thread in "), done
    assert done.stderr.count("\n") == 1 and is_plain(done.stderr), done
    again = subprocess.run([BIN / "plx-exec", "-o", NAME, "true"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert again.returncode == 125 and again.stderr.count("\n") == 1 and is_plain(again.stderr), again
