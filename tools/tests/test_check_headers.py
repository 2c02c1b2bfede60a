"""Headers that need another one first, that may not be included twice, or that cost too much are found."""

import shutil

import check_headers
import probing
import pytest

pytestmark = pytest.mark.skipif(shutil.which(probing.compiler()) is None, reason="no compiler")


def make(root, **headers):
    for name, text in headers.items():
        path = root / "src" / "rt" / f"{name}.hpp"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_self_contained_header_passes_and_has_a_cost(tmp_path):
    problems, costs = check_headers.check(
        make(tmp_path, good="#pragma once\n#include <cstddef>\ninline std::size_t f() { return 1; }\n")
    )
    assert problems == []
    assert [name for name, _, _ in costs] == ["src/rt/good.hpp"] and costs[0][1].memory > 1


def test_header_that_needs_another_first_is_found(tmp_path):
    problems, _ = check_headers.check(make(tmp_path, needy="#pragma once\ninline std::string f() { return {}; }\n"))
    assert len(problems) == 1 and "src/rt/needy.hpp does not compile alone" in problems[0]


def test_header_without_guard_is_found(tmp_path):
    problems, _ = check_headers.check(make(tmp_path, twice="struct twice {};\n"))
    assert "redefinition" in problems[0]


def test_cost_over_the_budget_is_found_only_for_public_headers(tmp_path, monkeypatch):
    monkeypatch.setattr(check_headers, "HEADER_BUDGET_MB", 0.0)
    problems, _ = check_headers.check(make(tmp_path, dear="#pragma once\n", dear_detail="#pragma once\n"))
    assert len(problems) == 1 and "src/rt/dear.hpp takes" in problems[0] and "at most 0 MB" in problems[0]


def test_cost_just_above_the_budget_is_accepted_since_machines_differ(tmp_path, monkeypatch):
    root = make(tmp_path, dear="#pragma once\n")
    needed = check_headers.check(root)[1][0][1].memory
    monkeypatch.setattr(check_headers, "HEADER_BUDGET_MB", needed - 0.5 * check_headers.TOLERANCE_MB)
    assert check_headers.check(root)[0] == []
    monkeypatch.setattr(check_headers, "HEADER_BUDGET_MB", needed - 1.5 * check_headers.TOLERANCE_MB)
    assert len(check_headers.check(root)[0]) == 1
