"""The Python environment of the report and of the tests: the interpreter in use where it has the modules already, else
`.venv` in the repository, filled from PyPI (pip follows the machine's pip.conf, proxy and certificate variables).
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import install
from console import BUILD, ROOT, fail, note, run_logged, shown, step
from probing import MODULES, VENV, exists, has, venv_python

WISHES_TRIED = BUILD / ".python-wishes-tried"  # do not ask an unreachable PyPI again for what one can do without
WISHES = {"report": (), "test": ("xdist", "yt", "prometheus_client", "perfetto", "viztracer")}
REQUIREMENTS = {"report": ROOT / "tools" / "requirements.txt", "test": ROOT / "tools" / "requirements-test.txt"}


def may_fill() -> bool:
    """Whether .venv can be made or completed by this user: the repository may be that of another."""
    place = VENV if exists(VENV) else VENV.parent
    return os.access(place, os.R_OK | os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)


def _stamp(kind: str) -> Path:
    text = "".join(REQUIREMENTS[k].read_text() for k in ("report", "test"))
    return VENV / f".plx-{kind}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def apt_packages(kind: str) -> list[str]:
    """Debian packages that `ensure(kind)` will ask for."""
    complete = venv_python() or has(sys.executable, MODULES[kind] + WISHES[kind])
    return [] if complete or has(sys.executable, ("venv", "ensurepip")) else ["python3-venv"]


def _make_venv() -> bool:
    if not has(sys.executable, ("venv", "ensurepip")):
        if not install.can_install() or not install.apt_install(["python3-venv"]):
            return False
    code, _ = run_logged([sys.executable, "-m", "venv", "--clear", str(VENV)], BUILD / "venv.log", "venv")
    return code == 0


def _fill(kind: str) -> bool:
    """Makes or completes .venv; False if that is not possible here."""
    if os.environ.get("PLX_NO_INSTALL") or not may_fill():
        return False
    step(f"Python packages for the {kind} (.venv)")
    if not venv_python() and not _make_venv():
        return False
    pip = [
        str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "-r",
        str(REQUIREMENTS[kind]),
    ]
    code, lines = run_logged(pip, BUILD / "pip.log", "pip", counter=r"(Collecting|Downloading|Installing) (.*)")
    if code != 0:
        for line in [l for l in lines if l.startswith("ERROR")][-2:]:
            note(line[:200])
        note(f"the whole log: {shown(BUILD / 'pip.log')}")
        return False
    _stamp(kind).touch()
    return True


def ensure(kind: str) -> str:
    """The path of an interpreter with all that `kind` (report or test) needs; ends the program otherwise."""
    needed, wished = MODULES[kind], WISHES[kind]
    inside = venv_python()
    if inside and exists(_stamp(kind)):
        return str(inside)
    if has(sys.executable, needed + wished):
        return sys.executable
    enough = any(candidate and has(candidate, needed) for candidate in (inside, sys.executable))
    if not (enough and exists(WISHES_TRIED)):
        if _fill(kind):
            return str(VENV / "bin" / "python")
        if may_fill():
            WISHES_TRIED.parent.mkdir(exist_ok=True)
            WISHES_TRIED.touch()
    for candidate in (inside, sys.executable):
        if candidate and has(candidate, needed):
            lacking = [name for name in wished if not has(candidate, (name,))]
            note(f"without {' '.join(lacking) or 'the newest versions'}: tests that need more are skipped, or take longer")
            return str(candidate)
    if not may_fill():
        fail(
            f"these Python modules are missing: {' '.join(needed)}, and this user may not use or change {VENV}. Use a Python "
            f"that has them: {install.apt_line(['python3-' + m for m in needed])}\n"
            "or python3 -m venv FOLDER && FOLDER/bin/pip install -r "
            f"{shown(REQUIREMENTS[kind])}, then FOLDER/bin/python -m parallax with PYTHONPATH={ROOT / 'python'}",
            2,
        )
    venv = "" if has(sys.executable, ("venv", "ensurepip")) else install.apt_line(["python3-venv"]) + " && "
    fail(
        f"these Python modules are missing: {' '.join(needed)}. Run this where PyPI can be reached, then again:\n"
        f"  {venv}python3 -m venv .venv && .venv/bin/pip install -r {shown(REQUIREMENTS[kind])}\n"
        f"or let the system's Python have them: {install.apt_line(['python3-' + m for m in needed])}",
        2,
    )


def environment() -> dict:
    """Variables for running Python code of the repository: the package `parallax`, no writing outside."""
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join(p for p in (str(ROOT / "python"), env.get("PYTHONPATH", "")) if p)
    env["MPLBACKEND"] = "Agg"
    if not os.access(os.path.expanduser("~"), os.W_OK):
        env.setdefault("MPLCONFIGDIR", str(BUILD / "matplotlib"))
    return env
