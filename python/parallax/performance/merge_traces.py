"""Merges the traces that the localities of a job wrote separately because the root was killed.

Normally the root collects all traces. If the root dies, every other locality writes its own trace to
RUN/localities/N/trace.json.gz, with its own time axis. The merged trace uses the time axis of the earliest one, aligned
by the wall clocks of the hosts (`otherData.began_unix_s`): exact on one host, as accurate as the clocks agree on
several. Parcels and
parents on other localities are in none of the files, so there are no arrows between localities.

Memory: the trace of one locality at a time. Example to read: tests/performance/test_merge_traces.py.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from pathlib import Path

from .. import NotARun, ReadError
from ..folders import refusal

SERIAL_BITS = 40  # of a task's number: its locality's workers count from 1 above them, its recorder's number above those
WORKER_MASK = 0xFFFF
EXACT = 1 << 53  # as the writer: larger numbers are texts
NAMES = ("trace.json.gz", "trace.json")


def merge_traces(run: Path, out: Path | None = None) -> str:
    """Writes the trace (default: RUN/merged_trace.json.gz); returns lines that say what is in it."""
    files = _files(run)
    out = out or run / "merged_trace.json.gz"
    if any(out.exists() and out.samefile(file) for file in files.values()):
        raise ReadError(out, "is one of the traces to be merged; expected another name for the result (--out FILE)")
    heads = {locality: _head(file) for locality, file in files.items()}
    began = min(head["began_unix_s"] for head in heads.values())
    absent = [n for n in range(max(files) + 1) if n not in files]
    partial = out.with_name(out.name + ".part")
    try:
        with _open(partial, "wt", out) as file:
            _write(file, files, heads, began, absent)
        os.replace(partial, out)
    finally:
        partial.unlink(missing_ok=True)
    lines = [f"{out}: the traces of localities {', '.join(map(str, files))}, by the clocks of their hosts"]
    lines += [f"locality {n} left no trace" for n in absent]
    return "\n".join(lines)


def _files(run: Path) -> dict[int, Path]:
    files = {}
    own = [run / name for name in NAMES if (run / name).is_file()]
    if own:
        files[0] = own[0]
    for folder in sorted((run / "localities").glob("*")):
        found = [folder / name for name in NAMES if (folder / name).is_file()]
        if folder.name.isdecimal() and found:
            files[int(folder.name)] = found[0]
    if not any(n > 0 for n in files):
        if own:
            raise NotARun(f"{run}: expected localities/N/trace.json.gz, found none: {own[0]} is the trace of the whole job")
        raise refusal(run, "localities/N/trace.json.gz of a job", "trace the job with PLX_TRACE=json", of_measurements=True)
    return dict(sorted(files.items()))


def _open(path: Path, mode: str, named: Path | None = None):
    compressed = (named or path).suffix == ".gz"
    return gzip.open(path, mode, encoding="utf-8") if compressed else open(path, mode, encoding="utf-8")


def _load(path: Path) -> dict:
    try:
        with _open(path, "rt") as file:
            trace = json.load(file)
    except (ValueError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ReadError(path, f"is incomplete or not Trace Event JSON ({error})") from error
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        raise ReadError(path, "has no list traceEvents, expected a trace that a program of Parallax wrote")
    return trace


def _head(path: Path) -> dict:
    """The metadata of a trace, and its number of workers."""
    trace = _load(path)
    other = trace.get("otherData", {})
    if "localities" in other:
        raise ReadError(path, "is already the merged trace of a job; it contains the other localities")
    if not isinstance(other.get("began_unix_s"), (int, float)):
        raise ReadError(path, "does not say when it began (otherData.began_unix_s), so it cannot be aligned with others")
    rows = [e["tid"] for e in trace["traceEvents"] if e.get("ph") == "M" and e.get("name") == "thread_name"]
    return {**other, "workers": max(rows, default=0)}


def _write(file, files, heads, began, absent) -> None:
    file.write('{"displayTimeUnit":"ns","traceEvents":[\n')
    first_worker = first_arrow = 0
    for locality, path in files.items():
        head = heads[locality]
        change = _Change(locality, first_worker, first_arrow, round(1e9 * (head["began_unix_s"] - began)))
        for event in _load(path)["traceEvents"]:
            if event.get("name") == "process_name" and event["ph"] == "M":
                continue
            file.write(json.dumps(change(event), separators=(",", ":"), ensure_ascii=False) + ",\n")
        file.write(_process(locality, "") + ",\n")
        first_worker += head["workers"]
        first_arrow = change.last_arrow
    for locality in absent:
        file.write(_process(locality, " (missing)") + ",\n")
    # JSON allows no comma after the last event, so the list ends with a label for the whole trace.
    file.write('{"ph":"M","pid":0,"name":"process_labels","args":{"labels":"merged"}}\n],"otherData":')
    file.write(json.dumps(_summary(files, heads, began, absent)) + "}\n")


def _process(locality: int, more: str) -> str:
    name = {"name": f"parallax locality {locality}{more}"}
    return json.dumps({"ph": "M", "pid": locality + 1, "name": "process_name", "args": name})


def _summary(files, heads, began, absent) -> dict:
    total = {
        key: sum(head.get(key, 0) for head in heads.values())
        for key in ("records", "records_lost", "tasks", "arrows", "pieces_without_arrows", "edges_with_an_unknown_end")
    }
    localities = [
        {"locality": n, "began_s": round(heads[n]["began_unix_s"] - began, 9), "workers": heads[n]["workers"], "missing": ""}
        if n in files
        else {"locality": n, "missing": "it left no trace"}
        for n in range(max(files) + 1)
    ]
    return {
        **total,
        "share": min(head.get("share", 1) for head in heads.values()),
        "began_unix_s": began,
        "localities": localities,
        "merged": "after the run, by the wall clocks of the hosts, without parcels",
    }


class _Change:
    """An event of one locality as one of the job."""

    def __init__(self, locality: int, first_worker: int, first_arrow: int, shift_ns: int):
        self.pid = locality + 1
        self.first_worker = first_worker
        self.first_arrow = self.last_arrow = first_arrow
        self.shift_us = shift_ns / 1000

    def __call__(self, event: dict) -> dict:
        event["pid"] = self.pid
        if "ts" in event:
            event["ts"] = round(event["ts"] + self.shift_us, 3)
        if event["ph"] in ("s", "f"):
            event["id"] += self.first_arrow
            self.last_arrow = max(self.last_arrow, event["id"])
        arguments = event.get("args", {})
        if event["ph"] == "X":
            if "task" in arguments:
                arguments["task"] = self.task(arguments["task"])
            if "parents" in arguments:
                arguments["parents"] = [self.task(p) for p in arguments["parents"]]
        return event

    def task(self, number: int | str) -> int | str:
        """Task numbers restart in each locality; in the merged trace the worker numbers run through all localities."""
        number = int(number)
        worker = number >> SERIAL_BITS & WORKER_MASK
        if worker == 0:
            return number
        mine = (worker + self.first_worker) << SERIAL_BITS | number & (1 << SERIAL_BITS) - 1
        return mine if mine < EXACT else str(mine)
