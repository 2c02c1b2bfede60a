#include "qmc/measure/correlations.hpp"

#include <algorithm>
#include <cmath>

#include "num/dense/linear_algebra.hpp"

namespace plx::qmc {
namespace {

double value_of(form_factor f, double kx, double ky) {
  switch (f) {
    case form_factor::s:
      return 1;
    case form_factor::extended_s:
      return std::cos(kx) + std::cos(ky);
    case form_factor::d:
      break;
  }
  return std::cos(kx) - std::cos(ky);
}

// sum_K f(K) exp(i K (r_i - r_j)) / N, real because f is even.
real_matrix form_matrix(const cluster& c, form_factor f) {
  const int n = c.n_sites();
  real_matrix w(n, n);
  for (int k = 0; k < n; ++k) {
    const auto q = c.momentum(k);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) w(i, j) += value_of(f, q[0], q[1]) * c.phase(k, c.difference(i, j)).real() / n;
  }
  return w;
}

// Places in the list of sums.
struct places {
  int n = 0;
  int spin(int r) const { return 2 + r; }
  int charge(int r) const { return 2 + n + r; }
  int spin_over_time(int r) const { return 2 + 2 * n + r; }
  int charge_over_time(int r) const { return 2 + 3 * n + r; }
  int pairs(int f) const { return 2 + 4 * n + f; }
};

}  // namespace

correlation_accumulator::correlation_accumulator(const cluster& c, const free_propagator& g0, random_stream times)
    : cluster_(&c), g0_(&g0), times_(times), sum_(cluster_correlations::count(c.n_sites()), 0.0) {
  for (int f = 0; f < n_form_factors; ++f) forms_[f] = form_matrix(c, static_cast<form_factor>(f));
}

void correlation_accumulator::add(const snapshot& s) {
  const int n = cluster_->n_sites(), k = static_cast<int>(s.vertices.size());
  const double beta = g0_->beta();
  for (double& t : time_) t = beta * times_.uniform();
  left_.reshape(2 * n, k);
  right_.reshape(k, 2 * n);
  for (int p = 0; p < k; ++p)
    for (int t = 0; t < 2; ++t)
      for (int i = 0; i < n; ++i) {
        const auto [out, back] = g0_->both(i, s.vertices[p].site, time_[t] - s.vertices[p].tau);
        left_(t * n + i, p) = out;
        right_(p, t * n + i) = back;
      }
  for (int sigma = 0; sigma < 2; ++sigma) green_of_spin(s, sigma, g_[sigma]);
  for (int t = 0; t < 2; ++t) add_at_equal_times(s.sign, t);
  add_over_time(s.sign);
  add_pairs(s.sign);
}

void correlation_accumulator::green_of_spin(const snapshot& s, int sigma, at_two_times& g) {
  const int n = cluster_->n_sites(), k = static_cast<int>(s.vertices.size());
  full_.reshape(2 * n, 2 * n);
  for (int t = 0; t < 2; ++t)
    for (int u = 0; u < 2; ++u)
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) full_(t * n + i, u * n + j) = (*g0_)(i, j, time_[t] - time_[u]);
  if (k > 0) {
    middle_.reshape(k, 2 * n);
    multiply(1, s.m[sigma], right_, 0, middle_);
    multiply(1, left_, middle_, 1, full_);
  }
  for (int t = 0; t < 2; ++t)
    for (int u = 0; u < 2; ++u) {
      g[t][u].reshape(n, n);
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) g[t][u](i, j) = full_(t * n + i, u * n + j);
    }
}

// <n_i n_j> of one spin is (1 - g_ii)(1 - g_jj) + (delta_ij - g_ji) g_ij.
void correlation_accumulator::add_at_equal_times(double sign, int t) {
  const int n = cluster_->n_sites();
  const places at{n};
  const auto &up = g_[0][t][t], &down = g_[1][t][t];
  const double weight = 0.5 * sign / n;  // of two times
  for (int i = 0; i < n; ++i) {
    sum_[0] += weight * (2 - up(i, i) - down(i, i));
    sum_[1] += weight * (1 - up(i, i)) * (1 - down(i, i));
    for (int j = 0; j < n; ++j) {
      const double one = i == j ? 1 : 0;
      const double n_i[2] = {1 - up(i, i), 1 - down(i, i)}, n_j[2] = {1 - up(j, j), 1 - down(j, j)};
      const double exchange = (one - up(j, i)) * up(i, j) + (one - down(j, i)) * down(i, j);
      const int r = cluster_->difference(i, j);
      sum_[at.spin(r)] += 0.25 * weight * ((n_i[0] - n_i[1]) * (n_j[0] - n_j[1]) + exchange);
      sum_[at.charge(r)] += weight * ((n_i[0] + n_i[1]) * (n_j[0] + n_j[1]) + exchange);
    }
  }
}

// <T n_i(t) n_j(t')> of one spin is n_i(t) n_j(t') - g_ij(t, t') g_ji(t', t).
void correlation_accumulator::add_over_time(double sign) {
  const int n = cluster_->n_sites();
  const places at{n};
  const double weight = sign * g0_->beta() / n;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double n_i[2], n_j[2], exchange = 0;
      for (int sigma = 0; sigma < 2; ++sigma) {
        const auto& g = g_[sigma];
        n_i[sigma] = 1 - g[0][0](i, i);
        n_j[sigma] = 1 - g[1][1](j, j);
        exchange -= g[0][1](i, j) * g[1][0](j, i);
      }
      const int r = cluster_->difference(i, j);
      sum_[at.spin_over_time(r)] += 0.25 * weight * ((n_i[0] - n_i[1]) * (n_j[0] - n_j[1]) + exchange);
      sum_[at.charge_over_time(r)] += weight * ((n_i[0] + n_i[1]) * (n_j[0] + n_j[1]) + exchange);
    }
}

// sum_ii'jj' W_ii' W_jj' g_u(i, j) g_d(i', j') / N
void correlation_accumulator::add_pairs(double sign) {
  const int n = cluster_->n_sites();
  const places at{n};
  half_.reshape(n, n);
  full_.reshape(n, n);
  for (int f = 0; f < n_form_factors; ++f) {
    // Both orders of the two times.
    for (int t = 0; t < 2; ++t) {
      multiply(1, forms_[f], g_[0][t][1 - t], 0, half_);
      multiply(1, half_, forms_[f], 0, full_);
      double trace = 0;
      for (int j = 0; j < n; ++j) trace += dot(n, full_.column(j), g_[1][t][1 - t].column(j));
      sum_[at.pairs(f)] += 0.5 * sign * g0_->beta() / n * trace;
    }
  }
}

std::vector<double> correlation_accumulator::take() {
  const int n = cluster_->n_sites();
  std::vector<double> mean = sum_;
  const double weight = 1 / static_cast<double>(cluster_->symmetries().size());
  for (int list = 0; list < 4; ++list) {
    double* to = &mean[2 + list * n];
    const double* from = &sum_[2 + list * n];
    std::fill_n(to, n, 0.0);
    for (const auto& g : cluster_->symmetries())
      for (int r = 0; r < n; ++r) to[g.sites[r]] += weight * from[r];
  }
  std::fill(sum_.begin(), sum_.end(), 0.0);
  return mean;
}

void correlation_accumulator::save(number_writer& to) const {
  to.add(static_cast<double>(times_.position()));
  to.add(sum_);
}

void correlation_accumulator::load(number_reader& from) {
  times_.seek(from.integer<std::uint64_t>());
  const auto values = from.numbers();
  if (values.size() == sum_.size()) sum_ = values;
}

cluster_correlations correlations_from(const cluster& c, double beta, double sign, std::span<const double> means) {
  const int n = c.n_sites();
  PLX_ASSERT_EQ(means.size(), cluster_correlations::count(n));
  const places at{n};
  cluster_correlations out;
  out.density = means[0] / sign;
  out.double_occupancy = means[1] / sign;
  const double product = out.density * out.density;
  for (int r = 0; r < n; ++r) {
    out.spin.push_back(means[at.spin(r)] / sign);
    out.charge.push_back(means[at.charge(r)] / sign - product);
    out.spin_susceptibility.push_back(means[at.spin_over_time(r)] / sign);
    out.charge_susceptibility.push_back(means[at.charge_over_time(r)] / sign - beta * product);
  }
  for (int f = 0; f < n_form_factors; ++f) out.pairs[f] = means[at.pairs(f)] / sign;
  return out;
}

}  // namespace plx::qmc
