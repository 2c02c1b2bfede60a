#include "base/assert.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace plx::detail {
namespace {

std::string text_of(const assert_value& v) {
  switch (v.what()) {
    case assert_value::kind::boolean:
      return v.natural() != 0 ? "true" : "false";
    case assert_value::kind::character:
      return fmt::format("'{}'", static_cast<char>(v.integer()));
    case assert_value::kind::integer:
      return fmt::format("{}", v.integer());
    case assert_value::kind::natural:
      return fmt::format("{}", v.natural());
    case assert_value::kind::real:
      return fmt::format("{}", v.real());
    case assert_value::kind::text:
      return fmt::format("\"{}\"", v.text());
    case assert_value::kind::address:
      return fmt::format("{}", v.address());
    case assert_value::kind::none:
      break;
  }
  return "(no text)";
}

/// Splits `a, f(b, c), "x,y"` at its outer commas: {a | f(b, c) | "x,y"}.
std::vector<std::string_view> split_names(std::string_view names) {
  std::vector<std::string_view> parts;
  int depth = 0;
  char quote = 0;
  std::size_t start = 0;
  const auto push = [&](std::size_t end) {
    while (start < end && names[start] == ' ') ++start;
    if (end > start) parts.push_back(names.substr(start, end - start));
    start = end + 1;
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    const char c = names[i];
    if (quote != 0) {
      if (c == '\\')
        ++i;
      else if (c == quote)
        quote = 0;
    } else if (c == '"' || c == '\'')
      quote = c;
    else if (c == '(' || c == '[' || c == '{')
      ++depth;
    else if (c == ')' || c == ']' || c == '}')
      --depth;
    else if (c == ',' && depth == 0)
      push(i);
  }
  push(names.size());
  return parts;
}

std::string message_of(const assert_place& place, std::initializer_list<assert_value> values) {
  std::string message =
      fmt::format("{}:{}: in {}(): assertion failed: {}", place.file, place.line, place.function, place.expression);
  const std::vector<std::string_view> names = split_names(place.names);
  const bool named = names.size() == values.size();  // a comma inside <> confuses the split: then values are printed
                                                     // without names
  std::size_t i = 0;
  for (const assert_value& v : values) {
    message += i == 0 ? " (" : ", ";
    if (named) (message += names[i]) += '=';
    message += text_of(v);
    ++i;
  }
  return message += i == 0 ? "\n" : ")\n";
}

}  // namespace

void assert_failed(const assert_place& place, std::initializer_list<assert_value> values) noexcept {
  const std::string message = message_of(place, values);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), message.size());
  std::abort();
}

}  // namespace plx::detail
