"""The gain from fixing the first finding, by replay of the run's trace with plx-what-if (docs/probe.md, What-if by replay).

Without trace.plxt, or without the program, nothing is predicted. Example to read:
python/tests/performance/test_diagnosis_predicted.py.
"""

from __future__ import annotations

import json
import shutil
import subprocess

from ...text import seconds, share_text
from .evidence import Evidence, Finding

longest_s = 60.0  # of the replay


def predict(e: Evidence, finding: Finding) -> str:
    """Adds the gain to the finding's text. Returns why the replay makes no predictions, "" if it does or has no question."""
    question, trace, program = _question(e, finding), e.folder / "trace.plxt", shutil.which("plx-what-if")
    if not question or program is None or not trace.exists():
        return ""
    try:
        done = subprocess.run([program, str(trace), "--json", *question], capture_output=True, text=True, timeout=longest_s, check=False)
    except subprocess.TimeoutExpired:
        return f"{program} gave no answer within {longest_s:g} s"
    except OSError as problem:
        return f"cannot run {program}: {problem.strerror}"
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return (done.stderr.strip().splitlines() or [f"{program} gave no answer"])[-1]
    if answer["refusal"]:
        return answer["refusal"]
    prediction = answer["predictions"][0]
    if "failure" in prediction:
        return prediction["failure"]
    gain = 1.0 - prediction["time_s"] / answer["recorded_s"]
    what = f"{prediction['change']} would save {share_text(gain)}" if gain >= 0.005 else f"{prediction['change']} would save nothing"
    finding.text = (
        f"{finding.text.rstrip('.')}; by replay of the trace of {seconds(answer['recorded_s'])}, {what} (the replay itself is off by "
        f"{100 * answer['error']:+.1f} %)."
    )
    finding.figures["predicted"] = {"change": prediction["change"], "gain": gain, "error": answer["error"]}
    return ""


def _question(e: Evidence, finding: Finding) -> list:
    """The options of plx-what-if: no waits for the lock that is named, or half the time of the task type that is."""
    if finding.id == "contention":
        return ["--without-lock", str(finding.figures["lock"])] if finding.figures["lock"] else ["--without-locks"]
    named = finding.figures.get("blamed") or (e.task_rows[0]["name"] if finding.id == "nothing" and e.task_rows else "")
    return ["--scale", f"{named}=0.5"] if named else []


__all__ = ["predict"]
