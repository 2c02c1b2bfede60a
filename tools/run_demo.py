"""`./plx demo [blast|merger] [-n N]`: builds plx-star, runs an input of the demonstration on N processes, draws its report.

blast: a Sedov blast, some seconds. merger: two stars that merge, some minutes, with a film.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import builds
import install
import pyenv
from console import ROOT, duration, fail, job_command, job_environment, say, shown, step, why_no_jobs

INPUTS = {"blast": ROOT / "inputs" / "sedov_demo.toml", "merger": ROOT / "inputs" / "stars" / "merger_demo.toml"}


def fresh_folder() -> Path:
    """runs/demo-<date>-<time>, which does not exist yet."""
    base = ROOT / "runs" / time.strftime("demo-%Y%m%d-%H%M%S")
    folder, count = base, 2
    while folder.exists():
        folder, count = Path(f"{base}-{count}"), count + 1
    return folder


def launcher(processes: int) -> list[str]:
    """The words before the program: none for one process; an end with an error where there is no launcher."""
    if processes == 1:
        return []
    if missing := why_no_jobs():
        fail(f"-n {processes}: {missing}, or leave -n out", 2)
    # Ctrl-C: a step and a checkpoint may take longer than the second that mpirun waits before it kills.
    return job_command(processes, "--mca", "odls_base_sigkill_timeout", "30")


def process_count(text: str) -> int:
    count = int(text)
    if not 1 <= count <= 1024:
        raise ValueError
    return count


process_count.__name__ = "number of processes (1 to 1024)"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./plx demo", description="Build, run a simulation, draw its report.")
    parser.add_argument("which", nargs="?", choices=INPUTS, default="blast",
                        help="a blast wave (default; seconds), or two stars that merge, with a film (minutes)")
    parser.add_argument("--out", type=Path, help="folder of the run (default: runs/demo-<date>-<time>)")
    parser.add_argument("-n", type=process_count, default=1, metavar="N", help="number of processes, started by mpirun (default: 1)")
    options = parser.parse_args(arguments)
    command, toml = launcher(options.n), INPUTS[options.which]
    begin = time.monotonic()
    install.ensure(["build"], also=pyenv.apt_packages("report"))
    python = pyenv.ensure("report")
    builds.configure("release")
    if "plx-star" not in builds.targets_of("release") or not toml.is_file():
        fail(f"this checkout has no demo yet: expected the target plx-star and {shown(toml)}")
    builds.build("release", ["plx-star"])
    run = options.out or fresh_folder()
    step(f"running {shown(toml)}")
    run.parent.mkdir(parents=True, exist_ok=True)
    try:
        code = subprocess.run(
            [*command, str(builds.folder_of("release") / "bin" / "plx-star"), str(toml), "--out", str(run)],
            cwd=ROOT, env=job_environment(),
        ).returncode
    except KeyboardInterrupt:
        return 130
    if code != 0:
        fail(f"plx-star ended with code {code}", code if code in (2, 130) else 1)
    for act in ("report",) if options.which == "blast" else ("report", "film"):
        step(f"drawing the {act}")
        code = subprocess.run(
            [python, "-B", "-m", "parallax", act, str(run)], cwd=ROOT, env=pyenv.environment()
        ).returncode
        if code != 0:
            fail(f"parallax {act} {shown(run)} ended with code {code}")
    say(f"  whole demo    {duration(time.monotonic() - begin)} with set-up and build")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
