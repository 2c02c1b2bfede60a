// The files that `parallax diagnose` reads besides profile.csv and waits.csv: a few numbers over time, and per worker.
//
// Thread safety: sample() by one thread at a time. Cost: a sample reads a dozen counters and some files of /proc; at
// most 512 are kept: then every other one is dropped, and samples are taken half as often.
// Example: session/test/diagnose_log_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"

namespace plx::probe {

class diagnose_log {
 public:
  /// Both must outlive it.
  diagnose_log(const recorder& r, const counter_registry& counters);
  diagnose_log(const diagnose_log&) = delete;
  diagnose_log& operator=(const diagnose_log&) = delete;

  /// Called every `period_s`; skips calls as the interval grows.
  void sample();
  static constexpr double period_s = 0.05;

  /// Takes a last sample, then writes diagnose.csv (time_s,name,value,unit) and workers.csv into the folder. Columns of
  /// the latter: worker,tasks_s,overhead_s,background_s,idle_s,tasks,steals,on_core_s,ready_s. The last two are the
  /// time of the worker's thread on a core, and runnable without one (schedstat); empty if the system does not report
  /// them.
  result<void> write(const std::string& folder);

  /// Number of samples kept.
  [[nodiscard]] std::size_t samples() const noexcept { return moments_.size(); }
  static constexpr std::size_t most_samples = 512;

 private:
  struct moment {
    std::uint64_t call;  // of sample(); odd if it was taken for write()
    double time_s;
    std::vector<counter_value> values;
  };
  void keep(std::uint64_t call);
  std::vector<worker_times> keep_last();  // of the moment of the last sample, within a millisecond if possible

  const recorder& recorder_;
  const counter_registry& counters_;
  const double begin_s_;
  std::uint64_t called_ = 0, every_ = 1;  // one in `every_` calls is kept
  std::vector<moment> moments_;
};

}  // namespace plx::probe
