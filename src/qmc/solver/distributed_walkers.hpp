// The walkers of an iteration on all localities of a job.
//
// Each locality runs a contiguous range of the walkers. The root distributes the problem and receives the bins and the
// states of all walkers, in the order of the walkers: one scatter and one gather per iteration. Walkers have streams of
// their own, so that the bits do not depend on the number of localities, and states that were saved with one number are
// continued with another. A stop that is requested on one locality reaches all.
//
// Thread safety: functions are called by one task per locality. Cost: bytes() and wait_s(); a task that waits polls the
// flag of its locality every 10 ms. Errors: locality_lost. Example: tests/net/test_dca.py
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "net/team.hpp"
#include "qmc/solver/function_store.hpp"
#include "qmc/solver/monte_carlo.hpp"

namespace plx::qmc {

class distributed_walkers {
 public:
  /// stop: requests a stop on this locality once it is true; or null. It must outlive this object.
  distributed_walkers(team members, std::shared_ptr<const cluster> lattice, const std::atomic<bool>* stop);

  bool is_root() const noexcept { return members_.rank() == 0; }
  bool is_distributed() const noexcept { return !members_.is_alone(); }
  /// The walkers of this locality report to it in each run; null: they do not.
  void report_to(std::shared_ptr<monte_carlo_progress> progress) { progress_ = std::move(progress); }
  /// Where save_functions() of this locality writes, and from where functions of states without them are read; null:
  /// nowhere.
  void keep_functions_in(std::shared_ptr<function_store> store) { store_ = std::move(store); }
  bool keeps_functions() const noexcept { return store_ != nullptr; }
  /// Runs the walkers of all localities. options.stop and options.progress are not used. `parts`: functions of two
  /// particles of options.saved; empty: they are in these states. Called on the root, while the others serve. With
  /// options.functions_stay and several localities, bins and states of the result are without these functions. The
  /// result must be kept while its bins are held. Error: one line: a part cannot be read.
  result<monte_carlo_result> run(const impurity& problem, monte_carlo_options options,
                                 const checkpoint_parts& parts = {});
  /// Writes the functions that stayed in the last run(), a part per locality. Called on the root, while the others
  /// serve. Requires: keeps_functions() on all localities. Error: one line: a part cannot be written.
  result<checkpoint_parts> save_functions(std::uint64_t mark);
  /// Called on each locality when its walkers have made all measurements, with the problem and the bins whose functions
  /// of two particles it holds: with monte_carlo_options::functions_stay its own, else all on the root and none on the
  /// others.
  using holder = std::function<void(const impurity&, std::vector<bin_functions>)>;
  void hold_bins_with(holder h) { holder_ = std::move(h); }
  /// How many bins each locality holds after run(), by rank.
  const std::vector<std::size_t>& held_bins() const noexcept { return held_bins_; }
  /// Ends serve() on the others. Called on the root.
  void end();
  /// Runs the walkers of this locality for the root until it calls end(). Called on the others.
  void serve();

  /// Whether a stop was requested on any locality.
  bool stop_requested() const noexcept;
  /// As stop_requested(); a stop that was requested on this locality is posted to the others. Called by any task.
  bool poll_stop();
  /// Bytes that the root has sent and received in the last run(); save_functions() does not count.
  double bytes() const noexcept { return bytes_; }
  /// The time from the end of the root's walkers to the arrival of the last bin in the last run(), seconds; without
  /// save_functions().
  double wait_s() const noexcept { return wait_s_; }

 private:
  // Numbers, or a message of what failed.
  using reply = std::pair<std::string, std::vector<double>>;
  int first_walker(int walkers, unsigned rank) const noexcept;
  std::vector<double> work_of(const impurity& problem, const monte_carlo_options& options,
                              const checkpoint_parts& parts, unsigned rank) const;
  reply do_work(const std::vector<double>& work);
  struct gathered {
    std::vector<reply> replies;  // by rank
    double wait_s;               // for them, after the own one
  };
  gathered distribute(const std::vector<std::vector<double>>& works);
  reply run_share(const std::vector<double>& work);
  result<std::vector<walker_functions>> functions_of(const checkpoint_parts& parts, std::size_t first,
                                                     std::size_t count);
  void hold_own(const impurity& problem, const monte_carlo_result& r);
  void hold_all(const impurity& problem, const monte_carlo_result& r);
  template <class T>
  T wait(future<T> f);
  void spread_stop();

  team members_;
  std::shared_ptr<const cluster> lattice_;
  const std::atomic<bool>* signal_;
  std::atomic<bool> stopping_{false};
  double bytes_ = 0, wait_s_ = 0;
  holder holder_ = [](const impurity&, const std::vector<bin_functions>&) {};
  std::shared_ptr<function_store> store_;
  std::vector<walker_functions> functions_;  // those that stay here
  std::uint64_t saved_mark_ = 0;             // of the parts with functions_; 0: none
  int n_walkers_ = 0;                        // of the last run, of all localities
  std::vector<std::size_t> held_bins_;
  std::shared_ptr<monte_carlo_progress> progress_;
};

}  // namespace plx::qmc
