"""`./plx what-if check`: predictions of `parallax what-if` beside the same changes really made.

Records programs of known structure (what_if_cases.cpp), and plx-star with one worker; predicts changes from the trace; makes
the changes, and compares. Exit code 1 if a prediction is off by more than the limit. Needs Python alone.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]


def raise_priority() -> None:
    """Raises the priority of the calling process, if permitted: other programs of the machine disturb it less."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    except OSError:
        pass


@dataclass
class Change:
    """A question to plx-what-if, and the arguments with which a case really changes."""

    question: list[str]
    arguments: list[str]

    def text(self) -> str:
        return ", ".join(self.arguments)


def half(kind: str) -> Change:
    return Change(["--scale", f"{kind}=0.5"], [f"half={kind}"])


def workers(n: int) -> Change:
    return Change(["--workers", str(n)], [f"workers={n}"])


def no_locks() -> Change:
    return Change(["--without-locks"], ["locks=0"])


def both(a: Change, b: Change) -> Change:
    return Change(a.question + b.question, a.arguments + b.arguments)


# Case, workers of the recorded run, changes.
CASES = [
    ("fork_join", 2, [half("long"), half("reduce"), workers(4)]),
    ("chain", 2, [half("even"), half("beside"), workers(4)]),
    ("wavefront", 2, [half("heavy"), half("light"), workers(4)]),
    ("imbalance", 2, [half("giant"), half("small"), workers(4)]),
    ("lock", 2, [half("deposit"), workers(4), no_locks(), both(workers(4), no_locks())]),
    ("lock_asleep", 2, [half("write"), workers(4), no_locks()]),
    ("nested", 2, [half("leaf"), half("node"), workers(4)]),
    ("input_output", 2, [half("decode"), workers(4)]),
    ("fork_join", 1, [workers(2)]),
    ("lock", 1, [workers(2)]),
    ("nested", 1, [workers(2)]),
]


class Checker:
    def __init__(self, folder: Path, programs: Path, turns: int):
        self.folder, self.programs, self.turns, self.n_runs = folder, programs, turns, 0

    def run(self, command: list[str], environment: dict[str, str]) -> None:
        together = {**os.environ, **environment}
        done = subprocess.run(command, env=together, capture_output=True, text=True, check=False, preexec_fn=raise_priority)
        if done.returncode != 0:
            raise SystemExit(f"what-if check: {' '.join(command)} ended with code {done.returncode}: {done.stderr.strip()}")

    def case(self, name: str, arguments: list[str]) -> Path:
        """The folder of a recorded run of a case."""
        self.n_runs += 1
        out = self.folder / f"{self.n_runs}-{name}"
        self.run([str(self.programs / "what_if_cases"), name, "scale=2", *arguments], {"PLX_TRACE": "1", "PLX_OUTPUT": str(out)})
        return out

    def star(self, threads: int, scheme: str = "ppm") -> Path:
        self.n_runs += 1
        out = self.folder / f"{self.n_runs}-star"
        sets = ["--set", "run.max_steps=80", "--set", f"hydro.reconstruction={scheme}"]
        star = [str(self.programs / "plx-star"), str(ROOT / "inputs" / "sedov.toml"), *sets]
        self.run([*star, "--threads", str(threads), "--trace", "--out", str(out)], {})
        return out

    def predict(self, run: Path, question: list[str]) -> dict:
        """The answer of plx-what-if; with several questions, that to all of them together."""
        program = str(self.programs / "plx-what-if")
        done = subprocess.run([program, str(run), "--json", *question], capture_output=True, text=True, check=False)
        if done.returncode == 2:
            raise SystemExit(f"what-if check: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def compare(self, make, question, really) -> dict:
        """Medians over the turns: the recorded time, the prediction from that run, and the time with the real change."""
        rows = []
        for _ in range(self.turns):
            first, second = make(), really()
            before = self.predict(first, question(first, second) if callable(question) else question)
            real = self.predict(second, ["--workers", "1"])["recorded_s"]
            prediction = before["predictions"][-1]["time_s"] if before["predictions"] else None
            rows.append((before["recorded_s"], before["error"], prediction, real))
        if any(row[2] is None for row in rows):
            return {"refused": before["refusal"]}
        return dict(zip(("recorded_s", "error", "predicted_s", "real_s"), (median(c) for c in zip(*rows))))


def faster_stages(first: Path, second: Path) -> list[str]:
    """The question how long the first run would take if its stages took as long as those of the second."""
    means = []
    for run in (first, second):
        with open(run / "profile.csv", newline="") as file:
            means.append(next(float(row["mean_s"]) for row in csv.DictReader(file) if row["name"] == "star.stage"))
    return ["--scale", f"star.stage={means[1] / means[0]:.6f}"]


def line(*columns: str) -> str:
    name, change, recorded, error, predicted, real, off = columns
    return f"{name:<14} {change:<22} {recorded:>10} {error:>8} {predicted:>10} {real:>10} {off:>8}"


def ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="plx what-if check", description=__doc__.split("\n\n")[1])
    parser.add_argument("--bin", type=Path, default=ROOT / "build" / "release" / "bin", help=argparse.SUPPRESS)
    parser.add_argument("--turns", type=int, default=3, help="runs of each program; medians are compared (default: 3)")
    parser.add_argument("--limit", type=float, default=10, metavar="PERCENT", help="default: 10")
    parser.add_argument("--only", help="one case, or star")
    options = parser.parse_args(arguments)
    print(f"{platform.node()}, {os.cpu_count()} cores, {time.strftime('%Y-%m-%d')}, medians of {options.turns} runs")
    print(line("program", "change", "recorded", "replay", "predicted", "real", "off"))
    worst, n_compared = 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(Path(folder), options.bin, options.turns)

        def row(name: str, change: str, make, question, really) -> None:
            nonlocal worst, n_compared
            found = checker.compare(make, question, really)
            n_compared += 1
            if "refused" in found:
                worst = float("inf")
                return print(f"{name:<14} {change:<22} no prediction: {found['refused']}")
            off = found["predicted_s"] / found["real_s"] - 1
            worst = max(worst, abs(off))
            times = (ms(found["recorded_s"]), f"{100 * found['error']:+.1f} %", ms(found["predicted_s"]), ms(found["real_s"]))
            print(line(name, change, *times, f"{100 * off:+.1f} %"), flush=True)

        for name, n, changes in CASES:
            for change in changes if options.only in (None, name) else ():
                base = [f"workers={n}"]
                row(f"{name}, {n}", change.text(), lambda name=name, base=base: checker.case(name, base), change.question,
                    lambda name=name, base=base, change=change: checker.case(name, base + change.arguments))
        if options.only in (None, "star"):
            row("plx-star, 1", "workers=2", lambda: checker.star(1), ["--workers", "2"], lambda: checker.star(2))
            row("plx-star, 2", "workers=1", lambda: checker.star(2), ["--workers", "1"], lambda: checker.star(1))
            for n in (1, 2):
                row(f"plx-star, {n}", "mp5 to plm: stages", lambda n=n: checker.star(n, "mp5"), faster_stages,
                    lambda n=n: checker.star(n, "plm"))
    if n_compared == 0:
        parser.error(f"--only {options.only}: expected star or one of {', '.join(sorted({name for name, _, _ in CASES}))}")
    print(f"largest difference: {100 * worst:.1f} % (limit {options.limit:g} %)")
    return 1 if 100 * worst > options.limit else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
