"""Refusals of folders that a command cannot use: one line with what was expected, what was found, and what to do; files that
appear only when they are complete.

Example to read: tests/test_folders.py.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path

from . import NotARun, ReadError
from .tables import read_json

how_to_measure = "run the program with PLX_DIAGNOSE=1, any other program under plx-exec -d"
runs_of = ("plx-star", "plx-dca", "plx-parquet")


@contextmanager
def complete_file(out: Path, suffixes: tuple = (".png",)):
    """The name to write a file under: it becomes `out` when the block ends, and is removed after an error.

    Raises ReadError unless the name of `out` ends in one of the suffixes, OSError if it cannot be written."""
    out = Path(out)
    if out.suffix not in suffixes:
        raise ReadError(out, f"expected a name that ends in {' or '.join(suffixes)}")
    part = out.with_name(f".{out.name}.part")
    try:
        yield part
        os.replace(part, out)
    finally:
        part.unlink(missing_ok=True)


def program_of(folder: Path) -> str | None:
    """The program that run.json names; None if it names none or cannot be read."""
    try:
        program = (read_json(Path(folder) / "run.json") or {}).get("program")
    except (OSError, ReadError):
        return None
    return program if isinstance(program, str) else None


def refusal(folder: Path, expected: str, advice: str, of_measurements: bool = False) -> NotARun:
    """The error of a command that expected something else in a folder. of_measurements: the command reads measurements of any
    program, so that other commands are no advice."""
    folder = Path(folder)
    found, instead = _content(folder)
    if instead is None or (of_measurements and not instead.startswith("give ")):
        instead = advice
    return NotARun(f"{folder}: expected {expected}, found {found}; {instead}")


def _content(folder: Path) -> tuple:
    """The content of the folder in words, and what to do with it; None if nothing can be done with it."""
    if not folder.exists():
        return "no such folder", None
    if not folder.is_dir():
        return "a file", None
    names = {path.name for path in folder.iterdir()}
    ranks = sorted(name for name in names if name.startswith("rank-"))
    if ranks:
        return "a folder for each process", f"give one of them, such as {folder / ranks[0]}"
    program = program_of(folder)
    if program in runs_of:
        return f"a run of {program}", f"./plx report {folder} draws it"
    if "threads.csv" in names:
        return "measurements of plx-exec", f"./plx diagnose {folder} reads them"
    if names & {"workers.csv", "profile.csv", "waits.csv", "diagnose.csv"}:
        return "measurements of a program", f"./plx diagnose {folder} reads them"
    return ("other files" if names else "an empty folder"), None
