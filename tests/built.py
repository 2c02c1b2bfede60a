"""The programs that tests start. PLX_BIN names their folder (./plx test sets it)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(os.environ.get("PLX_BIN", ROOT / "build" / "release" / "bin"))


def needs(program: str, job: bool = False) -> list:
    """The marks of a module that needs the program, and with `job` a launcher."""
    marks = [pytest.mark.skipif(not (BIN / program).exists(), reason=f"{BIN / program} is not built")]
    if job:
        marks.append(pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun: many processes cannot be started"))
    return marks
