"""A run folder as plx-star writes it: every file by name, read when asked for.

A missing file is None (runs may be young or stopped); a file that cannot be understood raises ReadError, which names
it.
Example to read: tests/star/test_run.py.
"""

from __future__ import annotations

import sys
from functools import cached_property
from pathlib import Path

from .. import ReadError
from ..folders import how_to_measure, refusal, runs_of
from ..tables import csv_property, read_json, read_text
from .athdf import Mesh
from .ending import Ending, corrected, ending

if sys.version_info >= (3, 11):
    import tomllib
else:
    try:
        import tomli as tomllib
    except ImportError:
        tomllib = None

_marks = ("run.json", "config.toml", "history.csv", "mesh/*.athdf")
_measured = ("workers.csv", "threads.csv", "profile.csv", "waits.csv", "diagnose.csv", "counters.csv", "measurement.json")


class Run:
    """
    summary      run.json as a dict                 config    config.toml, keys flattened: {"mesh.max_level": 4}
    history      per step: time, dt, blocks, totals profile   per task type: calls, seconds
    workers      per worker: seconds by use         counters  samples of named counters
    timeline, concurrency, scatter                  single tasks of some steps
    job_timeline, job_parcels                       single tasks of all processes of a traced job
    exact        the exact solution's profile       mesh_files, mesh(i): the mesh files in order of their number
    """

    def __init__(self, folder: str | Path, of_any_program: bool = False):
        """of_any_program: the files of PLX_DIAGNOSE=1 or plx-exec -d suffice."""
        self.folder = Path(folder)
        marks = (*_marks, *_measured) if of_any_program else _marks
        if self.folder.is_dir():
            next(self.folder.iterdir(), None)  # glob() takes a folder that may not be read for an empty one
        if not any(next(self.folder.glob(mark), None) for mark in marks):
            if of_any_program:
                raise refusal(self.folder, "a run, or measurements of a program (measurement.json)", how_to_measure, True)
            raise refusal(self.folder, f"a run of {', '.join(runs_of[:-1])} or {runs_of[-1]}", "name the folder that --out gave it")

    @cached_property
    def ending(self) -> Ending:
        """Which mesh files belong to this run, and when it ended."""
        try:
            summary = self.summary
        except ReadError:
            summary = None
        mesh = self.folder / "mesh"
        files = [path for path in mesh.iterdir() if path.suffix == ".athdf"] if mesh.is_dir() else []
        return ending(sorted(files), summary)

    @property
    def mesh_files(self) -> list:
        return self.ending.files

    def mesh(self, index: int = -1) -> Mesh:
        """Opens a mesh file; the caller closes it (`with run.mesh(-1) as mesh:`)."""
        if not self.mesh_files:
            raise ReadError(self.folder / "mesh", "no mesh files (*.athdf)")
        return Mesh(self.mesh_files[index])

    @cached_property
    def images(self) -> dict:
        """{name of an [[output.series]]: its slices or projections, by number}"""
        found: dict = {}
        for path in (self.folder / "series").glob("*.h5"):
            name, _, number = path.name[:-3].rpartition(".")
            if number.isdigit():
                found.setdefault(name, []).append((int(number), path))
        return {name: [path for _, path in sorted(paths)] for name, paths in sorted(found.items())}

    @cached_property
    def summary(self):
        data = read_json(self.folder / "run.json")
        return data if data is None else corrected(data, self.folder)

    @cached_property
    def config(self):
        path = self.folder / "config.toml"
        return flatten(read_toml(path)) if path.exists() else None

    @cached_property
    def config_text(self):
        path = self.folder / "config.toml"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else None

    history, profile = csv_property("history.csv"), csv_property("profile.csv")
    workers, counters = csv_property("workers.csv"), csv_property("counters.csv")
    timeline, concurrency = csv_property("timeline.csv"), csv_property("concurrency.csv")
    scatter, exact = csv_property("scatter.csv"), csv_property("exact.csv")
    job_timeline, job_parcels = csv_property("job_timeline.csv"), csv_property("job_parcels.csv")

    @property
    def problem(self) -> str:
        """Name of the problem, from run.json or else from the names of the mesh files."""
        try:
            name = (self.summary or {}).get("problem")
        except ReadError:
            name = None
        if not name and self.mesh_files:
            name = self.mesh_files[0].name.split(".")[0]
        return str(name or "unknown")


def read_toml(path: str | Path) -> dict:
    """Nested dict of the file's tables."""
    path = Path(path)
    if tomllib is None:
        raise ReadError(path, "reading TOML with a Python before 3.11 needs the module tomli: pip install tomli")
    try:
        return tomllib.loads(read_text(path))
    except ValueError as error:  # TOMLDecodeError is one
        raise ReadError(path, f"broken TOML: {error}") from None


def flatten(table: dict, prefix: str = "") -> dict:
    """{"mesh": {"max_level": 4}} -> {"mesh.max_level": 4}, in the order of the file."""
    flat = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat
