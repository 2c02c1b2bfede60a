#include "qmc/walker/free_propagator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "num/clones.hpp"

namespace plx::qmc {

free_propagator::free_propagator(const cluster& c, const matsubara_function& g0, const std::vector<double>& moments,
                                 double beta, int n_intervals)
    : beta_(beta), scale_(n_intervals / beta), n_sites_(c.n_sites()), n_intervals_(n_intervals) {
  PLX_ASSERT(g0.n_momenta() == n_sites_ && static_cast<int>(moments.size()) == n_sites_, g0.n_momenta(),
             moments.size());
  PLX_ASSERT(n_intervals >= 1, n_intervals);
  const int n = n_sites_;
  difference_.resize(static_cast<std::size_t>(n) * n);
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b) difference_[static_cast<std::size_t>(a) * n + b] = c.difference(a, b);
  std::vector<imaginary_time_function> of_momentum;
  for (int k = 0; k < n; ++k) of_momentum.emplace_back(g0.of_momentum(k), g0.n_frequencies(), moments[k], beta);

  // Each interval has the cubic polynomial through its four Chebyshev points.
  std::array<double, 4> place;
  for (int p = 0; p < 4; ++p) place[p] = 0.5 - 0.5 * std::cos(std::numbers::pi * (p + 0.5) / 4);
  table_.resize(static_cast<std::size_t>(n) * n_intervals);
  std::vector<double> at_momentum(n);
  std::vector<std::array<double, 4>> value(n);
  for (int i = 0; i < n_intervals; ++i) {
    for (int p = 0; p < 4; ++p) {
      for (int k = 0; k < n; ++k) at_momentum[k] = of_momentum[k]((i + place[p]) / scale_);
      for (int r = 0; r < n; ++r) {
        value[r][p] = 0;
        for (int k = 0; k < n; ++k) value[r][p] -= c.phase(k, r).real() * at_momentum[k] / n;
      }
    }
    for (int r = 0; r < n; ++r) {
      // Newton's divided differences, then powers of t.
      std::array<double, 4> d = value[r];
      for (int order = 1; order < 4; ++order)
        for (int p = 3; p >= order; --p) d[p] = (d[p] - d[p - 1]) / (place[p] - place[p - order]);
      std::array<double, 4> power = {d[3], 0, 0, 0};
      for (int p = 2; p >= 0; --p) {
        for (int q = 3; q > 0; --q) power[q] = power[q - 1] - place[p] * power[q];
        power[0] = d[p] - place[p] * power[0];
      }
      std::copy(power.begin(), power.end(), table_[static_cast<std::size_t>(r) * n_intervals + i].power);
    }
  }
}

PLX_NUM_CLONES void free_propagator::both(int a, double tau, std::span<const int> sites, const double* taus,
                                          double* out, double* back) const noexcept {
  const int* difference = &difference_[static_cast<std::size_t>(a) * n_sites_];
  const int last = n_intervals_ - 1;
  for (std::size_t j = 0; j < sites.size(); ++j) {
    const double t = tau - taus[j], sign = t < 0 ? -1.0 : 1.0, x = (t < 0 ? t + beta_ : t) * scale_;
    const int i = std::min(static_cast<int>(x), last);
    const double* first = table_[static_cast<std::size_t>(difference[sites[j]]) * n_intervals_].power;
    // beta - t is at the mirrored place of the mirrored interval.
    const double *c = first + 4 * static_cast<std::ptrdiff_t>(i),
                 *d = first + 4 * static_cast<std::ptrdiff_t>(last - i);
    const double y = x - i, z = 1 - y;
    out[j] = sign * (c[0] + y * (c[1] + y * (c[2] + y * c[3])));
    back[j] = -sign * (d[0] + z * (d[1] + z * (d[2] + z * d[3])));
  }
}

}  // namespace plx::qmc
