"""The tables that `./plx bench` prints: the rows of several libraries side by side."""

from __future__ import annotations

from console import table

LIBRARIES = ("plx", "tbb", "omp", "std", "mpi", "serial")  # in the order of the columns
RIVALS = ("tbb", "omp", "std", "mpi")  # plx must not be slower than these


def number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}" if abs(value) >= 100 else f"{value:.3g}"


def split_name(name: str) -> tuple[str, str] | None:
    """'metg/stencil/plx-graph' gives ('metg/stencil (graph)', 'plx'); None for a name without a library in it."""
    parts = name.split("/")
    for i, part in enumerate(parts):
        library, _, variant = part.partition("-")
        if i > 0 and library in LIBRARIES:
            rest = "/".join(parts[:i] + parts[i + 1 :])
            return rest + (f" ({variant})" if variant else ""), library
    return None


def contests(rows: list[dict]) -> dict[str, dict]:
    """By row name: unit, better, and the value of each library. Rows of one library alone are in it, too."""
    found: dict[str, dict] = {}
    for row in rows:
        split = split_name(row["name"])
        if split:
            entry = found.setdefault(split[0], {"unit": row["unit"], "better": row["better"]})
            entry[split[1]] = row["value"]
    return found


def lead(entry: dict) -> tuple[float, str] | None:
    """The ratio of plx to the best of the other libraries, and the name of that library. None if there is no other."""
    others = [library for library in RIVALS if library in entry]
    if "plx" not in entry or not others:
        return None
    if entry["better"] == "lower":
        best = min(others, key=lambda library: entry[library])
        return (entry[best] / entry["plx"] if entry["plx"] else 1.0), best
    best = max(others, key=lambda library: entry[library])
    return (entry["plx"] / entry[best] if entry[best] else 1.0), best


def rivals_table(rows: list[dict]) -> str:
    """One line per row name, one column per library, and how plx compares with the best other."""
    entries = contests(rows)
    columns = [library for library in LIBRARIES if any(library in e for e in entries.values())]
    lines = []
    for name, entry in entries.items():
        found = lead(entry)
        compared = f"{found[0]:.2f} x {found[1]}" if found else ""
        values = [number(entry[library]) if library in entry else "" for library in columns]
        lines.append([name, *values, entry["unit"] + ("" if entry["better"] == "lower" else " (more is better)"), compared])
    return table(lines, ["", *columns, "unit", "plx is"], "l" + "r" * len(columns) + "lr")


def behind(rows: list[dict]) -> list[str]:
    """A line for each row in which plx is not the fastest, the worst first."""
    found = []
    for name, entry in contests(rows).items():
        compared = lead(entry)
        if compared and compared[0] < 1:
            ratio, best = compared
            text = f"{name}: plx {number(entry['plx'])}, {best} {number(entry[best])} {entry['unit']}"
            how = "slower" if entry["better"] == "lower" else "less efficient"
            found.append((ratio, f"{text}: plx is {(1 / ratio - 1) * 100 if ratio else 100:.0f} % {how}"))
    return [line for _, line in sorted(found)]


def scaling_markdown(by_threads: dict[int, list[dict]]) -> str:
    """A Markdown table per row name: a line per library, a column per number of threads. If the value is a wall time
    (not core time, as for METG and fib), the speedup is in parentheses."""
    counts = sorted(by_threads)
    per_count = {n: contests(rows) for n, rows in by_threads.items()}
    names = [name for name in per_count[counts[0]] if all(name in per_count[n] for n in counts)]
    lines = []
    for name in names:
        first = per_count[counts[0]][name]
        core_time = name.split("/")[0] == "metg" or name + "/wall" in names
        speedup = first["better"] == "lower" and not core_time
        lines += [f"| {name}, {first['unit']} | " + " | ".join(map(str, counts)) + " |"]
        lines += ["|---|" + "---:|" * len(counts)]
        for library in LIBRARIES:
            values = [per_count[n][name].get(library) for n in counts]
            if library == "serial" or values[0] is None or None in values:
                continue
            cells = [number(values[0])]
            cells += [number(v) + (f" ({values[0] / v * counts[0]:.1f} x)" if speedup and v else "") for v in values[1:]]
            lines.append(f"| {library} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)
