// The results of a temperature from the bins of its last iteration, with errors by a jackknife through the whole of G,
// Sigma, P, Gamma and the bubble.
//
// Thread safety: any task. Cost: once per bin the work of one evaluation; the Bethe-Salpeter equation
// dominates for many sites.
// Example: qmc/dca/test/dca_test.cpp
#pragma once

#include <atomic>
#include <vector>

#include "base/result.hpp"
#include "qmc/dca/dca.hpp"
#include "qmc/pairing/transfer_bubble.hpp"

namespace plx::qmc {

/// Sigma = 1 / G0 - 1 / G; at high frequencies, where its noise exceeds it, the two leading terms: U (n - 1) / 2, and
/// a coefficient of 1 / iw that is fitted to lower ones.
matsubara_function self_energy_of(const matsubara_function& g0, const matsubara_function& g, double u, double n,
                                  double beta);

/// Functions of two particles with their bubble.
struct transfers {
  const transfer_bubble& bubble;
  const four_point_set& functions;
};

/// Sets everything of `t` but temperature, mu, density, double occupancy and sign. Returns false if `stop` (or nullptr)
/// became true: then `t` is incomplete. Shape: rows as of rows_of(). Error: one line, if a matrix cannot be inverted.
result<bool> conclude(const dca_options& options, const coarse_graining& grain, const transfers& more,
                      const impurity& p, const std::vector<std::vector<double>>& rows, const std::atomic<bool>* stop,
                      dca_temperature& t);

}  // namespace plx::qmc
