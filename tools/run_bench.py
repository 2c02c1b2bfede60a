"""`./plx bench`: builds and runs the programs bench_*, prints one table, writes one JSON list. See bench/README.md."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import builds
import install
from console import BUILD, duration, fail, note, run_logged, say, shown, step, table

KEYS = {"name": str, "value": (int, float), "unit": str, "better": str}


def check_rows(rows: object, program: str) -> list[dict]:
    """The rows as a program wrote them, or the end of this program if they are not what the convention says."""
    if not isinstance(rows, list):
        fail(f"{program} wrote a {type(rows).__name__}: expected a list of objects with {', '.join(KEYS)}")
    for row in rows:
        wrong = [key for key, kind in KEYS.items() if not isinstance(row, dict) or not isinstance(row.get(key), kind)]
        if wrong:
            fail(
                f"{program} wrote {json.dumps(row)}: expected {', '.join(KEYS)}; missing or of another type: {', '.join(wrong)}"
            )
        if row["better"] not in ("lower", "higher"):
            fail(f"{program} wrote better = '{row['better']}' for {row['name']}: expected lower or higher")
    return rows


def run_one(name: str) -> list[dict]:
    program = builds.folder_of("release") / "bin" / f"bench_{name}"
    out, log = BUILD / "bench" / f"{name}.json", BUILD / "bench" / f"{name}.log"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.unlink(missing_ok=True)
    step(f"running {name}")
    code, lines = run_logged([str(program), "--json", str(out)], log, name, counter=r"()(.+)")
    if code != 0 or not out.exists():
        say("\n".join(lines[-20:]))
        fail(
            f"{shown(program)} ended with code {code}"
            + ("" if out.exists() else " and wrote no numbers")
            + f"; its output: {shown(log)}"
        )
    for line in lines:
        if line.startswith("#") and not line.startswith("# curve "):
            note(line[1:].strip())
    return check_rows(json.loads(out.read_text()), f"bench_{name}")


def number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./plx bench", description="Run benchmarks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="workloads; all if none is named")
    parser.add_argument("--json", metavar="FILE", help="write the numbers as a list of {name, value, unit, better}")
    options = parser.parse_args(arguments)
    if options.json and not Path(options.json).resolve().parent.is_dir():
        fail(f"the folder of {options.json} does not exist", 2)
    install.ensure(["build", "bench"])
    builds.configure("release")
    known = sorted(t.removeprefix("bench_") for t in builds.targets_of("release") if t.startswith("bench_"))
    unknown = [name for name in options.names if name not in known]
    if unknown:
        fail(f"'{unknown[0]}' is not a benchmark; expected one of: {', '.join(known) or 'none yet'}", 2)
    names = options.names or known
    if not names:
        fail("this checkout has no benchmarks", 2)
    builds.build("release", [f"bench_{name}" for name in names])
    rows = [row for name in names for row in run_one(name)]
    say()
    say(
        table(
            [[r["name"], number(r["value"]), r["unit"], r["better"]] for r in rows],
            ["name", "value", "unit", "better"],
            "lrll",
        )
    )
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
        say(f"written: {options.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
