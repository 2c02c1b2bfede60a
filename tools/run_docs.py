"""`./plx docs`: the reference of all public names, made from the headers by doxygen, in build/docs.

Fails when a header belongs to no group, when doxygen cannot make sense of a comment, and when a public name says
nothing about itself. Names need no words of their own that the standard explains: members of a class whose comment
says "as in the standard" or "As std::", what is copied, moved or destroyed, and further overloads of a name.
"""

from __future__ import annotations

import argparse
import itertools
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml

import check_headers
import docs_filter
import install
from console import BUILD, ROOT, fail, note, say, shown, step

LAYERS = ("base", "num", "probe", "control", "trace", "session", "attach", "rt", "net")
OUT = BUILD / "docs"
MAIN_PAGE = """/**
@mainpage Parallax
Every public name of the runtime and of what it stands on, by subject. Includes are as written there:
`#include "rt/runtime.hpp"`. `docs/runtime.md` explains how it works; `docs/tutorial.md` is the introduction.

{subjects}
*/
"""


def public_headers() -> list[str]:
    names = (p.relative_to(ROOT / "src").as_posix() for layer in LAYERS for p in (ROOT / "src" / layer).rglob("*.hpp"))
    return sorted(n for n in names if check_headers.is_public(n))


def named_after(group: str) -> list[str]:
    """The names of the headers of a group, as the first page shows them."""
    return [f"`{name.rsplit('/')[-1].removesuffix('.hpp')}`" for name in public_headers() if docs_filter.group_of(name) == group]


def settings() -> str:
    headers = " \\\n  ".join(f"src/{name}" for name in public_headers())
    return f"""
@INCLUDE = docs/Doxyfile
INPUT = {OUT / "groups.dox"} {headers}
FILTER_PATTERNS = "*.hpp=\\"{sys.executable}\\" -B tools/docs_filter.py"
OUTPUT_DIRECTORY = {OUT}
PROJECT_NUMBER = {re.search(r"VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text().split("project(")[1]).group(1)}
"""


def text(node) -> str:
    return "".join(node.itertext()).strip() if node is not None else ""


def follows_the_standard(header: str, comment: str) -> bool:
    """Whether the comment of a class, or the first paragraph of its header, sends the reader to the standard."""
    lines = (ROOT / "src" / header).read_text().split("\n")
    paragraph = " ".join(itertools.takewhile(lambda line: line != "//", lines[: docs_filter.head_of(lines)]))
    return any(re.search(r"\b[Aa]s (in )?(the standard|std::)|standard's", said) for said in (comment, paragraph))


def silent_members(compound, constructor: str) -> list[tuple[str, str]]:
    """(place, name) of functions without a comment of theirs, or of one before them that differs in its arguments or in
    its end (_for and _until, _n); in namespaces of all that has a name. Operators are plain."""
    found, known = [], set()
    is_class = compound.get("kind") != "namespace"
    for member in compound.iter("memberdef"):
        own, place = text(member.find("name")), member.find("location")
        stem = re.sub(r"(_until|_n)$", "", own.replace("_until", "_for") if own.endswith("_until") else own)
        counts = not own.startswith(("~", "operator")) and own != constructor
        if is_class:
            counts = counts and member.get("kind") == "function" and member.get("prot") == "public"
        else:
            counts = counts and not follows_the_standard(place.get("file"), "")
        if any(text(member.find(part)) for part in ("briefdescription", "detaileddescription")):
            known |= {own, stem}
        elif counts and not {own, stem} & known:
            found.append((f"src/{place.get('file')}:{place.get('line')}", f"{text(compound.find('compoundname'))}::{own}"))
        known |= {own, stem}
    return found


def undocumented() -> list[str]:
    """Public names without a comment, from doxygen's XML; what several classes inherit is named once."""
    compounds = [xml.parse(path).getroot().find("compounddef") for path in sorted((OUT / "xml").glob("*.xml"))]
    compounds = [c for c in compounds if c is not None and c.get("kind") in ("class", "struct", "namespace")]
    types = {re.sub(r"<.*", "", text(c.find("compoundname"))).strip() for c in compounds}
    problems = {}
    for compound in compounds:
        name, is_class = text(compound.find("compoundname")), compound.get("kind") != "namespace"
        if {"detail", "promise_type"} & set(re.split(r"::|<", name)) or compound.get("prot", "public") != "public":
            continue
        said = " ".join(text(compound.find(part)) for part in ("briefdescription", "detaileddescription"))
        if is_class and ("<" in name or follows_the_standard(compound.find("location").get("file"), said)):
            continue
        constructor = re.sub(r"<.*", "", name).strip().split("::")[-1] if is_class else ""
        for place, own in silent_members(compound, constructor):
            if own not in types:  # a deduction guide bears the name of its type
                problems.setdefault(place, own)
    return [f"{place}: {own}" for place, own in sorted(problems.items())]


def counts(complaint: str) -> bool:
    """Doxygen reports every name without a comment; of these only types count, undocumented() looks at the rest."""
    if re.search(r"(Compound|Member) .* is not documented", complaint):
        return "warning: Compound" in complaint and "<" not in complaint and "::detail::" not in complaint
    # The first: a namespace in a namespace, both are in the same group. The second: std::hash of one of our types.
    return not re.search(r"Refusing to add group|scope for class std::", complaint)


def make() -> list[str]:
    """Runs doxygen; returns its complaints and ours."""
    OUT.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(OUT / "xml", ignore_errors=True)  # of headers that are no more
    groups = "".join(f"/** @defgroup {group} {title} */\n" for title, group, _ in docs_filter.GROUPS)
    subjects = "\n".join(f"- @ref {group} - " + ", ".join(named_after(group)) for _, group, _ in docs_filter.GROUPS)
    (OUT / "groups.dox").write_text(groups + MAIN_PAGE.format(subjects=subjects))
    homeless = [f"src/{name}: in no group of tools/docs_filter.py" for name in public_headers() if not docs_filter.group_of(name)]
    done = subprocess.run(["doxygen", "-"], input=settings(), text=True, capture_output=True, cwd=ROOT)
    (OUT / "doxygen.log").write_text(done.stdout + done.stderr)
    complaints = [line for line in done.stderr.splitlines() if ("warning:" in line or "error:" in line) and counts(line)]
    if done.returncode != 0:
        complaints.append(f"doxygen ended with code {done.returncode}; see {shown(OUT / 'doxygen.log')}")
    return homeless + complaints + [f"{place} says nothing about itself" for place in undocumented()]


def main(arguments: list[str]) -> int:
    argparse.ArgumentParser(prog="./plx docs", description=__doc__.split("\n\n")[0]).parse_args(arguments)
    install.ensure(["docs"])
    step("reading the headers")
    problems = make()
    say("\n".join(problems))
    if problems:
        fail(f"the reference has {len(problems)} problems")
    note(f"{len(public_headers())} headers: {shown(OUT / 'html' / 'index.html')}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
