"""The text of a header for doxygen: `docs_filter.py HEADER` prints it.

Comments of the headers are written for readers of the file; this filter turns them into comments for doxygen. Line
numbers stay as they are. The first comment becomes the page of the header and belongs to the type that the header is
named after; comments behind members belong to these; names taken over from the standard library say so; everything
belongs to its header's group. Left out are protected members and the insides of namespaces called detail, but for
classes that public ones inherit members from.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

# Title, name, and what the headers' names begin with; the first that fits decides.
GROUPS = (
    ("Runtime", "runtime", ("rt/runtime",)),
    ("Futures and tasks", "futures", ("rt/future", "rt/async.hpp", "rt/dataflow", "rt/packaged_task", "rt/when",
                                      "rt/patterns/resilience")),
    ("Coroutines", "coroutines", ("rt/coroutine",)),
    ("Structured parallelism", "structure", ("rt/task_group", "rt/patterns/input_count", "rt/for_loop")),
    ("Algorithms", "algorithms", ("rt/algorithm",)),
    ("Executors", "executors", ("rt/executor", "rt/any_executor", "rt/schedule", "rt/sender")),
    ("Threads", "threads", ("rt/thread", "rt/stop_token")),
    ("Synchronization", "synchronization", ("rt/mutex", "rt/shared_mutex", "rt/patterns/async_rw_mutex", "rt/latch",
                                            "rt/event", "rt/channel", "rt/patterns/sliding_semaphore")),
    ("Many localities", "localities", ("net/job", "net/locality", "net/action.hpp", "net/error", "net/bitwise",
                                      "net/buffer", "net/archive", "net/coales", "net/simulation")),
    ("Global objects", "global", ("net/global", "net/component", "net/names", "net/continuation",
                                 "net/checkpoint", "net/agas/checkpoint")),
    ("Collective calls", "collectives", ("net/collectives", "net/distributed", "net/partitioned", "net/team")),
    ("One-sided access", "windows", ("net/window",)),
    ("Measurement", "measurement", ("probe/", "control/", "trace/", "session/", "attach/")),
    ("Numbers", "numbers", ("num/",)),
    ("Foundations", "base", ("base/",)),
)
PARTS = re.compile(r"(?:^|(?<=[.)] ))(Thread safety|Thread-safe|Cost|Errors|Requires|Example|Source|Invariant)(:|,) ")
OPENED = re.compile(r"^\s*(?:inline )?namespace ([\w:]+) \{")
CLOSED = re.compile(r"^\s*\}  // namespace ([\w:]+)")
TYPE = re.compile(r"^(?:class|struct)(?: \[\[\w+\]\])? (\w+)\b(?!.*;\s*$)")


def group_of(header: str) -> str:
    for _, group, beginnings in GROUPS:
        if header.startswith(beginnings):
            return group
    return ""


def head_of(lines: list[str]) -> int:
    """How many lines the first comment has."""
    return next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))


def text_of(line: str) -> str:
    """The text of a line of a comment: the words that begin its parts in bold, its code as code."""
    text = re.sub(r"^\s*///?<? ?", "", line).replace("\\", "\\\\").replace("@", "&#64;")
    if text.startswith("  "):
        return "  " + text
    pieces = PARTS.sub(r"**\1**\2 ", text).split("`")  # every other one is code already
    pieces[::2] = [re.sub(r"<(\w+)>", r"`<\1>`", piece).replace(" .. ", "&nbsp;..&nbsp;") for piece in pieces[::2]]
    return "`".join(pieces)


def inherited_names(text: str) -> set[str]:
    """Classes of the header's detail namespaces that public classes inherit from, directly or not."""
    names = set(re.findall(r"\bpublic detail::(\w+)", text))
    size = -1
    while size != len(names):
        size = len(names)
        for name in list(names):
            found = re.search(rf"\b(?:class|struct) {name}\b[^;{{]*:([^;{{]*)\{{", text)
            names |= set(re.findall(r"public (?:detail::)?(\w+)", found.group(1))) if found else set()
    return names


def is_detail(namespace: str) -> bool:
    return "detail" in namespace.split("::")


def inside_detail(lines: list[str]) -> list[bool]:
    hidden, inside, i = [False] * len(lines), [], 0
    while i < len(lines):
        found = OPENED.match(lines[i])
        if found and lines[i + 2 : i + 3] == ["}"]:  # a namespace of one line
            hidden[i : i + 3] = [is_detail(found.group(1))] * 3
            i += 2
        elif found:
            inside.append(found.group(1))
        elif CLOSED.match(lines[i]) and inside:
            inside.pop()
        else:
            hidden[i] = any(map(is_detail, inside))
        i += 1
    return hidden


def lines_to_hide(lines: list[str]) -> list[bool]:
    """inside_detail without the classes that hand on their members."""
    hidden, kept = inside_detail(lines), inherited_names("\n".join(lines))
    for i, line in enumerate(lines):
        found = re.match(r"^(?:class|struct) (\w+)\b(?!.*;\s*$)", line)
        if not (hidden[i] and found and found.group(1) in kept):
            continue
        begin = next(k for k in range(i, 0, -1) if not lines[k - 1].strip())
        end = next(k for k in range(i, len(lines)) if lines[k].startswith("};") or (k == i and lines[k].endswith("};")))
        hidden[begin : end + 1] = [False] * (end + 1 - begin)
    return hidden


def protected_lines(lines: list[str]) -> list[bool]:
    hidden, indent = [], None
    for line in lines:
        if indent is not None and re.match(rf" {{0,{indent}}}(public:|private:|\}};)", line):
            indent = None
        hidden.append(indent is not None)
        if line.strip() == "protected:":
            indent = len(line) - len(line.lstrip())
    return hidden


def describe(out: list[str], name: str) -> None:
    """The type that `out` ends with is the one that the header is named after: what the header says belongs to it."""
    begin = len(out) - 1
    while re.match(r"^(template|requires|  )", out[begin - 1]):
        begin -= 1
    if out[begin - 1].startswith("///"):
        out[begin - 1] += f" @header{{{name}}}"
    else:
        out[begin] = f"/** @copydoc {name} */ " + out[begin]


def translated(line: str) -> str:
    """A line of code with its comment, if that says something to users."""
    if line.lstrip().startswith("/// "):
        return line[: len(line) - len(line.lstrip())] + "/// " + text_of(line)
    if found := re.match(r"^(  \w[^/]*[;,)}])  // (?!NOLINT)(.*)$", line):
        return f"{found.group(1)}  ///< {found.group(2)}"
    if found := re.match(r"^using std::(\w+);$", line):
        return f"/** As std::{found.group(1)}. */ using {found.group(1)} = std::{found.group(1)};"
    return line


def filtered(lines: list[str], name: str, group: str) -> list[str]:
    head, out = head_of(lines), []
    hidden = [a or b for a, b in zip(lines_to_hide(lines), protected_lines(lines))]
    for number, line in enumerate(lines):
        if number < head:
            out.append(("/// @file " + name + "\n///\n/// " if number == 0 else "/// ") + text_of(line))
            continue
        out.append(line if hidden[number] else translated(line))
        if hidden[number] and not hidden[number - 1]:
            out[-1] = "/** @cond */ " + out[-1]
        if hidden[number]:
            continue
        if (found := TYPE.match(line)) and found.group(1) == Path(name).stem:
            describe(out, name)
        if OPENED.match(line):
            out[-1] += f" /** @open{{{group}}} */"
        if CLOSED.match(line):
            out[-1] = "/** @} */ " + out[-1]
        if hidden[number - 1]:
            out[-1] = "/** @endcond */ " + out[-1]
    return out


if __name__ == "__main__":
    path = Path(sys.argv[1]).resolve()
    header = path.relative_to(next(parent for parent in path.parents if parent.name == "src")).as_posix()
    print("\n".join(filtered(path.read_text().split("\n"), header, group_of(header))))
