"""Jobs of several processes, started by mpirun."""

from __future__ import annotations

import os
from pathlib import Path

from children import children_of


def environment(**settings) -> dict:
    """The variables of a job: those of this process without Parallax's, and these settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PLX_")}
    return kept | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} | settings


def command(n, program, *arguments, recovers=False) -> list:
    """A program on n processes; 0: without a launcher. The others outlive a process that dies only if `recovers`."""
    launcher = ["mpirun", "--oversubscribe", *(["--enable-recovery"] if recovers else []), "-n", n] if n > 0 else []
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
