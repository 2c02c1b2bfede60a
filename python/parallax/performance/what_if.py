"""`parallax what-if`: the program plx-what-if, which replays the trace of a run."""

from __future__ import annotations

import subprocess
from pathlib import Path

from .. import ReadError


def run(program: Path, arguments: list[str]) -> int:
    """Its exit code: 0 predictions, 1 refused, 2 wrong input. Errors: ReadError if it does not exist."""
    try:
        return subprocess.run([str(program), *arguments], check=False).returncode
    except FileNotFoundError:
        raise ReadError(program, "no such program: build it with ./plx build plx-what-if, or name it with --program") from None
