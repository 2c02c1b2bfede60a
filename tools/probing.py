"""Whether a dependency is there: what PATH, pkg-config, the compiler and Python's environment say of a row."""

from __future__ import annotations

import glob
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import dependencies
from console import ROOT, output_of

VENV = ROOT / ".venv"
REPORT = ("numpy", "h5py", "matplotlib", *(() if sys.version_info >= (3, 11) else ("tomli",)))
MODULES = {"report": REPORT, "test": (*REPORT, "pytest")}


@dataclass
class Found:
    present: bool
    version: str = ""
    where: str = ""
    problem: str = ""


def version_tuple(text: str) -> tuple:
    return tuple(int(n) for n in re.findall(r"\d+", text)[:3])


def compiler() -> str:
    """CXX where it is set, else c++ or g++; the name alone, without flags."""
    named = os.environ.get("CXX", "").split()
    return named[-1] if named else next((c for c in ("c++", "g++") if shutil.which(c)), "c++")


def prefixes() -> list[str]:
    return [p for p in os.environ.get("CMAKE_PREFIX_PATH", "").replace(";", ":").split(":") if p]


def pkg_config(*arguments: str) -> str | None:
    env = dict(os.environ)
    extra = [f"{p}/{lib}/pkgconfig" for p in prefixes() for lib in ("lib", "lib64", "share")]
    env["PKG_CONFIG_PATH"] = ":".join([*extra, env.get("PKG_CONFIG_PATH", "")]).strip(":")
    text = output_of(["pkg-config", *arguments], env=env)
    return None if text is None else text.strip()


def include_flags() -> list[str]:
    """Where the compiler finds the headers of the required libraries."""
    flags = [f"-I{p}/include" for p in prefixes()]
    for row in dependencies.TABLE:
        if row.pkg_config and "build" in row.needed_by:
            flags += (pkg_config("--cflags-only-I", row.pkg_config) or "").split()
    return flags


@lru_cache(maxsize=None)
def headers() -> dict:
    """One run of the preprocessor over all headers of the table: which are there, and the macros of their versions."""
    if not shutil.which(compiler()):
        return {}
    source = []
    for row in dependencies.TABLE:
        if row.header:
            source.append(f"#if __has_include(<{row.header}>)")
            if row.version_macros:
                source += [f"#include <{row.version_macros[0]}>", f"plx_found {row.header} {row.version_macros[1]}"]
            else:
                source.append(f"plx_found {row.header}")
            source.append("#endif")
    try:
        done = subprocess.run(
            [compiler(), "-x", "c++", "-std=c++20", "-E", "-P", *include_flags(), "-"],
            input="\n".join(source) + "\n", capture_output=True, text=True,
        )
    except OSError:
        return {}
    found = {}
    for line in done.stdout.splitlines():
        if line.startswith("plx_found "):
            words = line.split()[1:]
            # A header's name may hold a macro's name (omp.h, linux.h): compare without blanks.
            found[words[0]] = " ".join(words[1:]).strip('"').replace("_", ".")
    return found


def _has_library(name: str) -> bool:
    for suffix in ("so", "a"):
        file = f"lib{name}.{suffix}"
        where = (output_of([compiler(), f"-print-file-name={file}"]) or file).strip()
        if where != file:
            return True
        if any(os.path.exists(f"{p}/{lib}/{file}") for p in prefixes() for lib in ("lib", "lib64")):
            return True
    return False


def has(interpreter: str | Path, modules: tuple) -> bool:
    code = "import importlib.util as u, sys; sys.exit(any(u.find_spec(m) is None for m in sys.argv[1:]))"
    return output_of([str(interpreter), "-c", code, *modules]) is not None


def exists(path: Path) -> bool:
    """False also where the user may not look."""
    try:
        return path.exists()
    except OSError:
        return False


def venv_python() -> Path | None:
    path = VENV / "bin" / "python"
    return path if exists(path) and output_of([str(path), "-c", "pass"]) is not None else None


@lru_cache(maxsize=None)
def best_python() -> str:
    """The interpreter that the report runs with as things are now."""
    inside = venv_python()
    return str(inside) if inside and has(inside, MODULES["report"]) else sys.executable


def _probe_program(row: dependencies.Dependency) -> Found:
    names = row.programs
    if row.name == "C++ compiler" and os.environ.get("CXX"):
        names = (compiler(),)
    folders = [f for place in row.places for f in sorted(glob.glob(os.path.expandvars(place)), reverse=True)]
    for name in names:
        path = shutil.which(name) or shutil.which(name, path=os.pathsep.join(folders))
        if path:
            text = output_of([path, "--version"]) or ""
            version = re.search(r"\d+\.\d+(\.\d+)?", re.sub(r"\(.*?\)", "", text))
            return Found(True, version.group(0) if version else "", path)
    where = "PATH" if not row.places else f"PATH, {', '.join(row.places)}"
    return Found(False, problem=f"{' or '.join(names)} not in {where}")


def _probe_library(row: dependencies.Dependency) -> Found:
    if row.pkg_config:
        version = pkg_config("--modversion", row.pkg_config)
        if version and row.pkg_config_variable:
            variable, text, meaning = row.pkg_config_variable
            if text not in (pkg_config(f"--variable={variable}", row.pkg_config) or ""):
                return Found(False, version, "pkg-config", f"expected {meaning}, found another")
        if version:
            return Found(True, version, "pkg-config")
    if row.header not in headers():
        folders = [f for place in row.places for f in glob.glob(os.path.expandvars(place))]
        found = next((f for f in folders if exists(Path(f) / row.header)), "")
        also = f" with the compiler, nor in {', '.join(row.places)}" if row.places else ""
        return Found(True, "", found) if found else Found(False, problem=f"no header {row.header}{also}")
    if row.library and not _has_library(row.library):
        return Found(False, problem=f"header, but no lib{row.library}")
    return Found(True, headers()[row.header], "compiler")


def _probe_python(row: dependencies.Dependency) -> Found:
    versions = []
    interpreter = best_python() if row.name != "Python venv" else sys.executable
    for module in row.python_modules:
        if interpreter == sys.executable:
            there = importlib.util.find_spec(module) is not None
        else:
            there = (
                output_of(
                    [interpreter, "-c", f"import importlib.util as u, sys; sys.exit(u.find_spec('{module}') is None)"]
                )
                is not None
            )
        if not there:
            return Found(False, problem=f"no module {module}")
    code = "import importlib.metadata as m, sys; print(' '.join(m.version(n) for n in sys.argv[1:]))"
    if row.name != "Python venv":
        versions = (output_of([interpreter, "-c", code, *row.python_modules]) or "").split()
    return Found(True, " ".join(versions), interpreter)


def probe(row: dependencies.Dependency) -> Found:
    if row.programs:
        found = _probe_program(row)
    elif row.python_modules:
        found = _probe_python(row)
    else:
        found = _probe_library(row)
    minimum = "16" if row.name == "C++ compiler" and "clang" in os.path.realpath(found.where) else row.minimum
    if found.present and minimum and found.version and version_tuple(found.version) < version_tuple(minimum):
        return Found(False, found.version, found.where, f"{found.version} is too old, expected {minimum} or newer")
    return found
