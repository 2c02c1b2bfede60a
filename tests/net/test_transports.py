"""Transports between real processes: transport_check (its modes are listed there), started by mpirun.

PLX_STARTS is the number of repetitions of the test of
starts and stops (2; ./plx test --all: 10).
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess

import launched
import pytest
from built import BIN, needs

PROGRAM = BIN / "transport_check"
pytestmark = needs("transport_check", job=True)
# The survivors of a death continue only if mpirun lets them.
GO_ON = ("--enable-recovery",)


class Run:
    """A job that has ended, in time or by force."""

    def __init__(self, n: int, *arguments: str, options=(), limit_s: float = 600, **settings: str):
        environment = {k: v for k, v in launched.environment().items() if not k.startswith("UCX_")} | settings
        command = [*launched.MPIRUN, *options, "-n", str(n), str(PROGRAM), *arguments]
        process = subprocess.Popen(
            command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        try:
            self.out, self.err = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            self.out, self.err = process.communicate()
            pytest.fail(f"{' '.join(command)} did not end within {limit_s} s:\n{self.out}{self.err}")
        self.code = process.returncode

    @property
    def reports(self) -> list:
        return [json.loads(line) for line in self.out.splitlines() if line.startswith("{")]

    @property
    def errors(self) -> list:
        return [line for line in self.err.splitlines() if line.startswith("transport_check: ")]


@pytest.fixture(scope="module", params=["ucx", "ucx without rings", "ucx over tcp", "mpi", "mpi without rings"])
def carrier(request) -> dict:
    """The variables that choose a transport; unavailable transports are skipped."""
    settings = {"PLX_TRANSPORT": request.param.split()[0]}
    if "tcp" in request.param:
        settings["UCX_TLS"] = "tcp,self"
    if "without rings" in request.param:  # all messages by UCX, or by MPI
        settings["PLX_SHARED_MEMORY"] = "off"
    run = Run(2, "start", **settings)
    if run.code != 0 and any("built without" in line or "cannot load" in line for line in run.errors):
        pytest.skip(run.errors[0])
    assert run.code == 0, run.out + run.err
    return settings


def uses_rings(carrier: dict) -> bool:
    return carrier.keys() == {"PLX_TRANSPORT"}


@pytest.mark.parametrize("n", [2, 3, 5])
def test_all_sizes_between_all_pairs(carrier, n):
    run = Run(n, "pairs", **carrier)
    assert run.code == 0, run.out + run.err
    line = r"locality (\d+): (\d+) messages from each of (\d+), 0 missing, 0 wrong, 0 lost, (\d+) sent by rings"
    lines = [tuple(map(int, found)) for found in re.findall(line, run.out)]
    assert sorted(here for here, *_ in lines) == list(range(n))
    assert all(count > 30 and others == n - 1 for _, count, others, _ in lines)
    assert all((by_rings > 0) == uses_rings(carrier) for *_, by_rings in lines), run.out


@pytest.mark.parametrize("victim", [0, 2])
def test_a_killed_locality_is_lost_to_all_others_once(carrier, victim):
    run = Run(4, "die", str(victim), options=GO_ON, **carrier)
    reports = {r["here"]: r for r in run.reports}
    own = re.search(r"(?:tcp_\w+\.c|uct_iface\.h):\d+ +Assertion.*failed", run.out + run.err)
    if own and "UCX_TLS" in carrier:  # UCX 1.13, on loaded cores, very rarely (docs/net.md)
        pytest.skip(f"UCX ended survivors by an assertion of its own: {own[0]}")
    assert sorted(reports) == [i for i in range(4) if i != victim], run.out + run.err
    for report in reports.values():
        assert not report["left"], report  # every send and every piece has completed
        # A locality whose shared memory the kill corrupts (see ucx_transport.hpp) is lost as well, and all agree on it.
        lost = [peer for peer, why, _ in report["lost"] if "was corrupted" not in why]
        assert lost == [victim], report
        if len(report["lost"]) == 1:
            assert all(report["heard"][i] > 0 for i in reports if i != report["here"]), report


def test_messages_in_rings_are_received_before_the_loss_of_their_sender(carrier):
    if not uses_rings(carrier):
        pytest.skip("only rings keep the messages of a dead process")
    run = Run(3, "last", "1", options=GO_ON, **carrier)
    lines = [f"locality {i}: 40 of 40 heads before the loss" for i in (0, 2)]
    assert sorted(run.out.splitlines()) == lines, run.out + run.err


def test_a_crash_that_corrupts_the_memory_of_another_ends_that_one_too():
    run = Run(4, "crash", "1", options=GO_ON, PLX_TRANSPORT="ucx")
    if any("built without" in line or "cannot load" in line for line in run.errors):
        pytest.skip(run.errors[0])
    reports = {r["here"]: r for r in run.reports}
    assert sorted(reports) == [0, 2, 3], run.out + run.err
    lost = {here: sorted(peer for peer, _, _ in report["lost"]) for here, report in reports.items()}
    assert lost == {0: [1, 2], 3: [1, 2], 2: [0, 1, 3]}  # locality 1 wrote to the memory of locality 2
    assert reports[0]["heard"][3] > 0 and reports[3]["heard"][0] > 0
    for report in reports.values():
        assert not report["left"]


def test_starts_and_stops_do_not_hang(carrier):
    for _ in range(int(os.environ.get("PLX_STARTS", "2"))):
        run = Run(4, "start", limit_s=600, **carrier)
        assert run.code == 0 and run.out == "", run.out + run.err


def test_a_single_process_starts_nothing():
    done = subprocess.run([PROGRAM, "start"], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (0, "alone\n", "")


def test_an_unknown_name_is_one_line():
    done = subprocess.run(
        [PROGRAM], capture_output=True, text=True, timeout=600, env=os.environ | {"PLX_TRANSPORT": "telegraph"}
    )
    line = "transport_check: PLX_TRANSPORT: expected ucx, mpi or alone, found 'telegraph'\n"
    assert (done.returncode, done.stderr) == (3, line)


def test_without_pmix_the_line_says_how_to_start():
    settings = {k: v for k, v in os.environ.items() if not k.startswith(("PMIX_", "PLX_"))}
    settings |= {"PMI_RANK": "1", "PLX_TRANSPORT": "ucx"}
    done = subprocess.run([PROGRAM], capture_output=True, text=True, timeout=600, env=settings)
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert "expected a launcher with PMIx, but only PMI_RANK is set: start with mpirun" in done.stderr


def test_an_unreachable_pmix_server_is_one_line():
    settings = {k: v for k, v in os.environ.items() if not k.startswith(("PMIX_", "PLX_"))}
    settings |= {"PMIX_RANK": "0", "PMIX_NAMESPACE": "gone", "PLX_TRANSPORT": "ucx"}
    done = subprocess.run([PROGRAM], capture_output=True, text=True, timeout=600, env=settings)
    assert done.returncode == 3
    assert [line for line in done.stderr.splitlines() if line.startswith("transport_check: ")]


@pytest.mark.parametrize("victim", [0, 1])
def test_a_missing_locality_is_reported_in_time(victim):
    run = Run(3, "late", str(victim), "10", limit_s=600)
    assert run.code != 0 and run.errors, run.out + run.err
    for line in run.errors:  # mpirun may end the other one before it reports
        assert "expected all 3 localities at the start within 10 s" in line
