#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <unordered_set>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "probe/counters/counter_name.hpp"
#include "probe/counters/counter_printer.hpp"
#include "probe/counters/counter_registry_detail.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/text_sink.hpp"

namespace plx::probe {
namespace {

/// A number of seconds or bytes with the prefix that gives one to three digits before the point.
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

/// The name with '*' for each number in its instance, except the locality's.
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

namespace {

bool is_stream(const std::string& to) { return to == "stdout" || to == "stderr"; }

bool is_statistic(std::string_view pattern) { return pattern.starts_with("/statistics{"); }

/// Empties a file of an earlier run; a pipe or a device is unchanged.
void truncate_file(const std::string& path) {
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0 || !S_ISREG(there.st_mode)) return;
  if (::truncate(path.c_str(), 0) != 0) return;  // missing permission is reported when the file is written
}

}  // namespace

counter_printer::counter_printer(counter_registry& registry, printing how)
    : registry_(registry), how_(std::move(how)), begin_s_(monotonic_seconds()), output_(how_.to) {
  if (!is_stream(how_.to)) truncate_file(how_.to);
  for (const std::string& pattern : how_.patterns) (void)registry_.list(pattern);
}

counter_printer::~counter_printer() {
  if (const std::uint64_t n = output_.dropped(); n > 0)
    (void)error_output_.write(
        "",
        fmt::format("dropped {} of counters to '{}': expected a consumer that reads, found none\n", plural(n, "print"),
                    how_.to),
        timeout_s);
}

result<void> counter_printer::write(const std::string& text) {
  const std::string_view header = how_.format == counter_format::csv ? counters_csv_header : std::string_view{};
  result<void> done = output_.write(header, text, timeout_s);
  if (!done && how_.to != "stderr") {
    const bool first = reported_.insert("file").second;
    if (first)
      (void)error_output_.write("", fmt::format("{}; counters are printed here\n", done.error().message), timeout_s);
    (void)error_output_.write("", first ? std::string(header) + text : text, timeout_s);
  }
  return done;
}

result<void> counter_printer::print(bool last) {
  result<void> first;
  std::vector<counter_value> values;
  const after_reading then = how_.reset ? after_reading::reset : after_reading::keep;
  for (const std::string& pattern : how_.patterns) {
    // Statistics of one counter share their samples: they are reset after all have been read.
    auto found = registry_.query(pattern, is_statistic(pattern) ? after_reading::keep : then);
    std::vector<counter_value> ended;
    if (last) ended = registry_.last_values(pattern);
    if (found)
      for (counter_value& v : *found) values.push_back(std::move(v));
    for (counter_value& v : ended) values.push_back(std::move(v));
    if (found || !ended.empty()) continue;
    if (first) first = found.error();
    if (reported_.insert(pattern).second)
      (void)error_output_.write("", fmt::format("{}\n", found.error().message), timeout_s);
  }
  if (how_.reset)
    for (const std::string& pattern : how_.patterns)
      if (is_statistic(pattern)) (void)registry_.reset(pattern);
  if (values.empty()) return first;
  const double time_s = monotonic_seconds() - begin_s_;
  std::string text = how_.format == counter_format::text  ? counters_as_text(values, time_s)
                     : how_.format == counter_format::csv ? counters_as_csv(values, time_s)
                                                          : counters_as_json(values, time_s) + "\n";
  if (auto written = write(text); !written && first) first = written;
  return first;
}

counter_sampler::counter_sampler(recorder& r, counter_registry& counters, std::vector<std::string> patterns,
                                 std::string path)
    : recorder_(r),
      counters_(counters),
      patterns_(std::move(patterns)),
      path_(std::move(path)),
      begin_s_(monotonic_seconds()) {
  std::error_code ignored;  // reported when the file is written
  std::filesystem::remove(path_, ignored);
  for (const std::string& pattern : patterns_) (void)counters_.list(pattern);
}

result<void> counter_sampler::write(const std::string& text) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  return append_file(path_, counters_csv_header, text);
}

result<void> counter_sampler::sample() {
  result<void> first;
  std::string text;
  const double time_s = monotonic_seconds() - begin_s_;
  for (const std::string& pattern : patterns_) {
    const auto values = counters_.query(pattern);
    if (!values) {
      if (first) first = values.error();
      continue;
    }
    text += counters_as_csv(*values, time_s);
    for (const counter_value& v : *values)
      if (v.problem.empty()) recorder_.trace_counter(v.name, v.value);
  }
  if (auto written = write(text); !written && first) first = written;
  if (!first && !reported_) log_warning("{}", first.error().message);
  reported_ |= !first;
  return first;
}

counter_lister::counter_lister(counter_registry& registry, bool full) : registry_(registry), full_(full) {
  std::vector<counter_info> all = registry_.list();
  for (counter_info& kind : detail::derived_counter_kinds()) all.push_back(std::move(kind));
  write(list_as_text(all, full_));
  registry_.on_added(
      [](void* arg, const counter_info& added) {
        auto& self = *static_cast<counter_lister*>(arg);
        const std::string line = list_as_text({added}, self.full_);
        if (self.shown_.insert(line).second) self.write(line);
      },
      this);
}

void counter_lister::write(const std::string& text) {
  (void)output_.write("", text, counter_printer::timeout_s);
  if (output_.dropped() == 1) log_warning("the list of counters is incomplete because stdout is not being read");
}

counter_lister::~counter_lister() { registry_.on_added(nullptr, nullptr); }

}  // namespace plx::probe
