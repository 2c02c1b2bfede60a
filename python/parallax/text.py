"""Numbers as people read them."""

from __future__ import annotations

import math


def si(value: float, digits: int = 3) -> str:
    """2612000 -> '2.61 million'; small numbers as they are."""
    if value is None or not math.isfinite(value):
        return "-"
    for factor, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"), (1e3, "thousand")):
        if abs(value) >= factor:
            return f"{trimmed(value / factor, digits)} {word}"
    return trimmed(value, digits)


def trimmed(value: float, digits: int = 3) -> str:
    """Significant digits without exponent in the usual range: 0.0123, 12.3, 123."""
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e7:
        return f"{value:.{digits - 1}e}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"


def seconds(value: float) -> str:
    """0.00312 -> '3.12 ms'."""
    if value is None or not math.isfinite(value):
        return "-"
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if abs(value) >= factor:
            return f"{trimmed(value / factor)} {unit}"
    return f"{trimmed(value * 1e9)} ns"


def percent(share: float, digits: int = 3) -> str:
    """0.9312 -> '93.1 %'."""
    return f"{trimmed(100 * share, digits)} %"


def count(value: float) -> str:
    """Integers in groups of three: 1,184,000."""
    return f"{int(value):,}" if math.isfinite(value) else "-"


def plural(n: int, word: str) -> str:
    """'1 task', '2 tasks', '3 processes', '4 localities'."""
    if n == 1:
        return f"1 {word}"
    if word.endswith(("s", "x", "ch", "sh")):
        return f"{count(n)} {word}es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{count(n)} {word[:-1]}ies"
    return f"{count(n)} {word}s"


def share_text(share: float) -> str:
    if share < 0.001:
        return "under 0.1 %"
    return percent(share, 2) if share < 0.0995 else f"{100 * share:.0f} %"


def ratio_text(ratio: float) -> str:
    """Two digits are enough: 15,065 is 15,000."""
    rounded = float(f"{ratio:.1e}")
    return count(rounded) if rounded >= 10 else trimmed(rounded, 2)


def printable(text: str) -> str:
    """As one line that a terminal shows as it is: control characters become \\x1b etc."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


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
