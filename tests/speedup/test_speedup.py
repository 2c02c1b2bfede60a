"""Virtual speed-ups of programs of known structure (speedup_cases.cpp). No time is asserted: check_speedup.py compares gains with
real changes.
"""

from __future__ import annotations

import csv
import os
import subprocess
from pathlib import Path

import pytest
from built import BIN, needs

CASES = BIN / "speedup_cases"
pytestmark = needs("speedup_cases")


def run(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PLX_OUTPUT": str(folder), **{f"PLX_{k.upper()}": v for k, v in settings.items()}}
    return subprocess.run([CASES, *arguments], env=environment, capture_output=True, text=True, timeout=600, check=False)


def rows(folder: Path) -> list[dict[str, str]]:
    with open(folder / "speedup.csv", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("case", ["lockstep", "chain", "mixed", "timer"])
def test_each_type_has_a_row_per_speed_up(tmp_path, case):
    types = {"lockstep": "longer,both", "chain": "link,first", "mixed": "alone,everywhere", "timer": "beside"}[case]
    done = run(tmp_path, case, "steps=400", "scale=0.3", speedup=types)
    assert done.returncode == 0, done.stderr
    found = rows(tmp_path)
    assert {(r["type"], r["percent"]) for r in found} == {(t, p) for t in types.split(",") for p in ("25", "50", "75")}
    for r in found:
        assert r["state"] in ("settled", "open")
        assert (r["gain_low"] != "") == (r["gain_high"] != "") == (int(r["rounds"]) >= 6)
        if r["gain_low"]:
            assert float(r["gain_low"]) <= float(r["gain"]) <= float(r["gain_high"])
    assert 'the period of "step"' in done.stdout
    assert all(len(line) <= 110 for line in done.stdout.splitlines())


def test_a_trace_beside_it_is_refused(tmp_path):
    done = run(tmp_path, "chain", "steps=1", speedup="1", trace="1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "PLX_SPEEDUP expects no PLX_TRACE" in done.stderr


def test_a_short_run_says_how_long_it_has_to_be(tmp_path):
    done = run(tmp_path, "chain", "steps=3", "scale=0.1", speedup="1")
    assert done.returncode == 0
    assert "the run was too short: 0 of 6 rounds, 3 progress points; intervals need about" in done.stderr
    assert not (tmp_path / "speedup.csv").exists()
