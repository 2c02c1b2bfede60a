"""The JSON file of apps/scale/real_runs.py: real runs on one process and many, and what messages cost where they were made.

Example to read: tests/star/test_scale_check.py.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from ...errors import ReadError
from .machine import Costs
from .workload import StepCosts, Workload


@dataclass
class Segment:
    """From one look at the mesh to the next."""

    warm: bool  # before what is compared
    changed: bool  # its look made another mesh
    step_s: list
    levels: np.ndarray  # [n_block], along the curve
    locations: np.ndarray  # [n_block][3]
    parts: np.ndarray  # [n_block], owner of the block in that run
    seconds: np.ndarray  # [n_step - 1][n_process or 1][n_block]; of more than one where each ran alone

    def seconds_at(self, step: int, parts) -> np.ndarray:
        """[n_block] in a step, each as measured by the process of that number."""
        of = self.seconds[step]
        return of[0] if len(of) == 1 else of[parts, np.arange(of.shape[1])]


class Recording:
    """One run: its segments, and what its localities have used in all that are compared."""

    def __init__(self, data: dict):
        self.data = data
        self.processes = data["processes"]
        self.segments = [_segment(s) for s in data["segments"]]

    @property
    def wall_s(self) -> float:
        """Wall time of the compared steps; the mean over the processes if each ran by itself."""
        walls = [locality["wall_s"] for locality in self.data["localities"]]
        return float(np.mean(walls)) if self.data["alone"] else walls[0]

    @property
    def steps(self) -> int:
        return sum(len(s.step_s) for s in self.segments if not s.warm)

    def sent(self, what: str) -> float:
        """Messages or bytes of all localities, per step."""
        return sum(locality[what] for locality in self.data["localities"]) / self.steps

    def seconds_of(self, *kinds: str) -> float:
        """Seconds in tasks of these types, at the root."""
        of = dict(zip(self.data["kinds"], self.data["localities"][0]["seconds"]))
        return sum(of[f"star.{kind}"] for kind in kinds)

    def calls_of(self, kind: str) -> float:
        return dict(zip(self.data["kinds"], self.data["localities"][0]["calls"]))[f"star.{kind}"]


def _segment(data: dict) -> Segment:
    numbers = np.array(data["blocks"], dtype=float)
    return Segment(
        data["warm"],
        data["changed"],
        data["step_s"],
        numbers[:, 0].astype(int),
        numbers[:, 1:4].astype(int),
        numbers[:, 4].astype(int),
        1e-6 * np.array(data["block_us"], dtype=float),
    )


class RealRuns:
    """All of a file."""

    def __init__(self, path: Path):
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            self.machine, self.date, self.costs = data["machine"], data["date"], data["costs"]
            self._problems = {
                name: {
                    mode: {int(n): [Recording(r) for r in runs] for n, runs in by_count.items()}
                    for mode, by_count in modes.items()
                }
                for name, modes in data["problems"].items()
            }
        except OSError as error:
            raise ReadError(path, error.strerror or str(error)) from None
        except (ValueError, KeyError, TypeError, IndexError) as error:
            what = f"expected a file written by apps/scale/real_runs.py ({type(error).__name__}: {error})"
            raise ReadError(path, what) from None

    @property
    def problems(self) -> list:
        return list(self._problems)

    def counts(self, problem: str) -> list:
        return sorted(self._problems[problem]["together"])

    def together(self, problem: str, processes: int) -> list:
        return self._problems[problem]["together"][processes]

    def measured_s(self, problem: str, processes: int) -> float:
        return median(r.wall_s for r in self.together(problem, processes))

    def one_process(self, problem: str, busy: int) -> list:
        """The recordings of one process while `busy` cores were in use."""
        return self._problems[problem]["together" if busy == 1 else "alone"][busy]

    def machine_costs(self, recording: Recording) -> Costs:
        """Costs of tasks and messages, from the programs that measured them and from the border of this mesh."""
        one, two = self.costs["1"], self.costs.get("2")
        messages = []
        if two is not None:
            for size, one_way, both, call in zip(two["bytes"], two["one_way_s"], two["both_s"], two["call_s"]):
                send = min(call, both)
                messages.append([float(size), 1e6 * send, 1e6 * (both - send), 1e6 * max(0.0, one_way - both)])
        return Costs(
            send_ns_per_byte=1e9 * recording.data["pack_s_per_byte"],
            receive_ns_per_byte=1e9 * recording.data["unpack_s_per_byte"],
            task_us=1e6 * one["task_s"],
            handoff_us=1e6 * one["handoff_s"],
            rebuild_us_per_block=1e6 * recording.data["plan_s_per_block"],
            lists_us_per_block=1e6 * recording.data["lists_s_per_block"],
            messages=messages,
            source=f"measured on {self.machine['processor']}, {self.machine['cores']} cores, {self.date}",
        )


def workload_of(recording: Recording, segment: Segment, seconds, costs: Costs, parts=None, changed: bool = False) -> Workload:
    """What is replayed of a step: its mesh and its blocks' seconds, and the mean of all else that the run did."""
    data, every = recording.data, recording.data["steps_per_look"]
    compared = [s for s in recording.segments if not s.warm]
    looked_at = sum(len(s.levels) for s in compared)
    corrections = recording.calls_of("flux_correction")
    rebuild_s = 1e-6 * costs.rebuild_us_per_block
    looking_s = recording.seconds_of("refinement", "regrid", "check", "adapt_mesh") / looked_at
    return Workload(
        block_size=data["block_size"],
        root_blocks=data["root_blocks"],
        max_level=int(segment.levels.max()),
        periodic=data["periodic"],
        levels=segment.levels,
        locations=segment.locations,
        seconds=seconds,
        stages=data["stages"],
        variables=data["variables"],
        steps_per_look=float(every),
        changes_per_look=float(changed),
        parts=parts,
        costs=StepCosts(
            correction_s=recording.seconds_of("flux_correction") / corrections if corrections else 0.0,
            totals_s=recording.seconds_of("totals") / (every * looked_at),
            look_s=max(0.0, looking_s - rebuild_s),
            rebuild_s=rebuild_s,
            step_s=recording.seconds_of("step") / recording.steps,
            handoff_s=1e-6 * costs.handoff_us,
            lists_s=1e-6 * costs.lists_us_per_block,
        ),
    )
