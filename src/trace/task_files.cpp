#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <vector>

#include "base/log.hpp"
#include "base/text.hpp"
#include "probe/counters/bounded_output.hpp"
#include "probe/counters/standard_counters.hpp"
#include "probe/monitor/machine_limits.hpp"
#include "probe/monitor/task_counts.hpp"
#include "probe/monitor/task_energy.hpp"
#include "probe/record/text_sink.hpp"
#include "probe/record/trace_sink.hpp"
#include "probe/sample/sampler.hpp"
#include "trace/profile.hpp"
#include "trace/stacks/stack_files.hpp"
#include "trace/task_files.hpp"

namespace plx::probe {
namespace {

class task_files {
 public:
  task_files(recorder& r, const settings& s, const more_task_files& more) : rec_(r), asked_(s), more_(more) {}

  result<void> write() {
    write_profiles();
    if (more_.more_tables) more_.more_tables();
    if (more_.stacks != nullptr) write_stacks(*more_.stacks);
    if (asked_.trace) warn_of_dropped_records();
    if (more_.counts != nullptr) warn_of_missing_counts(*more_.counts);
    if (const std::uint64_t n = names_dropped(); n != 0)
      log_warning(
          "{} recorded as 'unnamed': expected at most {} different names, found more; use one name with a key for "
          "things of one type",
          plural(n, "name"), max_names);
    file("measurement.json", [&](const std::string& path) { return write_measurement(path, summary()); });
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

  [[nodiscard]] std::uint64_t traced() const { return more_.totals ? more_.totals->records : rec_.traced(); }
  [[nodiscard]] std::uint64_t lost_records() const { return more_.totals ? more_.totals->lost : rec_.trace_lost(); }
  void warn_of_dropped_records() const {
    if (const std::uint64_t lost = lost_records(); lost != 0)
      log_warning(
          "{} of {} trace records were dropped (buffer of a worker full): set trace-records above {}, or trace-budget "
          "to "
          "trace less",
          lost, lost + traced(), asked_.trace_records);
  }

  static void warn_of_missing_counts(const counts_of_tasks& counts) {
    if (constexpr double all = 0.999; counts.counted < all)
      log_warning(
          "perf-tasks: events were counted for {:.3g} % of the time, as others use the processor's counters; counts by "
          "task type are lower bounds: set perf to fewer events",
          100 * counts.counted);
    if (counts.failed_reads != 0)
      log_warning("perf-tasks: the events could not be read at {}, and count for the next task type",
                  plural(counts.failed_reads, "boundary"));
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
    const measured_of_tasks measured{.energy = more_.energy, .counts = more_.counts, .limits = more_.limits};
    if (has_word(asked_.profile, "screen")) print(profile_text(rec_, 40, measured));
    if (has_word(asked_.profile, "screen") && !on_devices.empty()) print("\n"), print(on_devices);
    if (has_word(asked_.profile, "csv")) {
      file("profile.csv", [&](const std::string& path) { return write_profile_csv(rec_, path, measured); });
      if (!on_devices.empty())
        file("device_profile.csv", [&](const std::string& path) { return write_device_profile_csv(rec_, path); });
      file("waits.csv", [&](const std::string& path) { return rec_.write_waits_csv(path); });
    }
    if (has_word(asked_.profile, "tau")) file("tau", [&](const std::string& path) { return write_tau(path); });
  }

  void write_stacks(const sampler& stacks) {
    const sample_tree tree = stacks.tree();
    const std::vector<sampled_call> calls = tree.calls();
    const double period_s = 1 / stacks.hz();
    file("stacks.collapsed", [&](const std::string& path) { return write_measurement(path, collapsed_stacks(calls)); });
    file("stacks.svg",
         [&](const std::string& path) { return write_measurement(path, stacks_svg(tree, calls, period_s)); });
    file("stacks.csv",
         [&](const std::string& path) { return write_measurement(path, stacks_csv(tree, period_s, more_.lines)); });
    const std::uint64_t lost = stacks.lost(), shortened = tree.shortened();
    if (lost != 0)
      log_warning(
          "{} of {} periods of sampled stacks were dropped (buffer of a thread full): set sample-stacks below {:g}",
          lost, lost + tree.total(), stacks.hz());
    if (shortened != 0)
      log_warning(
          "{} of {} periods of sampled stacks count for a caller of the running function (more than {} different "
          "addresses): set sample-stacks below {:g}, or sample a shorter run",
          shortened, tree.total(), sample_tree::most_nodes, stacks.hz());
    samples_ = fmt::format(
        "\"stacks\":{{\"hz\":{:g},\"samples\":{},\"cpu_s\":{:.6g},\"lost_s\":{:.6g},\"shortened_s\":{:.6g}{}}},\n",
        stacks.hz(), tree.samples(), static_cast<double>(tree.total()) * period_s, static_cast<double>(lost) * period_s,
        static_cast<double>(shortened) * period_s,
        stacks.failure().empty() ? "" : ",\"failure\":" + json_text(stacks.failure()));
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
      text +=
          fmt::format("\"trace\":{{\"records\":{},\"records_lost\":{}{}}},\n",
                      traced() - std::min(traced(), more_.unwritten), lost_records() + more_.unwritten,
                      more_.trace_error.empty() ? "" : fmt::format(",\"failure\":{}", json_text(more_.trace_error)));
    if (more_.energy != nullptr)
      text += fmt::format("\"energy_j\":{{\"tasks\":{:.9g},\"no_task\":{:.9g}}},\n",
                          more_.energy->total - more_.energy->no_task, more_.energy->no_task);
    if (more_.counts != nullptr) text += counts_json(*more_.counts);
    if (more_.limits != nullptr)
      text += fmt::format(
          "\"limits\":{{\"threads\":{},\"vector_bits\":{},\"flops_per_s\":{:.6g},\"bytes_per_s\":{:.6g},"
          "\"array_bytes\":{},\"cache_bytes\":{}}},\n",
          more_.limits->threads, more_.limits->vector_bits, more_.limits->flops_per_s, more_.limits->bytes_per_s,
          more_.limits->array_bytes, more_.limits->cache_bytes);
    text += samples_ + "\"files\":[";
    for (const written_file& f : files_)
      fmt::format_to(std::back_inserter(text), "{}\n{{\"name\":{},\"seconds\":{:.3g}{}}}",
                     &f == files_.data() ? "" : ",", json_text(f.name), f.seconds,
                     f.failure.empty() ? "" : fmt::format(",\"failure\":{}", json_text(f.failure)));
    return text + "]}\n";
  }

  static std::string counts_json(const counts_of_tasks& counts) {
    if (counts.events.empty()) return {};
    std::string text = fmt::format("\"perf\":{{\"counted\":{:.6g},\"failed_reads\":{},\"events\":{{", counts.counted,
                                   counts.failed_reads);
    for (std::size_t e = 0; e < counts.events.size(); ++e) {
      const counted_event& event = counts.events[e];
      fmt::format_to(std::back_inserter(text), "{}\n{}:{{\"tasks\":{},\"no_task\":{}}}", e == 0 ? "" : ",",
                     json_text(event.name), event.text(counts.total[e] - counts.no_task[e]),
                     event.text(counts.no_task[e]));
    }
    return text + "}},\n";
  }

  recorder& rec_;
  const settings& asked_;
  const more_task_files& more_;
  std::string samples_;  // about sampled stacks
  std::vector<written_file> files_;
  bounded_output screen_{"stdout"};
  result<void> first_;
};

}  // namespace

result<void> write_task_files(recorder& r, const settings& s, const more_task_files& more) {
  return task_files(r, s, more).write();
}

}  // namespace plx::probe
