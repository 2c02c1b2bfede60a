#include "probe/live/live_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "base/clock.hpp"
#include "probe/counters/counter_name.hpp"

namespace plx::probe {
namespace {

/// One name with all its samples: the format requires them together, after HELP and TYPE.
struct family {
  std::string help;
  const char* type = "gauge";
  std::vector<std::string> lines;
  std::vector<std::string> totals;  // used if there are no others
};

/// Letters, digits and single underscores.
std::string metric_word(std::string_view text) {
  std::string word;
  for (const char c : text) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0 && static_cast<unsigned char>(c) < 0x80;
    if (fits || !word.ends_with('_')) word += fits ? c : '_';
  }
  while (word.ends_with('_')) word.pop_back();
  return word;
}

std::string unit_suffix(std::string_view unit) {
  if (unit.empty() || unit == "1") return "";
  if (unit == "s") return "_seconds";
  if (unit == "%") return "_percent";
  if (unit == "J") return "_joules";
  if (unit == "W") return "_watts";
  const std::string word = metric_word(unit);
  return word.empty() ? word : fmt::format("_{}", word);
}

std::string family_name(const counter_name& n, const counter_info& info) {
  std::string name = fmt::format("plx_{}_{}", metric_word(n.object), metric_word(n.name));
  const std::string suffix = unit_suffix(info.unit);
  if (!name.ends_with(suffix)) name += suffix;
  if (info.monotonic && !name.ends_with("_total")) name += "_total";
  return name;
}

std::string escaped(std::string_view text, bool quote) {
  std::string out;
  for (const char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\\' || (quote && c == '"'))
      (out += '\\') += c;
    else
      out += c;
  }
  return out;
}

/// locality="0",worker="1" for "locality#0/worker-thread#1"; `total` is omitted and reported.
std::string labels_of(const counter_name& n, bool& total) {
  std::string labels;
  std::set<std::string> used;
  const auto add = [&](std::string key, std::string_view value) {
    if (key.empty() || std::isdigit(static_cast<unsigned char>(key.front())) != 0) key.insert(0, "instance_");
    while (!used.insert(key).second) key += '_';
    fmt::format_to(std::back_inserter(labels), "{}{}=\"{}\"", labels.empty() ? "" : ",", key, escaped(value, true));
  };
  for (std::string_view rest = n.instance; !rest.empty();) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, end);
    const std::size_t number = std::min(part.find('#'), part.size());
    rest.remove_prefix(std::min(end + 1, rest.size()));
    total = part == "total" && rest.empty();
    const std::string_view key = part.substr(0, number);
    if (number < part.size())
      add(key == "worker-thread" ? "worker" : metric_word(key), part.substr(number + 1));
    else if (!total)
      add("instance", part);
  }
  if (!n.parameters.empty()) add("parameters", n.parameters);
  return labels;
}

std::string value_text(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", v);
}

void write(std::string& text, const std::string& name, const family& f) {
  const auto out = std::back_inserter(text);
  if (!f.help.empty()) fmt::format_to(out, "# HELP {} {}\n", name, escaped(f.help, false));
  fmt::format_to(out, "# TYPE {} {}\n", name, f.type);
  std::set<std::string_view> seen;  // names may differ only in characters that metrics cannot contain
  for (const std::string& line : f.lines.empty() ? f.totals : f.lines)
    if (seen.insert(std::string_view(line).substr(0, line.rfind(' '))).second) text += line;
}

}  // namespace

std::string metrics_text(const counter_registry& counters) {
  std::map<std::string, family> families;
  const auto values = counters.query("/*{*}/*@*");
  for (const counter_value& v : values ? *values : std::vector<counter_value>{}) {
    const auto n = counter_name::parse(v.name);
    if (!n) continue;
    const std::string name = family_name(*n, *v.about);
    family& f = families[name];
    if (f.lines.empty() && f.totals.empty()) f.help = v.about->help, f.type = v.about->monotonic ? "counter" : "gauge";
    bool total = false;
    const std::string labels = labels_of(*n, total);
    std::string line = name;
    if (!labels.empty()) line += fmt::format("{{{}}}", labels);
    (total ? f.totals : f.lines).push_back(line + " " + value_text(v.value) + "\n");
  }
  std::string text;
  for (const auto& [name, f] : families) write(text, name, f);
  return text;
}

namespace {

constexpr std::size_t most_types = 500, most_histograms = 100;
constexpr double limits_s[] = {1e-7, 2e-7, 5e-7, 1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3,
                               2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1,  0.2,  0.5,  1,    2,    5,    10};

/// The samples of one task type; `label`: task="relax".
void add_durations(family& f, const std::string& name, const std::string& label, const task_statistics& t,
                   const duration_histogram& durations) {
  const std::uint64_t calls = durations.calls();
  const auto add = [&](const char* suffix, const std::string& labels, const std::string& value) {
    f.lines.push_back(fmt::format("{}{}{{{}}} {}\n", name, suffix, labels, value));
  };
  for (const double limit_s : limits_s)
    add("_bucket", fmt::format("{},le=\"{}\"", label, limit_s),
        std::to_string(durations.calls_within(limit_s * ticks_per_second())));
  add("_bucket", label + ",le=\"+Inf\"", std::to_string(calls));
  add("_sum", label, value_text(static_cast<double>(t.calls) * t.mean_s));
  add("_count", label, std::to_string(calls));
}

}  // namespace

std::string metrics_text(const counter_registry& counters, const recorder& r) {
  family idle{"Idle time of workers while a task of this type ran, as far as it is charged to it", "counter", {}, {}};
  family locks{"Time for which tasks waited for a lock that a task of this type held", "counter", {}, {}};
  family durations{"Durations of finished tasks of this type", "histogram", {}, {}};
  const std::string idle_name = "plx_task_idle_blame_seconds_total", locks_name = "plx_task_lock_blame_seconds_total",
                    durations_name = "plx_task_duration_seconds";
  const std::vector<task_statistics> tasks = r.tasks();
  for (std::size_t i = 0; i < std::min(tasks.size(), most_types); ++i) {
    const task_statistics& t = tasks[i];
    const std::string label = fmt::format("task=\"{}\"", escaped(t.name, true));
    idle.lines.push_back(fmt::format("{}{{{}}} {}\n", idle_name, label, value_text(t.blamed_s)));
    locks.lines.push_back(fmt::format("{}{{{}}} {}\n", locks_name, label, value_text(t.lock_waits_s)));
    if (i < most_histograms) add_durations(durations, durations_name, label, t, r.durations(t.id));
  }
  std::string text = metrics_text(counters);
  if (tasks.empty()) return text;
  write(text, durations_name, durations);
  write(text, idle_name, idle);
  write(text, locks_name, locks);
  return text;
}

}  // namespace plx::probe
