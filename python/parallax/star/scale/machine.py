"""One replay: the program `plx-scale`, what messages cost, and what comes out.

Example to read: tests/star/test_scale.py.
"""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from ... import ReadError

uses = ("work", "overhead", "core", "local", "late", "network", "imbalance", "reduction")
phases = ("stepping", "summing", "looking", "changing")
events = ("end", "leave", "loss", "settle")  # of a job, apps/scale/job_events.hpp


@dataclass
class Costs:
    """On a core of the measuring machine. `send_us`, `receive_us`: of every message; `messages`: beside that by size,
    [bytes, us to send, us to receive, us between both inside a host]. Per byte: copying into messages and out of them.
    Then a task's start, a step's handoff from a thread to a task and back, a look's decision about the whole mesh,
    the plan of a new mesh, both per block of the whole mesh, new lists per block at a border, and with gravity the tree of a
    new mesh, per block of the whole mesh."""

    send_us: float = 0.0
    receive_us: float = 0.0
    send_ns_per_byte: float = 0.0
    receive_ns_per_byte: float = 0.0
    task_us: float = 0.0
    handoff_us: float = 0.0
    rebuild_us_per_block: float = 0.0
    plan_us_per_block: float = 0.0
    lists_us_per_block: float = 0.0
    tree_us_per_block: float = 0.0
    messages: list = field(default_factory=list)
    source: str = ""

    def arguments(self) -> list:
        return [
            f"--send-s={1e-6 * self.send_us!r}", f"--receive-s={1e-6 * self.receive_us!r}",
            f"--send-s-per-byte={1e-9 * self.send_ns_per_byte!r}",
            f"--receive-s-per-byte={1e-9 * self.receive_ns_per_byte!r}", f"--task-s={1e-6 * self.task_us!r}",
            *self._by_size(),
        ]

    def _by_size(self) -> list:
        numbers = [repr(x) for size, *times in self.messages for x in (float(size), *(1e-6 * t for t in times))]
        return ["--by-size", *numbers] if numbers else []


def read_costs(path: str | Path) -> Costs:
    """From a JSON object with the fields of Costs; those that are missing are 0."""
    path = Path(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReadError(path, error.strerror or str(error)) from None
    except ValueError as error:
        raise ReadError(path, f"broken JSON: {error}") from None
    known = Costs.__dataclass_fields__
    if not isinstance(data, dict):
        raise ReadError(path, f"expected an object with {', '.join(known)}, found {type(data).__name__}")
    for name, value in data.items():
        if name not in known:
            raise ReadError(path, f"'{name}' is no cost; expected {', '.join(known)}")
        good, expected = _judge(name, value)
        if not good:
            raise ReadError(path, f"{name}: expected {expected}, found {value!r}")
    return Costs(**data)


def _judge(name: str, value) -> tuple:
    """Is it fine, and what is expected."""
    number = lambda v: isinstance(v, (int, float)) and 0 <= v < 1e9
    if name == "source":
        return isinstance(value, str), "a text"
    if name == "messages":
        rows = value if isinstance(value, list) else [None]
        good = all(isinstance(row, list) and len(row) == 4 and all(map(number, row)) for row in rows)
        return good, "rows of [bytes, us to send, us to receive, us between]"
    return number(value) and value < 1e6, "a number of 0 or more"


@dataclass
class Setting:
    """Where a workload is replayed."""

    localities: int
    workers: int = 1
    per_host: int = 1
    copies: tuple = (1, 1, 1)
    coalesced: bool = True
    all_to_all: bool = False
    group_bytes: int = 64 << 10

    def arguments(self) -> list:
        flags = ([] if self.coalesced else ["--separate"]) + (["--all-to-all"] if self.all_to_all else [])
        return [
            f"--localities={self.localities}", f"--workers={self.workers}", f"--per-host={self.per_host}",
            f"--group-bytes={self.group_bytes}", "--copies", *(str(n) for n in self.copies), *flags,
        ]


@dataclass
class Replay:
    """Replay of one step. Times of phases are per step; `looking` (the regrid check) happens only at some steps. Uses
    are seconds of all workers."""

    setting: Setting
    blocks: int
    times: dict = field(default_factory=dict)  # by phase
    uses: dict = field(default_factory=dict)  # by phase, by use
    tasks: dict = field(default_factory=dict)  # by phase, each time that it happens
    messages: float = 0.0
    bytes: float = 0.0
    took_s: float = 0.0

    @property
    def time_s(self) -> float:
        return sum(self.times.values())

    def use(self, name: str) -> float:
        return sum(by_use[name] for by_use in self.uses.values())


class Program:
    """The program plx-scale with a workload, or several, a platform and costs."""

    def __init__(self, program: Path, workload: Path | list, platform: Path, costs: Costs):
        self.workloads = [str(path) for path in (workload if isinstance(workload, list) else [workload])]
        self.options = ["--platform", str(platform), *costs.arguments()]
        self.program = str(program)

    def run(self, setting: Setting) -> Replay:
        """The Replay of the first workload."""
        return self.run_each(setting)[0]

    def run_each(self, setting: Setting) -> list:
        """A Replay of each workload."""
        begin = time.monotonic()
        replays = [_read(json.loads(line), setting) for line in self._lines([*self.workloads, *setting.arguments()])]
        for replay in replays:
            replay.took_s = (time.monotonic() - begin) / len(replays)
        return replays

    def events(self, localities: int) -> dict:
        """By event: time_s; messages of all, most_sent and most_received by one locality. None for fewer than three."""
        if localities < 3:
            return {}
        (line,) = self._lines(["--events", f"--localities={localities}"])
        return {event["name"]: event for event in json.loads(line)["events"]}

    def _lines(self, arguments: list) -> list:
        try:
            done = subprocess.run([self.program, *arguments, *self.options], capture_output=True, text=True)
        except OSError as error:
            raise ReadError(self.program, error.strerror or str(error)) from None
        if done.returncode != 0:
            said = (done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1]
            raise ReadError(self.program, said.removeprefix("plx-scale: "))
        return done.stdout.splitlines()


def _read(data: dict, setting: Setting) -> Replay:
    replay = Replay(setting, int(data["blocks"]))
    for phase in data["phases"]:
        weight = phase["weight"]
        replay.times[phase["name"]] = weight * phase["time_s"]
        replay.tasks[phase["name"]] = phase["tasks"]
        replay.uses[phase["name"]] = {use: weight * seconds for use, seconds in phase["use_s"].items()}
        replay.messages += weight * phase["messages"]
        replay.bytes += weight * phase["bytes"]
    return replay
