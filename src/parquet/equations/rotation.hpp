// The parquet equations: irreducible and full vertices from the reducible ones of all channels.
//
//   Gamma_d = Lambda_d - 1/2 Phi_d(k,k+q;k'-k) - 3/2 Phi_m(k,k+q;k'-k)
//                      + 1/2 Psi_s(k,k';k+k'+q) + 3/2 Psi_t(k,k';k+k'+q)
//   Gamma_m = Lambda_m - 1/2 Phi_d(k,k+q;k'-k) + 1/2 Phi_m(k,k+q;k'-k)
//                      - 1/2 Psi_s(k,k';k+k'+q) + 1/2 Psi_t(k,k';k+k'+q)
//   Gamma_s = Lambda_s + 1/2 Phi_d(k,q-k';k'-k) - 3/2 Phi_m(k,q-k';k'-k)
//                      + 1/2 Phi_d(k,k';q-k-k') - 3/2 Phi_m(k,k';q-k-k')
//   Gamma_t = Lambda_t - 1/2 Phi_d(k,q-k';k'-k) - 1/2 Phi_m(k,q-k';k'-k)
//                      + 1/2 Phi_d(k,k';q-k-k') + 1/2 Phi_m(k,k';q-k-k')
//   F = Gamma + Phi
//
// The eight vertices on the right are the rotations: values of other slabs. Thread safety: pure.
// Example: parquet/equations/test/rotation_test.cpp
// Source: Tam et al. (2013), PRE 87, 013311; Li et al. (2016), PRB 93, 165103.
#pragma once

#include <array>
#include <vector>

#include "num/dense/matrix.hpp"
#include "parquet/vertex/vertex_reader.hpp"

namespace plx::parquet {

/// The eight rotated vertices are two channels each of four rotations. The first two enter Gamma_d and Gamma_m, the
/// others Gamma_s and Gamma_t.
enum class rotation { crossed, pairs, direct, exchanged };
inline constexpr std::array all_rotations = {rotation::crossed, rotation::pairs, rotation::direct, rotation::exchanged};
/// Whether a rotation enters the particle-hole channels, and whether it reads them.
inline bool enters_particle_hole(rotation r) noexcept { return r == rotation::crossed || r == rotation::pairs; }
inline bool reads_particle_hole(rotation r) noexcept { return r != rotation::pairs; }

/// Arguments of a vertex.
struct vertex_place {
  fermion k, kp;
  boson q;
};
/// Where a rotation reads for (k, k'; q): (k, k + q; k' - k), (k, k'; k + k' + q), (k, q - k'; k' - k) or
/// (k, k'; q - k - k').
vertex_place rotated(const qmc::cluster& c, rotation r, fermion k, fermion kp, boson q) noexcept;
/// The k' for which a rotation of (k, k'; q) reads at the transfer `source`.
fermion partner(const qmc::cluster& c, rotation r, fermion k, boson q, boson source) noexcept;

inline channel_pair read(const vertex_reader& phi, rotation r, const vertex_place& at) noexcept {
  return reads_particle_hole(r) ? phi.particle_hole(at.k, at.kp, at.q) : phi.particle_particle(at.k, at.kp, at.q);
}

/// The contribution of a rotation to Gamma of the two channels that it enters, with Lambda in that of the first one.
inline channel_pair contribution(rotation r, double u, const channel_pair& v) noexcept {
  switch (r) {
    case rotation::crossed:
      return {bare_vertex(channel::density, u) - 0.5 * v.a - 1.5 * v.b,
              bare_vertex(channel::magnetic, u) - 0.5 * v.a + 0.5 * v.b};
    case rotation::pairs:
      return {0.5 * v.a + 1.5 * v.b, 0.5 * v.b - 0.5 * v.a};
    case rotation::direct:
      return {bare_vertex(channel::singlet, u) + 0.5 * v.a - 1.5 * v.b,
              bare_vertex(channel::triplet, u) - 0.5 * v.a - 0.5 * v.b};
    case rotation::exchanged:
      break;
  }
  return {0.5 * v.a - 1.5 * v.b, 0.5 * v.a + 0.5 * v.b};
}

/// Gamma from both contributions: a sum that begins at zero, so that any order gives the same bits, those of zeros
/// included.
inline channel_pair combine(const channel_pair& one, const channel_pair& two) noexcept {
  constexpr std::complex<double> zero = 0;
  return {zero + one.a + two.a, zero + one.b + two.b};
}

/// Gamma_d and Gamma_m, or Gamma_s and Gamma_t, at any frequencies.
channel_pair irreducible_particle_hole(const vertex_reader& phi, fermion k, fermion kp, boson q) noexcept;
channel_pair irreducible_particle_particle(const vertex_reader& phi, fermion k, fermion kp, boson q) noexcept;

/// The full vertex F of a channel at any frequencies.
std::complex<double> full_vertex(const vertex_reader& phi, channel c, fermion k, fermion kp, boson q) noexcept;

/// The momenta of a rotation at the transfer Q, for all K and K': place.k.k is K. Shape: [K'][K].
class rotation_momenta {
 public:
  rotation_momenta(const qmc::cluster& c, rotation r, int q);
  int second(int k, int kp) const noexcept { return second_[kp * n_ + k]; }
  int transfer(int k, int kp) const noexcept { return transfer_[kp * n_ + k]; }

 private:
  int n_;
  std::vector<int> second_, transfer_;
};

/// The irreducible vertices of two channels on a slab. The row and column of the outside is Lambda.
/// Shapes: a, b: [rows(m)][rows(m)]. Cost: 4 reads per element in either case.
void irreducible_slab(const vertex_reader& phi, bool particle_hole, transfer q, matrix_view<std::complex<double>> a,
                      matrix_view<std::complex<double>> b) noexcept;

/// Sets the row and column of the outside to Lambda.
void set_outside(bool particle_hole, double u, matrix_view<std::complex<double>> a,
                 matrix_view<std::complex<double>> b) noexcept;

}  // namespace plx::parquet
