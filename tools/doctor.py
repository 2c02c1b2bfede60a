"""`./plx doctor`: what this machine has and lacks of the table in dependencies.py, and how to get it."""

from __future__ import annotations

import os
import sys

import dependencies
import probing
from console import fail, paint, say, table


def main(arguments: list[str]) -> int:
    if arguments:
        fail(f"doctor takes no arguments, found '{arguments[0]}'", 2)
    rows, missing, apt = [], [], []
    for row in dependencies.TABLE:
        found = probing.probe(row)
        role = "required by " + ", ".join(row.needed_by) if row.needed_by else "optional"
        state = (found.version or "yes") if found.present else "missing"
        rows.append(
            [
                row.name, state if found.present else paint(state, "red" if row.needed_by else "yellow"), role,
                row.purpose,
            ]
        )
        if not found.present:
            missing.append((row, found))
            apt += row.apt
    say(table(rows, ["dependency", "found", "role", "what it is for"]))
    say()
    if not missing:
        say("Everything is there.")
        return 0
    for row, found in missing:
        loss = f" Without it: {row.without}." if row.without and not row.needed_by else ""
        say(f"{row.name}: {found.problem}.{loss} Get it: {dependencies.how_to_get(row)}")
    if apt:
        say(f"\nAll of these at once: {'' if os.geteuid() == 0 else 'sudo '}apt-get install -y {' '.join(apt)}")
    say("./plx build, test, demo, lint and bench install what they need by themselves where they may.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
