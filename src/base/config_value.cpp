#include "base/config_detail.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/nearest.hpp"

namespace plx::config_detail {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\u{:04X}", int{c});
    else
      out += c;
  }
  return out += '"';
}

std::string number_text(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", d);  // the shortest that reads back to the same bits
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

bool bounded_below(double d) { return d > -std::numeric_limits<double>::infinity(); }
bool bounded_above(double d) { return d < std::numeric_limits<double>::infinity(); }

bool in_range(const config_info& info, double v) {
  return v >= info.min && v <= info.max && (!bounded_below(info.above) || v > info.above);  // false for a NaN
}

}  // namespace

std::string text_of(const element& e) {
  switch (static_cast<element_type>(e.index())) {
    case element_type::boolean:
      return std::get<bool>(e) ? "true" : "false";
    case element_type::integer:
      return fmt::format("{}", std::get<std::int64_t>(e));
    case element_type::number:
      return number_text(std::get<double>(e));
    case element_type::string:
      break;
  }
  return quoted(std::get<std::string>(e));
}

std::string text_of(const entry& e, const std::vector<element>& values) {
  if (e.form == shape::scalar) return text_of(values.at(0));
  std::string text = "[";
  for (const element& v : values) (text += text.size() > 1 ? ", " : "") += text_of(v);
  return text += "]";
}

std::string type_text(const entry& e) {
  constexpr const char* names[] = {"boolean", "integer", "number", "string"};
  const char* name = names[static_cast<int>(e.type)];
  if (e.form == shape::scalar) return name;
  if (e.form == shape::any_length) return fmt::format("array of {}s", name);
  return fmt::format("array of {} {}s", e.length, name);
}

std::string range_text(const config_info& info) {
  if (!info.choices.empty()) return fmt::format("one of {}", fmt::join(info.choices, ", "));
  const bool open = bounded_below(info.above) && info.above >= info.min;
  const bool below = open || bounded_below(info.min);
  const bool above = bounded_above(info.max);
  const double least = open ? info.above : info.min;
  if (below && above) return fmt::format("in {}{}, {}]", open ? "(" : "[", least, info.max);
  if (below) return fmt::format("{} {}", open ? ">" : ">=", least);
  return above ? fmt::format("<= {}", info.max) : "";
}

result<void> check(const entry& e, const element& value) {
  if (e.type == element_type::string && !e.info.choices.empty()) {
    const std::string& text = std::get<std::string>(value);
    if (std::find(e.info.choices.begin(), e.info.choices.end(), text) != e.info.choices.end()) return {};
    return error{fmt::format("'{}' must be {}, found {}{}", e.key, range_text(e.info), text_of(value),
                             did_you_mean(text, e.info.choices))};
  }
  if (e.type != element_type::integer && e.type != element_type::number) return {};
  const auto* whole = std::get_if<std::int64_t>(&value);
  const double v = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
  if (std::isinf(v) || (std::isnan(v) && range_text(e.info).empty()))
    return error{fmt::format("'{}' must be finite, found {}", e.key, text_of(value))};
  if (!in_range(e.info, v))
    return error{fmt::format("'{}' must be {}, found {}", e.key, range_text(e.info), text_of(value))};
  using int_limits = std::numeric_limits<int>;
  if (e.fits_int && (*whole < int_limits::min() || *whole > int_limits::max()))
    return error{
        fmt::format("'{}' must be in [{}, {}], found {}", e.key, int_limits::min(), int_limits::max(), *whole)};
  return {};
}

}  // namespace plx::config_detail
