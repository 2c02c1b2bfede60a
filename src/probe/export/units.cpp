#include "probe/export/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"

namespace plx::probe {
namespace {

bool begins_character(char c) { return static_cast<unsigned char>(c) >> 6 != 2; }

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

/// The first n characters.
std::string_view first(std::string_view text, std::size_t n) {
  std::size_t i = 0;
  for (; i < text.size(); ++i)
    if (begins_character(text[i]) && n-- == 0) break;
  return text.substr(0, i);
}

}  // namespace

std::string time_text(double seconds) {
  if (seconds == 0) return "0";
  struct unit {
    double size;
    const char* name;
  };
  constexpr unit units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
  const double size = std::abs(seconds);
  const unit* u =
      std::find_if(std::begin(units), std::end(units) - 1, [&](const unit& x) { return size >= 0.9995 * x.size; });
  const double n = seconds / u->size;
  const int decimals = std::abs(n) < 9.995 ? 2 : std::abs(n) < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", n, decimals, u->name);
}

std::string count_text(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string share_text(double share) {
  if (share > 0 && share < 0.0005) return "<0.1 %";
  return fmt::format("{:.1f} %", 100 * share);
}

std::string shortened(std::string_view text, std::size_t width) {
  PLX_ASSERT(width >= 8, width);
  const std::size_t n = characters(text);
  if (n <= width) return std::string(text);
  const std::size_t tail = (width - 3) / 2, head = width - 3 - tail;
  const std::size_t skipped = first(text, n - tail).size();
  return std::string(first(text, head)) + "..." + std::string(text.substr(skipped));
}

std::string padded(std::string_view text, std::size_t width) {
  return std::string(text) + std::string(width - std::min(width, characters(text)), ' ');
}

std::string right(std::string_view text, std::size_t width) {
  return std::string(width - std::min(width, characters(text)), ' ') + std::string(text);
}

}  // namespace plx::probe
