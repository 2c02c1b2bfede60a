// The errors of a solution of self-gravity: potential and accelerations of points against sums over all pairs, and the
// sums of forces and torques, which vanish for pair forces.
//
// Thread safety: pure. Cost: a square root and two divisions for each sample and point, on the calling thread.
// Example: star/test/gravity_test.cpp, bench/gravity.cpp
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "base/assert.hpp"
#include "star/gravity/passes.hpp"

namespace plx::star::gravity {

/// A cell and what a solver found for it.
struct gravity_point {
  double x[3];  ///< centre
  double mass, width;
  double potential, acceleration[3];
};

/// Relative errors of the samples and sums over all points.
struct gravity_errors {
  double median, most;      ///< of accelerations; the 99th percentile
  double potential;         ///< the 99th percentile
  double momentum, torque;  ///< |sum of forces| / sum of |forces|; of torques about the origin, over |force| |x|
};

// Sets momentum and torque.
inline void add_up(std::span<const gravity_point> points, gravity_errors& to) {
  double force[3] = {}, torque[3] = {}, force_size = 0.0, torque_size = 0.0;
  for (const gravity_point& p : points) {
    double g2 = 0.0, r2 = 0.0;
    for (int a = 0; a < 3; ++a) {
      const int b = (a + 1) % 3, c = (a + 2) % 3;
      force[a] += p.mass * p.acceleration[a];
      torque[a] += p.mass * (p.x[b] * p.acceleration[c] - p.x[c] * p.acceleration[b]);
      g2 += p.acceleration[a] * p.acceleration[a], r2 += p.x[a] * p.x[a];
    }
    force_size += p.mass * std::sqrt(g2), torque_size += p.mass * std::sqrt(g2 * r2);
  }
  to.momentum = std::hypot(force[0], force[1], force[2]) / force_size;
  to.torque = std::hypot(torque[0], torque[1], torque[2]) / torque_size;
}

/// Requires: at least one point at a distance from the others; constant > 0, samples >= 100. The samples are the same
/// in each call for the same number of points.
inline gravity_errors compare_with_direct_sums(std::span<const gravity_point> points, double constant,
                                               std::size_t samples = 400) {
  PLX_ASSERT(constant > 0.0 && samples >= 100 && points.size() > 1, samples);
  gravity_errors errors{};
  add_up(points, errors);
  std::vector<double> accelerations, potentials;
  std::mt19937 any(7);
  for (std::size_t i = 0; i < samples; ++i) {
    const gravity_point& p = points[any() % points.size()];
    double potential = -own_part * p.mass / p.width, g[3] = {};
    for (const gravity_point& q : points) {
      if (&q == &p) continue;
      const double d[3] = {p.x[0] - q.x[0], p.x[1] - q.x[1], p.x[2] - q.x[2]};
      const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], part = q.mass / std::sqrt(r2);
      potential -= part;
      for (int a = 0; a < 3; ++a) g[a] -= part / r2 * d[a];
    }
    const auto miss = [&](int a) { return p.acceleration[a] - constant * g[a]; };
    accelerations.push_back(std::hypot(miss(0), miss(1), miss(2)) / (constant * std::hypot(g[0], g[1], g[2])));
    potentials.push_back(std::abs(p.potential / (constant * potential) - 1.0));
  }
  std::sort(accelerations.begin(), accelerations.end());
  std::sort(potentials.begin(), potentials.end());
  const std::size_t last = samples - 1 - samples / 100;
  errors.median = accelerations[samples / 2], errors.most = accelerations[last], errors.potential = potentials[last];
  return errors;
}

}  // namespace plx::star::gravity
