#include "num/nonuniform_fourier.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/assert.hpp"
#include "num/clones.hpp"
#include "num/quadrature.hpp"

namespace plx {
namespace {

constexpr int oversampling = 2;

// The window over [-width / 2, width / 2], in units of the grid spacing. The exponent is for twofold oversampling.
double window(double u) {
  const double z = 2 * u / nonuniform_fourier::width, inside = 1 - z * z;
  return inside > 0 ? std::exp(2.30 * nonuniform_fourier::width * (std::sqrt(inside) - 1)) : 0;
}

// Coefficients of powers of t of the polynomial through f at the Chebyshev points of [-1, 1].
template <int Degree, class F>
std::array<double, Degree + 1> interpolating_polynomial(F&& f) {
  constexpr int n = Degree + 1;
  std::array<double, n> samples, chebyshev, powers{}, current{}, previous{};
  for (int k = 0; k < n; ++k) samples[k] = f(std::cos(std::numbers::pi * (k + 0.5) / n));
  for (int m = 0; m < n; ++m) {
    double sum = 0;
    for (int k = 0; k < n; ++k) sum += samples[k] * std::cos(std::numbers::pi * m * (k + 0.5) / n);
    chebyshev[m] = (m == 0 ? 1.0 : 2.0) / n * sum;
  }
  current[0] = 1;  // T_0; T_{m+1} = 2 t T_m - T_{m-1}
  for (int m = 0; m < n; ++m) {
    for (int d = 0; d < n; ++d) powers[d] += chebyshev[m] * current[d];
    std::array<double, n> next{};
    for (int d = 0; d + 1 < n; ++d) next[d + 1] = (m == 0 ? 1 : 2) * current[d];
    if (m > 0)
      for (int d = 0; d < n; ++d) next[d] -= previous[d];
    previous = current;
    current = next;
  }
  return powers;
}

}  // namespace

nonuniform_fourier::nonuniform_fourier(int n_frequencies)
    : n_frequencies_(n_frequencies), n_points_(2 * oversampling * n_frequencies) {
  PLX_ASSERT(n_frequencies >= 1, n_frequencies);
  // A point at the grid position first + x reaches the grid points first - width / 2 + 1 + i; grids begin width / 2 - 1
  // points before x = 0.
  for (int piece = 0; piece < pieces; ++piece)
    for (int i = 0; i < width; ++i) {
      const auto p = interpolating_polynomial<degree>(
          [&](double t) { return window(i - width / 2 + 1 - (piece + 0.5 * (t + 1)) / pieces); });
      for (int d = 0; d <= degree; ++d) window_[piece][d][i] = p[d];
    }
  const auto rule = gauss_legendre(40);
  correction_.resize(n_frequencies);
  for (int n = 0; n < n_frequencies; ++n) {
    const double theta = std::numbers::pi * (2 * n + 1) / n_points_;
    correction_[n] =
        1 / (2 * integrate(rule, 0, 0.5 * width, [&](double u) { return window(u) * std::cos(theta * u); }));
  }
  roots_.resize(2 * static_cast<std::size_t>(n_points_));
  for (std::size_t k = 0; k < roots_.size(); ++k)
    roots_[k] = std::polar(1.0, std::numbers::pi * static_cast<double>(k) / n_points_);
}

PLX_NUM_CLONES void nonuniform_fourier::spread(std::span<const point> points) const noexcept {
  // Vectors of eight numbers, for which GCC and Clang use the registers that the target has.
  // A typedef: Clang ignores the alignment in a using-declaration.
  typedef double lanes __attribute__((vector_size(width * sizeof(double)), aligned(sizeof(double)), may_alias));
  static_assert(alignof(lanes) == sizeof(double));
  const double scale = static_cast<double>(n_points_) * pieces;
  for (const point& p : points) {
    // Antiperiodic; without a branch, because signs are random.
    const auto sign = std::bit_cast<std::int64_t>(p.x) >> 63;  // 0 or -1
    const auto shift = std::bit_cast<double>(sign & std::bit_cast<std::int64_t>(1.0));
    const auto c = std::bit_cast<double>(std::bit_cast<std::int64_t>(p.c) ^ (sign << 63));
    const double scaled = (p.x + shift) * scale;
    const int place = static_cast<int>(scaled);
    const unsigned first = static_cast<unsigned>(place) / pieces, piece = static_cast<unsigned>(place) % pieces;
    const double t = 2 * (scaled - place) - 1;
    const auto* coefficients = reinterpret_cast<const lanes*>(window_[piece].data());
    lanes value = coefficients[degree];
    for (int d = degree - 1; d >= 0; --d) value = value * t + coefficients[d];
    *reinterpret_cast<lanes*>(p.grid + first) += c * value;
  }
}

void nonuniform_fourier::transform(std::span<const double> grid, std::span<std::complex<double>> out) const {
  PLX_ASSERT(grid.size() == grid_size() && out.size() == static_cast<std::size_t>(n_frequencies_), grid.size(),
             grid_size(), out.size(), n_frequencies_);
  constexpr int before = width / 2 - 1;
  std::vector<double> folded(n_points_, 0.0);
  for (std::size_t m = 0; m < grid.size(); ++m) {
    // A grid may be shorter than the window.
    int to = static_cast<int>(m) - before;
    double sign = 1;
    for (; to < 0; to += n_points_) sign = -sign;
    for (; to >= n_points_; to -= n_points_) sign = -sign;
    folded[to] += sign * grid[m];
  }
  for (int n = 0; n < n_frequencies_; ++n) {
    std::complex<double> sum = 0;
    std::size_t phase = 0;
    for (int m = 0; m < n_points_; ++m) {
      sum += folded[m] * roots_[phase];
      phase += 2 * static_cast<std::size_t>(n) + 1;
      if (phase >= roots_.size()) phase -= roots_.size();
    }
    out[n] = sum * correction_[n];
  }
}

}  // namespace plx
