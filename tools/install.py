"""Sees to it that everything a command needs is on this machine: probes first, installs with apt only what is missing.
`./plx doctor` lists what this machine has and lacks of the table in dependencies.py, and how to get it; `./plx doctor TASK`
(build, test, lint, ...) only what the task requires and this machine lacks.

Does nothing at all, and needs neither rights nor network, when everything is there. Without the right to install it
prints the exact command and ends with exit code 2.
"""

from __future__ import annotations

import os
import shutil
import sys

import dependencies
import probing
from console import BUILD, fail, note, output_of, paint, run_logged, say, shown, step, table

LINT = ("format", "headers", "docs")  # the checks of lint that need something; the others read text alone
OPTIONAL_TRIED = BUILD / ".optional-packages-tried"


def root_prefix() -> list[str] | None:
    """The prefix of a command that needs root: empty as root, sudo if it asks for no password, else None."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and output_of(["sudo", "-n", "true"]) is not None:
        return ["sudo", "-n"]
    return None


def apt_line(packages: list[str]) -> str:
    return f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install -y --no-install-recommends {' '.join(packages)}"


def can_install() -> bool:
    return not os.environ.get("PLX_NO_INSTALL") and shutil.which("apt-get") is not None and root_prefix() is not None


def apt_install(packages: list[str]) -> bool:
    """Installs the packages; True if apt says so. The log is build/apt.log."""
    prefix = root_prefix()
    if prefix is None:
        return False
    apt = [
        *prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300", "-o",
        "Acquire::Retries=2",
    ]
    log = BUILD / "apt.log"
    step(f"installing {' '.join(packages)}")
    run_logged([*apt, "update"], log, "apt-get update", append=True, counter=r"(Get:\d+) (.*)")
    code, lines = run_logged(
        [*apt, "install", "-y", "--no-install-recommends", *packages], log, "apt-get install", append=True,
        counter=r"((?:Get:\d+|Unpacking|Setting up)) (.*)",
    )
    if code != 0:
        for line in [l for l in lines if l.startswith(("E:", "W:", "Err:"))][-5:]:
            note(line)
        note(f"the whole log: {shown(log)}")
    return code == 0


def missing(parts: list[str]) -> tuple[list, list]:
    """Rows of the table that these parts need, and rows that they would use, which are not there."""
    required, optional = [], []
    for row in dependencies.TABLE:
        if row.python_modules:
            continue
        if set(parts) & set(row.needed_by):
            required += [] if probing.probe(row).present else [row]
        elif set(parts) & set(row.wanted_by):
            optional += [] if probing.probe(row).present else [row]
    return required, optional


def packages_of(rows: list) -> list[str]:
    return [package for row in rows for package in row.apt]


def ensure(parts: list[str], also: list[str] | None = None) -> None:
    """Returns when everything that `parts` need is there; ends the program otherwise. If something is installed, the
    packages `also` come in the same run of apt."""
    required, optional = missing(parts)
    tried = OPTIONAL_TRIED.read_text().split() if OPTIONAL_TRIED.exists() else []
    fresh = [row for row in optional if not set(row.apt) <= set(tried)]
    if (required or fresh) and can_install():
        if not apt_install(packages_of(required + fresh) + (also or [])) and len(required + fresh) > 1:
            # One that this system does not have (chromium is no package of Ubuntu) must not keep the others away.
            for packages in [packages_of(required) + (also or []), *(list(row.apt) for row in fresh)]:
                if packages:
                    apt_install(packages)
        BUILD.mkdir(exist_ok=True)
        OPTIONAL_TRIED.write_text("\n".join(sorted({*tried, *packages_of(fresh)})) + "\n")
        probing.headers.cache_clear()
        required, optional = missing(parts)
    if required:
        say("Missing on this machine:")
        for row in required:
            say(f"  {row.name} ({row.purpose}): {probing.probe(row).problem}")
        packages = packages_of(required)
        fail(f"install what is missing and run this command again:\n  {apt_line(packages)}", 2)
    for row in optional:
        note(f"without {row.name}: {row.without} (get it: {dependencies.how_to_get(row)})")


def how_to_get(row: dependencies.Dependency, found: probing.Found) -> str:
    loss = f" Without it: {row.without}." if row.without and not row.needed_by else ""
    return f"{row.name}: {found.problem}.{loss} Get it: {dependencies.how_to_get(row)}"


def list_missing_for(task: str) -> int:
    parts = set(LINT if task == "lint" else [task])
    found = [(row, probing.probe(row)) for row in dependencies.TABLE if parts & set(row.needed_by)]
    lines = [how_to_get(row, f) for row, f in found if not f.present]
    say("\n".join(lines) if lines else f"Everything that {task} requires is there.")
    return 0


def main(arguments: list[str]) -> int:
    tasks = sorted({task for row in dependencies.TABLE for task in row.needed_by} | {"lint"})
    if arguments in (["-h"], ["--help"]):
        say(f"usage: ./plx doctor [TASK]\n\nLists the dependencies: found or missing, purpose, and how to install them.\n\n  TASK  one of {', '.join(tasks)}: only the dependencies missing for it")
        return 0
    if len(arguments) > 1 or (arguments and arguments[0] not in tasks):
        fail(f"doctor: expected one of {', '.join(tasks)}, or nothing, found '{' '.join(arguments)}'", 2)
    if arguments:
        return list_missing_for(arguments[0])
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
        say(how_to_get(row, found))
    if apt:
        say(f"\nAll of these at once: {'' if os.geteuid() == 0 else 'sudo '}apt-get install -y {' '.join(apt)}")
    say("./plx build, test, demo, lint and bench install what they need by themselves where they may.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
