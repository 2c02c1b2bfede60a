"""Plain words: comments, messages and pages use the field's terms and ordinary sentences.

Usage: check_words.py [--root ROOT] [PATH...]. Checks the comments, string literals and names of tests of sources and the
text of pages and what scripts print against WORDS, and prints one line per finding with a replacement; exit code 1 if there is one.
Code in pages (blocks and `spans`), earlier versions in CHANGELOG.md, and test inputs are not checked. A line that needs a listed word, such as a quotation, ends in the
comment `words: ok`.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path
from typing import NamedTuple

# A pattern, and what to write instead. Patterns are matched with case, at word boundaries.
WORDS = (
    (r"[Ww]ho|[Ww]hom|[Ww]hoever|[Ww]homever", "name the subject: a worker, the caller, the sender, a user"),
    (r"[Nn]obody|[Ss]omebody|[Aa]nybody", "name the subject: no worker, another thread, any caller"),
    (r"[Ee]verybody|[Ee]veryone|[Ss]omeone", "name the subject: all workers, every process, a user"),
    (r"told|tells|telling", "reported, recorded, shown, says"), (r"anew", "again, from the start"),
    (r"[Ll]ikewise", "also, in the same way"), (r"borne|booked|books|booking", "tolerated; accounted, recorded"),
    (r"so many|so much", "the number, as many, that much"), (r"there (?:is|are) not", "there is no; does not exist"),
    (r"(?:go|goes|going|went|gone) on", "continue, resume, happen"),
    (r"(?:take|takes|taken|taking|took) back", "run inline"), (r"foreign threads?", "external thread"),
    (r"in vain", "unsuccessfully"), (r"[Mm]end|mends|mended|mending", "repair, fix"),
    (r"lends|lent", "gives, provides"), (r"mailrooms?|keepsakes?|knocks?", "the field's term: see docs/glossary.md"),
    (r"(?:lie|lies|lay|lying) (?:ready|in (?:the |a )?queues?)", "wait in queues"),
    (r"(?:is|are) said", "is reported, printed, marked"), (r"[Dd]eaths", "losses, kills"),
    (r"the beats?", "the periodic thread, the interval"),
    (r"without a word", "silently; without a comment"), (r"[Rr]esigns?|resigned", "leaves the job, ends"),
    (r"(?:find|finds|found) no room", "do not fit, were dropped (buffer full)"), (r"left out", "omitted, ignored"),
)
# A sentence does not begin with these.
OPENINGS = re.compile(r"(?:^|[.;:] )(Who|Whoever|What|Of)\s(?![^.]*\?)")
# Nor does the name of a test.
OPENINGS_OF_NAMES = re.compile(r"(?:test )?(who|what)\s(?!if\b)", re.IGNORECASE)
PATTERN = re.compile(r"\b(?:" + "|".join(f"(?P<w{i}>{words})" for i, (words, _) in enumerate(WORDS)) + r")\b")
SOURCES = (".cpp", ".hpp", ".h", ".c", ".cu", ".inl")
SCRIPTS = (".cmake", ".toml")
LEFT_OUT = re.compile(r"/corpus/|^docs/decisions/|^tools/check_words\.py$|^tools/tests/test_check_words\.py$")
ALLOWED = "words: ok"


class Finding(NamedTuple):
    path: str
    line: int
    text: str
    advice: str


def text_of_source(text: str) -> list[tuple[int, str]]:
    """Comments and string literals of C++, with their lines."""
    found, line = [], 1
    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
    at = 0
    for match in token.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        piece = match.group(0)
        include = piece.startswith('"') and re.match(r"\s*#\s*include", text[text.rfind("\n", 0, at) + 1 : at])
        if piece[0] != "'" and not include:
            found += [(line + i, re.sub(r"^\s*(//+|/?\*+)?[<!]? ?", "", part)) for i, part in enumerate(piece.split("\n"))]
    return found


def text_of_python(text: str) -> list[tuple[int, str]]:
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING) or token.type == getattr(tokenize, "FSTRING_MIDDLE", -1):
                parts = token.string.lstrip('#"\' ').split("\n")
                found += [(token.start[0] + i, part.strip()) for i, part in enumerate(parts)]
    except (tokenize.TokenError, IndentationError):
        pass
    return found


def text_of_page(text: str) -> list[tuple[int, str]]:
    found, code = [], False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code:
            found.append((number, re.sub(r"`[^`]*`|\]\([^)]*\)", "``", line).lstrip("#>-*| ")))
    return found


def text_of_changelog(text: str) -> list[tuple[int, str]]:
    """The part "Unreleased"; the others are history."""
    part = re.search(r"^## Unreleased$.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if part is None:
        return []
    first = text.count("\n", 0, part.start())
    return [(first + n, line) for n, line in text_of_page(part.group(0))]


def text_of_script(text: str) -> list[tuple[int, str]]:
    lines = enumerate(text.split("\n"), 1)
    return [(n, line.split("#", 1)[1].strip()) for n, line in lines if "#" in line]


def text_of_shell(text: str) -> list[tuple[int, str]]:
    """Comments, and what echo, printf, say and here-documents print."""
    found, end = text_of_script(text), None
    for number, line in enumerate(text.split("\n"), 1):
        if end is not None:
            end = None if line.strip() == end else end
            found += [(number, line)] if end else []
        elif here := re.search(r"<<-?[\"']?(\w+)[\"']?", line):
            end = here.group(1)
        else:
            found += [(number, piece.lstrip(" \"'")) for piece in re.findall(r"\b(?:echo|printf|say)\b([^#]*)", line)]
    return found


NAME_OF_TEST = {
    "c": re.compile(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE),
    "py": re.compile(r"^\s*def (test_\w+)\(", re.MULTILINE),
}


def names_of_tests(text: str, language: str) -> list[tuple[int, str]]:
    """Names of tests as words: they are printed."""
    found = []
    for match in NAME_OF_TEST[language].finditer(text):
        line = text.count("\n", 0, match.start(1)) + 1
        for name in match.groups():
            words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_", " ", name)
            found.append((line, words.lower() if language == "c" else words))
    return found


def test_names(path: Path) -> list[tuple[int, str]]:
    language = "c" if path.suffix in SOURCES else "py" if path.suffix == ".py" else ""
    return names_of_tests(path.read_text(errors="replace"), language) if language else []


def readable(path: Path) -> list[tuple[int, str]]:
    text = path.read_text(errors="replace")
    if path.suffix in SOURCES:
        return text_of_source(text)
    if path.suffix == ".py":
        return text_of_python(text)
    if path.name == "CHANGELOG.md":
        return text_of_changelog(text)
    if path.suffix == ".md":
        return text_of_page(text)
    if path.suffix == ".sh" or path.name == "plx":
        return text_of_shell(text)
    if path.suffix in SCRIPTS or path.name == "CMakeLists.txt":
        return text_of_script(text)
    return []


def check_file(path: Path, name: str) -> list[Finding]:
    lines = path.read_text(errors="replace").split("\n")
    found = []
    texts, names = readable(path), test_names(path)
    openings = [(number, match) for number, text in texts for match in OPENINGS.finditer(text)]
    openings += [(number, match) for number, text in names if (match := OPENINGS_OF_NAMES.match(text))]
    for number, text in texts + names:
        for match in PATTERN.finditer(text):
            found.append(Finding(name, number, match.group(0), WORDS[int(match.lastgroup[1:])][1]))
    found += [Finding(name, number, match.group(1) + " ...", "begin with the subject") for number, match in openings]
    found = sorted((f for f in found if ALLOWED not in lines[f.line - 1]), key=lambda f: f.line)
    return found


def check(root: Path, paths: list[str] | None = None) -> list[Finding]:
    """Findings in the tracked files below `paths` (default: all)."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "--", *(paths or [])], capture_output=True, text=True, check=True)
    names = [n for n in listed.stdout.split("\n") if n and not LEFT_OUT.search(n) and (root / n).is_file()]
    return [finding for name in names for finding in check_file(root / name, name)]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="check_words.py", description="Finds words that docs/glossary.md replaces.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("path", nargs="*", help="files or folders (default: everything tracked)")
    options = parser.parse_args(arguments)
    findings = check(options.root, options.path)
    for finding in findings:
        print(f"{finding.path}:{finding.line}: '{finding.text}': write {finding.advice}")
    print(f"words: {len(findings)} findings" if findings else "words: every text uses plain words")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
