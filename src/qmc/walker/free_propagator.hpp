// The propagator of the cluster without interaction, tabulated for the walkers.
//
// Thread safety: const functions from any thread. Cost of a lookup: one cubic polynomial, about 3 ns from the L2 cache.
// The table takes 32 bytes per interval and site. Example: qmc/walker/test/walker_test.cpp
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "qmc/cluster/cluster.hpp"
#include "qmc/green/matsubara.hpp"

namespace plx::qmc {

/// g0(r, tau) = <T c_r(tau) c+_0(0)> = -G0(r, tau): positive for r = 0 and 0 < tau < beta.
class free_propagator {
 public:
  /// From G0(K, iw) and the second moments of each momentum (eps_K - mu, or the mean of eps over the patch minus mu).
  /// The error of the interpolation is about 1e-4 (width h)^4 with h = beta / n_intervals and the width of the band.
  free_propagator(const cluster& c, const matsubara_function& g0, const std::vector<double>& moments, double beta,
                  int n_intervals = 1024);

  double beta() const noexcept { return beta_; }
  int n_sites() const noexcept { return n_sites_; }
  /// The index of r_a - r_b.
  int difference(int a, int b) const noexcept { return difference_[static_cast<std::size_t>(a) * n_sites_ + b]; }

  /// g0(r_a - r_b, tau). Requires: -beta <= tau <= beta. At tau = 0 the limit from above.
  double operator()(int a, int b, double tau) const noexcept {
    return tau < 0 ? -positive(difference(a, b), tau + beta_) : positive(difference(a, b), tau);
  }
  /// g0(r_a - r_b, tau) and g0(r_b - r_a, -tau). Requires: as above, tau not zero.
  std::pair<double, double> both(int a, int b, double tau) const noexcept {
    // Inversion is a symmetry of every cluster: g0(-r) = g0(r).
    const int r = difference(a, b);
    if (tau < 0) return {-positive(r, tau + beta_), positive(r, -tau)};
    return {positive(r, tau), -positive(r, beta_ - tau)};
  }
  /// As above for tau - taus[j] and the sites[j], without branches: out[j] and back[j]. Shapes: [sites.size()].
  void both(int a, double tau, std::span<const int> sites, const double* taus, double* out,
            double* back) const noexcept;

 private:
  double positive(int r, double tau) const noexcept {
    const double x = tau * scale_;
    int i = static_cast<int>(x);
    if (i >= n_intervals_) i = n_intervals_ - 1;
    const double t = x - i;
    const double* c = table_[static_cast<std::size_t>(r) * n_intervals_ + i].power;
    return c[0] + t * (c[1] + t * (c[2] + t * c[3]));
  }

  double beta_, scale_;
  int n_sites_, n_intervals_;
  std::vector<int> difference_;
  struct alignas(32) polynomial {  // in one line of the cache
    double power[4];               // coefficients of powers of the place in the interval
  };
  std::vector<polynomial> table_;  // [difference][interval]
};

}  // namespace plx::qmc
