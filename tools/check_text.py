"""Text of the repository: no trailing blanks, no tabs, no unfinished marks, no paths of one person's machine, no large
files, no operator= by value, a final line end, no long lines in pages; and no folder of more than 30 entries.
Usage: check_text.py [ROOT]; exit code 1 if there is a violation."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

LIMIT_BYTES = 1_000_000
LIMIT_ENTRIES = 30
LIMIT_PROSE = 130  # characters in a line of a page, outside of tables, code and pictures
NUMBERED = "docs/decisions"  # found by number; not limited
BINARY = {".png", ".gz", ".h5", ".athdf", ".pdf", ".ico"}
NO_TEXT = ("tests/fuzz/corpus/",)  # inputs of a fuzzer, named by their hash
RULES = (
    (re.compile(r"[ \t]+$"), "blanks at the end of the line"),
    (re.compile(r"\r$"), "a Windows line end"),
    (re.compile(r"\t"), "a tab; expected blanks"),
    (
        re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b"),
        "an unfinished mark; finish it, or write what is known to be missing",
    ),
    (re.compile(r"^(<{7}|>{7}|={7})( |$)"), "a mark of an unfinished merge"),
    (re.compile(r"(?<![\w.$}~*-])/(home|root|work|Users)/\w"), "a path of one person's machine"),
    (
        re.compile(r"\b(\w+)(<\w+>)?& (\w+::)?operator=\(\1(<\w+>)? \w+\)"),
        "operator= by value, whose argument Clang 16 may not destroy (src/rt/core/pool.hpp); expected const& and &&",
    ),
)


def files(root: Path) -> list[Path]:
    """The files that git tracks or would track; without git, everything but build output."""
    done = subprocess.run(
        [
            "git", "-c", f"safe.directory={root}", "-C", str(root), "ls-files", "-z", "--cached", "--others",
            "--exclude-standard",
        ],
        capture_output=True,
        text=True,
    )
    if done.returncode == 0:
        return [root / name for name in sorted(set(done.stdout.split("\0"))) if name and (root / name).is_file()]
    skipped = {".git", "build", ".venv", "__pycache__", "runs"}
    return [p for p in sorted(root.rglob("*")) if p.is_file() and not skipped & set(p.relative_to(root).parts)]


def check_file(path: Path, name: str) -> list[str]:
    data = path.read_bytes()
    if len(data) > LIMIT_BYTES:
        return [f"{name}: {len(data)} bytes; expected at most {LIMIT_BYTES}"]
    if path.suffix in BINARY or name.startswith(NO_TEXT):
        return []
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return [f"{name}: not UTF-8 at byte {error.start}"]
    problems = [] if not text or text.endswith("\n") else [f"{name}: no line end at the end of the file"]
    for number, line in enumerate(text.split("\n"), 1):
        problems += [f"{name}:{number}: {what}" for rule, what in RULES if rule.search(line)]
    return problems + (check_prose(text, name) if path.suffix == ".md" else [])


def check_prose(text: str, name: str) -> list[str]:
    """Lines of a page that are too long to be read in an editor beside another."""
    problems, in_code = [], False
    for number, line in enumerate(text.split("\n"), 1):
        in_code ^= line.lstrip().startswith("```")
        if len(line) > LIMIT_PROSE and not in_code and not line.startswith(("|", "!", "    ")):
            problems.append(f"{name}:{number}: {len(line)} characters; expected at most {LIMIT_PROSE}")
    return problems


def check_folders(names: list[str]) -> list[str]:
    """Folders with too many files and folders, given the paths of all files."""
    entries: dict[str, set[str]] = {}
    for name in names:
        parts = name.split("/")
        for i, part in enumerate(parts):
            entries.setdefault("/".join(parts[:i]), set()).add(part)
    return [
        f"{folder or '.'}: {len(found)} entries; expected at most {LIMIT_ENTRIES}: divide the folder by subject"
        for folder, found in sorted(entries.items())
        if len(found) > LIMIT_ENTRIES and folder != NUMBERED
    ]


def main(arguments: list[str]) -> int:
    root = Path(arguments[0] if arguments else Path(__file__).resolve().parent.parent).resolve()
    every = files(root)
    problems = [problem for path in every for problem in check_file(path, path.relative_to(root).as_posix())]
    problems += check_folders([path.relative_to(root).as_posix() for path in every])
    print("\n".join(problems) if problems else f"text: {len(every)} files are clean")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
