"""Read the run folders of the Parallax applications, draw reports of them, compare them.

    from parallax import Run
    run = Run("run/")
    mesh = run.mesh(-1)                       # the last mesh file
    cut = mesh.slice("rho", axis="z")         # the blocks that the plane cuts, and their cells

Example to read: tests/test_run.py.
"""

from .errors import NotARun, ReadError
from .run import Run

__version__ = "0.1.0"
__all__ = ["NotARun", "ReadError", "Run", "__version__"]
