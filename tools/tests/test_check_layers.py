"""The checker finds what it is for: planted violations, each in a small tree of its own."""

import check_layers
import pytest


@pytest.fixture
def tree(tmp_path):
    def make(**files):
        for name, text in files.items():
            path = tmp_path / "src" / name.replace("__", "/").replace("_hpp", ".hpp").replace("_cpp", ".cpp")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return make


def test_allowed_includes_pass(tree):
    root = tree(
        base__assert_hpp="",
        rt__future_hpp='#include "base/assert.hpp"\n',
        star__hydro__flux_hpp='#include "rt/future.hpp"\n',
    )
    assert check_layers.check(root) == []


def test_upward_include_is_found_with_file_and_line(tree):
    problems = check_layers.check(tree(rt__future_hpp="", probe__log_cpp='\n#include "rt/future.hpp"\n'))
    assert len(problems) == 1
    assert "src/probe/log.cpp:2" in problems[0] and "probe may not include rt" in problems[0]


def test_siblings_do_not_know_each_other(tree):
    problems = check_layers.check(tree(gpu__stream_hpp="", net__parcel_hpp='#include "gpu/stream.hpp"\n'))
    assert "net may not include gpu" in problems[0]


def test_subfolder_counts_as_its_layer(tree):
    problems = check_layers.check(
        tree(star__hydro__flux_hpp="", mesh__octree_hpp='#  include  "star/hydro/flux.hpp"\n')
    )
    assert "mesh may not include star" in problems[0]


def test_circle_of_includes_is_found_whole(tree):
    root = tree(
        rt__a_hpp='#include "rt/b.hpp"\n',
        rt__b_hpp='#include "rt/c.hpp"\n',
        rt__c_hpp='#include "rt/a.hpp"\n',
        rt__d_hpp='#include "rt/a.hpp"\n',
    )
    assert check_layers.check(root) == ["circle of includes: src/rt/a.hpp <-> src/rt/b.hpp <-> src/rt/c.hpp"]


def test_file_that_includes_itself_is_a_circle(tree):
    assert "circle" in check_layers.check(tree(rt__a_hpp='#include "rt/a.hpp"\n'))[0]


def test_two_separate_circles_are_two_problems(tree):
    root = tree(
        rt__a_hpp='#include "rt/b.hpp"\n',
        rt__b_hpp='#include "rt/a.hpp"\n',
        base__c_hpp='#include "base/d.hpp"\n',
        base__d_hpp='#include "base/c.hpp"\n',
    )
    assert len(check_layers.check(root)) == 2


def test_include_relative_to_the_file_is_refused(tree):
    problems = check_layers.check(tree(rt__a_hpp='#include "b.hpp"\n', rt__b_hpp=""))
    assert '"b.hpp" is no file under src' in problems[0]


def test_unknown_layer_is_named(tree):
    assert "no layer 'extra'" in check_layers.check(tree(extra__a_hpp=""))[0]


def test_the_repository_itself_is_clean():
    assert check_layers.main([]) == 0
