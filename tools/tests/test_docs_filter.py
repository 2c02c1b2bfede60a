"""The text of a header that doxygen gets."""

import docs_filter

HEADER = """\
// Boxes and lids.
//
//   box b;
// Thread safety: none. Cost: see <vector>.
#pragma once

namespace plx {

using std::swap;

namespace detail {

/// Internal.
void open_by_force();

/// Something with a lid.
class lidded {
 public:
  bool open() const;  // at the top

 protected:
  int lid_ = 0;
};

}  // namespace detail

class box : public detail::lidded {
 public:
  int width = 0;  // in cm
};

}  // namespace plx
""".split("\n")


def visible(lines):
    shown, hidden = [], False
    for line in lines:
        hidden = (hidden or "@cond" in line) and "@endcond" not in line
        if not hidden:
            shown.append(line)
    return "\n".join(shown)


def test_lines_keep_their_numbers():
    out = "\n".join(docs_filter.filtered(HEADER, "rt/box.hpp", "boxes")).split("\n")
    assert len(out) == len(HEADER) + 2  # @file and an empty line come first
    assert out.index("/** @copydoc rt/box.hpp */ class box : public detail::lidded {") == HEADER.index(
        "class box : public detail::lidded {"
    ) + 2


def test_comments_reach_those_they_are_for():
    text = visible(docs_filter.filtered(HEADER, "rt/box.hpp", "boxes"))
    assert "@file rt/box.hpp" in text and "///     box b;" in text and "**Thread safety**: none. **Cost**: see `<vector>`" in text
    assert "int width = 0;  ///< in cm" in text
    assert "using swap = std::swap;" in text
    assert text.count("@open{boxes}") == text.count("@}")


def test_details_are_hidden_but_for_inherited_members():
    text = visible(docs_filter.filtered(HEADER, "rt/box.hpp", "boxes"))
    assert "open_by_force" not in text and "lid_" not in text
    assert "bool open() const;  ///< at the top" in text and "/// Something with a lid." in text
