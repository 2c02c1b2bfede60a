// The parquet equations: irreducible and full vertices from the reducible ones of all channels.
//
//   Gamma_d = Lambda_d - 1/2 Phi_d(k,k+q;k'-k) - 3/2 Phi_m(k,k+q;k'-k) + 1/2 Psi_s(k,k';k+k'+q) + 3/2
//   Psi_t(k,k';k+k'+q) Gamma_m = Lambda_m - 1/2 Phi_d(k,k+q;k'-k) + 1/2 Phi_m(k,k+q;k'-k) - 1/2 Psi_s(k,k';k+k'+q) +
//   1/2 Psi_t(k,k';k+k'+q) Gamma_s = Lambda_s + 1/2 Phi_d(k,q-k';k'-k) - 3/2 Phi_m(k,q-k';k'-k) + 1/2
//   Phi_d(k,k';q-k-k') - 3/2 Phi_m(k,k';q-k-k') Gamma_t = Lambda_t - 1/2 Phi_d(k,q-k';k'-k) - 1/2 Phi_m(k,q-k';k'-k) +
//   1/2 Phi_d(k,k';q-k-k') + 1/2 Phi_m(k,k';q-k-k') F = Gamma + Phi
//
// The eight vertices on the right are the rotations: values of other slabs. Thread safety: pure.
// Example: parquet/equations/test/rotation_test.cpp Source: Tam et al. (2013), PRE 87, 013311; Li et al. (2016), PRB
// 93, 165103.
#pragma once

#include "num/dense/matrix.hpp"
#include "parquet/vertex/vertex_reader.hpp"

namespace plx::parquet {

/// Gamma_d and Gamma_m, or Gamma_s and Gamma_t, at any frequencies.
channel_pair irreducible_particle_hole(const vertex_reader& phi, fermion k, fermion kp, boson q) noexcept;
channel_pair irreducible_particle_particle(const vertex_reader& phi, fermion k, fermion kp, boson q) noexcept;

/// The full vertex F of a channel at any frequencies.
std::complex<double> full_vertex(const vertex_reader& phi, channel c, fermion k, fermion kp, boson q) noexcept;

/// The irreducible vertices of two channels on a slab. The row and column of the outside is Lambda.
/// Shapes: a, b: [rows(m)][rows(m)]. Cost: 4 reads per element in either case.
void irreducible_slab(const vertex_reader& phi, bool particle_hole, transfer q, matrix_view<std::complex<double>> a,
                      matrix_view<std::complex<double>> b) noexcept;

}  // namespace plx::parquet
