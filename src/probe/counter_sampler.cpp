#include "probe/counter_sampler.hpp"

#include <filesystem>
#include <system_error>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "probe/counter_text.hpp"

namespace plx::probe {

counter_sampler::counter_sampler(recorder& r, counter_registry& counters, std::vector<std::string> patterns,
                                 std::string path)
    : recorder_(r),
      counters_(counters),
      patterns_(std::move(patterns)),
      path_(std::move(path)),
      begin_s_(monotonic_seconds()) {
  std::error_code ignored;  // said when the file is written
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
  if (!first && !said_) log_warning("{}", first.error().message);
  said_ |= !first;
  return first;
}

}  // namespace plx::probe
