"""Writes run folders as plx-star does, from a formula: an octree refined along a spherical shock, 2:1 balanced.

The density behind the shock is 6 (r/R)^9 (at least 0.012), one outside: close to Sedov's for gamma = 7/5, and exact
here by definition.
"""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import h5py
import numpy as np

ambient = 1.0
jump = 6.0


def density(r, shock):
    return np.where(r < shock, jump * np.maximum((r / shock) ** 9, 2e-3), ambient)


def velocity(r, shock):
    return np.where(r < shock, 0.8 * r / shock, 0.0)


def pressure(r, shock):
    return np.where(r < shock, 0.3 + 0.7 * (r / shock) ** 6, 1e-5)


def octree(shock, max_level, root=(2, 2, 2), lower=(-0.5, -0.5, -0.5), upper=(0.5, 0.5, 0.5)):
    """Leaves (level, (x, y, z)) of a tree refined where blocks touch the shock, 2:1 over faces, edges, corners."""
    lower, upper = np.array(lower), np.array(upper)
    leaves = {(0, (x, y, z)) for x in range(root[0]) for y in range(root[1]) for z in range(root[2])}

    def touches(level, where):
        width = (upper - lower) / np.array(root) / 2**level
        low = lower + np.array(where) * width
        nearest, farthest = np.clip(0, low, low + width), np.maximum(abs(low), abs(low + width))
        return np.linalg.norm(nearest) <= shock <= np.linalg.norm(farthest)

    def split(leaf):
        if leaf not in leaves:
            return
        level, where = leaf
        leaves.remove(leaf)
        for child in np.ndindex(2, 2, 2):
            leaves.add((level + 1, tuple(2 * w + c for w, c in zip(where, child))))
        if level == 0:
            return
        for step in np.ndindex(3, 3, 3):  # a coarser neighbour of the block just split must be split as well
            near = tuple(w + s - 1 for w, s in zip(where, step))
            split((level - 1, tuple(n // 2 for n in near)))

    for level in range(max_level):
        for leaf in [leaf for leaf in leaves if leaf[0] == level and touches(*leaf)]:
            split(leaf)

    def curve(leaf):  # along the space-filling curve
        level, where = leaf
        fine = [w << (max_level - level) for w in where]
        bits = range(max_level + 8, -1, -1)
        return [(fine[2] >> b & 1, fine[1] >> b & 1, fine[0] >> b & 1) for b in bits]

    return sorted(leaves, key=curve)


def write_mesh(
    path,
    leaves,
    fields,
    n=8,
    time=0.1,
    cycle=100,
    per_block=None,
    root=(2, 2, 2),
    lower=(-0.5, -0.5, -0.5),
    upper=(0.5, 0.5, 0.5),
    dtype=np.float64,
):
    """fields(x, y, z) -> {name: values}; per_block {name: [n_block]}."""
    lower, upper, root = np.array(lower, float), np.array(upper, float), np.array(root)
    levels = np.array([leaf[0] for leaf in leaves], dtype=np.int32)
    where = np.array([leaf[1] for leaf in leaves], dtype=np.int64).reshape(-1, 3)
    width = (upper - lower) / root / 2.0 ** levels[:, None]
    low = lower + where * width
    faces = [low[:, a, None] + width[:, a, None] * np.arange(n + 1) / n for a in range(3)]
    centres = [0.5 * (f[:, 1:] + f[:, :-1]) for f in faces]
    x = centres[0][:, None, None, :]
    y = centres[1][:, None, :, None]
    z = centres[2][:, :, None, None]
    values = fields(x, y, z)
    shape = (len(leaves), n, n, n)
    with h5py.File(path, "w") as f:
        f.attrs["NumCycles"] = np.int32(cycle)
        f.attrs["Time"] = float(time)
        f.attrs["Coordinates"] = np.bytes_("cartesian")
        for a in range(3):
            f.attrs[f"RootGridX{a + 1}"] = np.array([lower[a], upper[a], 1.0])
            f[f"x{a + 1}f"], f[f"x{a + 1}v"] = faces[a], centres[a]
        f.attrs["RootGridSize"] = (root * n).astype(np.int32)
        f.attrs["NumMeshBlocks"] = np.int32(len(leaves))
        f.attrs["MeshBlockSize"] = np.array([n, n, n], dtype=np.int32)
        f.attrs["MaxLevel"] = np.int32(levels.max(initial=0))
        f.attrs["NumVariables"] = np.array([len(values)], dtype=np.int32)
        f.attrs["DatasetNames"] = np.array([b"prim"], dtype="S21")
        f.attrs["VariableNames"] = np.array([name.encode() for name in values], dtype="S21")
        f["Levels"], f["LogicalLocations"] = levels, where
        f["prim"] = np.stack([np.broadcast_to(v, shape) for v in values.values()]).astype(dtype)
        for name, column in (per_block or {}).items():
            f[name] = np.asarray(column)


def blast(shock):
    def fields(x, y, z):
        r = np.sqrt(x * x + y * y + z * z)
        v = velocity(r, shock) / np.where(r > 0, r, 1.0)
        return {"rho": density(r, shock), "vel1": v * x, "vel2": v * y, "vel3": v * z, "press": pressure(r, shock)}

    return fields


def write_csv(path, columns):
    with open(path, "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(columns)
        out.writerows(zip(*columns.values()))


def shock_radius(t):
    return 0.42 * (t / 0.1) ** 0.4


def write_run(folder, max_level=3, n=8, files=3, steps=200, workers=2, slow=1.0, cfl=0.4):
    """A complete run folder of a blast. `slow` scales every cost; `cfl` only shows in the configuration."""
    folder = Path(folder)
    (folder / "mesh").mkdir(parents=True)
    counts = []
    for i in range(files):
        t = 0.1 * (i + 1) / files
        shock = shock_radius(t)
        leaves = octree(shock, max_level)
        counts.append(len(leaves))
        cycle = steps * (i + 1) // files
        spent = cycle - steps * i // files
        edge = np.array(
            [1.0 + 0.8 * (leaf[0] / max(1, max_level)) + 0.1 * math.sin(k) for k, leaf in enumerate(leaves)]
        )
        per_block = {
            "Cost": slow * edge * spent * n**3 * 4e-7,
            "Owner": np.zeros(len(leaves), dtype=np.int32),
            "IdleRate": np.full(len(leaves), 0.04),
        }
        write_mesh(folder / "mesh" / f"sedov.{i:05d}.athdf", leaves, blast(shock), n, t, cycle, per_block)
    write_history(folder / "history.csv", steps, counts[-1], n, slow)
    r = np.sort(np.concatenate([np.linspace(0, 0.9, 901), [shock_radius(0.1)] * 2]))
    shock = shock_radius(0.1)
    inside = r < shock
    inside[np.searchsorted(r, shock)] = True  # the two points at the shock: just inside, just outside
    safe = np.where(inside, np.minimum(r, shock * (1 - 1e-15)), shock)
    write_csv(
        folder / "exact.csv",
        {"r": r, "rho": density(safe, shock), "vel": velocity(safe, shock), "press": pressure(safe, shock)},
    )
    wall = 20.0 * slow
    names = ["stage", "gather", "regrid", "dt", "write"]
    shares = np.array([0.8, 0.11, 0.05, 0.01, 0.03])
    total = shares * wall * workers * 0.92
    calls = np.array([600_000, 600_000, 40, 200, files])
    write_csv(
        folder / "profile.csv",
        {
            "name": names,
            "calls": calls,
            "total_s": total,
            "mean_s": total / calls,
            "min_s": 0.5 * total / calls,
            "max_s": 3 * total / calls,
            "stddev_s": 0.2 * total / calls,
            "share": shares,
            "p50_s": 0.9 * total / calls,
            "p99_s": 2 * total / calls,
        },
    )
    each = np.ones(workers)
    write_csv(
        folder / "workers.csv",
        {
            "worker": range(workers),
            "tasks_s": 0.92 * wall * each,
            "overhead_s": 0.02 * wall * each,
            "background_s": 0.01 * wall * each,
            "idle_s": 0.05 * wall * each,
            "tasks": 600_000 * np.ones(workers, int),
            "steals": 1234 * np.ones(workers, int),
        },
    )
    write_csv(
        folder / "counters.csv",
        {
            "time_s": [1.0, 2.0],
            "name": ["/threads{locality#0/total}/idle-rate"] * 2,
            "value": [0.05, 0.04],
            "unit": ["1", "1"],
        },
    )
    (folder / "config.toml").write_text(
        f'[problem]\nname = "sedov"\n\n[hydro]\ncfl = {cfl}\nflux = "hllc"\n\n'
        f"[mesh]\nblock_size = {n}\nmax_level = {max_level}\nroot_blocks = [2, 2, 2]\n"
    )
    summary = {
        "program": "plx-star",
        "version": "0.1.0",
        "problem": "sedov",
        "build": {"compiler": "g++ 12.2", "type": "Release", "git": "abc1234", "isa": "avx512"},
        "machine": {"host": "nowhere", "cpu": "Imaginary CPU", "cores": workers},
        "workers": workers,
        "status": "finished",
        "started": "2026-01-01T00:00:00Z",
        "wall_s": wall + 1,
        "simulation_s": wall,
        "steps": steps,
        "time": 0.1,
        "cells": counts[-1] * n**3,
        "blocks": counts[-1],
        "cell_updates": counts[-1] * n**3 * steps,
        "measurement_cost_percent": 0.31,
        "message": "",
        "changed_options": [
            {"key": "mesh.max_level", "was": "1", "value": "2", "by": "--set", "time": "2026-01-01T00:00:00Z"}
        ],
        "floors": {"density": 0, "pressure": 0, "input": 0},
        "conservation_since_step": 0,
        "conservation": [
            {
                "quantity": "mass", "start": 1.0, "change": 2.0e-14, "boundaries": 0.0, "floors": 0.0, "sources": 0.0, "regrids": 0.0,
                "remainder": 2.0e-14, "scale": 1.0, "relative_to": "start", "relative": 2.0e-14, "conserved": "exact",
                "note": "",
            },
            {
                "quantity": "angular_momentum_z", "start": 0.5, "change": 0.25, "boundaries": None, "floors": 0.0, "sources": 0.0,
                "regrids": 0.0, "remainder": None, "scale": 0.5, "relative_to": "start", "relative": None,
                "conserved": "open", "note": "walls or inflow",
            },
        ],
    }
    (folder / "run.json").write_text(json.dumps(summary, indent=1))
    write_tasks(folder)
    return folder


def write_history(path, steps, blocks, n, slow):
    k = np.arange(steps + 1)
    wiggle = np.cumsum(np.sin(k * 12.9898) > 0) * 2.0**-52
    rate = (2.6e6 + 3e5 * np.sin(k / 9)) / slow
    write_csv(
        path,
        {
            "step": k,
            "time": 0.1 * k / steps,
            "dt": 0.1 / steps + 0 * k,
            "blocks": np.linspace(64, blocks, steps + 1).astype(int),
            "cells": np.linspace(64, blocks, steps + 1).astype(int) * n**3,
            "max_level": 3 + 0 * k,
            "wall_s": 20.0 * slow * k / steps,
            "cell_updates_per_s": rate,
            "mass": 1.0 + wiggle,
            "momentum_x": 1e-17 * np.sin(k),
            "momentum_y": 0.0 * k,
            "momentum_z": 0.0 * k,
            "energy": 1.0 - 0.5 * wiggle,
            "floors_density": 0 * k,
            "floors_pressure": 0 * k,
            "out_mass": 0.0 * k,
            "out_energy": 0.0 * k,
        },
    )


def write_tasks(run):
    """The files about single tasks that plx-star writes of some steps."""
    path = {
        "wall_s": 1.0,
        "span_s": 0.2,
        "parallelism": 8.0,
        "kinds": [
            {"name": "flux", "tasks": 9, "work_s": 1.6, "on_path": 2, "path_s": 0.2, "delay_s": 0.1,
             "path_delay_s": 0.01, "if_half": {"span_s": 0.1, "wall_s": 0.6}},
        ],
    }  # fmt: skip
    (run / "critical_path.json").write_text(json.dumps(path))
    files = {
        "timeline.csv": ["worker,name,key,begin_s,end_s,device"]
        + [f"{i % 2},{('flux', 'gather')[i % 3 == 0]},{i},{0.01 * i},{0.01 * i + 0.015}," for i in range(200)]
        + [f'2,advance,,{0.01 * i},{0.01 * i + 0.008},"gpu 0 (x), stream 1"' for i in range(100)],
        "concurrency.csv": ["time_s,running,flux,gather,other"] + [f"{0.01 * i},2,1,0.5,0.5" for i in range(50)],
        "scatter.csv": ["kind,name,begin_s,value,id,key,worker,wait_s"]
        + [f"task,flux,{0.01 * i},1e-4,{i},,0,0" for i in range(50)]
        + ["counter,/a/b,1,3,,,,"],
        "waits.csv": [
            "kind,object,name,waits,total_s,max_s",
            "latch,0x1,,3,0.3,0.1",
            "latch,0x2,,3,0.3,0.1",
            "mutex,0x77,,1,0.2,0.2",
            "mutex,0x3,cells,1,0.1,0.1",
        ],
        "diagnose.csv": ["time_s,name,value,unit"]
        + [
            f"{i},/threads{{locality#0/total}}/time/{use},{i * rate},s"
            for i in range(20)
            for use, rate in (("exec", 1.5), ("overhead", 0.1), ("idle", 0.4))
        ],
    }
    for name, lines in files.items():
        (run / name).write_text("\n".join(lines) + "\n")
