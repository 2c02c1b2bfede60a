"""Allowed includes between folders: the allow-list below is complete, and files never include each other in a circle.

Usage: check_layers.py [ROOT]. Prints one line per violation; exit code 1 if there is one.
"""

from __future__ import annotations

import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

# A folder under src/ -> the folders whose headers it may include besides its own. Subfolders count as their layer.
MEASUREMENT = ("base", "probe", "control", "trace", "session")
ALLOWED = {
    "base": (),
    "num": ("base",),
    "io": ("base",),
    "probe": ("base",),
    "control": ("base", "probe"),
    "trace": ("base", "probe"),
    "session": ("base", "probe", "control", "trace"),
    "attach": ("base", "probe", "control", "trace", "session"),
    "rt": MEASUREMENT,
    "net": (*MEASUREMENT, "rt"),
    "gpu": (*MEASUREMENT, "rt"),
    "mesh": (*MEASUREMENT, "num", "io", "rt", "net", "gpu"),
    "step": (*MEASUREMENT, "num", "rt", "net", "mesh"),
    "star": (*MEASUREMENT, "num", "io", "rt", "net", "gpu", "mesh", "step"),
    "qmc": (*MEASUREMENT, "num", "io", "rt", "net", "gpu"),
    "parquet": (*MEASUREMENT, "num", "io", "rt", "net", "gpu", "qmc"),
}
SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".cu", ".cuh", ".inl"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def includes_of(path: Path) -> list[tuple[int, str]]:
    """Line and name of every quoted include."""
    text = path.read_text(errors="replace")
    return [(text.count("\n", 0, m.start(1)) + 1, m.group(1)) for m in INCLUDE.finditer(text)]


def circles(graph: dict[str, list[str]]) -> list[list[str]]:
    """Circles of files that include each other, or themselves. The search continues without the files of a found one."""
    found = []
    while True:
        try:
            TopologicalSorter(graph).prepare()
            return found
        except CycleError as error:
            found.append(sorted(set(error.args[1])))
            graph = {name: [t for t in targets if t not in found[-1]] for name, targets in graph.items() if name not in found[-1]}


def check(root: Path) -> list[str]:
    src = root / "src"
    problems, graph = [], {}
    for path in sorted(p for p in src.rglob("*") if p.suffix in SUFFIXES):
        name = path.relative_to(src).as_posix()
        layer = name.split("/")[0]
        graph[name] = []
        if "/" not in name or layer not in ALLOWED:
            problems.append(
                f"src/{name}: no layer '{layer}'; expected a folder of {', '.join(ALLOWED)} (tools/check_layers.py)"
            )
            continue
        for line, target in includes_of(path):
            where = f"src/{name}:{line}"
            if not (src / target).is_file():
                problems.append(
                    f'{where}: "{target}" is no file under src; write the path from there, or <> for a library'
                )
                continue
            graph[name].append(target)
            other = target.split("/")[0]
            if other != layer and other not in ALLOWED[layer]:
                allowed = ", ".join(ALLOWED[layer]) or "nothing else"
                problems.append(f"{where}: {layer} may not include {other} ({target}); it may include {allowed}")
    for group in circles(graph):
        problems.append("circle of includes: " + " <-> ".join(f"src/{name}" for name in group))
    return problems


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    problems = check(root)
    print("\n".join(problems) if problems else "layers: every include is allowed, no circles")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
