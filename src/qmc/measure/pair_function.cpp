#include "qmc/measure/pair_function.hpp"

#include <cmath>

#include "num/dense/linear_algebra.hpp"

namespace plx::qmc {

pair_accumulator::pair_accumulator(const cluster& c, const matsubara_function& g0, double beta, int n_frequencies)
    : cluster_(&c), beta_(beta), index_{c.n_sites(), n_frequencies}, sum_(index_.size() / 2, index_.size()) {
  PLX_ASSERT(n_frequencies >= 1 && g0.n_frequencies() >= n_frequencies, n_frequencies, g0.n_frequencies());
  for (int k = 0; k < c.n_sites(); ++k)
    for (int n = 0; n < n_frequencies; ++n) g0_.push_back(g0(k, n));
}

void pair_accumulator::add(const snapshot& s) {
  const int k = static_cast<int>(s.vertices.size()), n_sites = index_.n_sites, n_w = index_.n_frequencies;
  const int positive = n_sites * n_w, size = index_.size();
  // waves(p, x) = exp(-i w tau_p + i K r_p) for positive w: first the real parts, then the imaginary parts.
  waves_.reshape(k, 2 * positive);
  left_.reshape(positive, k);
  for (int p = 0; p < k; ++p) {
    const double angle = M_PI * s.vertices[p].tau / beta_;
    const auto step = std::polar(1.0, -2 * angle);
    auto in_time = std::polar(1.0, -angle);
    for (int n = 0; n < n_w; ++n) {
      for (int q = 0; q < n_sites; ++q) {
        const auto phase = cluster_->phase(q, s.vertices[p].site);
        const auto wave = in_time * phase;
        waves_(p, q * n_w + n) = wave.real();
        waves_(p, positive + q * n_w + n) = wave.imag();
        left_(q * n_w + n, p) = std::conj(wave);
      }
      in_time *= step;
    }
  }
  // Columns with w' < 0 are the waves exp(-i w' tau + i K' r) = conj of (-K', -w').
  for (int sigma = 0; sigma < 2; ++sigma) {
    half_.reshape(k, 2 * positive);
    multiply(1, s.m[sigma], waves_, 0, half_);
    right_.reshape(k, size);
    for (int q = 0; q < n_sites; ++q) {
      const int minus = cluster_->negative(q);
      for (int n = 0; n < n_w; ++n) {
        const double *re = half_.column(q * n_w + n), *im = half_.column(positive + q * n_w + n);
        auto* plus_column = right_.column(index_(q, n));
        auto* minus_column = right_.column(index_(minus, -1 - n));
        for (int p = 0; p < k; ++p) {
          plus_column[p] = {re[p], im[p]};
          minus_column[p] = {re[p], -im[p]};
        }
      }
    }
    m_[sigma].reshape(positive, size);
    multiply(1.0 / (beta_ * n_sites), left_, right_, 0.0, m_[sigma]);
  }
  for (int q = 0; q < n_sites; ++q)
    for (int n = -n_w; n < n_w; ++n) {
      const int column = index_(q, n);
      const auto g_column = n >= 0 ? g0_[q * n_w + n] : std::conj(g0_[cluster_->negative(q) * n_w - 1 - n]);
      for (int row = 0; row < positive; ++row) {
        auto up = -g0_[row] * m_[0](row, column) * g_column, down = -g0_[row] * m_[1](row, column) * g_column;
        if (n >= 0 && row == q * n_w + n) {
          up += g0_[row];
          down += g0_[row];
        }
        sum_(row, column) += s.sign * (up.real() * down.real() + up.imag() * down.imag());
      }
    }
}

real_matrix pair_accumulator::take() {
  const int n_sites = index_.n_sites, n_w = index_.n_frequencies, size = index_.size();
  real_matrix full(size, size);  // both signs of w
  for (int a = 0; a < n_sites; ++a)
    for (int n = 0; n < n_w; ++n)
      for (int b = 0; b < n_sites; ++b)
        for (int m = -n_w; m < n_w; ++m) {
          double& x = sum_(a * n_w + n, index_(b, m));
          full(index_(a, n), index_(b, m)) = x;
          full(index_(cluster_->negative(a), -1 - n), index_(cluster_->negative(b), -1 - m)) = x;
          x = 0;
        }
  real_matrix mean(size, size);
  const double weight = 0.5 / static_cast<double>(cluster_->symmetries().size());
  for (const auto& g : cluster_->symmetries())
    for (int b = 0; b < n_sites; ++b)
      for (int m = -n_w; m < n_w; ++m)
        for (int a = 0; a < n_sites; ++a)
          for (int n = -n_w; n < n_w; ++n) {
            const int row = index_(g.momenta[a], n), column = index_(g.momenta[b], m);
            mean(row, column) += weight * full(index_(a, n), index_(b, m));
            mean(column, row) += weight * full(index_(a, n), index_(b, m));
          }
  return mean;
}

}  // namespace plx::qmc
