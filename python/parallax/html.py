"""One page, no outside resources: small builders of HTML and the style sheet."""

from __future__ import annotations

import base64
from html import escape

from .css import style


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


def bar_cell(share: float, text: str) -> str:
    width = max(0.0, min(100.0, 100 * share))
    return f'<td class="bar"><div><i style="width:{width:.1f}%"></i><span>{escape(text)}</span></div></td>'
