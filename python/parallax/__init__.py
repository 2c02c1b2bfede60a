"""Read the run folders of the Parallax applications, draw reports of them, compare them, say what held them up.

    from parallax import Run
    run = Run("run/")
    mesh = run.mesh(-1)                       # the last mesh file
    cut = mesh.slice("rho", axis="z")         # the blocks that the plane cuts, and their cells

performance/ reads what any measured program writes; star/ reads the runs of plx-star. Example to read:
tests/star/test_run.py.
"""

from __future__ import annotations

from pathlib import Path

__version__ = "0.1.0"
__all__ = ["NotARun", "ReadError", "Run", "__version__"]


class ReadError(Exception):
    """A file is there but cannot be understood. The message names the file and what is wrong with it."""

    def __init__(self, path: str | Path, what: str):
        self.path = Path(path)
        self.what = " ".join(str(what).split())
        super().__init__(f"{self.path}: {self.what}")


class NotARun(Exception):
    """The folder is missing or holds none of the files of a run."""


def __getattr__(name: str):
    """Run needs h5py, a diagnosis does not: it is imported when asked for."""
    if name == "Run":
        from .star.run import Run

        return Run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
