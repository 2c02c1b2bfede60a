"""Jobs of several processes (job_check.cpp): how successful and failing jobs end.

PLX_STARTS is the number of repetitions of the test of
starts and stops (2; ./plx test --all: 10).
"""

from __future__ import annotations

import os
import subprocess

import pytest
from built import BIN, needs
from launched import environment

PROGRAM, OTHER = BIN / "job_check", BIN / "job_check_other"
pytestmark = needs("job_check", job=True)
STARTS = int(os.environ.get("PLX_STARTS", "2"))


def run(*command, **settings):
    """Runs `mpirun` with these arguments, for at most ten minutes."""
    words = ["mpirun", "--oversubscribe", *map(str, command)]
    return subprocess.run(words, capture_output=True, text=True, timeout=600, env=environment(**settings))


def started(*command, **settings):
    """Exit code, output, and the error lines of the program itself."""
    done = run(*command, **settings)
    errors = [line for line in done.stderr.splitlines() if line.startswith("job_check")]
    return done.returncode, done.stdout, errors


@pytest.mark.parametrize("n", [1, 2, 3])
def test_all_talk_with_all(n):
    assert started("-n", n, PROGRAM, "talk") == (0, f"fine with {n}\n", [])


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("how, memory", [("memory", "on"), ("messages", "off")])
def test_collective_calls_are_exact(n, how, memory):
    code, output, errors = started("-n", n, PROGRAM, "calls", PLX_SHARED_MEMORY=memory)
    assert (code, errors) == (0, [])
    lines = [f"fine with {n}"] + [f"collectives {i} by {how}" for i in range(n)]
    assert sorted(output.splitlines()) == sorted(lines)


# Workers and the main thread share one MPI library, initialised for serialized use.
@pytest.mark.parametrize("n", [2, 3])
def test_whole_jobs_by_mpi(n):
    assert started("-n", n, PROGRAM, "talk", PLX_TRANSPORT="mpi") == (0, f"fine with {n}\n", [])
    code, output, errors = started("-n", n, PROGRAM, "calls", PLX_TRANSPORT="mpi")
    assert (code, errors) == (0, [])
    assert sorted(output.splitlines()) == sorted([f"fine with {n}"] + [f"collectives {i} by memory" for i in range(n)])


def test_messages_of_ucx_stay_out_of_the_output():
    done = run("-n", 2, PROGRAM, "talk", PLX_TRANSPORT="ucx", UCX_LOG_LEVEL="info")
    assert (done.returncode, done.stdout) == (0, "fine with 2\n")
    assert " UCX  INFO " in done.stderr


@pytest.mark.parametrize("victim", [0, 2])
def test_a_death_among_collective_calls_ends_the_others(victim):
    _, output, errors = started("--enable-recovery", "-n", 4, PROGRAM, "calls-die", victim)
    assert output == ""
    assert len(errors) == 3
    assert all(line.split(": ", 1)[1].startswith(f"locality {victim} is lost: ") for line in errors)


# Each locality with the invalid value reports it; the first one may end the others before they do.
@pytest.mark.parametrize("wrong", ["all", "only 0", "only 1"])
def test_an_invalid_value_for_shared_memory_is_reported(wrong):
    yes = ["env", "PLX_SHARED_MEMORY=yes"]
    first, second = (yes if wrong != "only 1" else []), (yes if wrong != "only 0" else [])
    code, _, errors = started("-n", 1, *first, PROGRAM, "talk", ":", "-n", 1, *second, PROGRAM, "talk")
    assert code != 0
    assert errors and set(errors) == {"job_check: PLX_SHARED_MEMORY: expected on or off, found 'yes'"}


# A limit on file sizes applies to anonymous shared memory as well.
LIMITED = ("bash", "-c", f"ulimit -f 1; exec {PROGRAM} calls")


def warnings_about_memory(done):
    promised = "collective calls within this host do not use shared memory: expected a file size limit"
    return sum(promised in line for line in done.stderr.splitlines())


def test_messages_are_used_without_shared_memory():
    done = run("-n", 2, *LIMITED, UCX_TLS="tcp,self", PLX_CHECK_LOG="1")
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == ["collectives 0 by messages", "collectives 1 by messages", "fine with 2"]
    assert warnings_about_memory(done) == 2


@pytest.mark.parametrize("victim", [0, 2])
def test_only_a_locality_without_shared_memory_uses_messages(victim):
    commands = [LIMITED if i == victim else (PROGRAM, "calls") for i in range(3)]
    parts = [part for command in commands for part in (":", "-n", 1, *command)][1:]
    done = run(*parts, UCX_TLS="tcp,self", PLX_CHECK_LOG="1")
    assert done.returncode == 0
    ways = [f"collectives {i} by {'messages' if i == victim else 'memory'}" for i in range(3)]
    assert sorted(done.stdout.splitlines()) == sorted(["fine with 3", *ways])
    assert warnings_about_memory(done) == 1


def test_a_single_process_needs_no_launcher():
    done = subprocess.run([str(PROGRAM), "talk"], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (0, "fine with 1\n")


def test_starting_and_stopping_many_times():
    for _ in range(STARTS):
        assert started("-n", 2, PROGRAM, "talk") == (0, "fine with 2\n", [])


@pytest.mark.parametrize("victim", [0, 1])
def test_a_failure_is_reported_to_all(victim):
    code, output, errors = started("-n", 3, PROGRAM, "throw", victim)
    assert code != 0 and output == ""
    assert f"job_check {victim}: no such file" in errors
    others = [line for line in errors if "no such file" in line and not line.startswith(f"job_check {victim}")]
    assert all(line.endswith(f"locality {victim} is lost: it failed: no such file") for line in others)


def test_a_different_program_is_named_in_one_line():
    code, output, errors = started("-n", 1, PROGRAM, "talk", ":", "-n", 1, OTHER, "talk")
    assert code != 0 and output == ""
    assert len(errors) == 1 and "localities 0 and 1 run different programs" in errors[0]
    assert "only_here is missing here" in errors[0]


def test_a_transport_that_does_not_exist():
    code, _, errors = started("-n", 2, PROGRAM, "talk", PLX_TRANSPORT="pigeon")
    assert code != 0
    assert errors and all("PLX_TRANSPORT: expected" in line and "'pigeon'" in line for line in errors)


# mpirun ends the whole job when a process dies, unless --enable-recovery lets the others continue. Its exit code
# carries little information then.
@pytest.mark.parametrize("victim", [0, 1])
def test_after_a_death_all_others_end_and_name_the_lost_locality(victim):
    _, output, errors = started("--enable-recovery", "-n", 4, PROGRAM, "die", victim)
    assert output == ""
    assert len(errors) == 3
    assert all(line.split(": ", 1)[1].startswith(f"locality {victim} is lost: ") for line in errors)


TRANSPORTS = pytest.mark.parametrize("transport", ["ucx", "mpi"])


# The others wait for the calls that they have made, and end when it continues.
@TRANSPORTS
def test_a_process_that_is_stopped_is_waited_for(transport):
    code, output, errors = started("-n", 4, PROGRAM, "stop", 2, 3, PLX_TRANSPORT=transport)
    assert (code, errors) == (0, [])
    grown = [int(line.split()[3]) for line in output.splitlines() if line.startswith("grew")]
    assert "fine with 4" in output and len(grown) == 4 and max(grown) < 128 << 10, output


@TRANSPORTS
@pytest.mark.parametrize("victim", [0, 2])
def test_a_process_that_leaves_early_is_lost_to_the_others(transport, victim):
    _, output, errors = started("--enable-recovery", "-n", 4, PROGRAM, "leave", victim, PLX_TRANSPORT=transport)
    assert output == ""
    assert len(errors) == 3
    # One of the others may end first, and is then lost for the same reason.
    assert all(line.endswith(f"locality {victim} is lost: it has left the job") for line in errors)


@TRANSPORTS
def test_a_process_without_space_on_its_disk_is_named_to_the_others(transport):
    _, output, errors = started("--enable-recovery", "-n", 4, PROGRAM, "full", 2, PLX_TRANSPORT=transport)
    why = "cannot write the results: No space left on device"
    assert output == ""
    assert len(errors) == 4 and f"job_check 2: {why}" in errors
    others = [line for line in errors if not line.startswith("job_check 2")]
    assert all(line.endswith(f"locality 2 is lost: it failed: {why}") for line in others)


@TRANSPORTS
def test_survivors_of_a_death_go_on(transport):
    _, output, errors = started("--enable-recovery", "-n", 4, PROGRAM, "survive", 2, PLX_TRANSPORT=transport)
    assert (output, errors) == ("fine with 4\n", [])


# 450,000 calls of 4 us, made in a fraction of that time: without flow control the receiver grows by 60 MB, with it by 3.
def test_a_slow_receiver_slows_its_senders_down():
    code, output, errors = started("-n", 4, PROGRAM, "flood", PLX_TRANSPORT="ucx")
    assert (code, errors) == (0, [])
    grown = [int(line.split()[3]) for line in output.splitlines() if line.startswith("grew")]
    assert len(grown) == 4 and max(grown) < 32 << 10, output
