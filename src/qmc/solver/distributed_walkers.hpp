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
#include <memory>
#include <vector>

#include "net/team.hpp"
#include "qmc/solver/monte_carlo.hpp"
#include "rt/future.hpp"

namespace plx::qmc {

class distributed_walkers {
 public:
  /// stop: requests a stop on this locality once it is true; or null. It must outlive this object.
  distributed_walkers(team members, std::shared_ptr<const cluster> lattice, const std::atomic<bool>* stop);

  bool is_root() const noexcept { return members_.rank() == 0; }
  /// Runs the walkers of all localities. options.stop is not used. Called on the root, while the others serve.
  monte_carlo_result run(const impurity& problem, monte_carlo_options options);
  /// Ends serve() on the others. Called on the root.
  void end();
  /// Runs the walkers of this locality for the root until it calls end(). Called on the others.
  void serve();

  /// Whether a stop was requested on any locality.
  bool stop_requested() const noexcept;
  /// Bytes that the root has sent and received in the last run().
  double bytes() const noexcept { return bytes_; }
  /// The time from the end of the root's walkers to the arrival of the last bin in the last run(), seconds.
  double wait_s() const noexcept { return wait_s_; }

 private:
  int first_walker(int walkers, unsigned rank) const noexcept;
  std::vector<double> work_of(const impurity& problem, const monte_carlo_options& options, unsigned rank) const;
  std::vector<double> run_share(const std::vector<double>& work);
  template <class T>
  T wait(future<T> f);
  void spread_stop();

  team members_;
  std::shared_ptr<const cluster> lattice_;
  const std::atomic<bool>* signal_;
  std::atomic<bool> stopping_{false};
  double bytes_ = 0, wait_s_ = 0;
};

}  // namespace plx::qmc
