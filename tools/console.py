"""Functions that all tools share: the place of the repository, styled lines, long commands that run with a log,
jobs of several processes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
from parallax.text import plural  # noqa: E402, F401

BUILD = ROOT / "build"
IS_TERMINAL = sys.stdout.isatty()
_CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "dim": "2"}


def paint(text: str, colour: str) -> str:
    return f"\033[{_CODES[colour]}m{text}\033[0m" if IS_TERMINAL and "NO_COLOR" not in os.environ else text


def say(text: str = "") -> None:
    print(text, flush=True)


def step(text: str) -> None:
    say(paint("==> ", "green") + paint(text, "bold"))


def note(text: str) -> None:
    say(paint("    " + text, "dim"))


def fail(text: str, code: int = 1) -> "None":
    """Ends the program with one message on stderr. 2: wrong usage, or something only the user can fix."""
    sys.stdout.flush()
    print(paint("plx: ", "red") + text, file=sys.stderr, flush=True)
    sys.exit(code)


def jobs() -> int:
    """Cores this process may use, or PLX_JOBS."""
    wanted = os.environ.get("PLX_JOBS", "")
    if wanted:
        if not wanted.isdigit() or int(wanted) < 1:
            fail(f"PLX_JOBS is '{wanted}': expected a whole number of at least 1", 2)
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def output_of(command: list[str], **kwargs) -> str | None:
    """Standard output of a command, or None if it is missing or fails."""
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True, **kwargs
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


def duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 100 else f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"


def shown(path: Path) -> str:
    """A path as the reader would type it: relative to the repository where it is inside."""
    try:
        return str(Path(path).resolve().relative_to(ROOT))
    except ValueError:
        return str(path)


class progress:
    """One line that is rewritten on a terminal, and one line every `every_s` seconds elsewhere."""

    def __init__(self, label: str, every_s: float = 20.0):
        self.label, self.every_s = label, every_s
        self.begin = self.last = time.monotonic()
        self.open = False

    def update(self, text: str) -> None:
        now = time.monotonic()
        if IS_TERMINAL:
            if now - self.last < 0.1:
                return
            width = shutil.get_terminal_size().columns
            print("\r\033[K" + f"    {self.label} {text}"[: width - 1], end="", flush=True)
            self.open = True
        elif now - self.last < self.every_s:
            return
        else:
            note(f"{self.label} {text} ({duration(now - self.begin)})")
        self.last = now

    def finish(self) -> float:
        if self.open:
            print("\r\033[K", end="", flush=True)
        return time.monotonic() - self.begin


def run_logged(
    command: list[str],
    log: Path,
    label: str,
    append: bool = False,
    counter: str = r"^\[(\d+/\d+)\] (.*)",
    env: dict | None = None,
    cwd: Path = ROOT,
    limit_s: float | None = None,
) -> tuple[int, list[str]]:
    """Runs a command with all its output in `log`, showing progress where a line matches `counter`; after `limit_s` it
    is terminated. Returns its exit code and its lines."""
    log.parent.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    bar = progress(label)
    pattern = re.compile(counter)
    with open(log, "a" if append else "w", errors="replace", buffering=1) as out:
        out.write("$ " + " ".join(command) + "\n")
        out.flush()
        try:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=env, cwd=cwd
            )
        except OSError as error:
            fail(f"cannot start {command[0]}: {error.strerror}", 2)
        limit = threading.Timer(limit_s or 0, process.terminate)
        if limit_s is not None:
            limit.start()
        try:
            for line in process.stdout:
                out.write(line)
                lines.append(line.rstrip("\n"))
                found = pattern.match(line)
                if found:
                    bar.update(" ".join(found.groups()))
            code = process.wait()
        except KeyboardInterrupt:
            process.wait()
            bar.finish()
            sys.exit(130)
        finally:
            limit.cancel()
    bar.finish()
    return code, lines


def table(rows: list[list[str]], header: list[str], align: str = "") -> str:
    """Columns as wide as their widest entry; align: one letter per column, l or r."""
    align = align or "l" * len(header)
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]

    def line(row):
        cells = [str(c).rjust(w) if a == "r" else str(c).ljust(w) for c, w, a in zip(row, widths, align)]
        return "  ".join(cells).rstrip()

    return "\n".join([paint(line(header), "bold"), *map(line, rows)])


# ---- jobs of several processes on this machine: [*job_command(2), program], env=job_environment({"PLX_TRANSPORT": "mpi"})


def why_no_jobs() -> str | None:
    """In one line what keeps this machine from starting several processes; None: nothing does. Whether they then find
    each other, and which transport they use, is the program's to say: see `bench_net inside transport`."""
    if shutil.which("mpirun") is None:
        return "mpirun was not found; install Open MPI (apt-get install openmpi-bin)"
    return None


def job_command(processes: int, *options: str) -> list[str]:
    """The words before the program. On fewer cores than processes they take turns."""
    return ["mpirun", "--oversubscribe", *options, "-n", str(processes)]


def job_environment(settings: dict[str, str] | None = None) -> dict[str, str]:
    """The environment of the caller with `settings`. Open MPI refuses to run as root, as in containers, unless two
    variables confirm it."""
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    return {**os.environ, **as_root, **(settings or {})}
