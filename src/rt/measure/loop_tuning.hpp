// Tunes the duration of a loop chunk for each place in the program that runs a loop: the policy `loop-grain`.
//
// A chunk is the work between two checks whether idle workers want half of the remaining range: about two microseconds
// without tuning. Shorter chunks balance better, longer ones cost less. The first runs of a place measure its duration;
// short loops are not tuned. Then a noise-aware search (control/tuning.hpp) measures whole runs, one at a time, by
// their time per index; only runs of about the same length are compared. The default is kept unless another duration is
// better by 2 %. Nothing is written to disk before store().
// Thread safety: everything. Cost: a lock and a table lookup per run of a loop; two clock reads more while a place is
// being tuned. At most 280 runs of a place are measured. Example: loop_tuning_test.cpp
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
  /// Results depend on `workers`. Without a folder, results are not kept.
  loop_tuning(unsigned workers, std::string cache_folder, std::shared_ptr<probe::decision_log> log);
  ~loop_tuning();
  loop_tuning(const loop_tuning&) = delete;
  loop_tuning& operator=(const loop_tuning&) = delete;

  struct begun {
    std::int64_t piece_ns = 0;  // target duration of a chunk; 0: the default
    void* place = nullptr;      // receives the duration of the run; null: not measured
  };
  /// Begins a run over n indices at the place identified by `code`.
  begun begin(const std::type_info& code, std::int64_t n);
  /// Reports the duration of the run for which begin() returned a place. NaN: the run did not complete.
  void end(void* place, std::int64_t n, double took_s);

  /// Writes the new results. Errors go to the log.
  void store();

  /// The number of places, and of those that are done.
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

// The built-in policies, enabled by the setting `policies`: worker-cap and loop-grain.
//
// Thread safety: used by the thread that creates the runtime. Cost: worker-cap reads a counter 50 times a second; for
// loop-grain see loop_tuning.hpp. Example: policies_test.cpp, bench/policy.cpp

class actuator_registry;
class counter_registry;
class policy_registry;
struct settings;
}  // namespace plx::probe

namespace plx::detail {

class scheduler;
class loop_tuning;

/// Adds the policies named in `asked.policies`, for the lifetime of the registry. Returns the tuner of loops, or null;
/// it must live as long as the scheduler's workers. In the deterministic mode, where the seed decides everything, no
/// policy is added, and a log entry reports that.
std::unique_ptr<loop_tuning> add_shipped_policies(const probe::settings& asked, scheduler& s,
                                                  probe::counter_registry& counters,
                                                  probe::actuator_registry& actuators,
                                                  probe::policy_registry& policies);

}  // namespace plx::detail
