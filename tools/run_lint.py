"""`./plx lint`: what can be seen without running: format, layers, text, words, headers, docs."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import time

import check_text
import install
from console import ROOT, duration, fail, jobs, note, output_of, paint, plural, say, step

FORMAT_VERSION = "14"  # another version breaks lines in other places: its complaints are no failures
CHECKS = ("format", "layers", "text", "words", "headers", "docs")


def clang_format() -> tuple[str, bool]:
    """The program, and whether it is of the version that decides."""
    name = next((n for n in (f"clang-format-{FORMAT_VERSION}", "clang-format") if shutil.which(n)), "clang-format")
    version = re.search(r"version (\d+)", output_of([name, "--version"]) or "")
    return name, version is not None and version.group(1) == FORMAT_VERSION


def cpp_files() -> list[str]:
    return [
        str(p.relative_to(ROOT)) for p in check_text.files(ROOT) if p.suffix in (".hpp", ".cpp", ".h", ".c", ".inl")
    ]


def format_sources() -> int:
    program, _ = clang_format()
    files = cpp_files()
    code = subprocess.run([program, "-i", *files], cwd=ROOT).returncode if files else 0
    say(f"formatted {plural(len(files), 'file')}")
    return code


def check_format() -> int:
    program, decides = clang_format()
    files = cpp_files()
    pieces = [files[i :: jobs()] for i in range(jobs()) if files[i :: jobs()]]
    running = [
        subprocess.Popen(
            [program, "--dry-run", "-Werror", "--ferror-limit=1", *piece], cwd=ROOT, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )
        for piece in pieces
    ]
    errors = "".join(process.communicate()[1] for process in running)
    wrong = sorted({line.split(":")[0] for line in errors.splitlines() if "[-Wclang-format-violations]" in line})
    for name in wrong:
        say(f"  {name}: not as clang-format would have it")
    if wrong and not decides:
        note(f"{program} is not version {FORMAT_VERSION}, which decides: not counted")
        return 0
    broken = [process for process in running if process.returncode not in (0, 1)]
    if broken or (errors and not wrong):
        say("\n".join(errors.splitlines()[:10]))
        return 1
    say(f"format: {plural(len(wrong), 'wrong file')}; ./plx lint --fix formats them" if wrong else f"format: {plural(len(files), 'file')}")
    return 1 if wrong else 0


def run_check(name: str) -> int:
    begin = time.monotonic()
    step(name)
    if name == "format":
        code = check_format()
    else:
        script = "run_docs" if name == "docs" else f"check_{name}"
        code = subprocess.run([sys.executable, "-B", str(ROOT / "tools" / f"{script}.py")], cwd=ROOT).returncode
    note(f"{duration(time.monotonic() - begin)}")
    return code


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./plx lint", description="Check the sources without running them.")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=f"of {', '.join(CHECKS)}; all if none is named")
    parser.add_argument("--fix", action="store_true", help="format the sources in place")
    options = parser.parse_args(arguments)
    unknown = [c for c in options.checks if c not in CHECKS]
    if unknown:
        fail(f"'{unknown[0]}' is not a check; expected one of: {', '.join(CHECKS)}", 2)
    checks = options.checks or CHECKS
    install.ensure(["format"] if options.fix else [name for name in checks if name in install.LINT])
    if options.fix:
        return format_sources()
    failed = [name for name in checks if run_check(name) != 0]
    say(paint(f"lint: {', '.join(failed)} failed", "red") if failed else paint("lint: all checks passed", "green"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
