#include "qmc/measure/four_point.hpp"

#include <algorithm>
#include <utility>

#include "num/clones.hpp"

namespace plx::detail {

// Complex numbers in a row, their real and imaginary parts apart.
struct complex_row {
  const double *re, *im;
  complex_row from(int i) const { return {re + i, im + i}; }
};

// Places of the n numbers of each momentum: the first of them in a and in b.
struct places_of_momenta {
  const int *a, *b;
  int count, n;
};

// to += factor (a1 b1 + a2 b2), with the complex conjugate of b1 and b2 if side is -1; numbers of the momenta follow
// each other in `to`. The loop is vectorized, unlike one over std::complex.
PLX_NUM_CLONES void add_two_products(double factor, double side, const places_of_momenta& at, complex_row a1,
                                     complex_row b1, complex_row a2, complex_row b2, double* __restrict re,
                                     double* __restrict im) {
  for (int k = 0; k < at.count; ++k, re += at.n, im += at.n) {
    const auto c1 = a1.from(at.a[k]), c2 = a2.from(at.a[k]), d1 = b1.from(at.b[k]), d2 = b2.from(at.b[k]);
    for (int i = 0; i < at.n; ++i) {
      const double i1 = side * d1.im[i], i2 = side * d2.im[i];
      re[i] += factor * (c1.re[i] * d1.re[i] - c1.im[i] * i1 + c2.re[i] * d2.re[i] - c2.im[i] * i2);
      im[i] += factor * (c1.re[i] * i1 + c1.im[i] * d1.re[i] + c2.re[i] * i2 + c2.im[i] * d2.re[i]);
    }
  }
}

// to += a (re + i im)
PLX_NUM_CLONES void add_multiple(complex_row a, double factor_re, double factor_im, int n, double* __restrict re,
                                 double* __restrict im) {
  for (int i = 0; i < n; ++i) {
    re[i] += a.re[i] * factor_re - a.im[i] * factor_im;
    im[i] += a.re[i] * factor_im + a.im[i] * factor_re;
  }
}

}  // namespace plx::detail

namespace plx::qmc {

int four_point_set::n_transformed() const noexcept {
  int most = 0;
  for (const auto& f : functions) most = std::max(most, f.frequency);
  return functions.empty() ? 0 : n_frequencies + most;
}

four_point_accumulator::four_point_accumulator(const cluster& c, const matsubara_function& g0, double beta,
                                               four_point_set set)
    : cluster_(&c),
      scale_(1 / (beta * c.n_sites())),
      set_(std::move(set)),
      window_{c.n_sites(), set_.n_frequencies},
      all_{c.n_sites(), set_.n_transformed()} {
  PLX_ASSERT_GE(g0.n_frequencies(), all_.n_frequencies);
  for (int k = 0; k < c.n_sites(); ++k)
    for (int n = -all_.n_frequencies; n < all_.n_frequencies; ++n)
      g0_.push_back(n >= 0 ? g0(k, n) : std::conj(g0(c.negative(k), -1 - n)));
  for (int k = 0; k < c.n_sites(); ++k) own_.push_back(all_(k, -window_.n_frequencies));
  for (const auto& f : set_.functions) {
    sums s;
    for (int k = 0; k < c.n_sites(); ++k) {
      // Frequencies follow each other from here on, those of Q - x from its negative.
      const auto [k2, n2] = f.partner(c, k, -window_.n_frequencies);
      const bool is_reversed = f.channel == four_point_channel::particle_particle;
      s.partner.push_back(is_reversed ? all_(c.negative(k2), -1 - n2) : all_(k2, n2));
    }
    s.sum = split_matrix(window_.size());
    sums_.push_back(std::move(s));
  }
  for (int sigma : {0, 1}) g_[sigma] = transposed_[sigma] = split_matrix(all_.size());
  equal_.resize(2 * static_cast<std::size_t>(window_.size()));
}

// M(-x, -x') is conj M(x, x'), and G0(-x) conj G0(x).
void four_point_accumulator::fill(const vertex_transform& t) {
  const int n_sites = all_.n_sites, n_w = all_.n_frequencies, n_all = t.n_frequencies(), positive = n_sites * n_all;
  const auto set = [](split_matrix& to, int x, int y, double re, double im) { to.re(x, y) = re, to.im(x, y) = im; };
  for (int sigma = 0; sigma < 2; ++sigma) {
    split_matrix &g = g_[sigma], &transposed = transposed_[sigma];
    for (int k2 = 0; k2 < n_sites; ++k2)
      for (int n2 = 0; n2 < n_w; ++n2) {
        const double *real = t.of(sigma).column(k2 * n_all + n2),
                     *imag = t.of(sigma).column(positive + k2 * n_all + n2);
        const int y = all_(k2, n2), minus_y = all_(cluster_->negative(k2), -1 - n2);
        const double yr = -scale_ * g0_[y].real(), yi = -scale_ * g0_[y].imag();
        for (int k = 0; k < n_sites; ++k)
          for (int n = 0; n < n_w; ++n) {
            const int row = k * n_all + n, x = all_(k, n), minus_x = all_(cluster_->negative(k), -1 - n);
            const double rr = real[row], ir = real[positive + row], ri = imag[row], ii = imag[positive + row];
            const double xr = g0_[x].real(), xi = g0_[x].imag();
            // G0(x) M(x, x'), G0(x) M(x, -x')
            const double ar = xr * (rr + ii) - xi * (ri - ir), ai = xr * (ri - ir) + xi * (rr + ii);
            const double br = xr * (rr - ii) + xi * (ri + ir), bi = xi * (rr - ii) - xr * (ri + ir);
            set(g, x, y, ar * yr - ai * yi, ar * yi + ai * yr);
            set(g, minus_x, minus_y, g.re(x, y), -g.im(x, y));
            set(g, x, minus_y, br * yr + bi * yi, bi * yr - br * yi);
            set(g, minus_x, y, g.re(x, minus_y), -g.im(x, minus_y));
          }
      }
    for (int x = 0; x < all_.size(); ++x) {
      g.re(x, x) += g0_[x].real();
      g.im(x, x) += g0_[x].imag();
    }
    for (int y = 0; y < all_.size(); ++y)
      for (int x = 0; x < all_.size(); ++x) set(transposed, y, x, g.re(x, y), g.im(x, y));
  }
}

void four_point_accumulator::add(const vertex_transform& t) {
  fill(t);
  for (std::size_t f = 0; f < sums_.size(); ++f) add(set_.functions[f], sums_[f], t.sign());
}

void four_point_accumulator::add(const four_point& f, sums& s, double sign) {
  const int n_sites = window_.n_sites, n = 2 * window_.n_frequencies, size = window_.size();
  const bool is_pairs = f.channel == four_point_channel::particle_particle;
  const bool is_direct = f.channel == four_point_channel::magnetic || f.channel == four_point_channel::charge;
  const double opposite = f.channel == four_point_channel::magnetic ? -1 : 1;
  // g_s(x, x') g_s'(Q - x, Q - x'), or -g_s(x + Q, x' + Q) g_s'(x', x), where s' = s if both spins are equal
  const double factor = is_pairs ? 0.5 * sign : -0.5 * sign, side = is_pairs ? -1 : 1;
  const auto& first = is_pairs ? g_ : transposed_;
  const int other = is_direct ? 0 : 1;
  const detail::places_of_momenta places{own_.data(), s.partner.data(), n_sites, n};
  const auto column_of = [](const split_matrix& m, int y) -> detail::complex_row {
    return {m.re.column(y), m.im.column(y)};
  };
  double *equal_re = equal_.data(), *equal_im = equal_re + size;
  for (int k = 0; k < n_sites && is_direct; ++k)  // g_u(x + Q, x) + opposite g_d(x + Q, x)
    for (int i = 0; i < n; ++i) {
      const int x = own_[k] + i, x2 = s.partner[k] + i;
      equal_re[k * n + i] = g_[0].re(x2, x) + opposite * g_[1].re(x2, x);
      equal_im[k * n + i] = g_[0].im(x2, x) + opposite * g_[1].im(x2, x);
    }
  for (int k2 = 0; k2 < n_sites; ++k2)
    for (int j = 0; j < n; ++j) {
      const int column = k2 * n + j, y = own_[k2] + j, y2 = s.partner[k2] + j;
      double *re = s.sum.re.column(column), *im = s.sum.im.column(column);
      detail::add_two_products(factor, side, places, column_of(first[0], y), column_of(g_[other], y2),
                               column_of(first[1], y), column_of(g_[1 - other], y2), re, im);
      if (!is_direct) continue;
      const double right_re = g_[0].re(y, y2) + opposite * g_[1].re(y, y2),
                   right_im = g_[0].im(y, y2) + opposite * g_[1].im(y, y2);
      detail::add_multiple({equal_re, equal_im}, 0.5 * sign * right_re, 0.5 * sign * right_im, size, re, im);
    }
}

std::vector<double> four_point_accumulator::take() {
  const int n_sites = window_.n_sites, n_w = window_.n_frequencies, size = window_.size();
  std::vector<double> out;
  out.reserve(2 * sums_.size() * static_cast<std::size_t>(size) * size);
  for (const auto& what : set_.functions) {
    complex_matrix mean(size, size);
    int count = 0;
    for (std::size_t f = 0; f < sums_.size(); ++f) {
      const auto& other = set_.functions[f];
      if (other.channel != what.channel || other.frequency != what.frequency) continue;
      const split_matrix& sum = sums_[f].sum;
      for (const auto& g : cluster_->symmetries()) {
        if (g.momenta[other.momentum] != what.momentum) continue;
        ++count;
        for (int b = 0; b < n_sites; ++b)
          for (int m = -n_w; m < n_w; ++m)
            for (int a = 0; a < n_sites; ++a)
              for (int n = -n_w; n < n_w; ++n)
                mean(window_(g.momenta[a], n), window_(g.momenta[b], m)) += sum(window_(a, n), window_(b, m));
      }
    }
    for (int b = 0; b < n_sites; ++b)
      for (int m = -n_w; m < n_w; ++m)
        for (int a = 0; a < n_sites; ++a)
          for (int n = -n_w; n < n_w; ++n) {
            complex x = mean(window_(a, n), window_(b, m));
            // Real in time, and symmetric under inversion of space.
            if (what.frequency == 0) x = 0.5 * (x + std::conj(mean(window_(a, -1 - n), window_(b, -1 - m))));
            x /= count;
            out.insert(out.end(), {x.real(), x.imag()});
          }
  }
  for (auto& s : sums_) s.sum = split_matrix(size);
  return out;
}

void four_point_accumulator::save(number_writer& to) const {
  for (const auto& s : sums_) {
    to.add(s.sum.re);
    to.add(s.sum.im);
  }
}

void four_point_accumulator::load(number_reader& from) {
  for (auto& s : sums_) {
    s.sum.re = from.matrix();
    s.sum.im = from.matrix();
  }
}

std::vector<double> four_point_accumulator::all_sums() const {
  const int size = window_.size();
  std::vector<double> all;
  all.reserve(2 * sums_.size() * static_cast<std::size_t>(size) * size);
  for (const auto& s : sums_)
    for (const real_matrix* part : {&s.sum.re, &s.sum.im})
      for (int j = 0; j < size; ++j) all.insert(all.end(), part->column(j), part->column(j) + size);
  return all;
}

void four_point_accumulator::set_all_sums(std::span<const double> all) {
  const int size = window_.size();
  PLX_ASSERT_EQ(all.size(), 2 * sums_.size() * static_cast<std::size_t>(size) * size);
  const double* next = all.data();
  for (auto& s : sums_)
    for (real_matrix* part : {&s.sum.re, &s.sum.im})
      for (int j = 0; j < size; ++j, next += size) std::copy_n(next, size, part->column(j));
}

complex_matrix four_point_from(const pair_index& window, std::size_t f, double sign, const double* means) {
  const int size = window.size();
  const double* next = means + 2 * f * static_cast<std::size_t>(size) * size;
  complex_matrix m(size, size);
  for (int j = 0; j < size; ++j)
    for (int i = 0; i < size; ++i, next += 2) m(i, j) = {next[0] / sign, next[1] / sign};
  return m;
}

}  // namespace plx::qmc
