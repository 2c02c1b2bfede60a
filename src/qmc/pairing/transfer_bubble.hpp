// The product of two Green's functions of the lattice with a transfer of momentum and frequency, as a mean over the
// patches: the Bethe-Salpeter equation's free part.
//
// Thread safety: const functions from any thread. Cost per function of four_point and call: about a hundred thousand
// products of Green's functions. Example: qmc/measure/test/four_point_test.cpp
#pragma once

#include <complex>
#include <vector>

#include "qmc/green/coarse_graining.hpp"
#include "qmc/measure/four_point.hpp"

namespace plx::qmc {

class transfer_bubble {
 public:
  /// lattice = false: the momentum itself instead of its patch, for the periodic cluster. The cluster must outlive this
  /// object.
  transfer_bubble(const cluster& c, const dispersion& e, bool lattice);

  /// X0(x): the mean over the patch of G(k, w) G(q - k, Omega - w) for particle_particle, else of -G(k, w) G(k + q, w +
  /// Omega). The patch's quadrature is finer in the first n_fine frequencies. Shape: pair_index(n_sites,
  /// n_frequencies). Requires: sigma has n_frequencies + f.frequency.
  std::vector<std::complex<double>> operator()(const four_point& f, const matsubara_function& sigma, double mu,
                                               double beta, int n_frequencies, int n_fine) const;

 private:
  struct energies {
    double own, partner, weight;
  };
  using rule = std::vector<energies>;
  rule rule_of(const four_point& f, int k, bool fine) const;

  const cluster* cluster_;
  dispersion dispersion_;
  std::vector<patch_point> fine_, coarse_;
};

/// Physical susceptibilities of one function, per site: the integral over tau of exp(i Omega tau) <A(tau) A+(0)> with
/// A = N^-1/2 sum_r exp(-i q r) a_r; a = Sz for magnetic and (its equal) transverse, n_u + n_d for charge, without the
/// product of the means, and c_u c_d for particle_particle.
struct transfer_susceptibility {
  double cluster = 0, lattice = 0;  // of the cluster, and with the lattice's Green's functions
  double bubble = 0;                // of the lattice without vertex
  double leading = 0;               // eigenvalue of X0 Gamma on the lattice with the largest real part: that part
};

/// X^-1 = X0^-1 - Gamma: Gamma of the cluster, X of the lattice. Where a frequency is beyond the window, Gamma is that
/// of first order, the constant g = +-u / (beta N): with D = Gamma - g in the window, the sum of X over all frequencies
/// is A / (1 - g A), A the sum of (X0^-1 - D)^-1. All frequencies beyond the window are one more row and column of X0
/// Gamma, because Gamma is constant there; where its leading eigenvalue reaches 1, X diverges. Shapes: x [window
/// size][window size], mean of the function; g of the cluster, sigma [momentum][frequency]. Error: x cannot be
/// inverted.
result<transfer_susceptibility> solve_transfer(const cluster& c, const pair_index& window, const four_point& f,
                                               complex_matrix x, const matsubara_function& g,
                                               const matsubara_function& sigma, const transfer_bubble& bubble, double u,
                                               double mu, double beta);

}  // namespace plx::qmc
