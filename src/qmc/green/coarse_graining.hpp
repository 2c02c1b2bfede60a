// Means over the patches of momenta: the step from the lattice to the cluster.
//
// The integrand depends on the wave vector through eps_k alone, so that a mean over a patch is an integral over the
// density of states of that patch. Its Gauss quadrature is computed once, from a fine quadrature over the patch's
// polygon. Thread safety: const functions from any thread. Example: qmc/green/test/green_test.cpp
// Source: Maier, Jarrell, Pruschke, Hettler (2005), section II; Golub, Welsch (1969) and Gragg, Harwood (1984) for the
// rule.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "qmc/cluster/cluster.hpp"
#include "qmc/green/matsubara.hpp"

namespace plx::qmc {

/// Nodes eps_j and weights w_j for one momentum: the mean of f(eps_k) over its patch is sum_j w_j f(eps_j). The weights
/// sum to 1.
struct patch_states {
  std::vector<double> energies, weights;
  double mean() const;
};

/// A point of a patch relative to its momentum. The weights sum to 1.
struct patch_point {
  double x = 0, y = 0, weight = 0;
};
/// A quadrature of n^2 points per triangle between the centre of a polygon and one of its sides.
std::vector<patch_point> patch_points(const std::vector<std::array<double, 2>>& polygon, int n);

class coarse_graining {
 public:
  /// n_nodes: of the rule. The error is about exp(-2 n_nodes w / D), where w is the lowest frequency and D the width of
  /// the patch's energies, at most 8t. n_nodes = 1 takes the energy of the momentum itself: the periodic cluster
  /// instead of the lattice. Cost: about 0.1 s per momentum that no symmetry maps to an earlier one.
  coarse_graining(const cluster& c, const dispersion& e, int n_nodes = 128);

  int n_momenta() const noexcept { return static_cast<int>(patches_.size()); }
  const patch_states& patch(int k) const noexcept { return patches_[k]; }

  /// The mean of 1 / (iw + mu - eps_k - Sigma(K, iw)) over each patch. Shape: that of sigma.
  matsubara_function green(const matsubara_function& sigma, double mu, double beta) const;
  /// The mean of G(k, iw) G(-k, -iw) = |G(k, iw)|^2 over each patch, for the first n_frequencies; real.
  matsubara_function pair_bubble(const matsubara_function& sigma, double mu, double beta, int n_frequencies) const;
  /// Particles of both spins per site, for a self-energy that decays as 1/w.
  double density(const matsubara_function& sigma, double mu, double beta) const;
  /// The mean over the zone of eps_k n_k, both spins, per site. Requires: as density(); `limit` is the self-energy's
  /// real limit at high frequencies.
  double kinetic_energy(const matsubara_function& sigma, double mu, double limit, double beta) const;
  /// The chemical potential at which the density is `target` within 1e-10. Error: no mu within 100 of the band has it.
  result<double> find_mu(const matsubara_function& sigma, double target, double beta) const;

 private:
  std::vector<patch_states> patches_;
};

/// G0 = 1 / (1 / Gbar + Sigma): the propagator of the cluster without the interaction on it.
matsubara_function exclude_cluster(const matsubara_function& mean_green, const matsubara_function& sigma);

/// Replaces a function by its mean over the cluster's point group.
void symmetrize(const cluster& c, matsubara_function& f);

}  // namespace plx::qmc
