#include "qmc/measure/pair_function.hpp"

#include <algorithm>

#include "num/clones.hpp"

namespace plx::detail {

// A column of M of a spin over the rows of one momentum and all frequencies w > 0, in the parts of
// vertex_transform::of().
struct column_parts {
  const double *rr, *ir, *ri, *ii;
};

// plus[i] += sign Re M_u conj M_d for w' > 0, minus[i] for -w'.
PLX_NUM_CLONES void add_products(double sign, column_parts up, column_parts down, int n, double* __restrict plus,
                                 double* __restrict minus) {
  for (int i = 0; i < n; ++i) {
    const double urr = up.rr[i], uir = up.ir[i], uri = up.ri[i], uii = up.ii[i];
    const double drr = down.rr[i], dir = down.ir[i], dri = down.ri[i], dii = down.ii[i];
    plus[i] += sign * ((urr + uii) * (drr + dii) + (uri - uir) * (dri - dir));
    minus[i] += sign * ((urr - uii) * (drr - dii) + (uri + uir) * (dri + dir));
  }
}

}  // namespace plx::detail

namespace plx::qmc {

pair_accumulator::pair_accumulator(const cluster& c, const matsubara_function& g0, double beta, int n_frequencies)
    : cluster_(&c),
      scale_(1 / (beta * c.n_sites())),
      index_{c.n_sites(), n_frequencies},
      products_(index_.size() / 2, index_.size()),
      diagonal_(index_.size() / 2) {
  PLX_ASSERT(n_frequencies >= 1 && g0.n_frequencies() >= n_frequencies, n_frequencies, g0.n_frequencies());
  for (int k = 0; k < c.n_sites(); ++k)
    for (int n = 0; n < n_frequencies; ++n) g0_.push_back(g0(k, n));
}

void pair_accumulator::add(const vertex_transform& t) {
  const int n_sites = index_.n_sites, n_w = index_.n_frequencies, n_all = t.n_frequencies();
  const int positive = n_sites * n_w, imaginary = n_sites * n_all;  // rows of products_; from real to imaginary parts
  const double sign = t.sign();
  for (int b = 0; b < n_sites; ++b)
    for (int m = 0; m < n_w; ++m) {
      const int column = b * n_w + m, from = b * n_all + m;
      const auto parts_of = [&](int sigma, int row) -> detail::column_parts {
        const double *real = t.of(sigma).column(from) + row, *imag = t.of(sigma).column(imaginary + from) + row;
        return {real, real + imaginary, imag, imag + imaginary};
      };
      for (int a = 0; a < n_sites; ++a)
        detail::add_products(sign, parts_of(0, a * n_all), parts_of(1, a * n_all), n_w,
                             products_.column(column) + a * n_w, products_.column(positive + column) + a * n_w);
      for (int sigma : {0, 1}) diagonal_[column] += sign * t(sigma, b, m, b, m);
    }
  signs_ += sign;
}

real_matrix pair_accumulator::take() {
  const int n_sites = index_.n_sites, n_w = index_.n_frequencies, size = index_.size(), positive = size / 2;
  real_matrix full(size, size);  // both signs of w
  for (int a = 0; a < n_sites; ++a)
    for (int n = 0; n < n_w; ++n) {
      const int row = a * n_w + n, x = index_(a, n), minus_x = index_(cluster_->negative(a), -1 - n);
      for (int b = 0; b < n_sites; ++b)
        for (int m = 0; m < n_w; ++m) {
          const int column = b * n_w + m, y = index_(b, m), minus_y = index_(cluster_->negative(b), -1 - m);
          const double factor = std::norm(g0_[row]) * std::norm(g0_[column]) * scale_ * scale_;
          full(x, y) = full(minus_x, minus_y) = factor * products_(row, column);
          full(x, minus_y) = full(minus_x, y) = factor * products_(row, positive + column);
        }
      // Re (G0 - G0 M_u G0) conj (G0 - G0 M_d G0), without its last term
      const auto g = g0_[row];
      const double one = std::norm(g) * (signs_ - scale_ * (g * diagonal_[row]).real());
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
