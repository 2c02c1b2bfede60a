"""The physics of two runs of plx-dca or plx-parquet: their tables and HDF5 files to the bit, and the final numbers.

Wall times and what was sent between processes are no physics. Numbers of tables are equal when their texts are, those of
HDF5 files when their bits are. A difference "in errors" is divided by the root of the sum of both squared errors.
Example to read: tests/hubbard/test_hubbard_compare.py.
"""

from __future__ import annotations

import math
from pathlib import Path

import h5py
import numpy as np

from .. import ReadError
from ..parquet.run import is_parquet_run
from ..performance.compare_measured import Section
from ..qmc.run import is_dca_run
from ..tables import Table, read_json, read_table
from ..text import count, plural

# Columns of iterations.csv of either program.
not_physics = (
    "seconds", "wait_s", "exchanged_mb", "rotation_seconds", "sent_mb", "parcels", "messages", "network_overhead",
    "coalesce_parcels", "coalesce_interval_us", "coalesce_bytes",
)


def is_hubbard_run(folder: Path) -> bool:
    return is_dca_run(folder) or is_parquet_run(folder)


def compare_hubbard(first: Path, second: Path):
    """([Sections], whether all results are equal to the bit). Errors: ReadError for a file that is broken."""
    section = Section("Physics", header=["file", "values", "that differ", "max |a-b|", "max |a-b| in errors"])
    sections, equal = [section], True
    if is_dca_run(first) != is_dca_run(second):
        section.sentences.append("one is a run of plx-dca, the other of plx-parquet")
        return sections, False
    ours, theirs = _files(first), _files(second)
    for name, own, other in (("a", ours, theirs), ("b", theirs, ours)):
        if alone := [file for file in own if file not in other]:
            equal = False
            section.sentences.append(f"only in {name}: {', '.join(alone)}")
    common = [file for file in ours if file in theirs]
    different = 0
    for file in common:
        compare = _compare_functions if file.endswith(".h5") else _compare_tables
        row = compare(file, first / file, second / file)
        different += row[2] != "0"
        section.rows.append(row)
    if different:
        section.sentences.append(f"{plural(different, 'file')} of {len(common)} {'differs' if different == 1 else 'differ'}")
    elif common:
        section.sentences.append(f"bitwise equal in {plural(len(common), 'file')}")
        section.rows, section.header = [], []
    results = [read_json(folder / "result.json") for folder in (first, second)]
    if results[0] != results[1]:
        section.sentences.append("result.json differs")
    if not common:
        section.sentences.append("no results to compare")
    sections.append(_final_numbers(first, second))
    return sections, equal and bool(common) and not different and results[0] == results[1]


def _files(folder: Path) -> list:
    """Names of the files with results, relative to the folder."""
    names = ("iterations", "temperatures", "momenta", "sites", "four_points", "green", "self_energy", "susceptibility",
             "eigenvalues", "vertex", "extrapolated")  # fmt: skip
    found = [f"{name}.csv" for name in names if (folder / f"{name}.csv").exists()]
    return found + sorted(f"functions/{path.name}" for path in (folder / "functions").glob("*.h5"))


# ---- bits ----


def _compare_tables(name: str, first: Path, second: Path) -> tuple:
    a, b = read_table(first), read_table(second)
    columns = [column for column in dict.fromkeys([*a.names(), *b.names()]) if column not in not_physics]
    values, differ, largest, in_errors = 0, 0, 0.0, None
    for column in columns:
        values += max(len(a), len(b))
        if column not in a or column not in b or len(a) != len(b):
            differ += max(len(a), len(b))
            continue
        x, y = _numbers(a, column), _numbers(b, column)
        if x is None or y is None:
            differ += sum(str(v) != str(w) for v, w in zip(a[column], b[column]))
            continue
        off = _bits_differ(x, y)
        if not off.any():
            continue
        differ += int(np.count_nonzero(off))
        gap = np.abs(x - y)
        largest = max(largest, _largest(gap))
        if f"{column}_error" in a and f"{column}_error" in b:
            error = np.hypot(_numbers(a, f"{column}_error"), _numbers(b, f"{column}_error"))
            with np.errstate(divide="ignore", invalid="ignore"):
                in_errors = max(in_errors or 0.0, _largest(gap / error))
    return name, count(values), count(differ), f"{largest:.3g}", "" if in_errors is None else f"{in_errors:.2f}"


def _compare_functions(name: str, first: Path, second: Path) -> tuple:
    values, differ, largest = 0, 0, 0.0
    with _open(first) as a, _open(second) as b:
        for attribute in dict.fromkeys([*a.attrs, *b.attrs]):
            values += 1
            differ += attribute not in a.attrs or attribute not in b.attrs or a.attrs[attribute] != b.attrs[attribute]
        for key in dict.fromkeys([*a, *b]):
            sizes = [f[key].size for f in (a, b) if key in f]
            values += max(sizes)
            if key not in a or key not in b or a[key].shape != b[key].shape:
                differ += max(sizes)
                continue
            x, y = a[key][...], b[key][...]
            off = _bits_differ(x, y)
            if off.any():
                differ += int(np.count_nonzero(off))
                largest = max(largest, _largest(np.abs(x - y)))
    return name, count(values), count(differ), f"{largest:.3g}", ""


def _open(path: Path):
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise ReadError(path, str(error)) from None


def _bits_differ(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """-0 differs from 0; a NaN equals itself."""
    x, y = (np.ascontiguousarray(v, dtype=np.float64) for v in (x, y))
    return x.view(np.uint64) != y.view(np.uint64)


def _largest(x: np.ndarray) -> float:
    x = x[np.isfinite(x)]
    return float(x.max()) if x.size else 0.0


def _numbers(table: Table, name: str):
    """A column with empty cells as NaN; None if it holds words."""
    column = table[name]
    if isinstance(column, np.ndarray):
        return column
    try:
        return np.array([float(v) if v else math.nan for v in column])
    except ValueError:
        return None


# ---- the final numbers ----


def _final_numbers(first: Path, second: Path) -> Section:
    section = Section("Final numbers", header=["", "a", "b", "b - a", "in errors"])
    ours, theirs = (_numbers_of(folder) for folder in (first, second))
    for name in dict.fromkeys([*ours, *theirs]):
        pair = (ours.get(name), theirs.get(name))
        shown = ["-" if e is None else f"{e[0]:.6g} +- {e[1]:.2g}" for e in pair]
        row = (name, *shown, "", "")
        if None not in pair:
            (a, a_error), (b, b_error) = pair
            error = math.hypot(a_error, b_error)
            in_errors = "0" if a == b else f"{abs(b - a) / error:.2f}" if 0 < error < math.inf else ""
            row = (name, *shown, f"{b - a:.3g}", in_errors)
        section.rows.append(row)
    if not section.rows:
        section.header = []
    return section


def _last(table: Table, name: str):
    """The last number of a column; None if its cell is empty."""
    column = _numbers(table, name)
    return None if column is None or math.isnan(column[-1]) else float(column[-1])


def _numbers_of(folder: Path) -> dict:
    """{name: (value, error)}: T_c and the columns with errors of the last temperature, or what is extrapolated."""
    found = {}
    t_c = (read_json(folder / "result.json") or {}).get("t_c")
    if isinstance(t_c, dict):
        found["T_c"] = (float(t_c["value"]), float(t_c["error"]))
    if (folder / "temperatures.csv").exists():
        table = read_table(folder / "temperatures.csv")
        if len(table):
            where = f" at T = {table.numbers('t')[-1]:g}"
            for name in table.names():
                if f"{name}_error" in table and (value := _last(table, name)) is not None:
                    found[name.replace("_", " ") + where] = (value, _last(table, f"{name}_error") or 0.0)
    if (folder / "extrapolated.csv").exists():
        table = read_table(folder / "extrapolated.csv")
        kx, ky, value, error = (table.numbers(name) for name in ("kx", "ky", "value", "error"))
        for i, quantity in enumerate(table["quantity"]):
            found[f"{quantity.replace('_', ' ')} ({kx[i]:.2f}, {ky[i]:.2f})"] = (float(value[i]), float(error[i]))
    return found
