// Numbers as people read them. Thread safety: everything. Cost: an allocation. Example: probe/export/units_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plx::probe {

/// Three digits and a unit that fits: "1.23 us", "45.6 ms", "789 s"; "0" for zero.
std::string time_text(double seconds);
/// Groups of three: "1,234,567".
std::string count_text(std::uint64_t n);
/// "12.3 %"; what is not zero but would look so is "<0.1 %".
std::string share_text(double share);
/// At most `width` characters (UTF-8): the middle of a longer text becomes "...". Requires: width >= 8.
std::string shortened(std::string_view text, std::size_t width);
/// Blanks on the right, or on the left, up to `width` characters (UTF-8).
std::string padded(std::string_view text, std::size_t width);
/// Likewise, on the left.
std::string right(std::string_view text, std::size_t width);

}  // namespace plx::probe
