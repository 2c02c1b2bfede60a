// The errors of a solution of self-gravity: potential and accelerations of points against sums over all pairs, and the
// sums of forces and torques, which vanish for pair forces.
//
// Thread safety: pure. Cost: a square root and two divisions for each sample and point, on the calling thread. Example:
// star/test/gravity_test.cpp, bench/gravity.cpp
#pragma once

#include <cstddef>
#include <span>

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

/// Requires: at least one point at a distance from the others; constant > 0, samples >= 100. The samples are the same
/// in each call for the same number of points.
gravity_errors compare_with_direct_sums(std::span<const gravity_point> points, double constant,
                                        std::size_t samples = 400);

}  // namespace plx::star::gravity
