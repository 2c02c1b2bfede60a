"""`parallax diagnose run/`: what limited the speed of a run, in a few sentences with figures.

evidence.py reads the run folder; idle.py assigns idle time to causes; rules.py and idle_rules.py decide, confidence.py how
sure; phases.py divides the run; predicted.py asks the replay of a trace. The thresholds are constants of these modules and
are documented in docs/why-slow.md. Example to read: python/tests/performance/test_diagnosis.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from .evidence import Evidence, Finding
from .phases import phases_of, words_of
from .predicted import predict
from .rules import findings_of, headline_of

most_findings = 4  # of two sentences each: with the headline and what could not be judged, ten in all


@dataclass
class Diagnosis:
    """headline: one sentence; findings: the most costly first; not_judged: one sentence, "" when all could be. phases: of the
    run, in order of time; empty where it has none. place: of a job, which locality the sentences are about, otherwise ""."""

    headline: str
    findings: list = field(default_factory=list)
    not_judged: str = ""
    figures: dict = field(default_factory=dict)
    phases: list = field(default_factory=list)
    place: str = ""

    def _last(self) -> list:
        return [sentence for sentence in (self.not_judged, self.place) if sentence]

    def sentences(self) -> list:
        texts = [self.headline]
        for finding in self.findings:
            texts += [finding.sentence(), finding.suggestion] if finding.suggestion else [finding.sentence()]
        return texts + self._last()

    def text(self) -> str:
        """For a terminal: the headline, then an item per finding."""
        lines = [self.headline]
        for number, finding in enumerate(self.findings, 1):
            lines.append(f"{number}. {finding.sentence()} {finding.suggestion}".rstrip())
        return "\n".join(lines + self._last())

    def json(self) -> dict:
        return {
            "headline": self.headline,
            "findings": [finding.json() for finding in self.findings],
            "not_judged": self.not_judged,
            "figures": self.figures,
            "phases": [vars(phase) for phase in self.phases],
            "place": self.place,
        }


def diagnose(folder: str | Path) -> Diagnosis:
    """Raises NotARun when the folder has nothing to judge by, ReadError when a file in it is broken."""
    return diagnose_evidence(Evidence(folder))


def diagnose_evidence(evidence: Evidence) -> Diagnosis:
    found, phases = findings_of(evidence), phases_of(evidence)
    headline = headline_of(evidence)
    if phases:
        headline = headline.rstrip(".") + words_of(phases) + "."
    refusal = predict(evidence, found[0])
    return Diagnosis(headline, found[:most_findings], _not_judged(evidence, refusal), evidence.figures(), phases, _place(evidence))


def _place(evidence: Evidence) -> str:
    if evidence.n_localities == 1:
        return ""
    return f"The job has {evidence.n_localities} localities; a sentence that names none is about locality {evidence.locality}."


def _not_judged(evidence: Evidence, refusal: str) -> str:
    whats = [f"{what} ({file} is missing; {setting} writes it)" for what, file, setting in evidence.missing()]
    whats += [f"the gain by replay ({refusal})"] if refusal else []
    return f"Could not be judged: {'; '.join(whats)}." if whats else ""


__all__ = ["Diagnosis", "Evidence", "Finding", "diagnose", "diagnose_evidence", "most_findings"]
