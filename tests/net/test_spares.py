"""Jobs with spares (check_spares.cpp): processes that are killed and replaced, spares that are not needed, wrong values."""

from __future__ import annotations

import csv
import re
import subprocess

import pytest
from built import BIN, ROOT, needs
from launched import MPIRUN, environment

PROGRAM = BIN / "job_check"
pytestmark = needs("job_check", job=True)
TRANSPORTS = pytest.mark.parametrize("transport", ["ucx", "mpi"])


def run(n, *command, recovers=True, **settings):
    words = [*MPIRUN, *(["--enable-recovery"] if recovers else []), "-n", n, PROGRAM, *command]
    return subprocess.run(
        [str(w) for w in words], capture_output=True, text=True, timeout=600, env=environment(**({"PLX_THREADS": "1"} | settings))
    )


def errors_of(done):
    return [line for line in done.stderr.splitlines() if line.startswith("job_check")]


def results(done):
    """By locality: the sum, the members at the end, the slabs restored there."""
    found = re.findall(r"^result (\d+) (\S+) members (\S*) slabs (\d+)$", done.stdout, re.M)
    return {int(l): (value, members, int(slabs)) for l, value, members, slabs in found}


@pytest.fixture(scope="module")
def undisturbed():
    done = run(3, "spares-die", "none", 0)
    found = results(done)
    assert errors_of(done) == [] and sorted(found) == [0, 1, 2], done.stdout + done.stderr
    return found[0][0]


@TRANSPORTS
def test_spares_that_are_not_needed_do_not_run_the_function(transport):
    done = run(5, "spares", "--plx:spares=2", PLX_TRANSPORT=transport)
    assert done.returncode == 0 and errors_of(done) == [], done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("members")]
    assert sorted(lines) == [f"members {i} {3 if i < 3 else 0}" for i in range(5)]


@TRANSPORTS
@pytest.mark.parametrize("victim, slabs", [(0, 3), (2, 2)])
def test_a_spare_takes_the_place_of_a_killed_process(undisturbed, transport, victim, slabs):
    done = run(4, "spares-die", victim, 20, "--plx:spares=1", PLX_TRANSPORT=transport)
    members = [i for i in range(4) if i != victim]
    found = results(done)
    assert errors_of(done) == [] and sorted(found) == members, done.stdout + done.stderr
    for value, last, _ in found.values():
        assert value == undisturbed and last == ",".join(map(str, members))
    assert found[3][2] == slabs, "the objects of the lost process are made on the spare"


@pytest.mark.parametrize("victims, spares, members", [("0,2", 2, "1,3,4,5"), ("1,3", 1, "0,2,4"), ("0,1", 0, None)])
def test_several_processes_are_killed(undisturbed, victims, spares, members):
    done = run(4 + spares, "spares-die", victims, 20, f"--plx:spares={spares}")
    if members is None:  # partners
        if found := results(done):  # the second one has stored again before its end
            assert errors_of(done) == [] and {(value, last) for value, last, _ in found.values()} == {(undisturbed, "2,3")}
            return
        assert errors_of(done) and all("and its partner" in line or "have ended" in line for line in errors_of(done))
        return
    found = results(done)
    assert errors_of(done) == [] and ",".join(map(str, sorted(found))) == members, done.stdout + done.stderr
    assert {(value, last) for value, last, _ in found.values()} == {(undisturbed, members)}


def test_a_taken_spare_that_is_killed_is_replaced(undisturbed):
    done = run(5, "spares-die", "1,3", 20, "--plx:spares=2")
    found = results(done)
    assert errors_of(done) == [] and sorted(found) == [0, 2, 4], done.stdout + done.stderr
    assert {(value, last) for value, last, _ in found.values()} == {(undisturbed, "0,2,4")}


def test_a_spare_that_throws_is_a_locality_that_fails():
    done = run(4, "spares-throw", 1, "--plx:spares=1")
    errors = errors_of(done)
    assert len(errors) == 3, done.stderr
    assert "job_check 3: no such file" in errors
    assert sum("locality 3 is lost: it failed: no such file" in line for line in errors) == 2


def test_spares_without_members_end_with_a_line():
    done = run(3, "die", 0, "--plx:spares=2")
    errors = errors_of(done)
    assert len(errors) == 2 and all("locality 0 is lost" in line for line in errors), done.stderr


@pytest.mark.parametrize("wrong, line", [
    ("3", "job_check: spares: expected at most 2 in a job of 3 processes, found 3"),
    ("-1", "--plx:spares"),
    ("one", "--plx:spares"),
])
def test_a_wrong_number_of_spares_is_refused_in_one_line(wrong, line):
    done = run(3, "spares", f"--plx:spares={wrong}", recovers=False)
    errors = errors_of(done)
    assert done.returncode != 0 and len(errors) == 1 and line in errors[0], done.stderr


@pytest.mark.parametrize("program, source", [("plx-star", "sedov.toml"), ("plx-dca", "dca/quick.toml"), ("plx-parquet", "parquet/atom.toml")])
def test_programs_that_do_not_replace_processes_refuse_spares(program, source, tmp_path):
    if not (BIN / program).exists():
        pytest.skip("not built")
    words = [*MPIRUN, "-n", "2", BIN / program, ROOT / "inputs" / source, "--out", tmp_path / "run", "--plx:spares=1"]
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=600, env=environment())
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if line.startswith(program)]
    assert lines == [f"{program}: spares: this program does not replace lost processes: expected 0, found 1"]


@pytest.mark.parametrize("victim", ["none", "1"])
def test_traces_and_summaries_have_the_spares(tmp_path, undisturbed, victim):
    folder = tmp_path / "run"
    done = run(4, "spares-die", victim, 20, "--plx:spares=1", PLX_OUTPUT=str(folder), PLX_TRACE="1", PLX_PROFILE="csv",
               PLX_CHECK_STOP_DEADLINE="600", PLX_PRINT_COUNTER="/localities{locality#*/total}/count/spares")
    assert errors_of(done) == [] and {value for value, _, _ in results(done).values()} == {undisturbed}, done.stderr
    with open(folder / "localities.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["missing"] != "" for row in rows] == [str(i) == victim for i in range(4)]
    assert all((folder / f"localities/{i}/trace.plxt").exists() for i in (1, 2, 3))
    done = subprocess.run([BIN / "plx-trace", "json", folder], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
