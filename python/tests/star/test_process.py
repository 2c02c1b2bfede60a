"""A run.json that says "running" is believed as long as its process is there."""

import json
import os
import socket
import subprocess
import sys

import pytest

from parallax import Run
from parallax.star import ending


def facts(pid: int) -> dict:
    """The entry that plx-star writes for a process of this machine."""
    return {
        "pid": pid,
        "started_ticks": ending.started_ticks(pid),
        "boot": (ending.PROC / "sys" / "kernel" / "random" / "boot_id").read_text().strip(),
        "numbers": os.readlink("/proc/self/ns/pid"),
    }


@pytest.fixture
def killed():
    """The facts of a process that ran and does not any more."""
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    found = facts(other.pid)
    other.kill()
    other.communicate()
    return found


def summary_of(folder, **members) -> dict:
    here = {"status": "running", "message": "", "machine": {"host": socket.gethostname()}}
    (folder / "run.json").write_text(json.dumps(here | members))
    return Run(folder).summary


def test_a_process_that_is_there_runs(tmp_path):
    assert summary_of(tmp_path, process=facts(os.getpid()))["status"] == "running"


def test_one_that_is_gone_was_interrupted(tmp_path, killed):
    summary = summary_of(tmp_path, process=killed)
    assert summary["status"] == "was interrupted"
    assert f"process {killed['pid']} ended" in summary["message"]
    assert f"plx-star --resume {tmp_path}" in summary["message"]


def test_a_process_without_a_wait_is_gone(tmp_path):
    other = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    known = facts(other.pid)
    other.stdout.read()  # it ends, and stays a number until it is waited for
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    assert summary_of(tmp_path, process=known)["status"] == "was interrupted"
    other.wait()


def test_a_number_that_another_process_has_now(tmp_path):
    mine = facts(os.getpid())
    summary = summary_of(tmp_path, process=mine | {"started_ticks": mine["started_ticks"] - 1})
    assert summary["status"] == "was interrupted"


def test_a_machine_that_has_restarted(tmp_path):
    assert summary_of(tmp_path, process=facts(os.getpid()) | {"boot": "another"})["status"] == "was interrupted"


@pytest.mark.parametrize(
    "change",
    [
        {"machine": {"host": "another"}},
        {"machine": None},
        {"process": None},
        {"process": {"pid": "x"}},
        {"status": "finished"},
        {"status": "failed"},
    ],
)
def test_an_unknown_value_stays_as_it_is(tmp_path, killed, change):
    summary = summary_of(tmp_path, **({"process": killed} | change))
    assert summary["status"] == change.get("status", "running") and summary["message"] == ""


def test_numbers_of_another_container_say_nothing(tmp_path, killed):
    assert summary_of(tmp_path, process=killed | {"numbers": "pid:[1]"})["status"] == "running"


@pytest.mark.parametrize("lacking", ["pid", "started_ticks"])
def test_facts_that_lack_something_say_nothing(tmp_path, killed, lacking):
    for boot in (killed["boot"], "of another start"):
        known = {key: value for key, value in (killed | {"boot": boot}).items() if key != lacking}
        assert summary_of(tmp_path, process=known)["status"] == "running"


def test_a_process_that_proc_hides_is_not_taken_for_gone(tmp_path, monkeypatch):
    def of_another(pid, signal):
        raise PermissionError

    mine = facts(os.getpid())
    monkeypatch.setattr(ending, "started_ticks", lambda *_: None)
    assert ending.is_gone(mine, socket.gethostname())  # this one may send it signals, so /proc would show it
    monkeypatch.setattr(ending.os, "kill", of_another)
    assert not ending.is_gone(mine, socket.gethostname())
