"""Allowed includes between folders: the allow-list below is complete, and files never include each other in a circle.

Usage: check_layers.py [ROOT]. Prints one line per violation; exit code 1 if there is one.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

# A folder under src/ -> the folders whose headers it may include besides its own. Subfolders count as their layer.
MEASUREMENT = ("base", "probe", "control", "trace", "session")
ALLOWED = {
    "base": (),
    "num": ("base",),
    "probe": ("base",),
    "control": ("base", "probe"),
    "trace": ("base", "probe"),
    "session": ("base", "probe", "control", "trace"),
    "attach": ("base", "probe", "control", "trace", "session"),
    "rt": MEASUREMENT,
    "net": (*MEASUREMENT, "rt"),
    "gpu": (*MEASUREMENT, "rt"),
    "mesh": (*MEASUREMENT, "num", "rt", "net", "gpu"),
    "star": (*MEASUREMENT, "num", "rt", "net", "gpu", "mesh"),
    "qmc": (*MEASUREMENT, "num", "rt", "net", "gpu"),
    "parquet": (*MEASUREMENT, "num", "rt", "net", "gpu"),
}
SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".cu", ".cuh", ".inl"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def includes_of(path: Path) -> list[tuple[int, str]]:
    """Line and name of every quoted include."""
    text = path.read_text(errors="replace")
    return [(text.count("\n", 0, m.start(1)) + 1, m.group(1)) for m in INCLUDE.finditer(text)]


def circles(graph: dict[str, list[str]]) -> list[list[str]]:
    """Groups of files that reach each other (Tarjan's algorithm without recursion), and files that include themselves."""
    index, low, on_stack, stack, groups = {}, {}, set(), [], []
    for root in sorted(graph):
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, targets = work[-1]
            step = next((t for t in targets if t in graph), None)
            if step is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        on_stack.discard(group[-1])
                    if len(group) > 1 or node in graph[node]:
                        groups.append(sorted(group))
            elif step not in index:
                index[step] = low[step] = len(index)
                stack.append(step)
                on_stack.add(step)
                work.append((step, iter(graph[step])))
            elif step in on_stack:
                low[node] = min(low[node], index[step])
    return groups


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
