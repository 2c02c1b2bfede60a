// The results of a temperature from the bins of its last iteration, with errors by a jackknife through the whole of G,
// Sigma, P, Gamma and the bubble.
//
// Thread safety: any task; bins are evaluated by tasks of their own, and combined in their order. Cost: once per bin
// the work of one evaluation; the Bethe-Salpeter equation dominates for many sites. Example: qmc/dca/test/dca_test.cpp
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "qmc/dca/dca.hpp"

namespace plx::qmc {

class function_results;

/// Sigma = 1 / G0 - 1 / G; at high frequencies, where its noise exceeds it, the two leading terms: U (n - 1) / 2, and
/// a coefficient of 1 / iw that is fitted to lower ones.
matsubara_function self_energy_of(const matsubara_function& g0, const matsubara_function& g, double u, double n,
                                  double beta);

/// Functions of two particles, the bins of which each locality holds, and how many.
struct transfers {
  function_results& results;
  const four_point_set& functions;
  std::span<const std::size_t> held_bins;
};

/// Sets everything of `t` but temperature, mu, density, double occupancy and sign. Returns false if stop() (or
/// nullptr), which is called by any task, returned true, or that of `more` did: then `t` is incomplete. Shape: rows as
/// of rows_of(), without functions of two particles. Error: one line, if a matrix cannot be inverted.
result<bool> conclude(const dca_options& options, const coarse_graining& grain, const transfers& more,
                      const impurity& p, const std::vector<std::vector<double>>& rows,
                      const std::function<bool()>& stop, dca_temperature& t);

}  // namespace plx::qmc
