"""The programs as the tests of this folder start them."""

from __future__ import annotations

import csv
import subprocess

import children
from built import BIN, needs



class Program:
    """needed: the mark of a module that needs the program."""

    def __init__(self, name: str):
        self.path = BIN / name
        self.needed = needs(name)

    def run(self, folder, *arguments, **more):
        """The completed process, in a folder; `more` goes to subprocess."""
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": 600} | more
        return subprocess.run([self.path, *arguments], cwd=folder, **how)

    def start(self, folder, *arguments, **more):
        return children.start([self.path, *arguments], cwd=folder, **more)


def messages(done) -> list:
    """The lines on stderr without warnings about the statistics of short runs."""
    return [line for line in done.stderr.splitlines() if "warning: T " not in line]


def rows(path):
    """The rows of a CSV file, as dictionaries."""
    with path.open() as file:
        return list(csv.DictReader(file))
