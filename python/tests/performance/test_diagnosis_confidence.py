"""Confidence in a finding from the scatter of intervals, on made-up intervals and folders."""

from __future__ import annotations

import numpy as np
from test_diagnosis import TOTAL, folder_of

from parallax.performance.diagnosis import confidence, diagnose

LEAST = 0.10


def sure(claimed) -> str:
    claimed = np.asarray(claimed, dtype=float)
    return confidence.of_bins(claimed, np.ones(len(claimed)), LEAST)


def test_a_cause_that_is_there_all_the_time_is_clear():
    assert sure(np.full(100, 0.12)) == "clear"


def test_a_cause_below_its_threshold_all_the_time_is_not_reported():
    assert sure(np.full(100, 0.08)) == ""


def test_one_phase_slightly_above_the_threshold_is_likely():
    assert sure([0.0] * 40 + [0.7] * 16 + [0.0] * 44) == "likely"


def test_phases_slightly_below_the_threshold_are_possible():
    assert sure(([0.0] * 40 + [0.9] * 5 + [0.0] * 5) * 2) == "possible"


def test_long_phases_are_clear():
    assert sure([0.0] * 40 + [0.7] * 60) == "clear"


def test_few_intervals_tell_no_scatter():
    assert sure([0.2] * 5) == "likely" and sure([0.09] * 5) == "" and sure([]) == ""


def test_threads_without_cores_leave_nothing_else_clear(tmp_path):
    workers = ((1.0, 0.0, 0.0), (0.2, 0.0, 0.8), (0.2, 0.0, 0.8))
    quiet = diagnose(folder_of(tmp_path / "a", workers=workers))
    delay = {TOTAL + "time/waiting-for-processor": 0.25}
    disturbed = diagnose(folder_of(tmp_path / "b", workers=workers, counters=delay))
    assert [f.confidence for f in quiet.findings] == ["clear"]
    assert {f.id: f.confidence for f in disturbed.findings}[quiet.findings[0].id] == "likely"
    assert "Likely: " in disturbed.text() and disturbed.json()["findings"][0]["confidence"] == "likely"
