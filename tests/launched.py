"""Jobs of several processes, started by mpirun."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

from children import children_of


@functools.cache
def temporary() -> str:
    """The folder for temporary files of launchers, until this process ends. Two Open MPIs that start and end at the same time must
    not share one: they make and remove the same folders in it. Short, as it holds sockets."""
    folder = tempfile.mkdtemp(prefix="plx-", dir="/tmp")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def environment(**settings) -> dict:
    """The variables of a job: those of this process without Parallax's, and these settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PLX_")}
    return kept | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "TMPDIR": temporary()} | settings


# By default the first processes of all jobs are bound to the same core.
MPIRUN = ("mpirun", "--oversubscribe", "--bind-to", "none")


def command(n, program, *arguments, recovers=False) -> list:
    """A program on n processes; 0: without a launcher. The others outlive a process that dies only if `recovers`."""
    launcher = [*MPIRUN, *(["--enable-recovery"] if recovers else []), "-n", n] if n > 0 else []
    return [str(word) for word in (*launcher, program, *arguments)]


def complaints(program, errors: str) -> list:
    """The messages of the program itself, without those of the launcher."""
    return [line for line in errors.splitlines() if line.startswith(f"{Path(program).name}: ")]


def processes_of(launcher, n: int) -> list:
    """The n processes by locality, as numbered by the launcher (a Popen)."""
    found = {}
    for pid in children_of(launcher.pid):
        try:
            words = dict(w.split("=", 1) for w in Path(f"/proc/{pid}/environ").read_text().split("\0") if "=" in w)
            found[int(words["PMIX_RANK"])] = pid
        except (OSError, ValueError, KeyError):
            continue
    assert sorted(found) == list(range(n))
    return [found[k] for k in sorted(found)]


def kill_beside_a_stopped_one(processes: list, victim: int, late: int):
    """Kills one process while another one is stopped, which therefore notices it a second after the others."""
    os.kill(processes[late], signal.SIGSTOP)
    os.kill(processes[victim], signal.SIGKILL)
    time.sleep(1)
    os.kill(processes[late], signal.SIGCONT)
