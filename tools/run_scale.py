"""`./plx scale RUN`: builds plx-scale, replays a run on simulated machines, draws how it scales. See docs/scale.md."""

from __future__ import annotations

import os
import sys

import builds
import install
import pyenv
from console import BUILD, fail


def main(arguments: list[str]) -> int:
    if any(a in ("-h", "--help") for a in arguments):
        return run(arguments)
    install.ensure(["build"], also=pyenv.apt_packages("report"))
    builds.configure("release")
    if "plx-scale" not in builds.targets_of("release"):
        fail("there is no plx-scale to build: SimGrid is missing (./plx doctor says how to get it)", 2)
    builds.build("release", ["plx-scale"])
    return run([*arguments, "--program", str(BUILD / "release" / "bin" / "plx-scale")])


def run(arguments: list[str]) -> int:
    python = pyenv.ensure("report")
    os.chdir(os.environ.get("PLX_CALLED_FROM", "."))  # the paths on the command line are the caller's
    os.execve(python, [python, "-B", "-m", "parallax", "scale", *arguments], pyenv.environment())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
