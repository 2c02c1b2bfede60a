// The Bethe-Salpeter equation of one transfer, as products of matrices.
//
//   Phi(k, k') = sum_k" Gamma(k, k") W(k") F(k", k')
//   W = T/N G(k) G(k + q) (density, magnetic), -+ T/2N G(k) G(q - k) (singlet, triplet)
//
// The outside of the slab is one more value of k": Gamma is Lambda there, F its limit, and W the rest of the bubble,
// X(q) minus the sum over the slab. The product thus has no cutoff in k" but for the decay of Gamma - Lambda and of F
// towards their limits, which leaves an error of second order in 1 / frequencies.
// Thread safety: pure. Cost: 8 rows^3 flops. Example: parquet/equations/test/bethe_salpeter_test.cpp
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <vector>

#include "num/dense/matrix.hpp"
#include "parquet/green/propagator.hpp"
#include "parquet/vertex/vertex_grid.hpp"

namespace plx::parquet {

/// Results of an iteration on a slab besides its new vertices.
struct slab_report {
  double change = 0;                                 // the largest residual
  std::array<double, 4> asymmetry{}, eigenvalues{};  // [channel]
};

/// W of a slab; the last element is that of the outside. Shape: [rows(m)].
std::vector<std::complex<double>> pair_weights(const vertex_grid& grid, const propagator& g, channel c, transfer q);

/// phi = gamma W f, where row i of f is scaled by weights[i] in place. Shapes: [rows][rows].
void solve_bethe_salpeter(matrix_view<const std::complex<double>> gamma,
                          const std::vector<std::complex<double>>& weights, matrix_view<std::complex<double>> f,
                          matrix_view<std::complex<double>> phi);

/// False only if |z| < largest, also after rounding: a maximum of sizes needs hypot(), some 20 ns, for few elements.
/// The squares are compared with a margin far above their rounding errors; where they underflow, or for NaN, it is
/// true.
inline bool may_exceed(double largest, std::complex<double> z) noexcept {
  const double square = z.real() * z.real() + z.imag() * z.imag();
  return !(largest > 1e-150 && square < 0.999 * (largest * largest));
}

/// Replaces the reducible vertex of a slab by its mean over the symmetries that keep the slab: exchange of k and k',
/// of the two lines of each pair (odd in the triplet channel), and time reversal. Returns the largest change.
/// Shape: phi [rows][rows].
double symmetrize(const vertex_grid& grid, channel c, transfer q, matrix_view<std::complex<double>> phi);
/// The same with the partners of the slab.
double symmetrize(channel c, const std::int32_t* partners, matrix_view<std::complex<double>> phi);
/// The row of the other line of the pair of each row: -(k + q) for particle-hole, by inversion; q - k for
/// particle-particle. Both reverse the order of the slab's frequencies. Shape: [rows(m)].
std::vector<std::int32_t> slab_partners(const vertex_grid& grid, bool particle_hole, transfer q);

}  // namespace plx::parquet
