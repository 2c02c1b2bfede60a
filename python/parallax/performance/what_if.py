"""`parallax what-if`: the program plx-what-if, which replays the trace of a run."""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

from .. import ReadError


VALUES = {  # options that have one: placeholder, help
    "workers": ("N", "another number of workers (in a job: of each locality)"),
    "scale": ("TYPE=FACTOR", "tasks of a type (* matches any text) take that multiple of their time; repeatable"),
    "without-lock": ("NAME", "no task waits for the mutex of that name; repeatable"),
    "priority": ("TYPE=LEVEL", "high, normal or low: priority of tasks of a type; repeatable"),
}
FLAGS = {
    "without-locks": "no task waits for a mutex",
    "without-messages": "messages between localities take no time",
    "all": "the default without questions",
    "json": "print the answers as JSON",
}


def add_questions(parser: argparse.ArgumentParser) -> None:
    """The options of plx-what-if, which checks their values."""
    for name, (placeholder, text) in VALUES.items():
        parser.add_argument(f"--{name}", action="append", default=[], metavar=placeholder, help=text)
    for name, text in FLAGS.items():
        parser.add_argument(f"--{name}", action="store_true", help=text)


def arguments_of(options: argparse.Namespace) -> list[str]:
    """The command line of plx-what-if for a parsed one."""
    given = vars(options)
    values = [f"--{name}={value}" for name in VALUES for value in given[name.replace("-", "_")]]
    return [str(options.run), *values, *(f"--{name}" for name in FLAGS if given[name.replace("-", "_")])]


def run(program: Path, arguments: list[str]) -> int:
    """Its exit code: 0 predictions, 1 refused, 2 wrong input. Errors: ReadError if it does not exist."""
    try:
        return subprocess.run([str(program), *arguments], check=False).returncode
    except FileNotFoundError:
        raise ReadError(program, "no such program: build it with ./plx build plx-what-if, or name it with --program") from None
