#include "qmc/measure/pair_function.hpp"

#include <algorithm>
#include <cmath>

#include "num/dense/linear_algebra.hpp"

namespace plx::qmc {

pair_accumulator::pair_accumulator(const cluster& c, const matsubara_function& g0, double beta, int n_frequencies)
    : cluster_(&c),
      beta_(beta),
      index_{c.n_sites(), n_frequencies},
      products_(index_.size() / 2, index_.size()),
      diagonal_(index_.size() / 2) {
  PLX_ASSERT(n_frequencies >= 1 && g0.n_frequencies() >= n_frequencies, n_frequencies, g0.n_frequencies());
  for (int k = 0; k < c.n_sites(); ++k)
    for (int n = 0; n < n_frequencies; ++n) g0_.push_back(g0(k, n));
  for (int r = 0; r < c.n_sites(); ++r)
    for (int k = 0; k < c.n_sites(); ++k) phases_.push_back(c.phase(k, r));
}

void pair_accumulator::add(const snapshot& s) {
  const int k = static_cast<int>(s.vertices.size()), n_sites = index_.n_sites, n_w = index_.n_frequencies;
  const int positive = n_sites * n_w, size = index_.size();
  // waves(p, x) = exp(-i w tau_p + i K r_p) for positive w: first the real parts, then the imaginary parts.
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
  // With z = waves^T M waves, in blocks rr, ri, ir, ii of real and imaginary parts: M(x, x') has the real and imaginary
  // parts rr + ii and ri - ir; M(x, -x') has rr - ii and -ri - ir.
  half_.reshape(k, size);
  for (int sigma = 0; sigma < 2; ++sigma) {
    transforms_[sigma].reshape(size, size);
    multiply(1, s.m[sigma], waves_, 0, half_);
    multiply(1, waves_, half_, 0, transforms_[sigma], transposed::yes);
  }
  const real_matrix &up = transforms_[0], &down = transforms_[1];
  for (int column = 0; column < positive; ++column) {
    const double *up_r = up.column(column), *up_i = up.column(positive + column), *down_r = down.column(column),
                 *down_i = down.column(positive + column);
    double *plus = products_.column(column), *minus = products_.column(positive + column);
    for (int row = 0; row < positive; ++row) {
      const double urr = up_r[row], uir = up_r[positive + row], uri = up_i[row], uii = up_i[positive + row];
      const double drr = down_r[row], dir = down_r[positive + row], dri = down_i[row], dii = down_i[positive + row];
      plus[row] += s.sign * ((urr + uii) * (drr + dii) + (uri - uir) * (dri - dir));
      minus[row] += s.sign * ((urr - uii) * (drr - dii) + (uri + uir) * (dri + dir));
    }
    for (const auto* z : {&up, &down})
      diagonal_[column] += s.sign * std::complex((*z)(column, column) + (*z)(positive + column, positive + column),
                                                 (*z)(column, positive + column) - (*z)(positive + column, column));
  }
  signs_ += s.sign;
}

real_matrix pair_accumulator::take() {
  const int n_sites = index_.n_sites, n_w = index_.n_frequencies, size = index_.size(), positive = size / 2;
  const double scale = 1 / (beta_ * n_sites);  // of M
  real_matrix full(size, size);                // both signs of w
  for (int a = 0; a < n_sites; ++a)
    for (int n = 0; n < n_w; ++n) {
      const int row = a * n_w + n, x = index_(a, n), minus_x = index_(cluster_->negative(a), -1 - n);
      for (int b = 0; b < n_sites; ++b)
        for (int m = 0; m < n_w; ++m) {
          const int column = b * n_w + m, y = index_(b, m), minus_y = index_(cluster_->negative(b), -1 - m);
          const double factor = std::norm(g0_[row]) * std::norm(g0_[column]) * scale * scale;
          full(x, y) = full(minus_x, minus_y) = factor * products_(row, column);
          full(x, minus_y) = full(minus_x, y) = factor * products_(row, positive + column);
        }
      // Re (G0 - G0 M_u G0) conj (G0 - G0 M_d G0), without its last term
      const auto g = g0_[row];
      const double one = std::norm(g) * (signs_ - scale * (g * diagonal_[row]).real());
      full(x, x) += one;
      full(minus_x, minus_x) += one;
    }
  signs_ = 0;
  std::fill(diagonal_.begin(), diagonal_.end(), 0.0);
  products_ = real_matrix(positive, size);
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

void pair_accumulator::save(number_writer& to) const {
  to.add(signs_);
  to.add(products_);
  for (const auto& z : diagonal_)
    for (double x : {z.real(), z.imag()}) to.add(x);
}

void pair_accumulator::load(number_reader& from) {
  signs_ = from.number();
  products_ = from.matrix();
  for (auto& z : diagonal_) {
    const double real = from.number();
    z = {real, from.number()};
  }
}

}  // namespace plx::qmc
