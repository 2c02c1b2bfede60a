"""Jobs of several processes on this machine: what is missing for them, the words before the program, its environment.

    missing = launch.why_not()
    if missing is None:
        run_logged([*launch.command(2), program, ...], log, label, env=launch.environment({"PLX_TRANSPORT": "mpi"}))
"""

from __future__ import annotations

import os
import shutil


def why_not() -> str | None:
    """In one line what keeps this machine from starting several processes; None: nothing does. Whether they then find
    each other, and which transport they use, is the program's to say: see `bench_net inside transport`."""
    if shutil.which("mpirun") is None:
        return "mpirun was not found; install Open MPI (apt-get install openmpi-bin)"
    return None


def command(processes: int, *options: str) -> list[str]:
    """The words before the program. On fewer cores than processes they take turns."""
    return ["mpirun", "--oversubscribe", *options, "-n", str(processes)]


def environment(settings: dict[str, str] | None = None) -> dict[str, str]:
    """The environment of the caller with `settings`. Open MPI refuses to run as root, as in containers, unless two
    variables confirm it."""
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    return {**os.environ, **as_root, **(settings or {})}
