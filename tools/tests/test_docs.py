"""Links and paths that the documentation names exist."""

import re

import check_text
import pytest
from console import ROOT

PAGES = [path for path in check_text.files(ROOT) if path.suffix == ".md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_the_page_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", re.sub(r"```.*?```", "", page.read_text(), flags=re.S))
    broken = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert broken == []


def test_paths_of_the_map_exist():
    rows = [line for line in (ROOT / "docs" / "map.md").read_text().splitlines() if line.startswith("|")]
    paths = {p for row in rows for p in re.findall(r"`((?:src|apps|examples|tests|python|bench|cmake|tools|inputs|\.ci)/[^`]*)`", row)}
    assert paths, "the map names no paths"
    assert [p for p in sorted(paths) if not list(ROOT.glob(p.rstrip("/")))] == []
