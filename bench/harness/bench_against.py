"""`./plx bench --against FILE`: the numbers of this run beside earlier ones, as `--json` wrote them.

Rows of `--repeat N` have `values`, one for each repetition, and their median as `value`. Where both sides have several, the
difference has an interval by Welch for all rows together (Bonferroni); else a row is only shown. Example to read:
tools/tests/test_bench_against.py.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from console import ROOT, fail, plural, table

from parallax.intervals import level, mean, welch


@dataclass
class Change:
    """A row: its cost now over its cost before, minus 1 (the cost of a rate is its reciprocal), with the interval."""

    name: str
    before: float
    now: float
    unit: str
    change: float
    low: float = -math.inf
    high: float = math.inf

    def verdict(self) -> str:
        if math.isinf(self.low):
            return ""
        return "slower" if self.low > 0 else "faster" if self.high < 0 else "same"


def median(values: list) -> float:
    ordered = sorted(values)
    n = len(ordered)
    return (ordered[(n - 1) // 2] + ordered[n // 2]) / 2


def merged(repetitions: list[list[dict]]) -> list[dict]:
    """The rows of several repetitions as one list; a row that a repetition lacks has fewer values."""
    found: dict[str, dict] = {}
    for rows in repetitions:
        for row in rows:
            found.setdefault(row["name"], {**row, "values": []})["values"].append(row["value"])
    for row in found.values():
        row["value"] = median(row["values"])
    return list(found.values())


def read(path: str) -> list[dict]:
    try:
        rows = json.loads(Path(path).read_text())
        for row in rows:
            row["name"], row["unit"], row["better"], float(row["value"])
    except OSError as error:
        fail(f"--against {path}: {error.strerror}", 2)
    except (ValueError, TypeError, KeyError):
        fail(f"--against {path}: expected a list of {{name, value, unit, better}} as --json writes it", 2)
    return rows


def changes(before: list[dict], now: list[dict]) -> list[Change]:
    """Changes of the rows that both have, with equal units; the largest increase of the cost first."""
    earlier = {row["name"]: row for row in before}
    pairs = [(earlier[row["name"]], row) for row in now if row["name"] in earlier]
    pairs = [(a, b) for a, b in pairs if a["unit"] == b["unit"] and a["value"] > 0 and b["value"] > 0]
    together = 1 - (1 - level) / max(1, len(pairs))
    found = []
    for a, b in pairs:
        # Logarithms make a time and its reciprocal the same.
        sign = 1 if b["better"] == "lower" else -1
        x, y = ([sign * math.log(v) for v in row.get("values", [row["value"]]) if v > 0] for row in (a, b))
        c = Change(a["name"], a["value"], b["value"], b["unit"], math.exp(mean(y) - mean(x)) - 1)
        if min(len(x), len(y)) >= 2:
            interval = welch(x, y, together)
            c.low, c.high = math.expm1(interval.low), math.expm1(interval.high)
        found.append(c)
    return sorted(found, key=lambda c: -c.change)


def number(value: float) -> str:
    return f"{value:.4g}"


def against_table(found: list[Change]) -> str:
    rows = []
    for c in found:
        interval = "" if math.isinf(c.low) else f"{100 * c.low:+.1f} to {100 * c.high:+.1f} %"
        rows.append([c.name, number(c.before), number(c.now), c.unit, f"{100 * c.change:+.1f} %", interval, c.verdict()])
    return table(rows, ["name", "before", "now", "unit", "cost", "interval", ""], "lrrlrll")


def summary(found: list[Change], before: list[dict], now: list[dict]) -> list[str]:
    known, here = {r["name"] for r in before}, {r["name"] for r in now}
    lines = []
    if here - known:
        lines.append(plural(len(here - known), 'new row'))
    slower = [c for c in found if c.verdict() == "slower"]
    if any(not math.isinf(c.low) for c in found):
        lines.append(f"slower: {len(slower)} of {plural(len(found), 'row')}, at {100 * level:.0f} % confidence for all rows together")
    elif found:
        lines.append("no intervals: they need --repeat in both runs")
    return lines


def too_slow(found: list[Change], percent: float) -> list[str]:
    """The rows whose cost has grown by more than that, at the lower end of the interval."""
    return [c.name for c in found if not math.isinf(c.low) and 100 * c.low > percent]
