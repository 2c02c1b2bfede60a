// The Bethe-Salpeter equation of pairs on the lattice, with the irreducible vertex of the cluster.
//
//   Gamma = P0^-1 - P^-1 on the cluster, P0 = |G(K, w)|^2;   sqrt(X0) Gamma sqrt(X0) phi = lambda phi,
//
// where X0(K, w) is the mean over the patch of G(k, w) G(-k, -w) on the lattice. A superconducting transition is where
// the largest lambda reaches 1. All matrices are real and symmetric (measure/pair_function.hpp).
// Thread safety: functions. Cost: O(size^3). Example: qmc/pairing/test/pairing_test.cpp
// Source: Maier, Jarrell, Pruschke, Hettler (2005), section II.E; Maier, Jarrell, Scalapino (2006), Phys. Rev. Lett.
// 96, 047005.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "num/dense/matrix.hpp"
#include "qmc/measure/pair_function.hpp"

namespace plx::qmc {

/// A vector with at least this overlap with the form cos kx - cos ky is a d-wave.
inline constexpr double least_overlap = 0.7;

struct pairing_solution {
  double leading = 0;  // the largest eigenvalue
  // The largest eigenvalue of d-waves; if there is none, that of the vector with the largest overlap.
  double d_wave = 0;
  double d_wave_overlap = 0;  // of that vector at w = +- pi / beta with the form, between 0 and 1
};

/// Shapes: pairs [size][size]; g [momentum][at least n_frequencies]; bubble [momentum][n_frequencies] (its real part is
/// used). Error: the pair function cannot be inverted.
result<pairing_solution> solve_pairing(const cluster& c, const pair_index& index, matrix_view<const double> pairs,
                                       const matsubara_function& g, const matsubara_function& bubble);

}  // namespace plx::qmc
