"""Windows between processes (check_windows.cpp): loads and stores, UCX's operations, and messages.

PLX_BIN names the folder of the programs (./plx test sets it).
"""

from __future__ import annotations

import pytest
from built import needs
from test_job import PROGRAM, started

pytestmark = needs("job_check", job=True)
# The setting of the environment, and how processes then reach each other's memory.
WAYS = [
    pytest.param({"PLX_TRANSPORT": "ucx"}, "memory", id="memory"),
    pytest.param({"PLX_TRANSPORT": "ucx", "PLX_DIRECT_ACCESS": "unmapped"}, "direct", id="direct"),
    pytest.param({"PLX_TRANSPORT": "ucx", "UCX_TLS": "tcp,self"}, "messages", id="tcp"),
    pytest.param({"PLX_TRANSPORT": "ucx", "PLX_DIRECT_ACCESS": "off"}, "messages", id="messages"),
    pytest.param({"PLX_TRANSPORT": "mpi"}, "messages", id="mpi"),
]


@pytest.mark.parametrize("settings, way", WAYS)
def test_operations_between_four_processes(settings, way):
    code, output, errors = started("-n", 4, PROGRAM, "windows", **settings)
    assert (code, errors) == (0, [])
    assert sorted(output.splitlines()) == ["fine with 4"] + [f"windows {i} by {way}" for i in range(4)]


def test_a_single_process_has_windows():
    code, output, errors = started("-n", 1, PROGRAM, "windows")
    assert (code, errors) == (0, [])
    assert "fine with 1" in output


@pytest.mark.parametrize("settings, way", WAYS)
def test_survivors_of_a_death_continue(settings, way):
    _, output, errors = started("--enable-recovery", "-n", 4, PROGRAM, "windows-die", 2, **settings)
    assert (output, errors) == ("fine with 4\n", [])


def test_an_invalid_value_for_direct_access_is_reported():
    code, _, errors = started("-n", 2, PROGRAM, "windows", PLX_DIRECT_ACCESS="yes")
    assert code != 0
    assert errors and any("PLX_DIRECT_ACCESS: expected on, off or unmapped, found 'yes'" in line for line in errors)
