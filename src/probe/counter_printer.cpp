#include "probe/counter_printer.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "probe/counter_text.hpp"
#include "probe/derived_counters.hpp"

namespace plx::probe {
namespace {

bool is_stream(const std::string& to) { return to == "stdout" || to == "stderr"; }

result<void> write_stream(std::FILE* stream, const char* name, std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stream) == text.size() && std::fflush(stream) == 0;
  if (written) return {};
  const int number = errno;
  std::clearerr(stream);
  return file_error("write", name, number);
}

bool is_statistic(std::string_view pattern) { return pattern.starts_with("/statistics{"); }

/// A file of an earlier run goes; a pipe or a device stays.
void begin_anew(const std::string& path) {
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0 || !S_ISREG(there.st_mode)) return;
  if (::truncate(path.c_str(), 0) != 0) return;  // who may not change it is told so when it is written
}

}  // namespace

counter_printer::counter_printer(counter_registry& registry, printing how)
    : registry_(registry), how_(std::move(how)), begin_s_(monotonic_seconds()), output_(how_.to) {
  if (!is_stream(how_.to)) begin_anew(how_.to);
  for (const std::string& pattern : how_.patterns) (void)registry_.list(pattern);
}

counter_printer::~counter_printer() {
  if (const std::uint64_t n = output_.dropped(); n > 0)
    (void)error_output_.write(
        "",
        fmt::format("{} prints of counters to '{}' were dropped: expected a consumer that reads, found none\n", n,
                    how_.to),
        patience_s);
}

result<void> counter_printer::write(const std::string& text) {
  const std::string_view header = how_.format == counter_format::csv ? counters_csv_header : std::string_view{};
  result<void> done = output_.write(header, text, patience_s);
  if (!done && how_.to != "stderr") {
    const bool first = said_.insert("file").second;
    if (first)
      (void)error_output_.write("", fmt::format("{}; counters are printed here\n", done.error().message), patience_s);
    (void)error_output_.write("", first ? std::string(header) + text : text, patience_s);
  }
  return done;
}

result<void> counter_printer::print(bool last) {
  result<void> first;
  std::vector<counter_value> values;
  const after_reading then = how_.reset ? after_reading::reset : after_reading::keep;
  for (const std::string& pattern : how_.patterns) {
    // Statistics of one counter share their samples: they begin anew once all were read.
    auto found = registry_.query(pattern, is_statistic(pattern) ? after_reading::keep : then);
    std::vector<counter_value> ended;
    if (last) ended = registry_.last_values(pattern);
    if (found)
      for (counter_value& v : *found) values.push_back(std::move(v));
    for (counter_value& v : ended) values.push_back(std::move(v));
    if (found || !ended.empty()) continue;
    if (first) first = found.error();
    if (said_.insert(pattern).second)
      (void)error_output_.write("", fmt::format("{}\n", found.error().message), patience_s);
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

counter_lister::counter_lister(counter_registry& registry, bool full) : registry_(registry), full_(full) {
  std::vector<counter_info> all = registry_.list();
  for (counter_info& kind : derived_counter_kinds()) all.push_back(std::move(kind));
  (void)write_stream(stdout, "stdout", list_as_text(all, full_));
  registry_.on_added(
      [](void* arg, const counter_info& added) {
        auto& self = *static_cast<counter_lister*>(arg);
        const std::string line = list_as_text({added}, self.full_);
        if (self.shown_.insert(line).second) (void)write_stream(stdout, "stdout", line);
      },
      this);
}

counter_lister::~counter_lister() { registry_.on_added(nullptr, nullptr); }

}  // namespace plx::probe
