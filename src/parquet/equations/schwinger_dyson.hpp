// The Schwinger-Dyson equation: the self-energy from the limits of the reducible vertices.
//
//   Sigma(k) = Sigma_2(k) - T/2N sum_q [Phi_d(k, out; q) + Phi_m(k, out; q) - 2 U^2 X_ph(q)] G(k + q)
//
// It is the usual form, -U T^2/2N^2 sum [F_d - F_m](k, k'; q) G(k') G(k + q) G(k' + q), after the sum over k': that sum
// is the limit of the reducible vertex at large nu':
//
//   Phi_r(k, out; q) = Lambda_r T/N sum_k' F_r(k, k'; q) G(k') G(k' + q)
//
// The part of second order is summed without a cutoff in w. The Hartree term is not included.
// Thread safety: runs a parallel loop and belongs in a task. Cost: O(N^2 F bosons).
// Example: parquet/solver/test/solver_test.cpp
#pragma once

#include "parquet/vertex/vertex_limits.hpp"
#include "qmc/green/matsubara.hpp"

namespace plx::parquet {

/// Shape: [momentum][F], for the F frequencies of the propagator's self-energy.
qmc::matsubara_function schwinger_dyson(const vertex_limits& phi, const propagator& g);

}  // namespace plx::parquet
