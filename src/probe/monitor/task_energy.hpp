// The energy of the machine divided among task types.
//
// The energy of an interval between two samples belongs in equal parts to the workers, and a worker's part to what it
// did in that interval, by time: slices of task types, or no task (idle, searching, polling, before its first slice). A
// slice that lasts longer than an interval is known when it ends, and then gets its part of each: until then that is
// energy without a task. Energies of all types and of no task sum to the total. It is the energy of the whole machine:
// other programs, and cores that no worker uses, are divided as well. Thread safety: all functions. Cost: sample()
// reads each worker's time by name, some 5 ns each; nothing for the workers. Example:
// probe/monitor/test/task_energy_test.cpp
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "base/clock.hpp"
#include "probe/record/recorder.hpp"

namespace plx::probe {

/// Energy used until a moment: linear between samples, constant before the first and after the last.
class energy_curve {
 public:
  /// Requires: later than the one before; not less energy. Above `most_points` every other one is dropped.
  void add(ticks when, double joules);
  /// In J.
  [[nodiscard]] double at(ticks when) const noexcept;
  /// Drops the points that at(when) and later moments do not need.
  void forget_before(ticks when) noexcept;
  /// The number of points kept.
  [[nodiscard]] std::size_t size() const noexcept { return points_.size(); }
  static constexpr std::size_t most_points = std::size_t{1} << 16;

 private:
  struct point {
    ticks when;
    double joules;
  };
  std::deque<point> points_;
};

/// In J.
struct energy_of_tasks {
  double total = 0;
  double no_task = 0;
  std::vector<double> by_name;  // index: name_id; names beyond its end have none

  /// The energy of one task type.
  [[nodiscard]] double of(name_id id) const noexcept { return id < by_name.size() ? by_name[id] : 0; }
};

class task_energy {
 public:
  /// Begins at `now`, when a counter of the machine's energy reads `joules`. The recorder must outlive it; workers that
  /// it gets later are not counted.
  task_energy(const recorder& r, double joules, ticks now = now_ticks());
  /// The counter's next value; one that is smaller was reset to zero since the last.
  void sample(double joules, ticks now = now_ticks());
  /// Until the last sample.
  [[nodiscard]] energy_of_tasks sums() const;
  static constexpr double period_s = 0.1;
  static constexpr const char* counter_name = "/system{total}/energy";  // of the counter, and of its curve in traces

 private:
  struct worker_state {
    ticks until = 0;             // what it did until then is known
    ticks other = 0;             // its idle, searching and background time
    std::vector<ticks> by_name;  // its time in slices
  };
  void attribute(unsigned worker, ticks before, ticks now);

  const recorder& recorder_;
  mutable std::mutex mutex_;
  energy_curve curve_;
  ticks last_;
  double counter_, total_ = 0;
  std::vector<worker_state> workers_;
  std::vector<double> by_name_;
  std::vector<ticks> times_;  // of attribute()
};

}  // namespace plx::probe
