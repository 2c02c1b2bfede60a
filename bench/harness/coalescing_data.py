"""The results of bench_coalescing: reading its CSV, medians over turns, correlations, the best setting of each phase."""

from __future__ import annotations

import csv
import math
import random
import statistics
from collections import defaultdict
from pathlib import Path

COLUMNS = [
    "part", "variant", "size", "turn", "setting", "n", "interval_us", "phase", "at_s", "time_s", "overhead",
    "parcels", "messages", "bytes",
]  # fmt: skip
TEXTS = {"part", "variant", "setting", "phase"}
KINDS = ("dense", "sparse", "bursty")
SETTLED_S = 1.0  # the time that a self-tuning setting has to settle
DIVISIONS = 33  # of turns into halves
CANDIDATES = 2  # settings of numbers, of each kind of traffic


def read(path: Path | str) -> list[dict]:
    """The lines, with numbers converted. Raises ValueError, with one line, if it is not such a file."""
    with open(path, newline="") as file:
        lines = csv.reader(file)
        header = next(lines, None)
        if header != COLUMNS:
            raise ValueError(f"{path}: expected the columns {','.join(COLUMNS)}; found {','.join(header or ['nothing'])}")
        rows = []
        for number, line in enumerate(lines, 2):
            try:
                row = {k: v if k in TEXTS else float(v) for k, v in zip(COLUMNS, line)}
                if len(line) != len(COLUMNS):
                    raise ValueError
            except ValueError:
                raise ValueError(f"{path}:{number}: expected {len(COLUMNS)} values as in the header, found {line}") from None
            rows.append(row)
    return rows


def turns_in(path: Path) -> int:
    """The number of the next turn."""
    return max((int(row["turn"]) for row in read(path)), default=-1) + 1 if path.exists() else 0


def is_static(setting: str) -> bool:
    """True for fixed parameters, such as "128,1000"."""
    return "," in setting


def correlation(xs: list[float], ys: list[float]) -> float:
    """Pearson's; NaN for fewer than two points or if one variable is constant."""
    if len(xs) < 2:
        return math.nan
    mx, my = statistics.fmean(xs), statistics.fmean(ys)
    xx, yy = sum((x - mx) ** 2 for x in xs), sum((y - my) ** 2 for y in ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / math.sqrt(xx * yy) if xx > 0 and yy > 0 else math.nan


def ratio_of(share: float) -> float:
    """Time on messages over the other time of tasks, from the share of messages in both."""
    return share / (1 - share) if share < 1 else math.inf


def per_setting(rows: list[dict]) -> dict[str, dict]:
    """By setting: `time_s` of all its phases together and `overhead`, the mean over that time; medians over the turns."""
    turns: dict[str, dict] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        turns[row["setting"]][row["turn"]].append(row)
    result = {}
    for setting, by_turn in turns.items():
        times = [sum(r["time_s"] for r in one) for one in by_turn.values()]
        overheads = [
            sum(r["overhead"] * r["time_s"] for r in one) / max(1e-30, sum(r["time_s"] for r in one))
            for one in by_turn.values()
        ]
        some = next(iter(by_turn.values()))
        result[setting] = {
            "n": int(some[0]["n"]),
            "interval_us": some[0]["interval_us"],
            "time_s": statistics.median(times),
            "overhead": statistics.median(overheads),
            "ratio": ratio_of(statistics.median(overheads)),
            "parcels": sum(r["parcels"] for r in some),
            "messages": statistics.median(sum(r["messages"] for r in one) for one in by_turn.values()),
            "bytes": statistics.median(sum(r["bytes"] for r in one) for one in by_turn.values()),
            "turns": len(times),
            "piece_s": statistics.median(r["time_s"] for r in some),
        }
    return result


def static_points(rows: list[dict]) -> list[dict]:
    return [point for setting, point in per_setting(rows).items() if is_static(setting)]


def select(rows: list[dict], **wanted) -> list[dict]:
    return [row for row in rows if all(row[k] == v for k, v in wanted.items())]


def of_short_intervals(points: list[dict]) -> list[dict]:
    """Those whose interval is at most a tenth of the shortest measurement: the last parcels of each wait that long, which
    is not overhead."""
    least_us = 1e6 * min((p["piece_s"] for p in points), default=0)
    return [p for p in points if p["interval_us"] <= least_us / 10]


def overhead_correlation(rows: list[dict], what: str = "ratio", short: bool = False) -> float:
    """Correlation of overhead with time, over all fixed settings, or of_short_intervals() of them. `what`: "ratio", which
    is proportional to the time for constant work, or "overhead", the share, which saturates at 1."""
    points = static_points(rows)
    points = of_short_intervals(points) if short else points
    return correlation([p[what] for p in points], [p["time_s"] for p in points])


def repeatable(rows: list[dict]) -> dict[str, float]:
    """The reproducible part of a sweep's scatter. `ceiling`: the correlation of overhead and time that a perfect relation
    would show with the noise of these turns (Spearman's attenuation: the root of the product of both reliabilities,
    estimated from halves of the turns and extended to all of them by the Spearman-Brown formula). `rest`: the correlation
    between halves of the residuals of the line through overhead and time: near 0 they are noise, near 1 the overhead
    misses a cost of these settings. Medians over divisions of the turns; NaN for fewer than four turns."""
    turns = sorted({int(row["turn"]) for row in rows})
    found: dict[str, list[float]] = {"ceiling": [], "rest": []}
    for seed in range(DIVISIONS if len(turns) >= 4 else 0):
        mixed = random.Random(seed).sample(turns, len(turns))
        halves = [
            {s: p for s, p in per_setting([r for r in rows if int(r["turn"]) in half]).items() if is_static(s)}
            for half in (set(mixed[0::2]), set(mixed[1::2]))
        ]
        both = [s for s in halves[0] if s in halves[1]]
        times, ratios = ([[half[s][what] for s in both] for half in halves] for what in ("time_s", "ratio"))
        whole = [2 * max(r, 0) / (1 + max(r, 0)) for r in (correlation(*times), correlation(*ratios))]
        found["ceiling"].append(math.sqrt(whole[0] * whole[1]))
        found["rest"].append(correlation(*(left_over(x, y) for x, y in zip(ratios, times))))
    return {name: statistics.median(values) if values else math.nan for name, values in found.items()}


def left_over(xs: list[float], ys: list[float]) -> list[float]:
    """The residuals of ys after the best straight-line fit over xs."""
    mx, my = statistics.fmean(xs), statistics.fmean(ys)
    slope = sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / max(1e-300, sum((x - mx) ** 2 for x in xs))
    return [y - my - slope * (x - mx) for x, y in zip(xs, ys)]


def rotation_sizes(rows: list[dict], part: str = "rotation") -> list[int]:
    """Those with a complete sweep."""
    swept = {int(r["size"]) for r in rows if r["part"] == part and r["variant"] == "rows"}
    return sorted(s for s in swept if len(static_points(select(rows, part=part, variant="rows", size=s))) > 3)


# ---------------------------------------------------------------------------------------------------------------- phases


def times_by_turn(rows: list[dict], settled_s: float = 0, warm_s: float = 0) -> dict[str, dict[int, float]]:
    """By setting and turn: the median length of a unit. For adaptive, only units that began `settled_s` after
    their phase count; for other settings, those after `warm_s`, if there are any."""
    turns: dict[str, dict] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        turns[row["setting"]][int(row["turn"])].append(row)
    result: dict[str, dict[int, float]] = {}
    for setting, by_turn in turns.items():
        result[setting] = {}
        for turn, units in by_turn.items():
            begins_s = settled_s if setting == "adaptive" else warm_s
            late = [u for u in units if u["at_s"] - u["time_s"] >= begins_s]
            result[setting][turn] = statistics.median(u["time_s"] for u in late or units)
    return result


def unit_times(rows: list[dict], settled_s: float = 0) -> dict[str, float]:
    """By setting: the median of the turns of times_by_turn()."""
    return {s: statistics.median(by_turn.values()) for s, by_turn in times_by_turn(rows, settled_s).items()}


def best_static(times: dict[str, float]) -> str | None:
    return min((s for s in times if is_static(s)), key=times.__getitem__, default=None)


def against_best(rows: list[dict], setting: str, settled_s: float = SETTLED_S) -> dict[str, float]:
    """By kind of traffic: the time with this setting relative to the best fixed setting. One half
    of the turns selects the best setting, and the other half gives the times of both; the result is the mean of both
    assignments of the halves, because the least of many times would be biased by chance. A single turn serves as both."""
    result = {}
    for kind in KINDS:
        times = times_by_turn(select(rows, phase=kind), settled_s)
        if setting not in times or not any(map(is_static, times)):
            continue
        turns = sorted(times[setting])
        halves = [turns[0::2], turns[1::2]] if len(turns) > 1 else [turns, turns]

        def medians(half: list[int]) -> dict[str, float]:
            there = {s: [t for turn, t in by_turn.items() if turn in half] for s, by_turn in times.items()}  # noqa: B023
            return {s: statistics.median(ts) for s, ts in there.items() if ts}

        ratios = []
        for selects, compares in (halves, halves[::-1]):
            best, compared = best_static(medians(selects)), medians(compares)
            ratios.append(compared[setting] / compared[best])
        result[kind] = statistics.fmean(ratios)
    return result


def over_best(rows: list[dict], setting: str, settled_s: float = SETTLED_S) -> dict[str, float]:
    """By kind of traffic: the time with this setting over the smallest median of any fixed setting, over all turns.
    The minimum of many medians is biased, so this is slightly too large; but it remains meaningful if a setting has two
    modes, of which each half of the turns may see only one: against_best() is then meaningless."""
    result = {}
    for kind in KINDS:
        times = unit_times(select(rows, phase=kind), settled_s)
        best = best_static(times)
        if setting in times and best is not None:
            result[kind] = times[setting] / times[best]
    return result


def candidates(rows: list[dict], count: int = CANDIDATES) -> list[str]:
    """The candidates for the best fixed setting: for each kind of traffic the few with the smallest medians."""
    result: list[str] = []
    for kind in KINDS:
        times = {s: t for s, t in unit_times(select(rows, phase=kind)).items() if is_static(s)}
        result += [s for s in sorted(times, key=times.__getitem__)[:count] if s not in result]
    return result


def in_repeats(rows: list[dict], repeats: list[dict], setting: str) -> dict[str, float]:
    """By kind of traffic: the time with this setting over that with the best fixed one. `rows` select a few settings,
    `repeats` are separate measurements for the result: in each turn all of them follow each other, and the same span of
    each phase counts, because units become shorter during a phase in every setting. The result is the largest of the
    medians over the turns of the ratio within a turn. The measurements that select a setting are not those that rate
    it, so chance affects at most the selection between few settings."""
    result = {}
    for kind in KINDS:
        chosen = candidates(select(rows, phase=kind))
        times = times_by_turn(select(repeats, phase=kind), SETTLED_S, SETTLED_S)
        mine = times.get(setting, {})
        ratios = [
            statistics.median(t / times[s][turn] for turn, t in mine.items() if turn in times[s])
            for s in chosen
            if set(times.get(s, {})) & set(mine)
        ]
        if ratios:
            result[kind] = max(ratios)
    return result


def found_in_s(rows: list[dict], setting: str = "adaptive") -> dict[str, float]:
    """By kind of traffic: how long a phase takes until its units are as short as they stay, to 5 %; the median of the
    turns."""
    result = {}
    for kind in KINDS:
        turns: dict[float, list[dict]] = defaultdict(list)
        for row in select(rows, phase=kind, setting=setting):
            turns[row["turn"]].append(row)
        settled = {t: times_by_turn(units, SETTLED_S)[setting][int(t)] for t, units in turns.items()}
        if turns:
            result[kind] = statistics.median(found_after_s(units, 1.05 * settled[t]) for t, units in turns.items())
    return result


def found_after_s(units: list[dict], good_s: float, several: int = 5) -> float:
    """The time in a phase from which `several` successive units have a median of at most `good_s`; infinite: never."""
    for i in range(len(units) - several + 1):
        if statistics.median(u["time_s"] for u in units[i : i + several]) <= good_s:
            return units[i - 1]["at_s"] if i else 0.0
    return math.inf


def bandwidths(rows: list[dict]) -> dict[str, dict[int, float]]:
    """By variant and Nc: bytes of rows per second, all localities together. Variants: "row parcels" (one in each
    message), "coalesced" (the best setting of numbers), "self-clocking", "packed", "transport" (messages of a row),
    "transport, 1 MiB"."""
    result: dict[str, dict[int, float]] = defaultdict(dict)
    for size in sorted({int(r["size"]) for r in rows if r["part"] == "rotation"}):
        row_bytes = 16 * size
        payload = 8 * size**2 * row_bytes * 3 / 4  # three of four rows leave their locality, of four
        points = per_setting(select(rows, part="rotation", variant="rows", size=size))
        single = [p["time_s"] for s, p in points.items() if p["n"] == 1 and is_static(s)]
        static = [p["time_s"] for s, p in points.items() if is_static(s) and p["n"] > 1]
        if single:
            result["row parcels"][size] = payload / statistics.median(single)
        if static:
            result["coalesced"][size] = payload / min(static)
        if "self" in points:
            result["self-clocking"][size] = payload / points["self"]["time_s"]
        packed = per_setting(select(rows, part="rotation", variant="packed", size=size))
        for p in packed.values():
            result["packed"][size] = payload / p["time_s"]
    for variant, name in (("heads", "transport"), ("pieces", "transport, 1 MiB")):
        for size in sorted({int(r["size"]) for r in rows if r["part"] == "carrier" and r["variant"] == variant}):
            some = select(rows, part="carrier", variant=variant, size=size)
            head = 16 * size / (16 * size + 24) if size else 1.0  # the part of a head that is the row
            result[name][size] = statistics.median(r["bytes"] / r["time_s"] for r in some) * head
    return dict(result)


# ------------------------------------------------------------------------------------------------------------------ rows


def rows_of(rows: list[dict]) -> list[dict]:
    """The entries for the JSON of `./plx bench`."""
    result: list[dict] = []

    def add(name: str, value: float, unit: str, better: str) -> None:
        if math.isfinite(value):
            result.append({"name": name, "value": value, "unit": unit, "better": better})

    toy = [select(rows, part="toy")] if select(rows, part="toy") else []
    rotation = [select(rows, part="rotation", variant="rows", size=size) for size in rotation_sizes(rows)]
    for name, sweeps in (("toy", toy), ("rotation", rotation)):
        if sweeps:
            add(f"net/{name}/correlation", min(map(overhead_correlation, sweeps)), "", "higher")
            shares = [overhead_correlation(sweep, "overhead") for sweep in sweeps]
            add(f"net/{name}/correlation_share", min(shares), "", "higher")
            short = [overhead_correlation(sweep, short=True) for sweep in sweeps]
            add(f"net/{name}/correlation_short", min(short), "", "higher")
            add(f"net/{name}/correlation_ceiling", min(repeatable(sweep)["ceiling"] for sweep in sweeps), "", "higher")
    for name, by_size in bandwidths(rows).items():
        if by_size:
            largest = max(by_size)
            add(f"net/rotation/{name.replace(', ', '-').replace(' ', '-')}", by_size[largest] / 1e9, "GB/s", "higher")
    for setting, name in (("adaptive", "net/adaptive/worst"), ("self", "net/selfclock/worst")):
        final = [
            r
            for traffic in ("toy", "rotation")
            for r in in_repeats(
                select(rows, part="phases", variant=traffic), select(rows, part="repeats", variant=traffic), setting
            ).values()
        ]
        if final:
            add(name, max(final), "", "lower")
        for ending, compared in (("_sweep" if final else "", over_best), ("_halves", against_best)):
            ratios = [
                r
                for traffic in ("toy", "rotation")
                for r in compared(select(rows, part="phases", variant=traffic), setting).values()
            ]
            if ratios:
                add(name + ending, max(ratios), "", "lower")
    found = [s for traffic in ("toy", "rotation") for s in found_in_s(select(rows, part="phases", variant=traffic)).values()]
    if found:
        add("net/adaptive/found", max(found), "s", "lower")
    return result


# ----------------------------------------------------------------------------------------------------------- in short


def sweep_line(name: str, rows: list[dict]) -> list[str]:
    """One row for a sweep, with the columns SWEEP_TITLES."""
    points, all_points = static_points(rows), per_setting(rows)
    best = min(points, key=lambda p: p["time_s"])
    single = statistics.median(p["time_s"] for p in points if p["n"] == 1)
    own = [f"{1e3 * all_points[s]['time_s']:.3g}" if s in all_points else "" for s in ("self", "adaptive")]
    numbers = [overhead_correlation(rows), overhead_correlation(rows, short=True), overhead_correlation(rows, "overhead")]
    numbers += repeatable(rows).values()
    best_text = f"{1e3 * best['time_s']:.3g} ({best['n']}, {best['interval_us']:g} us)"
    return [name, f"{1e3 * single:.3g}", best_text, *own, *("" if math.isnan(c) else f"{c:.3f}" for c in numbers), str(best["turns"])]


SWEEP_TITLES = ["ms", "n = 1", "best", "self", "adaptive", "corr.", "short", "share", "ceiling", "rest", "turns"]
PHASE_TITLES = ["traffic", "best unit, us", "self over it", "by halves", "adaptive over it", "by halves ", "found in, s", "turns"]


def sweep_lines(rows: list[dict]) -> list[list[str]]:
    """A line for each available sweep over n and interval."""
    toy = select(rows, part="toy")
    lines = [sweep_line("toy", toy)] if len(static_points(toy)) > 3 else []
    return lines + [
        sweep_line(f"rotation {size}", select(rows, part="rotation", variant="rows", size=size)) for size in rotation_sizes(rows)
    ]


REPEAT_TITLES = ["traffic", "chosen", "self over the best of them", "adaptive", "turns"]


def repeat_lines(rows: list[dict]) -> list[list[str]]:
    """A line for each kind of traffic with repeated measurements."""
    lines = []
    for traffic in ("toy", "rotation"):
        sweep, repeats = (select(rows, part=part, variant=traffic) for part in ("phases", "repeats"))
        compared = {s: in_repeats(sweep, repeats, s) for s in ("self", "adaptive")}
        for kind in KINDS:
            found = [compared[s].get(kind) for s in compared]
            if any(found):
                chosen = " ".join(candidates(select(sweep, phase=kind)))
                turns = len({r["turn"] for r in repeats if r["phase"] == kind})
                numbers = ["" if r is None else f"{r:.3f}" for r in found]
                lines.append([f"{traffic}, {kind}", chosen, *numbers, str(turns)])
    return lines


def phase_lines(rows: list[dict]) -> list[list[str]]:
    """A line for each available kind of traffic."""
    lines = []
    for traffic in ("toy", "rotation"):
        some = select(rows, part="phases", variant=traffic)
        compared = [(over_best(some, s), against_best(some, s)) for s in ("self", "adaptive")]
        found = found_in_s(some)
        for kind in KINDS:
            times = unit_times(select(some, phase=kind))
            best = best_static(times)
            if best is None:
                continue
            ratios = [f"{by_kind[kind]:.3f}" if kind in by_kind else "" for both in compared for by_kind in both]
            after = f"{found[kind]:.2f}" if kind in found else ""
            turns = len({r["turn"] for r in some if r["phase"] == kind})
            lines.append([f"{traffic}, {kind}", f"{1e6 * times[best]:.4g} ({best})", *ratios, after, str(turns)])
    return lines
