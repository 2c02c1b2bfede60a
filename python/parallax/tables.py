"""Files of a run: CSV tables as named columns, JSON objects. A file that cannot be understood is a ReadError.

A column is a float array when every value in it is a number, else a list of strings. A line cut short at the very end
of a file (the writer was stopped in the middle) is dropped and remembered in `Table.cut_short`; any other line of the
wrong length is an error. Example to read: tests/star/test_run.py.
"""

from __future__ import annotations

import csv
import json
from functools import cached_property
from pathlib import Path

import numpy as np

from . import ReadError
from .text import plural


class Table:
    """Columns by name. `table["time"]` is an array [n_row]; `len(table)` is the number of rows. `finite`: infinities and
    NaN are errors in columns of numbers."""

    def __init__(self, columns: dict, path: Path | None = None, cut_short: bool = False):
        self.columns = columns
        self.path = path
        self.cut_short = cut_short
        self.finite = False

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __getitem__(self, name: str):
        if name not in self.columns:
            raise ReadError(self.path or "table", f"no column '{name}', found: {', '.join(self.columns)}")
        return self.columns[name]

    def names(self) -> list:
        return list(self.columns)

    def numbers(self, name: str, finite: bool = False) -> np.ndarray:
        """The column as floats. An error that names file and column when it holds anything else."""
        column, finite = self[name], finite or self.finite
        if isinstance(column, np.ndarray) and not (finite and not np.all(np.isfinite(column))):
            return column
        bad = next((value for value in column if _number(value) is None or finite and not np.isfinite(float(value))), "")
        expected = "finite numbers" if finite else "numbers"
        raise ReadError(self.path or "table", f"column '{name}': expected {expected}, found '{bad}'")


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ReadError(path, f"not a text file (byte {error.start})") from None
    except OSError as error:
        raise ReadError(path, error.strerror or str(error)) from None


def read_json(path: Path):
    """The object in a JSON file, or None when there is no such file."""
    if not path.exists():
        return None
    try:
        data = json.loads(read_text(path))
    except ValueError as error:
        raise ReadError(path, f"broken JSON: {error}") from None
    if not isinstance(data, dict):
        raise ReadError(path, f"expected an object, found {type(data).__name__}")
    return data


def csv_property(name: str, finite: bool = False) -> cached_property:
    """For a class with a `folder`: the table in the file of that name, or None when there is no such file."""

    def read(self):
        table = read_table(self.folder / name) if (self.folder / name).exists() else None
        if table is not None:
            table.finite = finite
        return table

    return cached_property(read)


def read_table(path: str | Path) -> Table:
    """Reads a CSV file with one header line. Lines that start with '#' are skipped."""
    path = Path(path)
    text = read_text(path)
    if "\0" in text:
        raise ReadError(path, "not a text file (holds zero bytes)")
    # Only "\n" ends a line: names may hold other separators of lines, and, in quotes, "\n" itself.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line and not line.startswith("#")]
    if not lines:
        raise ReadError(path, "empty, expected a header line with the names of the columns")
    reader = csv.reader(line + "\n" for _, line in lines)
    rows, cut_short = [], False
    try:
        header = [name.strip() for name in next(reader)]
        for row in reader:
            if len(row) == len(header):
                rows.append(row)
            elif reader.line_num == len(lines) and not text.endswith("\n"):
                cut_short = True
            else:
                number = lines[reader.line_num - 1][0]
                raise ReadError(path, f"line {number}: expected {plural(len(header), 'value')}, found {len(row)}")
    except csv.Error as error:  # a quote without its end
        raise ReadError(path, f"line {lines[reader.line_num - 1][0]}: {error}") from None
    columns = {name: _column([row[i].strip() for row in rows]) for i, name in enumerate(header)}
    return Table(columns, path, cut_short)


def _number(text: str):
    try:
        return float(text)
    except ValueError:
        return None


def _column(values: list):
    try:
        return np.array([float(value) for value in values])
    except ValueError:
        return values
