// The results of functions of two particles: susceptibilities and eigenvalues without each bin and of the mean of
// all, on the localities that hold the bins.
//
// A function is needed as the sum over all bins, in their order, and without one of them. The sum travels along the
// localities, each of which adds its bins; then each evaluates the rows of its own bins. So no locality receives the
// bins of others, and the bits do not depend on where they are.
//
// Thread safety: functions are called by one task per locality; actions of other localities run meanwhile. Cost: per
// function the elements of one bin along all localities and back, and once to each; a task that waits polls for a stop
// every 10 ms. Errors: locality_lost. Example: qmc/dca/test/distributed_test.cpp
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "net/team.hpp"
#include "qmc/pairing/transfer_bubble.hpp"
#include "qmc/solver/monte_carlo.hpp"

namespace plx::qmc {

class function_results {
 public:
  /// Made on each locality of a job before any of them evaluates. All references, and what stop() and held bins refer
  /// to, must outlive the object; expansion_k: monte_carlo_options::k; stop(), or null: whether a stop was requested on
  /// any locality, called by any task.
  function_results(team members, const four_point_set& set, const transfer_bubble& bubble, double expansion_k,
                   std::function<bool()> stop = nullptr);
  /// Waits for actions that use the object, whose rows end as by a stop. Later ones fail: locality_lost, if one is
  /// lost.
  ~function_results();
  function_results(const function_results&) = delete;
  function_results& operator=(const function_results&) = delete;

  /// The bins that this locality holds, in the order of the walkers, after those of lower ranks. Their sums must not
  /// change until the next call. Called on each locality, before the root evaluates.
  void hold(const impurity& problem, std::vector<bin_functions> bins);

  /// Rows of a jackknife, [bin or mean][function, 4]: cluster, lattice, bubble, leading of transfer_susceptibility; and
  /// the means of the functions.
  struct table {
    std::vector<std::vector<double>> rows;
    std::vector<complex_matrix> means;
  };
  /// rows: of means without each bin, and of all, as of rows_of(); counts: the bins that each locality holds. Called on
  /// the root, while the others serve. Returns false after a stop. Error: one line, if a function cannot be inverted.
  result<bool> evaluate(std::span<const std::vector<double>> rows, std::span<const std::size_t> counts, table& out);

  // Called by actions. The sum of a function over the bins before this locality's, to which these and those of higher
  // ranks are added.
  future<std::vector<double>> add_bins(std::size_t f, std::vector<double> sum);
  // The one-particle parts of the rows of this locality's bins, one after the other; n: of all bins.
  void take_rows(std::vector<double> rows, std::size_t n);
  // [row of this locality][4]; or a message of what failed; or neither, if stopped.
  using values = std::pair<std::string, std::vector<double>>;
  values evaluate_held(std::size_t f, const std::vector<double>& sum) const;

 private:
  static result<bool> enter(std::span<const values> all, const result<std::vector<double>>& of_mean,
                            std::span<const std::size_t> counts, std::size_t f, table& out);
  bool stops() const { return ending_ || (stop_ && stop_()); }
  template <class T>
  T wait(future<T> f) const;
  std::size_t elements() const noexcept;  // numbers of a function
  // Calls add(element, value) for the function f of a bin.
  template <class F>
  void for_each(std::size_t f, const bin_functions& bin, F&& add) const;
  result<std::vector<double>> evaluate_row(std::size_t f, std::span<const double> row, complex_matrix mean) const;

  team members_;
  const four_point_set& set_;
  const transfer_bubble& bubble_;
  double expansion_k_;
  std::function<bool()> stop_;
  std::atomic<bool> ending_{false};
  impurity problem_;
  std::vector<bin_functions> bins_;
  std::vector<double> rows_;
  std::size_t n_bins_ = 0;  // of all localities
};

}  // namespace plx::qmc
