"""The sweep of `./plx bench parquet`: iterations of plx-parquet on two processes over parcels per message and interval, beside
what the adaptive policy chooses. Uses the files, the data and the pictures of `./plx bench coalescing`.
"""

from __future__ import annotations

import math
import statistics
import time
from pathlib import Path

import bench_coalescing
import coalescing_data as data
from bench_coalescing import OWN, chosen, grid
from console import duration, fail, job_command, job_environment, note, run_logged, say, shown, step, table, why_no_jobs

PART, REPEATS = "parquet", "parquet-repeats"
TITLES = ["Nc", "n = 1, ms", "best, ms", "self", "adaptive", "parcels each", "over the best", "corr.", "short", "turns"]


def sweeps(quick: bool) -> dict[str, list[str]]:
    """By name: the arguments. Iterations of 0.05, 0.4 and 5 s on two busy cores: one, six and ten minutes."""
    if quick:
        return {"sweep16": arguments(16, grid([1, 16, 128], [10, 1000]), turns=2, iterations=2)}
    return {
        "sweep64": arguments(64, grid(bench_coalescing.COUNTS, bench_coalescing.INTERVALS_US), turns=5, iterations=3),
        "sweep128": arguments(128, grid(bench_coalescing.COUNTS, bench_coalescing.INTERVALS_US), turns=3, iterations=3),
        "sweep256": arguments(256, grid([1, 4, 16, 64], [10, 1000]), turns=2, iterations=2),
    }


def arguments(size: int, settings: str, turns: int, iterations: int) -> list[str]:
    every = " ".join([settings, *OWN])
    return ["--sizes", str(size), "--settings", every, "--turns", str(turns), "--iterations", str(iterations)]


def run(there, options) -> list[dict]:
    """Runs the sweeps, or those of options.only, and after each one its repeated measurements. Returns the rows; `there`: run_bench.programs."""
    missing = why_no_jobs()
    if missing is not None:
        note(f"the sweep of parquet is omitted: {missing}")
        return []
    known = sweeps(options.quick)
    names = chosen(options.only, list(known))
    if not names:
        return []
    csv, log = there.out / "parquet-sweep.csv", there.out / "parquet-sweep.log"
    if not options.append:
        csv.unlink(missing_ok=True)
        log.unlink(missing_ok=True)
    for name in names:
        step(f"running parquet: {name}")
        begin, words = time.monotonic(), known[name]
        under_mpirun(there, words, csv, log)
        size = int(words[1])
        # The best fixed settings again, in the same turns as those that tune themselves: the measurements that select a setting
        # are not those that are compared.
        best = candidates(data.select(data.read(csv), part=PART, size=size))
        under_mpirun(there, ["--part", REPEATS, *repeats_of(words, best)], csv, log)
        note(duration(time.monotonic() - begin))
    measured = data.read(csv)
    say(f"measurements: {shown(csv)}")
    say()
    say(table(lines_of(measured), TITLES, "r" * len(TITLES)))
    bench_coalescing.draw(csv, there.out)
    return rows_of(measured)


def repeats_of(words: list[str], best: list[str]) -> list[str]:
    changed = dict(zip(words[::2], words[1::2]))
    changed["--settings"] = " ".join([*best, *OWN])
    changed["--turns"] = str(2 * int(changed["--turns"]))
    return [word for pair in changed.items() for word in pair]


def under_mpirun(there, words: list[str], csv: Path, log: Path) -> None:
    """Runs the program; exits on failure."""
    program = there.folder / "bench_parquet"
    first = ["--first-turn", str(data.turns_in(csv))]
    command = [*job_command(2), str(program), "inside", "sweep", *words, *first, "--csv", str(csv)]
    code, lines = run_logged(command, log, "parquet", append=True, env=there.environment(job_environment()))
    if code != 0:
        own = [line for line in lines if line.startswith("bench_parquet")]
        fail(f"{shown(program)} ended with code {code}: {own[0] if own else 'its output: ' + shown(log)}")


def candidates(rows: list[dict]) -> list[str]:
    """The two fixed settings with the shortest iterations."""
    points = {s: p["time_s"] for s, p in data.per_setting(rows).items() if data.is_static(s)}
    return sorted(points, key=points.get)[: data.CANDIDATES]


def over_best(repeats: list[dict], setting: str) -> float:
    """Time per iteration over that of the best fixed setting: the larger of the medians, over the turns, of the ratios within
    a turn; NaN without measurements."""
    times = {(row["setting"], row["turn"]): row["time_s"] for row in repeats}
    ratios = []
    for other in sorted({s for s, _ in times if data.is_static(s)}):
        turns = [t / times[other, turn] for (s, turn), t in times.items() if s == setting and (other, turn) in times]
        ratios += [statistics.median(turns)] if turns else []
    return max(ratios, default=math.nan)


def sizes_in(rows: list[dict]) -> list[int]:
    """Those with a sweep."""
    return sorted({int(r["size"]) for r in data.select(rows, part=PART)})


def lines_of(rows: list[dict]) -> list[list[str]]:
    """A line for each Nc, with the columns TITLES."""
    lines = []
    for size in sizes_in(rows):
        some = data.select(rows, part=PART, size=size)
        points, fixed = data.per_setting(some), data.static_points(some)
        best = min(fixed, key=lambda p: p["time_s"])
        single = statistics.median([p["time_s"] for p in fixed if p["n"] == 1] or [math.nan])
        own = [points.get(s) for s in OWN]
        each = [p["parcels"] / p["messages"] if p and p["messages"] else math.nan for p in (best, own[1])]
        over = over_best(data.select(rows, part=REPEATS, size=size), "adaptive")
        lines.append([
            str(size), f"{1e3 * single:.3g}", f"{1e3 * best['time_s']:.3g} ({best['n']}, {best['interval_us']:g} us)",
            *(f"{1e3 * p['time_s']:.3g}" if p else "" for p in own), " and ".join(f"{n:.3g}" for n in each), f"{over:.3f}",
            f"{data.overhead_correlation(some):.3f}", f"{data.overhead_correlation(some, short=True):.3f}", str(best["turns"]),
        ])  # fmt: skip
    return lines


def rows_of(rows: list[dict]) -> list[dict]:
    """The entries for the JSON of `./plx bench`."""
    result = []

    def add(name: str, value: float, unit: str, better: str) -> None:
        if math.isfinite(value):
            result.append({"name": name, "value": value, "unit": unit, "better": better})

    correlations = []
    for size in sizes_in(rows):
        some = data.select(rows, part=PART, size=size)
        if size in data.rotation_sizes(rows, PART):  # enough settings
            correlations.append(data.overhead_correlation(some))
            add(f"parquet/correlation/nc{size}", correlations[-1], "", "higher")
        add(f"parquet/best/nc{size}", min(p["time_s"] for p in data.static_points(some)), "s per iteration", "lower")
        repeats = data.select(rows, part=REPEATS, size=size)
        for setting in OWN:
            add(f"parquet/{setting}/nc{size}", over_best(repeats, setting), "of the best fixed setting", "lower")
    if correlations:
        add("parquet/correlation", min(correlations), "", "higher")
    return result
