"""TOML as the runs write it. Python 3.11 brings a full parser; older ones get the subset that config.toml uses.

Subset: comments, [section] and [section.part], key = value with strings, numbers, booleans, and arrays of these, which
may span lines. Example to read: tests/test_run.py.
"""

from __future__ import annotations

import re
from pathlib import Path

from .errors import ReadError

try:
    import tomllib
except ImportError:  # Python 3.9, 3.10
    tomllib = None


def read_toml(path: str | Path) -> dict:
    """Nested dict of the file's tables."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        return tomllib.loads(text) if tomllib else parse_subset(text)
    except UnicodeDecodeError as error:
        raise ReadError(path, f"not a text file (byte {error.start})") from None
    except OSError as error:
        raise ReadError(path, error.strerror or str(error)) from None
    except ValueError as error:  # tomllib.TOMLDecodeError is one
        raise ReadError(path, f"broken TOML: {error}") from None


def flatten(table: dict, prefix: str = "") -> dict:
    """{"mesh": {"max_level": 4}} -> {"mesh.max_level": 4}, in the order of the file."""
    flat = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat


def parse_subset(text: str) -> dict:
    """The parser for Pythons without tomllib. Raises ValueError with the line number."""
    root: dict = {}
    here, pending, started = root, "", 0
    for number, line in enumerate(text.splitlines(), 1):
        pending += ("\n" if pending else "") + _strip_comment(line)
        started = started or number
        if not pending.strip():
            pending, started = "", 0
            continue
        if _open_brackets(pending) > 0 and "=" in pending:
            continue  # an array that goes on
        try:
            here = _statement(root, here, pending.strip())
        except ValueError as error:
            raise ValueError(f"{error} (at line {started})") from None
        pending, started = "", 0
    if pending:
        raise ValueError(f"unclosed array (at line {started})")
    return root


def _statement(root: dict, here: dict, line: str) -> dict:
    section = re.fullmatch(r"\[\s*([\w.\-]+)\s*\]", line)
    if section:
        return _descend(root, section.group(1).split("."))
    match = re.fullmatch(r"([\w.\-]+)\s*=\s*(.+)", line, re.DOTALL)
    if not match:
        raise ValueError(f"expected 'key = value', found '{line}'")
    *parents, key = match.group(1).split(".")
    table = _descend(here, parents)
    if key in table:
        raise ValueError(f"key '{key}' is there twice")
    table[key] = _value(match.group(2).strip())
    return here


def _descend(table: dict, names: list) -> dict:
    for name in names:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise ValueError(f"'{name}' is a value, not a section")
    return table


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'')


def _strip_comment(line: str) -> str:
    masked = _TOKEN.sub(lambda token: "_" * len(token.group()), line)
    cut = masked.find("#")
    return line if cut < 0 else line[:cut]


def _open_brackets(text: str) -> int:
    masked = _TOKEN.sub("", text)
    return masked.count("[") - masked.count("]")


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\"}


def _value(text: str):
    if text in ("true", "false"):
        return text == "true"
    if text.startswith("[") and text.endswith("]"):
        return [_value(part) for part in _split_array(text[1:-1])]
    if _TOKEN.fullmatch(text):
        if text[0] == "'":
            return text[1:-1]
        return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m.group(1), m.group(0)), text[1:-1])
    plain = text.replace("_", "")
    if re.fullmatch(r"[+-]?\d+", plain):
        return int(plain)
    if re.fullmatch(r"[+-]?(inf|nan|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)", plain):
        return float(plain)
    raise ValueError(f"expected a value, found '{text}'")


def _split_array(text: str) -> list:
    parts, depth, start = [], 0, 0
    masked = _TOKEN.sub(lambda token: "_" * len(token.group()), text)
    for i, char in enumerate(masked):
        depth += (char == "[") - (char == "]")
        if char == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [part for part in parts + [text[start:].strip()] if part]
