// Sums of exp(i (2n + 1) pi x_j) over points x_j at arbitrary places, for many n: the transform of antiperiodic
// functions such as fermionic Green's functions, where x = tau / beta.
//
// Each point is spread over eight neighbours of a uniform grid by a smooth window; a sum over the grid, divided by the
// window's transform, gives the result. Both steps are linear, so that the points of many measurements are spread into
// one grid, which is transformed once.
// Thread safety: const functions from any thread. Cost: about 45 cycles per point; O(n^2) per transform of a grid.
// Accuracy: 5e-7 of the sum of |c_j|. Example: num/test/nonuniform_fourier_test.cpp
// Source: Dutt, Rokhlin (1993); the window is that of Barnett, Magland, af Klinteberg (2019).
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <span>
#include <vector>

namespace plx {

class nonuniform_fourier {
 public:
  static constexpr int width = 8;    // grid points that one point is spread to
  static constexpr int degree = 11;  // of the polynomials that stand for the window between grid points

  /// For n = 0 ... n_frequencies - 1. Requires: n_frequencies >= 1.
  explicit nonuniform_fourier(int n_frequencies);

  int n_frequencies() const noexcept { return n_frequencies_; }
  /// Length of a grid.
  std::size_t grid_size() const noexcept { return static_cast<std::size_t>(n_points_) + width; }

  /// Adds the point x with the coefficient c to a grid. Requires: -1 < x < 1.
  void spread(double x, double c, double* grid) const noexcept {
    if (x < 0) {
      x += 1;
      c = -c;
    }
    const double scaled = x * n_points_;
    const int first = static_cast<int>(scaled);
    const double t = 2 * (scaled - first) - 1;
    double* at = grid + first;
    double value[width];
    for (int i = 0; i < width; ++i) value[i] = window_[degree][i];
    for (int d = degree - 1; d >= 0; --d)
      for (int i = 0; i < width; ++i) value[i] = value[i] * t + window_[d][i];
    for (int i = 0; i < width; ++i) at[i] += c * value[i];
  }

  /// The sums over j of c_j exp(i (2n + 1) pi x_j). Shapes: grid [grid_size()], out [n_frequencies()].
  void transform(std::span<const double> grid, std::span<std::complex<double>> out) const;

 private:
  int n_frequencies_, n_points_;
  std::array<std::array<double, width>, degree + 1> window_;  // coefficients of powers of t in [-1, 1]
  std::vector<double> correction_;                            // one over the transform of the window
};

}  // namespace plx
