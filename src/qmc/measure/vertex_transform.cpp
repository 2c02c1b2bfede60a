#include "qmc/measure/vertex_transform.hpp"

#include <cmath>

#include "num/dense/linear_algebra.hpp"

namespace plx::qmc {

vertex_transform::vertex_transform(const cluster& c, double beta, int n_frequencies)
    : cluster_(&c), beta_(beta), n_frequencies_(n_frequencies) {
  for (int r = 0; r < c.n_sites(); ++r)
    for (int k = 0; k < c.n_sites(); ++k) phases_.push_back(c.phase(k, r));
}

void vertex_transform::take(const snapshot& s) {
  const int k = static_cast<int>(s.vertices.size()), n_sites = cluster_->n_sites(), n_w = n_frequencies_;
  const int positive = n_sites * n_w, size = 2 * positive;
  sign_ = s.sign;
  waves_.reshape(k, size);
  for (int p = 0; p < k; ++p) {
    const double angle = M_PI * s.vertices[p].tau / beta_;
    const auto step = std::polar(1.0, -2 * angle);
    auto in_time = std::polar(1.0, -angle);
    const auto* phase = &phases_[static_cast<std::size_t>(s.vertices[p].site) * n_sites];
    for (int n = 0; n < n_w; ++n) {
      for (int q = 0; q < n_sites; ++q) {
        waves_(p, q * n_w + n) = in_time.real() * phase[q].real() - in_time.imag() * phase[q].imag();
        waves_(p, positive + q * n_w + n) = in_time.real() * phase[q].imag() + in_time.imag() * phase[q].real();
      }
      in_time *= step;
    }
  }
  half_.reshape(k, size);
  for (int sigma = 0; sigma < 2; ++sigma) {
    transforms_[sigma].reshape(size, size);
    multiply(1, s.m[sigma], waves_, 0, half_);
    multiply(1, waves_, half_, 0, transforms_[sigma], transposed::yes);
  }
}

std::complex<double> vertex_transform::operator()(int sigma, int k, int n, int k2, int n2) const noexcept {
  const int positive = cluster_->n_sites() * n_frequencies_;
  const bool conjugate = n < 0;  // M(x, x') = conj M(-x, -x')
  if (conjugate) k = cluster_->negative(k), n = -1 - n, k2 = cluster_->negative(k2), n2 = -1 - n2;
  const bool mixed = n2 < 0;
  if (mixed) k2 = cluster_->negative(k2), n2 = -1 - n2;
  const int i = k * n_frequencies_ + n, j = k2 * n_frequencies_ + n2;
  const real_matrix& z = transforms_[sigma];
  const double rr = z(i, j), ri = z(i, positive + j), ir = z(positive + i, j), ii = z(positive + i, positive + j);
  const std::complex<double> m = mixed ? std::complex(rr - ii, -ri - ir) : std::complex(rr + ii, ri - ir);
  return conjugate ? std::conj(m) : m;
}

}  // namespace plx::qmc
