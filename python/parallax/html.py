"""One page, no outside resources: small builders of HTML and the style sheet."""

from __future__ import annotations

import base64
from html import escape


def page(title: str, body: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n<body><main>\n{body}\n</main></body></html>\n"
    )


def figure(title: str, caption: str, alt: str, light_png: bytes, dark_png: bytes) -> str:
    """A card with a picture that follows the reader's light or dark setting."""
    light, dark = (base64.b64encode(png).decode() for png in (light_png, dark_png))
    width, height = (int.from_bytes(light_png[at : at + 4], "big") for at in (16, 20))  # PNG header
    return (
        f'<figure class="card"><h3>{escape(title)}</h3><p>{escape(caption)}</p><picture>'
        f'<source media="(prefers-color-scheme: dark)" srcset="data:image/png;base64,{dark}">'
        f'<img alt="{escape(alt or title)}" width="{width}" height="{height}" src="data:image/png;base64,{light}">'
        "</picture></figure>"
    )


def card(title: str, inner: str, caption: str = "") -> str:
    caption = f"<p>{escape(caption)}</p>" if caption else ""
    return f'<div class="card"><h3>{escape(title)}</h3>{caption}{inner}</div>'


def note(title: str, text: str, bad: bool = False) -> str:
    """A visible place-holder for what cannot be shown."""
    return f'<div class="card note{" bad" if bad else ""}"><b>{escape(title)}</b> — {escape(text)}</div>'


def tile(what: str, value: str, under: str) -> str:
    what, value, under = escape(what), escape(value), escape(under)
    return f'<div class="tile"><span class="what">{what}</span><b>{value}</b><span>{under}</span></div>'


def table(header: list, rows: list, numeric=(), raw=()) -> str:
    """numeric: indices of right-aligned columns; raw: of columns whose cells are HTML already, the <td> included."""

    def cell(i, value):
        if i in raw:
            return str(value)
        return f"<td{_class(i, numeric)}>{escape(str(value))}</td>"

    head = "".join(f"<th{_class(i, numeric)}>{escape(name)}</th>" for i, name in enumerate(header))
    body = "".join("<tr>" + "".join(cell(i, value) for i, value in enumerate(row)) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _class(i, numeric) -> str:
    return ' class="num"' if i in numeric else ""


def pairs(rows: list) -> str:
    """A table of names and values."""
    body = "".join(f'<tr><td class="key">{escape(k)}</td><td>{escape(str(v))}</td></tr>' for k, v in rows)
    return f'<div class="scroll"><table><tbody>{body}</tbody></table></div>'


def changed_options(summary: dict | None) -> str:
    """A table of the options that the command line or a resume changed, from run.json; "" if there are none."""
    changes = (summary or {}).get("changed_options")
    if not isinstance(changes, list) or not changes:
        return ""
    names = ("key", "was", "value", "by", "time")
    rows = [[str(change.get(name, "")) for name in names] for change in changes if isinstance(change, dict)]
    return card("Changed options", table(["option", "before", "value", "by", "time"], rows))


def bar_cell(share: float, text: str) -> str:
    width = max(0.0, min(100.0, 100 * share))
    return f'<td class="bar"><div><i style="width:{width:.1f}%"></i><span>{escape(text)}</span></div></td>'


style = """
:root { --paper:#f6f7f9; --card:#ffffff; --ink:#1b2230; --muted:#5f6b7e; --line:#e2e6ec; --accent:#2c66b0;
  --bar:#d5e3f5; --warn:#8a4b08; --warn-card:#fdf3e4; --warn-line:#f0d9b0; --code:#f2f4f7; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --paper:#0f1217; --card:#171b22; --ink:#e7eaf0; --muted:#98a2b3;
  --line:#2a313c; --accent:#7db1f2; --bar:#26405f; --warn:#f3c98b; --warn-card:#2a2217; --warn-line:#4c3b20;
  --code:#11151b; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; -webkit-text-size-adjust: 100%; }
body { margin:0; background:var(--paper); color:var(--ink); font:15px/1.55 system-ui,-apple-system,
  "Segoe UI",Roboto,"Helvetica Neue","Liberation Sans","DejaVu Sans",sans-serif; }
main { max-width:1200px; margin:0 auto; padding:2.2rem 1.4rem 4rem; }
header h1 { font-size:2rem; line-height:1.15; margin:.2rem 0 .35rem; letter-spacing:-.015em; font-weight:650; }
header p { margin:0; color:var(--muted); }
header .note { margin:.8rem 0 0; }
.kicker { font-size:.78rem; letter-spacing:.12em; text-transform:uppercase; color:var(--accent); font-weight:600; }
.state { display:inline-block; padding:.05rem .55rem; border-radius:1rem; border:1px solid var(--line);
  font-size:.85rem; color:var(--ink); background:var(--card); }
.state.bad { color:var(--warn); border-color:var(--warn-line); background:var(--warn-card); }
nav { margin:1.1rem 0 0; display:flex; flex-wrap:wrap; gap:.3rem 1.2rem; font-size:.9rem; }
a { color:var(--accent); text-decoration:none; }
a:hover { text-decoration:underline; }
.tiles { display:grid; grid-template-columns:repeat(auto-fit,minmax(160px,1fr)); gap:.8rem; margin:1.6rem 0 .4rem; }
.tile { background:var(--card); border:1px solid var(--line); border-radius:.6rem; padding:.75rem .95rem; }
.tile b { display:block; font-size:1.32rem; font-weight:620; letter-spacing:-.01em;
  font-variant-numeric:tabular-nums; white-space:nowrap; }
.tile span { display:block; font-size:.78rem; color:var(--muted); }
.tile .what { text-transform:uppercase; letter-spacing:.06em; font-size:.7rem; }
section { margin-top:2.6rem; }
h2 { font-size:1.25rem; margin:0 0 .9rem; letter-spacing:-.01em; font-weight:640; }
h3 { font-size:.98rem; margin:0 0 .15rem; font-weight:620; }
.card { background:var(--card); border:1px solid var(--line); border-radius:.6rem; padding:1rem 1.1rem; margin:0 0
  1rem; min-width:0; }
.grid { display:grid; grid-template-columns:repeat(auto-fit,minmax(min(440px,100%),1fr)); gap:1rem; }
.grid > .card { margin:0; }
.grid > div > :last-child { margin-bottom:0; }
.grid + .card, .grid + .grid { margin-top:1rem; }
.card p { margin:.1rem 0 .7rem; color:var(--muted); font-size:.88rem; }
.card > :last-child { margin-bottom:0; }
figure { margin:0; }
img,object { display:block; max-width:100%; height:auto; margin:0 auto; }
.note { color:var(--muted); border-style:dashed; font-size:.9rem; }
.note b { color:var(--ink); font-weight:600; }
.note.bad { background:var(--warn-card); border-color:var(--warn-line); color:var(--warn); }
.note.bad b { color:inherit; }
.scroll { overflow-x:auto; }
table { border-collapse:collapse; width:100%; font-size:.86rem; font-variant-numeric:tabular-nums; }
th { text-align:left; font-weight:600; color:var(--muted); font-size:.78rem; white-space:nowrap; }
th,td { padding:.34rem .7rem .34rem 0; border-bottom:1px solid var(--line); vertical-align:top; }
tr:last-child td { border-bottom:0; }
.num { text-align:right; white-space:nowrap; }
td:first-child { white-space:nowrap; }
td.key { color:var(--muted); white-space:nowrap; }
ol.said { margin:0; padding-left:1.3rem; }
ol.said li { margin:.35rem 0; }
ol.said span { color:var(--muted); }
td.bar { min-width:6rem; width:22%; }
td.bar div { position:relative; }
td.bar i { position:absolute; inset:0 auto 0 0; background:var(--bar); border-radius:2px; }
td.bar span { position:relative; padding-left:.4rem; }
.diff { color:var(--warn); font-weight:600; }
pre { margin:.6rem 0 0; padding:.9rem 1rem; background:var(--code); border-radius:.45rem; overflow-x:auto;
  font:12.5px/1.5 ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace; }
details summary { cursor:pointer; font-weight:600; }
details[open] summary { margin-bottom:.5rem; }
footer { margin-top:2.6rem; color:var(--muted); font-size:.82rem; }
@media print { body { background:#fff; } .card,.tile { break-inside:avoid; } nav { display:none; } }
"""
