"""`./plx bench --history FILE`: one line of JSON per run, and where the numbers of a benchmark have changed.

Runs of one machine and number of threads form a series per name and unit, in order of their dates. Circular binary segmentation
finds its change points: of all divisions into an interval and the rest, by the logarithms of the values (the values, if one is
not positive), it takes that with the least sum of squares within both parts, tests it by Student's t, and divides the parts in
the same way. A change point must also separate its two neighbouring parts by the same test. Levels are divided by the number of
divisions and of names (Bonferroni): a machine whose numbers only scatter, independently of each other and normally, gets a change
point in 1 % of all cases or fewer. Example to read: tools/tests/test_bench_history.py.

Source: Olshen, Venkatraman, Lucito, Wigler, Biostatistics 5, 557 (2004), there with permutations instead of Student's t.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import platform
import re
import time
from dataclasses import dataclass
from pathlib import Path

import bench_against
from console import ROOT, fail, output_of, plural, say, table

from parallax.intervals import mean, t_tail

significance = 0.01  # for all names of a series of runs together
least_values = 4  # on each side of a change point
most_runs = 200  # of a series, the newest; the time grows with the square
_date = "%Y-%m-%dT%H:%M:%SZ"
LARGEST = 1e100  # sums and squares of values stay finite


@dataclass
class Change:
    """A change point between two runs of a series, and the medians of the parts before and after it."""

    name: str
    unit: str
    better: str
    last_before: dict  # the run
    first_after: dict
    before: float
    after: float

    @property
    def ratio(self) -> float:
        """after / before; NaN unless both are positive."""
        return self.after / self.before if min(self.before, self.after) > 0 else math.nan

    @property
    def is_worse(self) -> bool:
        return (self.after > self.before) == (self.better == "lower")


# ---- the file ----


def machine_name() -> str:
    """Host name, processor and the cores that this process may use."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return f"{platform.node()}, {found[1].strip() if found else platform.machine()}, {plural(len(os.sched_getaffinity(0)), 'core')}"


def commit_of(folder: Path = ROOT) -> str:
    """The commit of a checkout, with -changed if its tracked files differ from it; `unknown` outside of git."""
    commit = (output_of(["git", "-C", str(folder), "rev-parse", "--short=12", "HEAD"]) or "").strip()
    changed = output_of(["git", "-C", str(folder), "status", "--porcelain", "--untracked-files=no"])
    return (commit + ("-changed" if changed else "")) or "unknown"


def run_of(rows: list[dict], machine: str, threads: int | None, commit: str, at_s: float | None = None) -> dict:
    """A run as a line of the file holds it; at_s: seconds since 1970, by default now."""
    kept = [{key: row[key] for key in ("name", "value", "unit", "better")} for row in rows]
    date = time.strftime(_date, time.gmtime(at_s))
    return {"date": date, "commit": commit, "machine": machine, "threads": threads, "rows": kept}


def problem_of(run: object) -> str:
    """Why a line is no run; "" if it is one."""
    if not isinstance(run, dict):
        return "no object"
    for key in ("date", "commit", "machine"):
        if not isinstance(run.get(key), str):
            return f"no text '{key}'"
    try:
        time.strptime(run["date"], _date)
    except ValueError:
        return f"the date is '{run['date']}'"
    if not isinstance(run.get("rows"), list):
        return "no list 'rows'"
    for row in run["rows"]:
        texts = isinstance(row, dict) and all(isinstance(row.get(key), str) for key in ("name", "unit", "better"))
        value = row.get("value") if texts else None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LARGEST:
            return "a row without name, finite value, unit, better"
    try:
        json.dumps(run, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "a text that is no UTF-8"
    return ""


def read(path: Path) -> tuple[list[dict], list[str]]:
    """The runs of a file, in order of their dates, and a sentence for each line that is no run. A missing file has no runs."""
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except FileNotFoundError:
        return [], []
    except OSError as error:
        fail(f"--history {path}: {error.strerror}", 2)
    runs, problems = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            run = json.loads(line)
            problem = problem_of(run)
        except (ValueError, RecursionError):
            problem = "no JSON"
        if problem:
            problems.append(f"{path}: line {number} is damaged ({problem}) and is skipped")
        else:
            runs.append(run)
    return sorted(runs, key=lambda run: run["date"]), problems


def check_writable(path: str) -> None:
    """Ends the program if a line could not be appended to the file; called before anything is measured."""
    place = Path(path)
    if (place.exists() and not place.is_file()) or not place.resolve().parent.is_dir():
        fail(f"--history {path}: expected a file, or a new one in an existing folder", 2)
    if not os.access(place if place.exists() else place.resolve().parent, os.W_OK):
        fail(f"--history {path}: not writable", 2)


def append(path: Path, run: dict) -> None:
    """Appends a line: all of it or nothing. Earlier lines are never written, and concurrent writers wait for each other.
    Errors: OSError, the file is as before."""
    line = (json.dumps(run) + "\n").encode()
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        before = os.fstat(file).st_size
        if before and os.pread(file, 1, before - 1) != b"\n":  # the last line was cut short by another program
            line = b"\n" + line
        try:
            while line:
                line = line[os.write(file, line) :]
            os.fsync(file)
        except OSError:
            os.ftruncate(file, before)
            raise
    finally:
        os.close(file)


# ---- change points ----


def _sums(x: list[float]) -> list[float]:
    sums = [0.0]
    for value in x:
        sums.append(sums[-1] + value)
    return sums


def _is_significant(inside: list[float], outside: list[float], tests: int, names: int) -> bool:
    """Student's t for two samples of equal variance, at the level `significance` / (tests names), from both sides."""
    freedom = len(inside) + len(outside) - 2
    scatter = sum((v - mean(part)) ** 2 for part in (inside, outside) for v in part)
    difference = abs(mean(inside) - mean(outside))
    # Equal numbers differ by rounding alone.
    if difference <= 1e-12 * max(abs(v) for v in [*inside, *outside]):
        return False
    error = math.sqrt(scatter / freedom * (1 / len(inside) + 1 / len(outside)))
    return error == 0 or 2 * t_tail(difference / error, freedom) * tests * names <= significance


def _best_arc(x: list[float]) -> tuple[int, int, int]:
    """The interval [i, j) of x whose separation from the rest leaves the least sum of squares, and the number of intervals.
    The first value is never inside, since an interval and its rest are one division."""
    n, tests, best, most = len(x), 0, (0, 0), -1.0
    sums = _sums([v - mean(x) for v in x])
    for i in range(least_values, n - least_values + 1):
        for j in (*range(i + least_values, n - least_values + 1), n):  # each of the two or three parts has enough values
            m = j - i
            tests += 1
            between = (sums[j] - sums[i]) ** 2 / (m * (n - m))
            if between > most:
                most, best = between, (i, j)
    return (*best, tests)


def _is_placed(x: list[float], a: int, b: int, c: int) -> bool:
    """False if dividing x[a:c] next to b, with fewer values than `least_values` on a side, leaves less scatter than at b: the
    change is there, and is reported where it is once more runs are known."""
    middle = mean(x[a:c])
    sums = _sums([v - middle for v in x[a:c]])

    def between(k: int) -> float:
        return sums[k - a] ** 2 / ((k - a) * (c - k))

    near = [k for k in range(b - least_values + 1, b + least_values) if a < k < c and min(k - a, c - k) < least_values]
    return all(between(k) <= between(b) for k in near)


def change_points(values: list[float], names: int = 1) -> list[int]:
    """The indices at which a new part begins. Cost: O(n^2) for each part, 0.02 s for 200 values."""
    x = [math.log(v) for v in values] if all(v > 0 for v in values) else list(values)
    cuts, open_parts = [], [(0, len(x))]
    while open_parts:
        low, high = open_parts.pop()
        if high - low < 2 * least_values:
            continue
        part = x[low:high]
        i, j, tests = _best_arc(part)
        if _is_significant(part[i:j], part[:i] + part[j:], tests, names):
            ends = sorted({0, i, j, len(part)})
            cuts += [low + end for end in ends[1:-1]]
            open_parts += [(low + a, low + b) for a, b in zip(ends, ends[1:])]
    cuts.sort()
    while cuts:
        ends = [0, *cuts, len(x)]
        weak = [
            b for a, b, c in zip(ends, ends[1:], ends[2:])
            if not (_is_significant(x[a:b], x[b:c], c - a - 2 * least_values + 1, names) and _is_placed(x, a, b, c))
        ]  # fmt: skip
        if not weak:
            break
        cuts.remove(weak[0])
    return cuts


def series_of(runs: list[dict], machine: str, threads: int | None, rows: list[dict]) -> dict:
    """{(name, unit): [(run, row), ...]} of this machine and number of threads, for the names of `rows`, oldest first."""
    found: dict = {(row["name"], row["unit"]): [] for row in rows}
    for run in runs:
        if run["machine"] != machine or run.get("threads") != threads:
            continue
        for key, row in {(row["name"], row["unit"]): row for row in run["rows"]}.items():
            if key in found:
                found[key].append((run, row))
    return {key: series[-most_runs:] for key, series in found.items()}


def changes(series: dict) -> list[Change]:
    """All change points of all series, in the order of names, oldest first."""
    names = sum(len(points) >= 2 * least_values for points in series.values())
    found = []
    for (name, unit), points in series.items():
        values = [row["value"] for _, row in points]
        ends = [0, *change_points(values, names), len(values)]
        for a, b, c in zip(ends, ends[1:], ends[2:]):
            medians = bench_against.median(values[a:b]), bench_against.median(values[b:c])
            found.append(Change(name, unit, points[b][1]["better"], points[b - 1][0], points[b][0], *medians))
    return found


# ---- the command ----


def report(series: dict) -> list[str]:
    """The table of change points, and what has none, as lines."""
    found = changes(series)
    rows = [
        [c.name, c.first_after["date"][:16].replace("T", " "), c.first_after["commit"], c.last_before["commit"],
         bench_against.number(c.before), bench_against.number(c.after), c.unit, "" if math.isnan(c.ratio) else f"{c.ratio:.3f}",
         "worse" if c.is_worse else "better"]
        for c in found
    ]  # fmt: skip
    header = ["name", "changed (UTC)", "with commit", "after commit", "median before", "after", "unit", "ratio", ""]
    lines = [table(rows, header, "llllrrlrl")] if rows else []
    short = sum(len(points) < 2 * least_values for points in series.values())
    steady = len(series) - short - len({(c.name, c.unit) for c in found})
    lines.append(f"no change point: {plural(steady, 'name')}, at the level of {100 * significance:g} % for all names together")
    if short:
        lines.append(f"not tested: {plural(short, 'name')} with fewer than {2 * least_values} runs on this machine")
    return lines


def record(path: str, run: dict) -> bool:
    """Appends a run and prints the change points of its names. False, with the line printed, if it could not be appended."""
    try:
        append(Path(path), run)
    except OSError as error:
        say(f"--history {path}: {error.strerror}; the file is as before. The line of this run:")
        say(json.dumps(run))
        return False
    runs, problems = read(Path(path))
    others = sum(r["machine"] != run["machine"] or r.get("threads") != run["threads"] for r in runs)
    say()
    for line in problems:
        say(line)
    for line in report(series_of(runs, run["machine"], run["threads"], run["rows"])):
        say(line)
    aside = f"; {plural(others, 'run')} of other machines or numbers of threads not used" if others else ""
    say(f"history of {run['machine']}: {plural(len(runs) - others, 'run')}{aside}")
    return True
