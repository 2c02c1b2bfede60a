#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <vector>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "probe/counters/bounded_output.hpp"
#include "probe/counters/standard_counters.hpp"
#include "trace/profile.hpp"
#include "trace/task_files.hpp"

namespace plx::probe {
namespace {

class task_files {
 public:
  task_files(recorder& r, const settings& s, const std::string& trace_error, std::uint64_t unwritten)
      : rec_(r), asked_(s), trace_error_(trace_error), unwritten_(unwritten) {}

  result<void> write() {
    write_profiles();
    if (asked_.trace) warn_of_dropped_records();
    if (const std::uint64_t n = names_dropped(); n != 0)
      log_warning(
          "{} recorded as 'unnamed': expected at most {} different names, found more; use one name with a key for "
          "things of one type",
          plural(n, "name"), max_names);
    file("measurement.json", [&](const std::string& path) { return write_file(path, summary()); });
    return first_;
  }

 private:
  struct written_file {
    std::string name;
    double seconds;
    std::string failure;  // empty: written
  };

  void note(const result<void>& r) {
    if (r) return;
    if (first_) first_ = r;
    log_error("{}", r.error().message);
  }

  void warn_of_dropped_records() const {
    if (const std::uint64_t lost = rec_.trace_lost(); lost != 0)
      log_warning(
          "{} of {} trace records were dropped (buffer of a worker full): set trace-records above {}, or trace-budget "
          "to "
          "trace less",
          lost, lost + rec_.traced(), asked_.trace_records);
  }

  /// Prints to stdout. A consumer that does not read does not delay the program: the text is dropped.
  void print(const std::string& text) {
    constexpr double timeout_s = 1;
    if (auto r = screen_.write("", text, timeout_s); !r) log_error("{}", r.error().message);
    if (screen_.dropped() == 1)
      log_warning("a profile was not printed because stdout is not being read; set profile to csv to write a file");
  }

  /// Writes one file, and notes its outcome.
  template <class Write>
  void file(const std::string& name, Write write) {
    const ticks begin = now_ticks();
    const result<void> r = write(asked_.output + "/" + name);
    files_.push_back({name, seconds(now_ticks() - begin), r ? "" : r.error().message});
    note(r);
  }

  void write_profiles() {
    const std::string on_devices = device_profile_text(rec_);
    if (has_word(asked_.profile, "screen")) print(profile_text(rec_));
    if (has_word(asked_.profile, "screen") && !on_devices.empty()) print("\n"), print(on_devices);
    if (has_word(asked_.profile, "csv")) {
      file("profile.csv", [&](const std::string& path) { return write_profile_csv(rec_, path); });
      if (!on_devices.empty())
        file("device_profile.csv", [&](const std::string& path) { return write_device_profile_csv(rec_, path); });
      file("waits.csv", [&](const std::string& path) { return rec_.write_waits_csv(path); });
    }
    if (has_word(asked_.profile, "tau")) file("tau", [&](const std::string& path) { return write_tau(path); });
  }

  result<void> write_tau(const std::string& folder) const {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) return error{fmt::format("cannot create the folder '{}': {}", folder, failed.message())};
    return write_tau_profiles(rec_, 0, folder);
  }

  [[nodiscard]] std::string summary() const {
    const worker_times sum = times_of(rec_);
    const idle_blame idle = rec_.blame();
    std::string text = fmt::format(
        "{{\"workers\":{},\"tasks\":{},\n\"time_s\":{{\"tasks\":{:.9g},\"idle\":{:.9g},\"searching\":{:.9g},"
        "\"background\":{:.9g}}},\n\"idle_s\":{{\"blamed\":{:.9g},\"unattributed\":{:.9g}}},\n"
        "\"measuring_cost\":{:.6g},\n\"names_dropped\":{},\n",
        rec_.worker_count(), sum.tasks, sum.exec_s, sum.idle_s, sum.overhead_s, sum.background_s, idle.blamed_s,
        idle.unattributed_s, rec_.measurement_cost(), names_dropped());
    if (asked_.trace)
      text += fmt::format("\"trace\":{{\"records\":{},\"records_lost\":{}{}}},\n",
                          rec_.traced() - std::min(rec_.traced(), unwritten_), rec_.trace_lost() + unwritten_,
                          trace_error_.empty() ? "" : fmt::format(",\"failure\":{}", json_text(trace_error_)));
    text += "\"files\":[";
    for (const written_file& f : files_)
      fmt::format_to(std::back_inserter(text), "{}\n{{\"name\":{},\"seconds\":{:.3g}{}}}",
                     &f == files_.data() ? "" : ",", json_text(f.name), f.seconds,
                     f.failure.empty() ? "" : fmt::format(",\"failure\":{}", json_text(f.failure)));
    return text + "]}\n";
  }

  recorder& rec_;
  const settings& asked_;
  const std::string& trace_error_;
  const std::uint64_t unwritten_;
  std::vector<written_file> files_;
  bounded_output screen_{"stdout"};
  result<void> first_;
};

}  // namespace

result<void> write_task_files(recorder& r, const settings& s, const std::string& trace_error, std::uint64_t unwritten) {
  return task_files(r, s, trace_error, unwritten).write();
}

}  // namespace plx::probe
