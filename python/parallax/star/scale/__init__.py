"""A measured run on simulated machines: `parallax scale RUN` (docs/scale.md), and the options of its commands, which load
nothing else. command.py says what happens in which order; plx-scale (apps/scale/) does the replays."""

from __future__ import annotations

import argparse
from pathlib import Path

_program = Path(__file__).resolve().parents[4] / "apps" / "scale"


def add_arguments(parser) -> None:
    parser.add_argument("run", type=Path, help="folder of a run of plx-star: its mesh and its costs are replayed")
    parser.add_argument("--nodes", type=_counts, default=[2**k for k in range(1, 13)], metavar="N,...", help="numbers of nodes (default: 2,4,...,4096)")
    parser.add_argument("--workers", type=_count, default=8, metavar="N", help="workers of each node (default 8)")
    parser.add_argument("--strong-blocks", type=_count, default=32768, metavar="N", help="strong scaling: least number of blocks in all (default 32768)")
    parser.add_argument("--weak-blocks", type=_count, default=128, metavar="N", help="weak scaling: least number of blocks per node (default 128)")
    parser.add_argument("--group-kib", type=_count, default=64, metavar="KIB", help="largest size of a coalesced message (default 64)")
    parser.add_argument("--platform", type=Path, default=_program / "platforms" / "cluster.xml", metavar="XML", help="hosts and links, as SimGrid describes them")
    parser.add_argument("--costs", type=Path, default=_program / "costs.json", metavar="JSON", help="costs of messages and tasks")
    parser.add_argument("--program", type=Path, default=Path("plx-scale"), help="the simulator (./plx scale builds it)")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="folder for table and pictures (default: RUN/scale)")


def add_check_arguments(parser) -> None:
    parser.add_argument("real", type=Path, help="the file of apps/scale/real_runs.py")
    parser.add_argument("--limit", type=float, default=15.0, metavar="PERCENT", help="exit code 1 if a replay is off by more (default 15)")
    parser.add_argument("--program", type=Path, default=Path("plx-scale"), help="the simulator (./plx scale builds it)")
    parser.add_argument("--out", type=Path, metavar="FOLDER", default=Path("scale-check"), help="folder for tables and picture (default: scale-check)")


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of 1 or more, found '{text}'")
    return int(text)


def _counts(text: str) -> list:
    return sorted({_count(part) for part in text.split(",")})
