import check_text
import pytest


@pytest.mark.parametrize(
    "line, what",
    [
        ("int a; \n", "blanks at the end"),
        ("\tint a;\n", "a tab"),
        ("int a;\r\n", "Windows line end"),
        ("// TO" "DO later\n", "unfinished mark"),
        ("<" * 7 + " HEAD\n", "unfinished merge"),
        ("path = /ho" "me/alice/x\n", "one person's machine"),
        ("  handle& operator=" "(handle other) noexcept;\n", "operator= by value"),
        ("limit& limit::operator=" "(limit o) {\n", "operator= by value"),
        ("int a;", "no line end"),
    ],
)
def test_each_rule_finds_its_planted_line(tmp_path, line, what):
    (tmp_path / "a.cpp").write_bytes(line.encode())
    problems = check_text.check_file(tmp_path / "a.cpp", "a.cpp")
    assert len(problems) >= 1 and what in " ".join(problems)


@pytest.mark.parametrize("line", ["int a;  // a*b == c\n", "  handle& operator=(const handle& o);\n", "see docs/home/x and ./work/y\n", "=====\n", ""])
def test_ordinary_lines_pass(tmp_path, line):
    (tmp_path / "a.md").write_text(line)
    assert check_text.check_file(tmp_path / "a.md", "a.md") == []


def test_long_lines_of_pages_are_found_outside_of_tables_and_code():
    long = "word " * 27
    assert check_text.check_prose(f"a\n{long}\n", "a.md") == ["a.md:2: 135 characters; expected at most 130"]
    assert check_text.check_prose(f"|{long}|\n```\n{long}\n```\n![{long}](x.png)\n", "a.md") == []


def test_file_that_is_not_text_is_named(tmp_path):
    (tmp_path / "a.md").write_bytes(b"\xff\xfe")
    assert "not UTF-8 at byte 0" in check_text.check_file(tmp_path / "a.md", "a.md")[0]


def test_folder_with_too_many_entries_is_named():
    names = [f"src/a/{i}.cpp" for i in range(29)] + ["src/a/test/x_test.cpp", "src/a/test/y_test.cpp"]
    assert check_text.check_folders(names) == []
    problems = check_text.check_folders([*names, "src/a/z.hpp"])
    assert len(problems) == 1 and problems[0].startswith("src/a: 31 entries; expected at most 30")
    assert check_text.check_folders([f"{check_text.NUMBERED}/{i:04}.md" for i in range(40)]) == []
