"""`parallax what-if` on runs of programs of known structure (what_if_cases.cpp). No time is asserted: what the predictions
must obey on any machine is; check_what_if.py compares them with real changes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from built import BIN, ROOT, needs

CASES, WHAT_IF = BIN / "what_if_cases", BIN / "plx-what-if"
pytestmark = [*needs("what_if_cases"), *needs("plx-what-if"), *needs("plx-trace")]


def record(folder: Path, case: str, *arguments: str, trace: str = "1") -> Path:
    environment = {**os.environ, "PLX_TRACE": trace, "PLX_OUTPUT": str(folder)}
    subprocess.run([CASES, case, "scale=0.3", *arguments], env=environment, check=True, capture_output=True, timeout=600)
    return folder


def ask(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([WHAT_IF, *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False)


def longest_s(run: Path, task_type: str) -> float:
    """The longest slice of the type. It is much longer than what the program does in it if its worker lost its core meanwhile."""
    command = [BIN / "plx-trace", "find", run, "--order", "longest", "--rows", "1", "--type", task_type]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    _, length, unit = done.stdout.splitlines()[3].split()[:3]
    return float(length) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]


@pytest.fixture(scope="module")
def lock_run(tmp_path_factory) -> Path:
    return record(tmp_path_factory.mktemp("lock"), "lock")


@pytest.mark.parametrize("case", ["fork_join", "chain", "wavefront", "imbalance", "lock_asleep", "nested", "input_output"])
def test_predictions_obey_their_bounds(tmp_path, case):
    run = record(tmp_path / "run", case)
    done = ask(run, "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == (1 if answer["refusal"] else 0), done.stderr
    assert bool(answer["predictions"]) != bool(answer["refusal"])
    assert answer["lower_s"] <= answer["upper_s"]
    assert answer["span_s"] <= answer["lower_s"] * 1.000001
    assert (abs(answer["error"]) > 0.15) == bool(answer["refusal"])
    for p in answer["predictions"]:
        assert 0.999 * p["lower_s"] <= p["time_s"] <= 1.001 * p["upper_s"], p


def test_a_change_beside_the_critical_path_saves_nothing(tmp_path):
    run = record(tmp_path / "run", "chain")
    answer = json.loads(ask(run, "--json", "--scale", "beside=0.5", "--workers", "4").stdout)
    if not answer["refusal"] and longest_s(run, "beside") < 0.5 * answer["span_s"]:  # else it may be the critical path
        spans = {p["change"]: p["span_s"] for p in answer["predictions"]}
        assert spans['half the time of "beside"'] == answer["span_s"] == spans["4 workers"]


def test_a_lock_is_found_by_its_name(lock_run):
    answer = json.loads(ask(lock_run, "--json", "--without-lock", "accum*", "--workers", "8").stdout)
    if not answer["refusal"]:
        one, eight, both = answer["predictions"][1], answer["predictions"][0], answer["predictions"][2]
        assert one["change"] == 'no waits for the lock "accum*"'
        assert both["time_s"] <= eight["time_s"]
        if longest_s(lock_run, "deposit") < 0.5 * eight["time_s"]:  # else that task limits both
            assert both["time_s"] < eight["time_s"], "with eight workers the lock limits the run"


def test_the_table_begins_with_the_error(lock_run):
    lines = ask(lock_run).stdout.splitlines()
    assert lines[0].startswith("49 tasks in ")
    assert lines[1].startswith("replayed without a change: ")
    assert all(len(line) <= 110 for line in lines)


@pytest.mark.parametrize(
    "arguments, line",
    [
        (["--scale", "depositt=0.5"], "the run has no task type 'depositt'; did you mean 'deposit'?"),
        (["--scale", "deposit"], "--scale deposit: expected TYPE=FACTOR"),
        (["--scale", "deposit=fast"], "--scale deposit=fast: expected a factor above 0, found 'fast'"),
        (["--scale", "deposit=0"], "--scale deposit=0: expected a factor above 0, found '0'"),
        (["--without-lock", "accumulater"], "the run has no lock 'accumulater'; did you mean 'accumulator'?"),
        (["--priority", "deposit=urgent"], "'deposit=urgent': expected a priority of high, normal, low"),
        (["--without-messages"], "the trace has no messages between localities: expected that of a job of several processes"),
        (["--all", "--workers", "3"], "--all has its own questions: expected no others with it"),
    ],
)
def test_wrong_questions_get_a_line(lock_run, arguments, line):
    done = ask(lock_run, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"plx what-if: {line}\n")


def test_a_run_without_a_trace_gets_the_setting(tmp_path):
    assert ask(tmp_path / "none").stderr == f"plx what-if: '{tmp_path}/none' does not exist: expected the folder of a run\n"
    run = record(tmp_path / "run", "lock", trace="0")
    run.mkdir(exist_ok=True)
    done = ask(run)
    assert (done.returncode, done.stdout) == (2, "")
    assert "PLX_TRACE=1" in done.stderr and len(done.stderr.splitlines()) == 1


def test_the_python_command_runs_the_program(lock_run, tmp_path):
    def command(*arguments) -> subprocess.CompletedProcess:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
        line = [sys.executable, "-m", "parallax", "what-if", *map(str, arguments)]
        return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=600, check=False)

    program = ["--program", WHAT_IF]
    questions = ["--workers", "3", "--scale", "deposit=0.5", "--scale", "*=2", "--without-locks", "--json"]
    expected = ask(lock_run, *questions).stdout
    for arguments in ([lock_run, *program, *questions], [*questions, *program, lock_run]):
        done = command(*arguments)
        assert done.returncode in (0, 1), done.stderr
        assert done.stdout == expected
    done = command("--workers", "many", lock_run, *program)
    assert done.returncode == 2 and "--workers" in done.stderr and "many" in done.stderr
    done = command(lock_run, "--program", tmp_path / "none")
    assert done.returncode == 2 and "no such program: build it with ./plx build plx-what-if" in done.stderr
