"""`parallax report run/`: one self-contained page and its pictures.

Each part of the page is made separately (see parts/). A part whose input is missing or unreadable becomes a visible
note in its place. Cost: a few seconds, nearly all of it drawing.
Example to read: tests/star/test_report.py.
"""

from __future__ import annotations

import os
from html import escape
from pathlib import Path

from .. import html
from ..text import count, percent, si
from .facts import Facts
from .parts import About, MeshAndCost, Performance, Physics
from .run import Run


def write_report(run: Run, out: Path) -> Facts:
    """Writes `out` and, beside it, the pictures as PNG (light). Raises OSError when it cannot write."""
    facts, pngs = Facts(run), {}
    try:
        text = html.page(f"{facts.title} · {run.folder.resolve().name}", _body(facts, pngs))
        for name, png in pngs.items():
            write_file(out.parent / f"{name}.png", png)
        write_file(out, text.encode("utf-8"))
    finally:
        facts.close()
    return facts


def write_file(path: Path, content: bytes) -> None:
    """All or nothing: a file of this name is either complete or as it was."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _body(facts: Facts, pngs: dict) -> str:
    cost = MeshAndCost(facts, pngs)
    hero = cost.part("Physics and cost in one picture", cost.hero)
    sections = [
        ("physics", "Physics", Physics(facts, pngs).html()), ("mesh", "Mesh and cost", cost.html()),
        ("performance", "Performance", Performance(facts, pngs).html()), ("run", "Run", About(facts, pngs).html()),
    ]
    links = "".join(f'<a href="#{key}">{name}</a>' for key, name, _ in sections)
    below = "".join(f'<section id="{key}"><h2>{name}</h2>{inner}</section>' for key, name, inner in sections)
    tiles = _tiles(facts)
    problems = "".join(html.note("Not readable", text, bad=True) for text in facts.problems)  # last: all parts are made
    warnings = "".join(html.note("Note", text) for text in facts.warnings)
    head = f"{_header(facts)}<nav>{links}</nav>{tiles}{problems}{warnings}"
    return f"{head}<section>{hero}</section>{below}<footer>{_footer(facts)}</footer>"


def _header(facts: Facts) -> str:
    summary = facts.summary or {}
    program = " ".join(str(summary[key]) for key in ("program", "version") if summary.get(key))
    state = str(summary.get("status") or "no run.json")
    machine = summary.get("machine") if isinstance(summary.get("machine"), dict) else {}
    bits = [program, str(summary.get("started") or ""), str(machine.get("host") or "")]
    message = str(summary.get("message") or "")
    line = " · ".join(escape(bit) for bit in bits if bit)
    bad = "" if state == "finished" else " bad"
    return (
        f'<header><div class="kicker">Parallax · {escape(str(facts.run.folder.resolve().name))}</div>'
        f'<h1>{escape(facts.title)}</h1><p><span class="state{bad}">{escape(state)}</span> {line}</p>'
        + (f"<p>{escape(message)}</p>" if message else "")
        + "</header>"
    )


def _tiles(facts: Facts) -> str:
    tiles = []
    lines_ = facts.lines
    if lines_ is not None and lines_.shock is not None and lines_.shock_exact:
        off = 100 * (lines_.shock / lines_.shock_exact - 1)
        tiles.append(("shock radius", f"{lines_.shock:.4f}", f"{off:+.2f} % from the exact"))
    if lines_ is not None and "rho" in lines_.l1:
        tiles.append(("density error", f"{lines_.l1['rho']:.2e}", "L1 against the exact solution"))
    if facts.drifts:
        worst = max(facts.drifts, key=lambda name: abs(facts.drifts[name]))
        tiles.append(("worst drift", f"{abs(facts.drifts[worst]):.1e}", f"relative, {worst.replace('_', ' ')}"))
    if facts.throughput is not None:
        tiles.append(("throughput", si(facts.throughput), "cell updates per second"))
    if facts.last is not None:
        mesh = facts.last
        tiles.append(("blocks", count(mesh.n_blocks), f"levels {mesh.levels.min()} to {mesh.levels.max()}"))
    if facts.shares:
        idle = percent(facts.shares["idle"])
        tiles.append(("workers in tasks", percent(facts.shares["tasks"]), f"{facts.of_whole_run}; idle {idle}"))
    return f'<div class="tiles">{"".join(html.tile(*each) for each in tiles)}</div>' if tiles else ""


def _footer(facts: Facts) -> str:
    return (
        f"Made by <b>parallax report</b> from {escape(str(facts.run.folder.resolve()))}. The pictures lie "
        "beside this page as PNG. Mesh files (mesh/*.athdf) open in yt, ParaView and VisIt; the trace "
        "(trace.plxt) is read by plx-trace; plx-trace perfetto makes a file for Perfetto (ui.perfetto.dev)."
    )
