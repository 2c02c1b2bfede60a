"""The output of the flight recorder for programs that fail (flight_cases.cpp).
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest
from built import BIN, needs

PROGRAM = BIN / "flight_cases"
pytestmark = needs("flight_cases")


class Ended:
    """A case that ran in its own folder."""

    def __init__(self, folder: Path, case: str, limit_bytes=None, **settings):
        self.folder = folder
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("PLX_")} | settings

        def prepare():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if limit_bytes is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

        self.process = subprocess.Popen(
            [str(PROGRAM), case],
            cwd=folder,
            env=self.environment,
            preexec_fn=prepare,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self) -> Ended:
        self.out, self.err = self.process.communicate(timeout=600)
        self.code = self.process.returncode
        return self

    @property
    def lines(self) -> list:
        return [line for line in self.err.splitlines() if line.startswith("plx: ")]

    @property
    def files(self) -> list:
        return sorted(self.folder.glob("plx-run/*"))

    def trace(self) -> dict:
        (file,) = self.files
        return json.loads(file.read_text())

    def last_trace(self) -> dict:
        """The last file: with a short hang interval, a descheduled worker may cause an earlier one."""
        newest = max(self.files, key=lambda file: file.stat().st_mtime_ns)
        return json.loads(newest.read_text())


def ended(*arguments, **settings) -> Ended:
    return Ended(*arguments, **settings).end()


def whole(files: list) -> list:
    return [file for file in files if file.suffix == ".json"]


def slices(trace: dict, name: str) -> list:
    return [e for e in trace["traceEvents"] if e["ph"] == "X" and e["name"] == name]


CRASHES = {
    "segv": signal.SIGSEGV,
    "abort": signal.SIGABRT,
    "bus": signal.SIGBUS,
    "fpe": signal.SIGFPE,
    "ill": signal.SIGILL,
}


@pytest.mark.parametrize("case", CRASHES)
def test_a_crash_leaves_the_trace_and_names_the_task(tmp_path, case):
    run = ended(tmp_path, case)
    assert run.code == -CRASHES[case]  # the signal's effect is unchanged
    (line,) = run.lines
    assert f'{CRASHES[case].name} in task "guilty" (key 77) on worker ' in line
    (file,) = run.files
    assert file.name == f"flight-{run.process.pid}.json" and f"plx-run/{file.name}" in line
    trace = run.trace()
    about = trace["otherData"]
    assert about["reason"] == CRASHES[case].name
    assert (about["task"], about["key"]) == ("guilty", 77)
    relaxed = slices(trace, "relax")
    assert len(relaxed) == 24 and {e["args"]["key"] for e in relaxed} == set(range(8))
    assert all(900 <= e["dur"] for e in relaxed)
    (guilty,) = slices(trace, "guilty")
    assert guilty["args"] == {"key": 77, "running": True} and guilty["tid"] == about["worker"]


def frames_of(run: Ended) -> tuple:
    """Names without namespaces and offsets of the printed frames, and the places in the file."""
    stack = run.trace()["otherData"]["stack"]
    if len(stack) == 1:
        pytest.skip("callers are not found on this system")
    printed = [line for line in run.err.splitlines() if line.startswith("  #")]
    plain = [re.sub(r"^ *#\d+ (to #\d+ )?", "", line) for line in printed]
    names = [line.rpartition("(")[0].strip().split("::")[-1] for line in plain]
    return names, [line.rpartition("(")[2].rstrip(")") for line in plain], stack


@pytest.mark.parametrize(
    "case, calls", [("segv", ["write_to", "run"]), ("terminate", ["throws<...>", "run"]), ("exception", ["get", "main"])]
)
def test_the_call_stack_is_printed_and_in_the_file(tmp_path, case, calls):
    names, places, stack = frames_of(ended(tmp_path, case))
    at = names.index(calls[0])
    assert names[at : at + len(calls)] == calls
    assert stack[at].startswith(f"{PROGRAM}+0x")
    assert [Path(place).name for place in stack] == places


def test_frames_of_a_recursion_share_a_line(tmp_path):
    run = ended(tmp_path, "overflow")
    names, _, stack = frames_of(run)
    assert names == ["endless", "endless"] and len(stack) > 20
    assert f"  #1 to #{len(stack) - 1} " in run.err and "  and further callers" in run.err


def test_slices_of_a_worker_never_overlap(tmp_path):
    trace = ended(tmp_path, "segv").trace()
    for worker in (0, 1):
        mine = sorted(
            (e["ts"], e["ts"] + e["dur"]) for e in trace["traceEvents"] if e["ph"] == "X" and e["tid"] == worker
        )
        assert all(first[1] <= second[0] + 0.002 for first, second in zip(mine, mine[1:]))


def test_a_stack_overflow_is_reported(tmp_path):
    run = ended(tmp_path, "overflow")
    assert run.code == -signal.SIGSEGV
    assert "has used up its stack" in run.err
    assert run.trace()["otherData"]["task"] == "guilty"


def test_two_concurrent_crashes_leave_one_complete_file(tmp_path):
    for turn in range(5):
        folder = tmp_path / str(turn)
        folder.mkdir()
        run = ended(folder, "both")
        assert run.code == -signal.SIGSEGV
        assert run.trace()["otherData"]["task"] == "twin"
        assert len(run.lines) == 1


def test_a_crash_on_an_external_thread_reports_the_workers(tmp_path):
    run = ended(tmp_path, "thread")
    assert run.code == -signal.SIGSEGV
    trace = run.trace()
    assert "worker" not in trace["otherData"]
    (guilty,) = slices(trace, "guilty")
    assert guilty["args"]["running"]


def test_an_uncaught_exception_is_reported_with_its_text(tmp_path):
    run = ended(tmp_path, "exception")
    assert run.code == -signal.SIGABRT
    assert run.trace()["otherData"]["reason"] == 'uncaught std::runtime_error: no "luck"'
    assert len(run.lines) == 1  # SIGABRT, which follows, is not a second crash
    assert "terminate called after throwing" in run.err  # the standard library's message is printed as well


def test_terminate_in_a_task_names_the_task(tmp_path):
    run = ended(tmp_path, "terminate")
    assert run.code == -signal.SIGABRT
    about = run.trace()["otherData"]
    assert (about["reason"], about["task"]) == ("uncaught int", "guilty")


def test_the_programs_own_handlers_still_run(tmp_path):
    run = ended(tmp_path, "handler")
    assert run.code == 7 and run.out == "the program's own handler\n"
    assert len(run.files) == 1


def test_the_programs_own_terminate_still_runs(tmp_path):
    run = ended(tmp_path, "terminate_handler")
    assert run.code == 8 and run.out == "the program's own terminate\n"
    assert run.trace()["otherData"]["reason"] == "uncaught std::logic_error: text"


def test_upon_a_signal_files_are_written_and_the_program_continues(tmp_path):
    run = ended(tmp_path, "asked", PLX_FLIGHT_SIGNAL="USR2")
    assert run.code == 0
    assert run.out == "the program's own USR2\n" * 2 + "continued\n"
    assert [file.name for file in run.files] == [f"flight-{run.process.pid}-{i}.json" for i in (1, 2)]
    for file in run.files:
        assert json.loads(file.read_text())["otherData"]["task"] == "guilty"


def test_the_signal_may_be_sent_repeatedly_by_another_process(tmp_path):
    run = Ended(tmp_path, "asked_from_outside", PLX_FLIGHT_SIGNAL="SIGUSR2")
    assert run.process.stdout.readline() == "ready\n"  # printed by the task, which runs until SIGINT
    for _ in range(20):
        run.process.send_signal(signal.SIGUSR2)
        time.sleep(0.01)
    run.process.send_signal(signal.SIGINT)
    run.end()
    assert run.code == 0 and run.out == "continued\n"
    assert len(run.files) >= 1
    for file in run.files:
        json.loads(file.read_text())
    assert not list(tmp_path.glob("plx-run/*.part"))


def test_without_the_setting_the_program_handles_the_signal(tmp_path):
    run = ended(tmp_path, "asked")
    assert run.out == "the program's own USR2\n" * 2 + "continued\n" and run.files == []


def test_an_invalid_signal_is_one_line(tmp_path):
    run = ended(tmp_path, "fine", PLX_FLIGHT_SIGNAL="NONSENSE")
    assert run.code != 0 and "flight-signal=NONSENSE: expected a signal" in run.err


def test_a_deadlock_is_reported(tmp_path):
    run = Ended(tmp_path, "deadlock", PLX_REPORT_HANG="0.2")
    reason, deadline = "run() waits, and no task can continue without outside input", time.monotonic() + 300
    while not any(reason in file.read_text() for file in whole(run.files)) and time.monotonic() < deadline:
        time.sleep(0.02)
    run.process.kill()
    run.end()
    trace = run.last_trace()
    assert trace["otherData"]["reason"] == reason
    assert len(slices(trace, "relax")) == 24
    assert "latch" in run.err  # the object that a task waits on


def test_a_task_that_does_not_end_is_reported(tmp_path):
    run = ended(tmp_path, "busy", PLX_REPORT_HANG="0.3")
    assert run.code == 0 and run.out == "continued\n"
    trace = run.last_trace()
    assert trace["otherData"]["reason"].startswith("no task has begun or ended for 0.3 s")
    assert slices(trace, "guilty")[0]["args"]["running"]


def test_a_successful_program_leaves_no_files(tmp_path):
    run = ended(tmp_path, "fine")
    assert run.code == 0 and list(tmp_path.iterdir()) == [] and run.err == ""


def test_no_handlers_remain_after_the_runtime(tmp_path):
    run = ended(tmp_path, "after")
    assert run.code == -signal.SIGSEGV and list(tmp_path.iterdir()) == []


def test_it_can_be_switched_off(tmp_path):
    run = ended(tmp_path, "segv", PLX_FLIGHT="0")
    assert run.code == -signal.SIGSEGV and run.lines == [] and list(tmp_path.iterdir()) == []


def test_files_are_written_to_the_configured_folder(tmp_path):
    run = ended(tmp_path, "segv", PLX_OUTPUT=str(tmp_path / "elsewhere"))
    assert len(list((tmp_path / "elsewhere").glob("flight-*.json"))) == 1 and run.files == []


def test_stderr_that_is_not_read_does_not_delay_the_end(tmp_path):
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while os.write(writer, bytes(4096)):
            pass
    except BlockingIOError:
        os.set_blocking(writer, True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PLX_")}
    process = subprocess.Popen([str(PROGRAM), "segv"], cwd=tmp_path, env=environment, stderr=writer)
    try:
        assert process.wait(timeout=300) == -signal.SIGSEGV
    finally:
        process.kill()
        os.close(reader), os.close(writer)
    assert len(list(tmp_path.glob("plx-run/flight-*.json"))) == 1


def test_a_full_disk_is_one_line(tmp_path):
    run = ended(tmp_path, "segv", limit_bytes=1000)
    assert run.code == -signal.SIGSEGV
    (line,) = run.lines
    assert 'in task "guilty" (key 77)' in line and line.endswith(".json': File too large")
    assert run.files == []


def test_an_unwritable_folder_is_one_line(tmp_path):
    run = ended(tmp_path, "segv", PLX_OUTPUT="/proc/no/such")
    assert run.code == -signal.SIGSEGV
    (line,) = run.lines
    assert line.endswith("No such file or directory")


def test_only_the_last_seconds_are_written(tmp_path):
    run = ended(tmp_path, "busy", PLX_REPORT_HANG="0.3", PLX_FLIGHT_SECONDS="0.1")
    trace = run.last_trace()
    assert slices(trace, "relax") == []
    assert slices(trace, "guilty")[0]["dur"] == pytest.approx(1e5, rel=0.01)
