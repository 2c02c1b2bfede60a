"""What `parallax diagnose` says of programs that are slow in known ways (diagnose_cases.cpp).

PLX_BIN names the folder of the programs (./plx test sets it).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numpy")

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("PLX_BIN", ROOT / "build" / "release" / "bin")) / "diagnose_cases"
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not built")


@pytest.fixture(scope="module")
def diagnosis_of(tmp_path_factory):
    """Runs a case, once per module, and gives what is said of it."""
    known: dict = {}

    def diagnosis(case: str, **settings) -> dict:
        key = (case, *settings.items())
        if key not in known:
            folder = tmp_path_factory.mktemp(case) / "run"
            environment = {**os.environ, "PLX_DIAGNOSE": "1", "PLX_OUTPUT": str(folder), **settings}
            subprocess.run([str(PROGRAM), case], check=True, timeout=100, env=environment)
            known[key] = json.loads(parallax("diagnose", "--json", folder))
        return known[key]

    return diagnosis


def parallax(*arguments) -> str:
    command = [sys.executable, "-B", "-m", "parallax", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def ids(diagnosis: dict) -> list:
    return [finding["id"] for finding in diagnosis["findings"]]


def finding(diagnosis: dict, wanted: str) -> dict:
    return next(f for f in diagnosis["findings"] if f["id"] == wanted)


# finding: (the program that provokes it, one that resembles it and does not)
PAIRS = {
    "starvation": ("starved", "chain"),
    "chains": ("chain", "starved"),
    "latency": ("latency", "starved"),
    "grain": ("small_grain", "healthy"),
    "contention": ("lock", "lock_for_short"),
    "imbalance": ("imbalance", "healthy"),
    "memory_growth": ("memory", "memory_at_once"),
    "io": ("io", "healthy"),
}


@pytest.mark.parametrize("wanted", PAIRS)
def test_the_program_that_provokes_a_sentence_gets_it(diagnosis_of, wanted):
    assert wanted in ids(diagnosis_of(PAIRS[wanted][0]))


@pytest.mark.parametrize("wanted", PAIRS)
def test_one_that_does_not_provoke_it_does_not(diagnosis_of, wanted):
    assert wanted not in ids(diagnosis_of(PAIRS[wanted][1]))


def test_the_lock_is_told_by_its_name(diagnosis_of):
    found = finding(diagnosis_of("lock"), "contention")
    assert '"accumulator"' in found["text"]
    # The k-th of 40 waits for k times 10 ms: 39 waits, 7.8 s. Where workers lose their cores some come late and find
    # it free, or are overtaken and wait twice, and all takes longer.
    assert 20 <= found["waits"] <= 60
    assert 0.05 <= found["waited_s"] / found["waits"] <= 50


def test_the_long_task_is_told_by_its_name(diagnosis_of):
    assert "the long one" in finding(diagnosis_of("imbalance"), "imbalance")["text"]


def test_the_figures_of_starvation_are_those_of_the_program(diagnosis_of):
    assert 0.3 <= finding(diagnosis_of("starved"), "starvation")["busy"] <= 0.7


def test_who_sleeps_is_told_so(diagnosis_of):
    assert "slept for" in finding(diagnosis_of("sleeping"), "starvation")["text"]


def test_at_most_ten_sentences(diagnosis_of):
    for case in ("healthy", "lock", "memory"):
        said = diagnosis_of(case)
        assert 1 + 2 * len(said["findings"]) + bool(said["not_judged"]) <= 10


def test_a_program_without_the_setting_writes_nothing(tmp_path):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PLX_")}
    subprocess.run([str(PROGRAM), "memory_at_once"], check=True, timeout=100, env=environment, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
