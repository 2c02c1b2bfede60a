"""The gain by replay in the first sentence of a diagnosis, with a program in place of plx-what-if."""

from __future__ import annotations

import json
import os

import pytest
from test_diagnosis import SERIAL, folder_of

from parallax.performance.diagnosis import diagnose

ANSWER = {"recorded_s": 1.0, "error": 0.013, "refusal": None, "predictions": [{"change": "the change", "time_s": 0.7}]}


@pytest.fixture
def answers(tmp_path, monkeypatch):
    """answers(what plx-what-if prints) returns the file of its arguments."""

    def install(answer):
        folder = tmp_path / "bin"
        folder.mkdir()
        text = answer if isinstance(answer, str) else json.dumps(answer)
        (folder / "plx-what-if").write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {tmp_path}/asked\ncat <<'X'\n{text}\nX\n")
        (folder / "plx-what-if").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return tmp_path / "asked"

    return install


def serial(path):
    run = folder_of(path, **SERIAL, blame={"set-up": (1.52, 0), "relax": (0.05, 0)})
    (run / "trace.plxt").write_text("")
    return run


def test_half_the_time_of_the_task_type_that_is_blamed(tmp_path, answers):
    asked = answers(ANSWER)
    first = diagnose(serial(tmp_path / "r")).findings[0]
    assert first.text.endswith("; by replay of the trace of 1.00 s, the change would save 30 % (the replay itself is off by +1.3 %).")
    assert first.json()["predicted"] == {"change": "the change", "gain": pytest.approx(0.3), "error": 0.013}
    assert asked.read_text().split("\n")[1:-1] == ["--json", "--scale", "set-up=0.5"]


def test_no_waits_for_the_lock_that_is_named(tmp_path, answers):
    asked = answers({**ANSWER, "predictions": [{"change": "no lock", "time_s": 1.01}]})
    run = folder_of(tmp_path / "r", workers=((0.2, 0.0, 0.8),) * 4, waits=[("mutex", "0x1", "one", 10, 3.0, 0.3)])
    (run / "trace.plxt").write_text("")
    assert "no lock would save nothing" in diagnose(run).findings[0].text
    assert asked.read_text().split("\n")[2:-1] == ["--without-lock", "one"]


def test_a_replay_that_is_too_far_off_predicts_nothing(tmp_path, answers):
    answers({**ANSWER, "refusal": "the replay is off by more than 15 %", "predictions": []})
    found = diagnose(serial(tmp_path / "r"))
    assert "replay" not in found.findings[0].text
    assert "the gain by replay (the replay is off by more than 15 %)" in found.not_judged


def test_without_a_trace_nothing_is_asked(tmp_path, answers):
    asked = answers(ANSWER)
    run = serial(tmp_path / "r")
    (run / "trace.plxt").unlink()
    assert "replay" not in diagnose(run).text() and not asked.exists()


@pytest.mark.parametrize("answer", ["", "no JSON"])
def test_without_an_answer_nothing_is_predicted(tmp_path, answers, answer):
    answers(answer)
    found = diagnose(serial(tmp_path / "r"))
    assert "replay" not in found.findings[0].text
    assert f"the gain by replay ({tmp_path}/bin/plx-what-if gave no answer)" in found.not_judged


def test_the_reason_of_a_failure_is_quoted(tmp_path, answers):
    answers(ANSWER)
    (tmp_path / "bin" / "plx-what-if").write_text("#!/bin/sh\necho plx-what-if: it is damaged >&2\nexit 1\n")
    found = diagnose(serial(tmp_path / "r"))
    assert "the gain by replay (plx-what-if: it is damaged)" in found.not_judged
