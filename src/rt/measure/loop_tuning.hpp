// Tunes, for each place in the program that runs a loop, how long a piece of it takes: the policy `loop-grain`.
//
// A piece is what a worker does between two looks at whether somebody wants half of the rest, about two microseconds if
// nobody tunes. Shorter ones balance better, longer ones cost less. The first runs of a place tell how long it takes;
// short ones are left alone. Then a noise-aware search (control/tuning.hpp) measures whole runs, one at a time, by
// their time per index, and only runs of about the same length are compared. Unless another is better by 2 %, it stays
// at two microseconds. Nothing is written to the disk before store().
// Thread safety: everything. Cost: a lock and a look into a table per run of a loop; while a place is tuned, two clock
// reads more. At most 280 runs of a place are measured. Example: loop_tuning_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <typeinfo>

namespace plx::probe {
class decision_log;
}

namespace plx::detail {

class loop_tuning {
 public:
  /// `workers` belongs to what a result depends on. Without a folder, results are not kept.
  loop_tuning(unsigned workers, std::string cache_folder, std::shared_ptr<probe::decision_log> log);
  ~loop_tuning();
  loop_tuning(const loop_tuning&) = delete;
  loop_tuning& operator=(const loop_tuning&) = delete;

  struct begun {
    std::int64_t piece_ns = 0;  // how long a piece shall take; 0: as without tuning
    void* place = nullptr;      // who is told how long the run took; null: nobody
  };
  /// A run over n indices begins at the place that `code` names.
  begun begin(const std::type_info& code, std::int64_t n);
  /// The run that begin() gave a place for took so long. NaN: it did not come to its end.
  void end(void* place, std::int64_t n, double took_s);

  /// Writes the results that are new. Errors go to the log.
  void store();

  /// How many places there are, and how many of them are done.
  struct counts {
    std::size_t places = 0, done = 0;
  };
  [[nodiscard]] counts count() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace plx::detail

namespace plx::probe {

// The policies that come with the runtime, switched on by the setting `policies`: worker-cap and loop-grain.
//
// Thread safety: of the thread that makes the runtime. Cost: worker-cap reads a counter 50 times a second; loop-grain
// is loop_tuning.hpp's. Example: policies_test.cpp, bench/policy

class actuator_registry;
class counter_registry;
class policy_registry;
struct settings;
}  // namespace plx::probe

namespace plx::detail {

class scheduler;
class loop_tuning;

/// Adds what `asked.policies` names, for the life of the registry. Gives who tunes loops, or null; it must live as long
/// as the scheduler's workers. In the deterministic mode, where only the seed decides, nothing is added, and the log
/// says so.
std::unique_ptr<loop_tuning> add_shipped_policies(const probe::settings& asked, scheduler& s,
                                                  probe::counter_registry& counters,
                                                  probe::actuator_registry& actuators,
                                                  probe::policy_registry& policies);

}  // namespace plx::detail
