"""The input of `plx-scale`: the mesh and the measured seconds of a run, as one TOML file; from the folder of a run, or from
the JSON file of apps/scale/real_runs.py: real runs on one process and many, and what messages cost where they were made.

Example to read: tests/star/test_scale.py, tests/star/test_scale_check.py.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np

from ... import ReadError
from ...folders import program_of, refusal
from ...text import plural
from ..run import Run
from .machine import Costs

_stages = {"rk2": 2, "rk3": 3}
# Types of tasks that the first solve of a step skips if the gravity of the step before is still valid
# (src/star/gravity/self_gravity.cpp); plx-scale skips the same (apps/scale/stages.cpp).
of_solve = tuple(f"star.gravity.{name}" for name in ("totals", "mean", "masses", "moments", "interactions", "translations", "accelerations", "node_sums", "corrections"))
_keys = ("mesh.sides", "mesh.block_size", "hydro.integrator", "refinement.interval")


@dataclass
class StepCosts:
    """Seconds on one core of the measuring machine; apps/scale/workload.hpp says of what."""

    totals_s: float = 0.0
    look_s: float = 0.0
    rebuild_s: float = 0.0
    plan_s: float = 0.0
    step_s: float = 0.0
    root_s: float = 0.0
    handoff_s: float = 0.0
    lists_s: float = 0.0
    tree_s: float = 0.0
    jitter: float = 0.0


@dataclass
class Workload:
    """A mesh, the seconds of its blocks, and what else a step costs."""

    block_size: int
    root_blocks: list
    max_level: int
    periodic: list
    levels: np.ndarray  # [n_block]
    locations: np.ndarray  # [n_block][3]
    seconds: np.ndarray  # [n_block] its tasks in the stages of a step
    stages: int
    variables: int
    steps_per_look: float
    costs: StepCosts
    tasks: dict  # seconds of a task of each type that is not skipped
    reads_edges: bool = False  # stages read ghosts across edges and corners, too
    gravity: dict | None = None  # order, theta; carried: fraction of steps that begin with the gravity of the step before
    changes_per_look: float = 0.0  # of the looks, those that make another mesh
    parts: np.ndarray | None = None  # [n_block] owner of each block; None: cut by the seconds

    def toml(self) -> str:
        def numbers(values) -> str:
            return "[" + ", ".join(repr(v.item()) for v in values) + "]"

        lines = ["# Made by `parallax scale`; read by plx-scale.", "[run]"]
        lines += [f"stages = {self.stages}", f"variables = {self.variables}", f"steps_per_look = {self.steps_per_look!r}"]
        lines += [f"changes_per_look = {self.changes_per_look!r}", f"reads_edges = {str(self.reads_edges).lower()}"]
        lines += ["", "[tasks]"] + [f'"{name}" = {float(value)!r}' for name, value in self.tasks.items()]
        if self.gravity is not None:
            lines += ["", "[gravity]"] + [f"{name} = {value!r}" for name, value in self.gravity.items()]
        lines += ["", "[mesh]", f"block_size = {self.block_size}", f"root_blocks = {self.root_blocks}"]
        lines += [f"max_level = {self.max_level}", f"periodic = {str(self.periodic).lower()}", "", "[costs]"]
        lines += [f"{name} = {float(value)!r}" for name, value in asdict(self.costs).items()]
        lines += ["", "[blocks]", f"level = {numbers(self.levels)}"]
        lines += [f"{axis} = {numbers(self.locations[:, a])}" for a, axis in enumerate("xyz")]
        lines += [f"part = {numbers(self.parts)}"] if self.parts is not None else []
        return "\n".join([*lines, f"seconds = {numbers(self.seconds)}", ""])


def read_workload(run: Run, machine: Costs | None = None) -> Workload:
    """From the newest mesh file and the tables of a run. `machine`: what a run does not say by itself: handoffs, and what
    of the refinement every locality does for the whole mesh, and for its borders."""
    if program_of(run.folder) not in (None, "plx-star"):
        raise refusal(run.folder, "a run of plx-star", "name the folder that --out gave it")
    machine = machine or Costs()
    config = run.config or {}
    of_gravity = ("gravity.order", "gravity.theta") if config.get("gravity.self") else ()
    missing = [key for key in (*_keys, *of_gravity) if key not in config]
    if missing:
        raise ReadError(run.folder / "config.toml", f"no {missing[0]}: expected the configuration of a run of plx-star")
    every, stages = int(config["refinement.interval"]), _stages[config["hydro.integrator"]]
    changes = _changes(run, every)
    gravity = _gravity_of({name: config.get(f"gravity.{name}") for name in ("self", "order", "theta")}, 1 - changes / every)
    total, calls = _profile(run, gravity is not None)
    with run.mesh() as mesh:
        size = [int(n) for n in mesh.block_size]
        return Workload(
            block_size=size[0], root_blocks=[int(n) // size[0] for n in mesh.root_size],
            max_level=int(mesh.levels.max()),
            periodic=[config["mesh.sides"][2 * axis] == "periodic" for axis in range(3)], levels=mesh.levels,
            locations=mesh.locations, seconds=_block_seconds(mesh), stages=stages,
            variables=_variables(mesh.variables, bool(config.get("hydro.spin"))),
            steps_per_look=float(every), costs=_step_costs(run, machine, total, changes), tasks=_tasks(total, calls, stages, gravity),
            reads_edges=config.get("hydro.scheme") == "full3d" or bool(config.get("hydro.spin")), gravity=gravity,
            changes_per_look=changes,
        )


def _variables(of_mesh_file: list, spin: bool) -> int:
    """The number of variables of the state: density, momentum, energy, the tracer of the entropy, species, spin. A mesh file
    has density, velocity and pressure, then species of any name."""
    return 6 + len(of_mesh_file[5:]) + (3 if spin else 0)


def _gravity_of(options: dict, carried: float) -> dict | None:
    return {"order": int(options["order"]), "theta": float(options["theta"]), "carried": float(carried)} if options["self"] else None


def _profile(run: Run, with_gravity: bool) -> tuple:
    """Seconds and calls by type of task."""
    if run.profile is None or run.summary is None or run.history is None:
        raise ReadError(run.folder, "expected profile.csv, history.csv and run.json of a run that has ended")
    path, names = run.folder / "profile.csv", list(run.profile["name"])
    seconds, calls = run.profile.numbers("total_s"), run.profile.numbers("calls")
    for name, *numbers in zip(names, seconds, calls):
        if not all(np.isfinite(x) and x >= 0 for x in numbers):
            raise ReadError(path, f"{name}: expected seconds and a number of calls, found {numbers[0]} and {numbers[1]}")
    for prefix in ("star.stage", *(["star.gravity."] if with_gravity else [])):
        if not any(name.startswith(prefix) for name in names):
            raise ReadError(path, f"no tasks {prefix}: expected the whole table of a run that has ended; run it again")
    return dict(zip(names, seconds)), dict(zip(names, calls))


def _tasks(total: dict, calls: dict, stages: int, gravity: dict | None) -> dict:
    """Seconds of a task of each type of the stages. The first of the solves of a step, one more than stages, may be skipped."""
    done = 1 - (gravity["carried"] / (stages + 1) if gravity else 0.0)
    of_stages = [name for name in total if name in ("star.stage", "star.flux_correction") or name.startswith("star.gravity.")]
    return {name: total[name] / (calls[name] * (done if name in of_solve else 1.0)) for name in of_stages if calls[name]}


def _block_seconds(mesh) -> np.ndarray:
    """Per step; blocks that are too young to know get the mean of the others."""
    cost, updates = mesh.block_values("Cost"), mesh.block_values("Updates")
    if cost is None or updates is None or not np.any((updates > 0) & (cost > 0)):
        raise ReadError(mesh.path, "no measured costs (Cost, Updates): expected the file of a run that made steps")
    known = (updates > 0) & (cost > 0)
    mean = cost[known].sum() / updates[known].sum()
    return np.where(known, cost / np.maximum(updates, 1e-9), mean)


def _changes(run: Run, every: int) -> float:
    """The share of regrid checks that changed the number of blocks."""
    if run.history is None or len(run.history) < 2:
        return 0.0
    steps, blocks = run.history.numbers("step"), run.history.numbers("blocks")
    looks = max(1.0, (steps[-1] - steps[0]) / every)
    return float(min(1.0, np.count_nonzero(np.diff(blocks)) / looks))


def _step_costs(run: Run, machine: Costs, total: dict, changes: float) -> StepCosts:
    def seconds(*kinds: str) -> float:
        return float(sum(total.get(f"star.{kind}", 0.0) for kind in kinds))

    steps = float(run.history.numbers("step")[-1] - run.history.numbers("step")[0])
    block_steps = float(run.summary["cell_updates"]) / run.config["mesh.block_size"] ** 3
    if steps <= 0 or block_steps <= 0:
        raise ReadError(run.folder, "expected a run that made steps")
    sums = block_steps / float(run.config.get("output.history_interval", 1))
    looks = block_steps / float(run.config["refinement.interval"])
    root, jitter = _from_timeline(run)
    rebuild_s, plan_s = 1e-6 * machine.rebuild_us_per_block, 1e-6 * machine.plan_us_per_block
    handoff_s = 1e-6 * machine.handoff_us
    handoffs = 2 + 1 / float(run.config["refinement.interval"])  # the step, its totals, the look
    return StepCosts(
        totals_s=seconds("totals") / sums,
        look_s=max(0.0, seconds("refinement", "regrid", "adapt_mesh", "check") / looks - rebuild_s - changes * plan_s),
        rebuild_s=rebuild_s, plan_s=plan_s, step_s=seconds("step") / steps, root_s=max(0.0, root - handoffs * handoff_s),
        handoff_s=handoff_s, lists_s=1e-6 * machine.lists_us_per_block, tree_s=1e-6 * machine.tree_us_per_block,
        jitter=jitter,
    )


def _from_timeline(run: Run) -> tuple:
    """From the traced steps: seconds per step without a running task (the root writes its tables then), and the spread
    of the stages' seconds: standard deviation of their logarithm, without the outliers."""
    table = run.timeline
    if table is None or len(table) < 2:
        return 0.0, 0.0
    begin, end = table.numbers("begin_s"), table.numbers("end_s")
    names = np.array(table["name"])
    order = np.argsort(begin, kind="stable")
    busy_until = np.maximum.accumulate(end[order])
    idle = np.maximum(0.0, begin[order][1:] - busy_until[:-1]).sum()
    steps = max(1.0, np.count_nonzero(names == "star.step") / 2)
    stage = (end - begin)[names == "star.stage"]
    spread = np.quantile(np.log(stage), (0.16, 0.84)) if len(stage) > 10 else (0.0, 0.0)
    return float(idle / steps), float(spread[1] - spread[0]) / 2


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

    def of_root(self, what: str) -> dict:
        """Its seconds or calls, by type of task."""
        return dict(zip(self.data["kinds"], self.data["localities"][0][what]))

    def seconds_of(self, *kinds: str) -> float:
        """Seconds in tasks of these types, at the root."""
        of = self.of_root("seconds")
        return sum(of[f"star.{kind}"] for kind in kinds)

    @property
    def carried(self) -> float:
        """The fraction of compared steps that do not follow a change of the mesh."""
        changes = sum(before.changed for before, after in zip(self.segments, self.segments[1:]) if not after.warm)
        return 1 - changes / self.steps


def _segment(data: dict) -> Segment:
    numbers = np.array(data["blocks"], dtype=float)
    return Segment(
        data["warm"], data["changed"], data["step_s"], numbers[:, 0].astype(int), numbers[:, 1:4].astype(int),
        numbers[:, 4].astype(int), 1e-6 * np.array(data["block_us"], dtype=float),
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
            receive_ns_per_byte=1e9 * recording.data["unpack_s_per_byte"], task_us=1e6 * one["task_s"],
            handoff_us=1e6 * one["handoff_s"], rebuild_us_per_block=1e6 * recording.data["decision_s_per_block"],
            plan_us_per_block=1e6 * recording.data["plan_s_per_block"],
            lists_us_per_block=1e6 * recording.data["lists_s_per_block"],
            tree_us_per_block=1e6 * recording.data["tree_s_per_block"], messages=messages,
            source=f"measured on {self.machine['processor']}, {plural(self.machine['cores'], 'core')}, {self.date}",
        )


def workload_of(
    recording: Recording, segment: Segment, seconds, costs: Costs, parts=None, changed: bool = False, carried: bool = False
) -> Workload:
    """The part of a step that is replayed: its mesh and its blocks' seconds, and the mean of all else that the run did. `carried`:
    the gravity of the step before is still valid."""
    data, every = recording.data, recording.data["steps_per_look"]
    compared = [s for s in recording.segments if not s.warm]
    looked_at = sum(len(s.levels) for s in compared)
    gravity = lambda share: _gravity_of(data["gravity"], share)
    rebuild_s, plan_s = 1e-6 * costs.rebuild_us_per_block, 1e-6 * costs.plan_us_per_block
    planned_s = plan_s * sum(len(s.levels) for s in compared if s.changed) / looked_at
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
        tasks=_tasks(recording.of_root("seconds"), recording.of_root("calls"), data["stages"], gravity(recording.carried)),
        reads_edges=data["reads_edges"],
        gravity=gravity(carried),
        changes_per_look=float(changed),
        parts=parts,
        costs=StepCosts(
            totals_s=recording.seconds_of("totals") / (every * looked_at), look_s=max(0.0, looking_s - rebuild_s - planned_s),
            rebuild_s=rebuild_s, plan_s=plan_s, step_s=recording.seconds_of("step") / recording.steps,
            handoff_s=1e-6 * costs.handoff_us, lists_s=1e-6 * costs.lists_us_per_block, tree_s=1e-6 * costs.tree_us_per_block,
        ),
    )
