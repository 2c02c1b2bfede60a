"""Jobs across hosts with addresses of their own, over real TCP (cluster.py), on slow, lossy or cut links.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from built import BIN, needs

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cluster import Cluster, why_not  # noqa: E402

PROGRAM = BIN / "job_check"
REASON = why_not()
pytestmark = [*needs("job_check"), pytest.mark.skipif(REASON != "", reason=REASON)]


@pytest.mark.parametrize("hosts, processes", [(2, 2), (3, 6)])
def test_all_talk_with_all(hosts, processes):
    with Cluster(hosts) as cluster:
        code, output, errors = cluster.mpirun(processes, PROGRAM, "talk")
    assert (code, output) == (0, f"fine with {processes}\n"), errors


SLOW = {
    "bandwidth": ("tbf", "rate", "400mbit", "burst", "256kbit", "latency", "50ms"),
    "latency": ("netem", "delay", "2ms"),
    "loss": ("netem", "loss", "1%"),
    "order": ("netem", "delay", "2ms", "reorder", "25%"),
}


@pytest.mark.parametrize("link", SLOW)
def test_a_bad_link_changes_no_result(link):
    with Cluster(2) as cluster:
        for host in range(2):
            if why := cluster.shape(host, *SLOW[link]):
                pytest.skip(f"this kernel has no such link: {why}")
        code, output, errors = cluster.mpirun(2, PROGRAM, "talk")
    assert (code, output) == (0, "fine with 2\n"), errors
