#include "qmc/measure/four_point.hpp"

#include <algorithm>
#include <utility>

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
  for (const auto& f : set_.functions) {
    sums s;
    for (int k = 0; k < c.n_sites(); ++k)
      for (int n = -window_.n_frequencies; n < window_.n_frequencies; ++n) {
        const auto [k2, n2] = f.partner(c, k, n);
        s.own.push_back(all_(k, n));
        s.partner.push_back(all_(k2, n2));
      }
    s.sum = complex_matrix(window_.size(), window_.size());
    sums_.push_back(std::move(s));
  }
  for (auto& g : g_) g = complex_matrix(all_.size(), all_.size());
}

void four_point_accumulator::fill(const vertex_transform& t) {
  const int n_sites = all_.n_sites, n_w = all_.n_frequencies;
  for (int sigma = 0; sigma < 2; ++sigma)
    for (int k2 = 0; k2 < n_sites; ++k2)
      for (int n2 = -n_w; n2 < n_w; ++n2) {
        const int y = all_(k2, n2);
        complex* column = g_[sigma].column(y);
        for (int k = 0; k < n_sites; ++k)
          for (int n = -n_w; n < n_w; ++n) {
            const int x = all_(k, n);
            column[x] = -scale_ * g0_[x] * t(sigma, k, n, k2, n2) * g0_[y];
          }
        column[y] += g0_[y];
      }
}

void four_point_accumulator::add(const vertex_transform& t) {
  fill(t);
  for (std::size_t f = 0; f < sums_.size(); ++f) add(set_.functions[f], sums_[f], t.sign());
}

void four_point_accumulator::add(const four_point& f, sums& s, double sign) const {
  const complex_matrix &up = g_[0], &down = g_[1];
  const int size = window_.size();
  const double half = 0.5 * sign;
  const bool direct = f.channel == four_point_channel::magnetic || f.channel == four_point_channel::charge;
  const double opposite = f.channel == four_point_channel::magnetic ? -1 : 1;
  const auto of_both_spins = [&](int i, int j) { return up(i, j) + opposite * down(i, j); };
  for (int b = 0; b < size; ++b) {
    const int y = s.own[b], y2 = s.partner[b];
    complex* column = s.sum.column(b);
    const complex right = direct ? half * of_both_spins(y, y2) : 0;
    for (int a = 0; a < size; ++a) {
      const int x = s.own[a], x2 = s.partner[a];
      switch (f.channel) {
        case four_point_channel::particle_particle:
          column[a] += half * (up(x, y) * down(x2, y2) + down(x, y) * up(x2, y2));
          break;
        case four_point_channel::transverse:
          column[a] -= half * (down(x2, y2) * up(y, x) + up(x2, y2) * down(y, x));
          break;
        default:
          column[a] += of_both_spins(x2, x) * right - half * (up(x2, y2) * up(y, x) + down(x2, y2) * down(y, x));
      }
    }
  }
}

std::vector<double> four_point_accumulator::take() {
  const int n_sites = window_.n_sites, n_w = window_.n_frequencies, size = window_.size();
  std::vector<double> out;
  out.reserve(2 * sums_.size() * static_cast<std::size_t>(size) * size);
  for (std::size_t f = 0; f < sums_.size(); ++f) {
    const auto& what = set_.functions[f];
    complex_matrix& sum = sums_[f].sum;
    complex_matrix mean(size, size);
    int count = 0;
    for (const auto& g : cluster_->symmetries()) {
      if (g.momenta[what.momentum] != what.momentum) continue;
      ++count;
      for (int b = 0; b < n_sites; ++b)
        for (int m = -n_w; m < n_w; ++m)
          for (int a = 0; a < n_sites; ++a)
            for (int n = -n_w; n < n_w; ++n)
              mean(window_(g.momenta[a], n), window_(g.momenta[b], m)) += sum(window_(a, n), window_(b, m));
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
    sum = complex_matrix(size, size);
  }
  return out;
}

void four_point_accumulator::save(number_writer& to) const {
  for (const auto& s : sums_)
    for (int j = 0; j < s.sum.columns(); ++j)
      for (int i = 0; i < s.sum.rows(); ++i)
        for (double x : {s.sum(i, j).real(), s.sum(i, j).imag()}) to.add(x);
}

void four_point_accumulator::load(number_reader& from) {
  for (auto& s : sums_)
    for (int j = 0; j < s.sum.columns(); ++j)
      for (int i = 0; i < s.sum.rows(); ++i) {
        const double real = from.number();
        s.sum(i, j) = {real, from.number()};
      }
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
