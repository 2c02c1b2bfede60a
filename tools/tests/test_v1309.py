"""bench/gpu/v1309.sh with stand-ins of its programs: which model it takes, and what ends it."""

import os
import subprocess

import pytest
from console import ROOT

STAR = """#!/bin/sh
echo "$*" >> "$CALLS"
[ "$1" != make-model ] || { while [ "$1" != -o ]; do shift; done; touch "$2"; exit; }
while [ "$1" != --out ]; do shift; done
mkdir -p "$2" && printf 'step,time,dt,blocks,cells,x,wall\\n0,0,0,8,4096,0,0\\n1,0,0,8,4096,0,2\\n2,0,0,8,4096,0,3\\n' > "$2/history.csv"
touch "$2/profile.csv"
"""
PYTHON = """#!/bin/sh
echo "$*" >> "$CALLS"
[ "$3" != report ] || { echo the report; exit ${REPORT:-0}; }
"""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "bin").mkdir()
    for name, text in (("plx-star", STAR), ("python", PYTHON)):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    calls = tmp_path / "calls"

    def run(**settings):
        calls.write_text("")
        places = {"BIN": f"{tmp_path}/bin", "PYTHON": f"{tmp_path}/bin/python", "CALLS": str(calls), "STEPS": "2"}
        done = subprocess.run(
            ["sh", "bench/gpu/v1309.sh", str(tmp_path / "out")], cwd=ROOT, capture_output=True, text=True,
            env={**os.environ, **places, **settings},
        )
        return done, calls.read_text()

    return run


def test_the_numbers_are_those_of_the_report_and_the_history(script, tmp_path):
    done, calls = script()
    assert done.returncode == 0 and "--sheet 1" in calls
    numbers = (tmp_path / "out" / "numbers.txt").read_text()
    assert "steps 2 to 2: 1.000 s per step, 4.1e+03 cell updates/s" in numbers and "the report" in numbers


def test_a_model_of_another_level_is_not_taken(script):
    for level, makes in (("8", True), ("8", False), ("10", True)):
        done, calls = script(LEVEL=level)
        assert done.returncode == 0 and ("make-model" in calls) == makes


@pytest.mark.parametrize("steps", ["1", "many"])
def test_a_single_step_has_no_time_per_step(script, steps):
    done, calls = script(STEPS=steps)
    assert done.returncode == 2 and calls == ""
    assert f"STEPS={steps}: expected at least 2" in done.stderr and done.stderr.count("\n") == 1


def test_a_failed_report_ends_it(script):
    done, calls = script(REPORT="2")
    assert done.returncode == 2 and "--sheet" not in calls
