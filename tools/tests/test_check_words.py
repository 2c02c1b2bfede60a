"""What the check of words finds, and where it does not look."""

import check_words
import pytest


def findings(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return [(f.line, f.text) for f in check_words.check_file(path, name)]


@pytest.mark.parametrize(
    "text, found",
    [
        ("// Who waits is woken.\n", [(1, "Who"), (1, "Who ...")]),
        ("int a;  // nobody reads it\n", [(1, "nobody")]),
        ("/// Gives it.\n/// It is told\n/// anew.\n", [(2, "told"), (3, "anew")]),
        ('fail("there is not any");\n', [(1, "there is not")]),
        ("// Of net, the headers.\n", [(1, "Of ...")]),
        ("/* one\n   goes on */\n", [(2, "goes on")]),
    ],
)
def test_comments_and_strings_of_sources(tmp_path, text, found):
    assert sorted(findings(tmp_path, "a.cpp", text)) == sorted(found)


@pytest.mark.parametrize(
    "text",
    [
        '#include "told/who.hpp"\n',
        "int who = told();\n",
        "// A worker is woken. What is a fiber? It continues.\n",
        "// The word who  words: ok\n",
        "auto c = 'w';  // a whole sentence\n",
    ],
)
def test_code_and_plain_sentences_are_left_alone(tmp_path, text):
    assert findings(tmp_path, "a.cpp", text) == []


def test_text_of_python_and_pages(tmp_path):
    assert findings(tmp_path, "a.py", '"""Who asks."""\nwho = 1  # told\n') == [(1, "Who"), (1, "Who ..."), (2, "told")]
    assert findings(tmp_path, "a.md", "# Title\n```\nwho told\n```\n`who` is told\n") == [(5, "told")]


def test_paths_that_are_left_out():
    assert check_words.LEFT_OUT.search("docs/decisions/0001-simd.md")
    assert check_words.LEFT_OUT.search("tests/fuzz/corpus/letters/a")
    assert not check_words.LEFT_OUT.search("docs/net.md")


def test_of_the_changelog_only_what_is_not_released_is_checked(tmp_path):
    text = "# Changelog\n\n## Unreleased\n- it is told\n\n## 0.1.0\n- nobody\n"
    assert findings(tmp_path, "CHANGELOG.md", text) == [(4, "told")]


def test_scripts_print_texts(tmp_path):
    text = "#!/bin/sh\necho \"$0: it is told\" >&2  # nobody\nsay told\ntold=$(who)\n"
    assert findings(tmp_path, "a.sh", text) == [(2, "nobody"), (2, "told"), (3, "told")]
    assert findings(tmp_path, "plx", "help() {\n  cat <<'TEXT'\nwhat nobody runs\nTEXT\n}\nwho told\n") == [(3, "nobody")]


@pytest.mark.parametrize("text", ["tasks lie ready", "tasks lay in the queue", "fails without a word", "a rank resigns", "records found no room",
                                  "it wakes everyone", "by whom it was made", "sampled by the beat", "it is said", "two deaths"])
def test_phrases(tmp_path, text):
    assert len(findings(tmp_path, "a.md", text)) == 1


def test_names_of_tests_are_texts(tmp_path):
    assert findings(tmp_path, "a.cpp", "TEST_F(Waits, AMutexIsToldByItsName) {}\n") == [(1, "told")]
    assert findings(tmp_path, "b.cpp", "TEST(event, all_who_wait) {}\n") == [(1, "who")]
    assert findings(tmp_path, "a.py", "def test_a_line_is_left_out():\n    pass\n") == [(1, "left out")]
    assert findings(tmp_path, "d.cpp", "TEST(Runs, WhatIsBrokenIsNamed) {}\nTEST(Graph, WhatIfIsAQuestion) {}\n") == [(1, "what ...")]
    assert findings(tmp_path, "d.py", "def test_what_is_broken_is_named():\n    pass\n") == [(1, "what ...")]
    assert findings(tmp_path, "c.cpp", "TEST(Waits, AMutexIsListed) {}\nint told(int who);\n") == []
