// Exact results for clusters of up to four sites, beside which the parquet approximation is shown and tested.
//
// Thread safety: pure. Cost: milliseconds. Example: parquet/solver/test/solver_test.cpp
#pragma once

#include <complex>

#include "parquet/green/propagator.hpp"
#include "parquet/vertex/vertex_grid.hpp"
#include "parquet/vertex/vertex_reader.hpp"
#include "qmc/exact/exact_diagonalization.hpp"
#include "qmc/green/matsubara.hpp"

namespace plx::parquet {

/// The largest cluster.
inline constexpr int most_exact_sites = 4;

qmc::exact_diagonalization diagonalize(const hubbard_model& model);

/// Sigma without its Hartree term, and particles per site. Shape: sigma [momentum][n_frequencies].
struct exact_result {
  qmc::matsubara_function sigma;
  double density;
};
/// Requires: at most most_exact_sites sites.
exact_result exact_self_energy(const hubbard_model& model, int n_frequencies);

/// The static susceptibilities of parquet_solution::susceptibility. Requires: as above, and not triplet.
double exact_susceptibility(const hubbard_model& model, channel c, int momentum);

/// The full vertex of the density or magnetic channel, from the two-particle Green's function:
///   F_d = F_uu + F_ud, F_m = F_uu - F_ud,
///   <T c+_k(t1) c_k+q(t2) c+_k'+q(t3) c_k'(0)> - disconnected = -1/N F(k, k'; q) G(k) G(k + q) G(k') G(k' + q).
/// Cost: some 20 ms with four sites.
std::complex<double> exact_vertex(const qmc::exact_diagonalization& e, const qmc::cluster& lattice, channel c,
                                  fermion k, fermion kp, boson q);

}  // namespace plx::parquet
