"""Jobs of several processes (job_check.cpp): how successful and failing jobs end.

PLX_STARTS is the number of repetitions of the test of
starts and stops (2; ./plx test --all: 10). With more than 2, a
process is stopped for a minute instead of 3 s.
"""

from __future__ import annotations

import os
import subprocess

import pytest
from built import BIN, needs
from launched import MPIRUN, environment

PROGRAM, OTHER = BIN / "job_check", BIN / "job_check_other"
pytestmark = needs("job_check", job=True)
STARTS = int(os.environ.get("PLX_STARTS", "2"))
STOPPED_S = 3 if STARTS <= 2 else 60
TRANSPORTS = pytest.mark.parametrize("transport", ["ucx", "mpi"])


def run(*command, **settings):
    """Runs `mpirun` with these arguments, for at most ten minutes."""
    words = [*MPIRUN, *map(str, command)]
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


def test_the_task_of_a_job_has_the_name_of_its_function(tmp_path):
    done = started("-n", 1, PROGRAM, "count", PLX_PROFILE="csv", PLX_OUTPUT=str(tmp_path))
    assert done[0] == 0, done
    names = [line for line in (tmp_path / "profile.csv").read_text().splitlines() if "::lambda" in line]
    assert any(name.startswith('"run(plx::job&') for name in names) and not any("plx::job::" in name for name in names), names


def test_messages_of_ucx_stay_out_of_the_output():
    done = run("-n", 2, PROGRAM, "talk", PLX_TRANSPORT="ucx", UCX_LOG_LEVEL="info")
    assert (done.returncode, done.stdout) == (0, "fine with 2\n")
    assert " UCX  INFO " in done.stderr


# Also of a survivor that learns of the death by the report of another one, which has failed because of it.
@pytest.mark.parametrize("victim", [0, 2])
def test_a_death_among_collective_calls_ends_the_others(victim):
    _, output, errors = started("--enable-recovery", "-n", 4, PROGRAM, "calls-die", victim)
    assert output == ""
    assert len(errors) == 3
    assert all(line.split(": ", 1)[1].startswith(f"locality {victim} is lost: ") for line in errors), errors


@pytest.mark.parametrize("transport", ["ucx", "mpi"])
@pytest.mark.parametrize("victim, after_ms", [(0, 200), (2, 500)])
def test_a_checkpoint_in_memory_survives_a_death(victim, after_ms, transport):
    _, output, errors = started("--enable-recovery", "-n", 3, PROGRAM, "checkpoint-die", victim, after_ms, PLX_TRANSPORT=transport)
    assert errors == []
    lines = [line for line in output.splitlines() if line.startswith("restored")]
    assert sorted(lines) == [f"restored {i}" for i in range(3) if i != victim]


# Each locality with the invalid value reports it; the first one may end the others before they do.
@pytest.mark.parametrize("wrong", ["all", "only 0", "only 1"])
def test_an_invalid_value_for_shared_memory_is_reported(wrong):
    yes = ["env", "PLX_SHARED_MEMORY=yes"]
    first, second = (yes if wrong != "only 1" else []), (yes if wrong != "only 0" else [])
    code, _, errors = started("-n", 1, *first, PROGRAM, "talk", ":", "-n", 1, *second, PROGRAM, "talk")
    assert code != 0
    assert errors and set(errors) == {"job_check: PLX_SHARED_MEMORY: expected on or off, found 'yes'"}


# PLX_TRACE is read by another library than PLX_BIND, and the arguments may be read before the job starts.
@pytest.mark.parametrize("wrong", [0, 1])
@pytest.mark.parametrize("deadline", [[], ["PLX_CHECK_START_DEADLINE=60"]], ids=["arguments", "options"])
@pytest.mark.parametrize("setting, line", [("PLX_TRACE=maybe", "maybe"), ("PLX_BIND=maybe", "expected 0")])
def test_an_invalid_setting_on_one_locality_is_reported(wrong, deadline, setting, line):
    commands = [["env", *deadline, *([setting] if i == wrong else []), PROGRAM, "talk"] for i in range(2)]
    code, _, errors = started("-n", 1, *commands[0], ":", "-n", 1, *commands[1])
    assert code != 0
    assert len(errors) == 1 and setting.split("=")[0] in errors[0] and line in errors[0], errors


# The localities compare their arguments: the first one with an invalid one reports it for all. It takes its time: none of the
# others may end before, as mpirun would then end this one.
LATE = {"PLX_CHECK_REPORT_AFTER": "1.5"}


@pytest.mark.parametrize("wrong", [{0}, {1}, {0, 1}, {1, 2}], ids=lambda w: "-".join(map(str, sorted(w))))
def test_an_invalid_argument_is_reported_once(wrong):
    commands = [[PROGRAM, "talk", *(["--plx:cores=many"] if i in wrong else [])] for i in range(3)]
    parts = [part for command in commands for part in (":", "-n", 1, *command)][1:]
    code, output, errors = started(*parts, **LATE)
    assert code != 0 and output == ""
    assert len(errors) == 1 and "cores" in errors[0] and "many" in errors[0], errors


# A stack that exceeds the address space: no thread can be made.
def test_mpi_without_a_thread_is_reported():
    code, _, errors = started("-n", 1, "bash", "-c", f"ulimit -s {2**36}; exec {PROGRAM} talk", PLX_TRANSPORT="mpi")
    assert code != 0
    assert len(errors) == 1 and "cannot start MPI" in errors[0], errors


# A limit on file sizes applies to anonymous shared memory as well.
LIMITED = ("bash", "-c", f"ulimit -f 1; exec {PROGRAM} calls")


def warnings_about_memory(done):
    promised = "not all messages between localities of this host use shared memory: expected a file size limit"
    return sum(promised in line for line in done.stderr.splitlines())


# One line of each process that wants it; UCX's own memory by sysv is no file.
@pytest.mark.parametrize("command, transports, warnings", [(LIMITED, "sysv,self", 2), ((PROGRAM, "calls"), "tcp,self", 0)])
def test_messages_are_used_without_shared_memory(command, transports, warnings):
    done = run("-n", 2, *command, UCX_TLS=transports, PLX_CHECK_LOG="1")
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == ["collectives 0 by messages", "collectives 1 by messages", "fine with 2"]
    assert warnings_about_memory(done) == warnings


@pytest.mark.parametrize("victim", [0, 2])
def test_only_a_locality_without_shared_memory_uses_messages(victim):
    commands = [LIMITED if i == victim else (PROGRAM, "calls") for i in range(3)]
    parts = [part for command in commands for part in (":", "-n", 1, *command)][1:]
    done = run(*parts, UCX_TLS="sysv,self", PLX_CHECK_LOG="1")
    assert done.returncode == 0
    ways = [f"collectives {i} by {'messages' if i == victim else 'memory'}" for i in range(3)]
    assert sorted(done.stdout.splitlines()) == sorted(["fine with 3", *ways])
    assert warnings_about_memory(done) == 1


# Also without shared memory, and for a single process, which reports nothing.
@TRANSPORTS
@pytest.mark.parametrize("n, memory", [(1, "on"), (2, "on"), (3, "on"), (3, "off")])
def test_a_start_takes_two_exchanges_of_data(transport, n, memory):
    done = run("-n", n, PROGRAM, "talk", PLX_TRANSPORT=transport, PLX_SHARED_MEMORY=memory, PLX_CHECK_LOG="info")
    assert (done.returncode, done.stdout) == (0, f"fine with {n}\n"), done.stderr
    line = f"{n} localities have started in 2 exchanges of data"
    assert sum(line in one for one in done.stderr.splitlines()) == (n if n > 1 else 0), done.stderr


def test_a_single_process_needs_no_launcher():
    done = subprocess.run([str(PROGRAM), "talk"], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (0, "fine with 1\n")


def test_starting_and_stopping_many_times():
    for _ in range(STARTS):
        assert started("-n", 2, PROGRAM, "talk") == (0, "fine with 2\n", [])


# With --enable-recovery, mpirun does not end the others before they have reported it.
@TRANSPORTS
@pytest.mark.parametrize("victim", [0, 2])
def test_a_failure_is_reported_to_all(transport, victim):
    _, output, errors = started("--enable-recovery", "-n", 4, PROGRAM, "throw", victim, PLX_TRANSPORT=transport)
    assert output == ""
    lost = f"locality {victim} is lost: it failed: no such file"
    lines = [f"job_check {i}: {'no such file' if i == victim else lost}" for i in range(4)]
    assert sorted(errors) == lines


def test_a_different_program_is_named_in_one_line():
    code, output, errors = started("-n", 1, PROGRAM, "talk", ":", "-n", 1, OTHER, "talk", **LATE)
    assert code != 0 and output == ""
    assert len(errors) == 1 and "localities 0 and 1 run different programs" in errors[0]
    assert "only_here is missing here" in errors[0]


def test_a_transport_that_does_not_exist():
    code, _, errors = started("-n", 2, PROGRAM, "talk", PLX_TRANSPORT="pigeon")
    assert code != 0
    assert errors and all("PLX_TRANSPORT: expected" in line and "'pigeon'" in line for line in errors)


# mpirun ends the whole job when a process dies, unless --enable-recovery lets the others continue. Its exit code
# carries little information then.
@TRANSPORTS
@pytest.mark.parametrize("victim", [0, 1])
def test_after_a_death_all_others_end_and_name_the_lost_locality(transport, victim):
    _, output, errors = started("--enable-recovery", "-n", 4, PROGRAM, "die", victim, PLX_TRANSPORT=transport)
    assert output == ""
    assert len(errors) == 3
    assert all(line.split(": ", 1)[1].startswith(f"locality {victim} is lost: ") for line in errors)


# While the job starts no locality knows which others live, so each survivor prints its line. Each of the at most four
# steps of the start has the deadline; a busy machine may need as long again. The default deadline is twelve times as long.
@TRANSPORTS
@pytest.mark.parametrize("victim", [0, 2])
@pytest.mark.parametrize("when", ["at-once", "started", "met"])
def test_survivors_of_a_death_at_the_start_end_with_a_line_each(transport, victim, when):
    dies = (PROGRAM, "die-at-start", victim, when)
    survives = ("bash", "-c", '"$0" "$@"; echo "code $? $SECONDS"', *dies)
    commands = [dies if i == victim else survives for i in range(4)]
    parts = [part for command in commands for part in (":", "-n", 1, *command)][1:]
    _, output, errors = started("--enable-recovery", *parts, PLX_TRANSPORT=transport, PLX_CHECK_START_DEADLINE="5")
    codes, seconds = zip(*(line.removeprefix("code ").split() for line in output.splitlines()), strict=True)
    assert codes == ("2",) * 3, (output, errors)
    assert max(map(int, seconds)) <= 2 * 4 * 5, output
    assert len(errors) == 3
    assert all("at the start" in line for line in errors), errors


# After the second exchange: the start fails on those that have not connected to it, the job on the others.
@TRANSPORTS
@pytest.mark.parametrize("victim", [0, 2])
def test_survivors_of_a_death_after_the_start_end_with_a_line_each(transport, victim):
    dies = (PROGRAM, "die-at-start", victim, "connected")
    survives = ("bash", "-c", '"$0" "$@"; echo "code $?"', *dies)
    commands = [dies if i == victim else survives for i in range(4)]
    parts = [part for command in commands for part in (":", "-n", 1, *command)][1:]
    _, output, errors = started("--enable-recovery", *parts, PLX_TRANSPORT=transport, PLX_CHECK_START_DEADLINE="20")
    failed = [line for line in errors if "at the start" in line]
    lost = [line for line in errors if f"locality {victim} is lost" in line]
    assert len(errors) == len(failed) + len(lost) == 3, (output, errors)
    assert sorted(output.splitlines()) == ["code 2"] * len(failed) + ["code 3"] * len(lost), (output, errors)


# One process has a wrong option, another one is missing: each of the living ends with its own line. If the missing one
# dies after the first exchange, the others know the wrong option; as none knows whether another has reported it, all do.
@TRANSPORTS
@pytest.mark.parametrize("victim, wrong", [(0, 1), (2, 0), (1, 2)])
@pytest.mark.parametrize("when", ["at-once", "started", "met"])
def test_a_wrong_option_beside_a_missing_process(transport, victim, wrong, when):
    dies = (PROGRAM, "die-at-start", victim, when)
    survives = ("bash", "-c", '"$0" "$@"; echo "code $? $SECONDS"', *dies)
    commands = [dies if i == victim else (*survives, *(["--plx:cores=many"] if i == wrong else [])) for i in range(3)]
    parts = [part for command in commands for part in (":", "-n", 1, *command)][1:]
    deadline = 20 if when == "met" else 5  # the first exchange has to succeed
    settings = {"PLX_CHECK_START_DEADLINE": str(deadline), "PLX_CHECK_ARGUMENTS": "1", "PLX_TRANSPORT": transport}
    _, output, errors = started("--enable-recovery", *parts, **settings)
    codes, seconds = zip(*(line.removeprefix("code ").split() for line in output.splitlines()), strict=True)
    assert codes == ("2",) * 2, (output, errors)
    assert max(map(int, seconds)) <= 2 * 4 * deadline, output
    missed = 0 if when == "met" else 1
    assert len(errors) == 2 and sum("cores" in line and "many" in line for line in errors) == 2 - missed, errors
    assert sum("at the start" in line for line in errors) == missed, errors


# The others know the wrong option of a process that was killed before it could report it.
@TRANSPORTS
@pytest.mark.parametrize("victim", [0, 2])
def test_a_wrong_option_of_a_process_that_is_killed_is_reported_by_the_others(transport, victim):
    dies = (PROGRAM, "die-at-start", victim, "wrong")
    survives = ("bash", "-c", '"$0" "$@"; echo "code $?"', *dies)
    parts = [part for i in range(3) for part in (":", "-n", 1, *(dies if i == victim else survives))][1:]
    _, output, errors = started("--enable-recovery", *parts, PLX_TRANSPORT=transport, PLX_CHECK_START_DEADLINE="20")
    assert output.splitlines() == ["code 2"] * 2, (output, errors)
    assert errors == ["job_check: an option is wrong"] * 2, errors


# A second job must not start MPI while the thread of the first one still does.
def test_a_second_job_after_an_abandoned_start_of_mpi():
    parts = [part for i in range(2) for part in (":", "-n", 1, PROGRAM, "die-at-start", 1, "at-once", "twice")][1:]
    _, _, errors = started("--enable-recovery", *parts, PLX_TRANSPORT="mpi", PLX_CHECK_START_DEADLINE="5")
    assert len(errors) == 2 and "at the start within 5 s" in errors[0], errors
    assert "an earlier start in this process exceeded its deadline" in errors[1], errors


# The others wait for the calls that they have made, and end when it continues.
@TRANSPORTS
def test_a_process_that_is_stopped_is_waited_for(transport):
    code, output, errors = started("-n", 4, PROGRAM, "stop", 2, STOPPED_S, PLX_TRANSPORT=transport)
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
    assert all(line.endswith(f"locality {victim} is lost: it has left the job") for line in errors), errors


@TRANSPORTS
def test_a_process_without_space_on_its_disk_is_named_to_the_others(transport):
    _, output, errors = started("--enable-recovery", "-n", 4, PROGRAM, "full", 2, PLX_TRANSPORT=transport)
    why = "cannot write the results: No space left on device"
    assert output == ""
    assert len(errors) == 4 and f"job_check 2: {why}" in errors
    others = [line for line in errors if not line.startswith("job_check 2")]
    assert all(line.endswith(f"locality 2 is lost: it failed: {why}") for line in others), errors


# One survivor is busy for a second, while the others fail because of the loss.
@TRANSPORTS
@pytest.mark.parametrize("victim", [0, 2, 3])
def test_one_survivor_reports_a_death(transport, victim):
    _, output, errors = started("--enable-recovery", "-n", 4, PROGRAM, "report-death", victim, PLX_TRANSPORT=transport)
    assert output == ""
    reporter = 1 if victim == 0 else 0
    assert len(errors) == 1 and errors[0].startswith(f"job_check {reporter}: locality {victim} is lost: "), errors


@TRANSPORTS
@pytest.mark.parametrize("n, victim", [(4, 0), (4, 2), (6, 0)])
def test_a_process_that_throws_reports_it(transport, n, victim):
    _, output, errors = started("--enable-recovery", "-n", n, PROGRAM, "report-throw", victim, PLX_TRANSPORT=transport)
    assert (output, errors) == ("", [f"job_check {victim}: no such file"])


@TRANSPORTS
def test_one_of_all_that_throw_reports_it(transport):
    _, output, errors = started("--enable-recovery", "-n", 4, PROGRAM, "report-all", PLX_TRANSPORT=transport)
    assert output == ""
    assert len(errors) == 1 and errors[0].endswith(": no such file"), errors


# One of them is busy while the report of another one arrives.
@TRANSPORTS
@pytest.mark.parametrize("late", [0, 2])
def test_a_report_that_has_arrived_is_read_before_another_is_made(transport, late, tmp_path):
    settings = {"PLX_TRANSPORT": transport, "PLX_THREADS": "1"}
    _, output, errors = started("--enable-recovery", "--wdir", tmp_path, "-n", 4, PROGRAM, "report-late", late, **settings)
    assert output == ""
    assert len(errors) == 1 and errors[0].endswith(": no such file") and f" {late}:" not in errors[0], errors


# Their objects live on, also those whose directory was the victim, and later runs do not take more memory. The victims:
# the root of the tree over which a job ends, a locality with another one below it, and that other one.
@TRANSPORTS
@pytest.mark.parametrize("victim", [0, 2, 3])
def test_survivors_of_a_death_continue(transport, victim):
    _, output, errors = started("--enable-recovery", "-n", 4, PROGRAM, "survive", victim, PLX_TRANSPORT=transport)
    grown = [int(line.split()[3]) for line in output.splitlines() if line.startswith("grew")]
    lines = [f"survived {i}" for i in range(4) if i != victim] + (["fine with 4"] if victim != 0 else [])
    assert errors == []
    assert sorted(line for line in output.splitlines() if not line.startswith("grew")) == sorted(lines)
    assert len(grown) == 3 and max(grown) < 16 << 10, output


# 450,000 calls of 4 us, made in a fraction of that time: without flow control the receiver grows by 60 MB, with it by 3.
def test_a_slow_receiver_slows_its_senders_down():
    code, output, errors = started("-n", 4, PROGRAM, "flood", PLX_TRANSPORT="ucx")
    assert (code, errors) == (0, [])
    grown = [int(line.split()[3]) for line in output.splitlines() if line.startswith("grew")]
    assert len(grown) == 4 and max(grown) < 32 << 10, output
