// Output of plx-dca while it runs: its tables; a line per iteration and temperature; within an iteration a line that is
// redrawn on a terminal, and elsewhere one every ten seconds; the picture of the live page.
//
// Thread safety: none but that of dca_observer; lines within an iteration are printed by the thread that samples
// counters. Cost: two writes per second. Example: apps/plx_dca.cpp
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "console.hpp"
#include "qmc/dca/dca_monitor.hpp"
#include "qmc/dca/output.hpp"

namespace plx {
class runtime;
namespace probe {
class picture_board;
}
}  // namespace plx

namespace plx::app {

/// Writes the tables and checkpoints of a run, and prints its lines and warnings to stderr. Errors: failure(), after
/// which the run stops at the next checkpoint.
class dca_progress_display final : public qmc::dca_observer {
 public:
  /// Keeps references to all but the options. Adds the counters of the run to the runtime, whose live page, if one is
  /// served, gets a picture for each iteration.
  dca_progress_display(qmc::dca_output& out, const qmc::cluster& c, const qmc::dca_options& o, runtime& home,
                       bool quiet);
  void began(const qmc::dca_iteration& now, int iterations) override;
  void iterated(const qmc::dca_iteration& i) override;
  void cooled(const qmc::dca_temperature& t) override;
  void reached(const qmc::dca_state& s) override;
  void checkpoint_failed(const error& e) override;
  std::shared_ptr<qmc::function_store> functions() override;
  bool stop_requested() override { return app::stop_requested() || failure_.has_value(); }
  const std::atomic<bool>* stop_flag() const override { return &app::stop_requested(); }
  std::shared_ptr<qmc::monte_carlo_progress> progress() override { return monitor_.walkers(); }
  /// Ends the line within an iteration.
  void finish();
  /// The rate of all localities over the iterations that were completed, warm-up included; 0 before the first.
  [[nodiscard]] double measurements_per_s() const { return seconds_ > 0 ? measurements_ / seconds_ : 0; }
  /// All warnings of this run, for its summary.
  [[nodiscard]] const std::string& warnings() const { return warnings_; }
  /// The first error of a table or checkpoint.
  [[nodiscard]] const std::optional<error>& failure() const { return failure_; }

 private:
  void keep(const result<void>& r);
  void draw();
  void clear_line();

  qmc::dca_output& out_;
  const qmc::cluster& cluster_;
  const qmc::dca_options options_;
  probe::picture_board* const pictures_;  // null if no live page is served
  const bool quiet_, terminal_;
  qmc::dca_monitor monitor_;
  std::string warnings_;
  std::optional<error> failure_;
  double measurements_ = 0, seconds_ = 0;  // of all iterations
  int iterations_ = 1;                     // of the temperature
  int warned_of_drift_ = -1;               // the last temperature with a warning about rounding errors: one is enough
  std::mutex mutex_;                       // of the line within an iteration; between iterations none is printed
  bool open_ = false;                      // it is displayed
  std::shared_ptr<void> timer_;
};

}  // namespace plx::app
