#include "probe/counter_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <unordered_set>

#include "base/clock.hpp"
#include "base/json_text.hpp"
#include "probe/counter_name.hpp"
#include "probe/csv.hpp"
#include "probe/derived_counters.hpp"

namespace plx::probe {
namespace {

/// A number of seconds or bytes with the prefix that leaves one to three digits before the point.
std::string for_people(double value, std::string_view unit) {
  const double size = std::abs(value);
  if (unit == "s" && size > 0 && size < 1) {
    constexpr std::array<std::string_view, 3> names{"ms", "us", "ns"};
    double scaled = value * 1e3;
    std::size_t i = 0;
    for (; i + 1 < names.size() && std::abs(scaled) < 1; ++i) scaled *= 1e3;
    return fmt::format("{:.4g} {}", scaled, names[i]);
  }
  if (unit == "bytes" && size >= 1024) {
    constexpr std::array<std::string_view, 4> names{"KiB", "MiB", "GiB", "TiB"};
    double scaled = value / 1024;
    std::size_t i = 0;
    for (; i + 1 < names.size() && std::abs(scaled) >= 1024; ++i) scaled /= 1024;
    return fmt::format("{:.4g} {}", scaled, names[i]);
  }
  const bool whole = value == std::floor(value) && size < 1e15;
  const std::string number = whole ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value);
  return unit == "1" || unit.empty() ? number : fmt::format("{} {}", number, unit);
}

/// The name with '*' for each number of its instance but the locality's.
std::string without_numbers(const std::string& name) {
  const auto parts = counter_name::parse(name);
  if (!parts || parts->instance.empty() || parts->instance[0] == '/') return name;
  std::string instance;
  for (const char c : parts->instance) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (digit && instance.ends_with('#') && !instance.ends_with("locality#")) instance += '*';
    if (digit && instance.ends_with('*')) continue;
    instance += c;
  }
  const std::string parameters = parts->parameters.empty() ? "" : fmt::format("@{}", parts->parameters);
  return fmt::format("/{}{{{}}}/{}{}", parts->object, instance, parts->name, parameters);
}

}  // namespace

std::string counters_as_text(const std::vector<counter_value>& values, double time_s) {
  std::string text;
  for (const counter_value& v : values)
    fmt::format_to(std::back_inserter(text), "{:10.3f} s {:>16}  {}{}\n", time_s,
                   v.problem.empty() ? for_people(v.value, v.unit) : "?", v.name,
                   v.problem.empty() ? "" : fmt::format(" ({})", v.problem));
  return text;
}

std::string counters_as_csv(const std::vector<counter_value>& values, double time_s) {
  std::string text;
  for (const counter_value& v : values)
    fmt::format_to(std::back_inserter(text), "{:.6f},{},{:.12g},{}\n", time_s, csv_field(v.name), v.value,
                   csv_field(v.unit));
  return text;
}

std::string counters_as_json(const std::vector<counter_value>& values, double time_s) {
  std::string text = fmt::format("{{\"time_s\":{:.6f},\"counters\":[", time_s);
  const auto out = std::back_inserter(text);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const counter_value& v = values[i];
    const std::string number = std::isfinite(v.value) ? fmt::format("{}", v.value) : "null";
    fmt::format_to(out, "{}{{\"name\":{},\"value\":{},\"unit\":{}", i == 0 ? "" : ",", json_text(v.name), number,
                   json_text(v.unit));
    if (v.about) fmt::format_to(out, ",\"help\":{},\"monotonic\":{}", json_text(v.about->help), v.about->monotonic);
    if (!v.problem.empty()) fmt::format_to(out, ",\"problem\":{}", json_text(v.problem));
    text += '}';
  }
  return text += "]}";
}

std::string counters_json(const counter_registry& registry, std::string_view pattern) {
  const auto values = registry.query(pattern);
  if (!values) return fmt::format("{{\"error\":{}}}", json_text(values.error().message));
  return counters_as_json(*values, monotonic_seconds());
}

std::string list_as_text(const std::vector<counter_info>& counters, bool full) {
  std::vector<const counter_info*> shown;
  std::vector<std::string> names;
  std::unordered_set<std::string> seen;
  std::size_t widest = 0, widest_unit = 0;
  for (const counter_info& c : counters) {
    std::string name = full ? c.name : without_numbers(c.name);
    if (!seen.insert(name).second) continue;
    widest = std::min<std::size_t>(std::max(widest, name.size()), 72);
    widest_unit = std::max(widest_unit, c.unit.size());
    names.push_back(std::move(name));
    shown.push_back(&c);
  }
  std::string text;
  for (std::size_t i = 0; i < shown.size(); ++i)
    fmt::format_to(std::back_inserter(text), "{:<{}}  {:<{}}  {}\n", names[i], widest, shown[i]->unit, widest_unit,
                   shown[i]->help);
  return text;
}

}  // namespace plx::probe
