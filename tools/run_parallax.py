"""`./plx report RUN` and `./plx compare A B`: the Python package `parallax` in the project's Python environment."""

from __future__ import annotations

import os
import sys

import pyenv


def main(arguments: list[str]) -> int:
    python = pyenv.ensure("report")
    os.chdir(os.environ.get("PLX_CALLED_FROM", "."))  # the paths on the command line are the caller's
    os.execve(python, [python, "-B", "-m", "parallax", *arguments], pyenv.environment())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
