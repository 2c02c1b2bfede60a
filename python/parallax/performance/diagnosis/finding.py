"""A finding of the diagnosis and the words that the rules share."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...text import count, percent, seconds, trimmed


@dataclass
class Finding:
    """`share`: of all workers' time, by which findings are ordered. `saves_s`: upper bound on what fixing it saves."""

    id: str
    share: float
    text: str
    suggestion: str = ""
    figures: dict = field(default_factory=dict)
    saves_s: float | None = None

    def json(self) -> dict:
        known = {"id": self.id, "share": self.share, "text": self.text, "suggestion": self.suggestion}
        if self.saves_s is not None:
            known["saves_at_most_s"] = self.saves_s
        return {**known, **self.figures}


def at_most(saves_s: float, wall_s: float) -> str:
    return f"fixing this saves at most {seconds(saves_s)} ({share_text(saves_s / wall_s)} of the run)"


def share_text(share: float) -> str:
    if share < 0.001:
        return "under 0.1 %"
    return percent(share, 2) if share < 0.0995 else f"{100 * share:.0f} %"


def ratio_text(ratio: float) -> str:
    """Two digits are enough: 15,065 is 15,000."""
    rounded = float(f"{ratio:.1e}")
    return count(rounded) if rounded >= 10 else trimmed(rounded, 2)


def short(name: str, most: int = 60) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def bytes_text(n: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(n) < 1024 or unit == "GiB":
            return f"{trimmed(n)} {unit}"
        n /= 1024
    return ""


def long_time_text(s: float) -> str:
    for factor, unit in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if s >= 2 * factor:
            return f"{trimmed(s / factor, 2)} {unit}"
    return f"{max(s, 0):.0f} s"
