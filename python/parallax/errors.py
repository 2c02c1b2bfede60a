"""The two ways in which reading a run can fail. Both carry one line for the user."""

from __future__ import annotations

from pathlib import Path


class ReadError(Exception):
    """A file is there but cannot be understood. The message names the file and what is wrong with it."""

    def __init__(self, path: str | Path, what: str):
        self.path = Path(path)
        self.what = " ".join(str(what).split())
        super().__init__(f"{self.path}: {self.what}")


class NotARun(Exception):
    """The folder is missing or holds none of the files of a run."""
