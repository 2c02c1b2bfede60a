"""`./plx report RUN`, `./plx compare A B`, `./plx diagnose RUN` and `./plx top`: the Python package `parallax` in the
project's Python environment."""

from __future__ import annotations

import os
import sys

import pyenv


def main(arguments: list[str]) -> int:
    needs_nothing = arguments[:1] == ["top"]  # it draws with the terminal alone
    python = sys.executable if needs_nothing else pyenv.ensure("report")
    os.chdir(os.environ.get("PLX_CALLED_FROM", "."))  # the paths on the command line are the caller's
    os.execve(python, [python, "-B", "-m", "parallax", *arguments], pyenv.environment())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
