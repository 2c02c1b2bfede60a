#include "qmc/dca/conclude.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "qmc/pairing/bethe_salpeter.hpp"

namespace plx::qmc {

matsubara_function self_energy_of(const matsubara_function& g0, const matsubara_function& g, double u, double n,
                                  double beta) {
  const int count = g.n_frequencies();
  matsubara_function sigma(g.n_momenta(), count);
  const double highest = 5 * (0.5 * u + 4);
  const int cut = std::clamp(static_cast<int>(highest * beta / (2 * M_PI)), 16, count);
  for (int k = 0; k < g.n_momenta(); ++k) {
    double coefficient = 0, weights = 0;
    for (int m = 0; m < cut; ++m) {
      sigma(k, m) = 1.0 / g0(k, m) - 1.0 / g(k, m);
      if (2 * m < cut) continue;
      // The noise is white: least squares of -c / w.
      const double w = matsubara_frequency(m, beta);
      coefficient -= sigma(k, m).imag() / w;
      weights += 1 / (w * w);
    }
    coefficient /= weights;
    for (int m = cut; m < count; ++m) sigma(k, m) = {0.5 * u * (n - 1), -coefficient / matsubara_frequency(m, beta)};
  }
  return sigma;
}

namespace {

// Collects numbers in the function of a jackknife, and hands their estimates out in the same order.
class list_of_values {
 public:
  void add(double x) { values.push_back(x); }
  void add(const std::vector<double>& x) { values.insert(values.end(), x.begin(), x.end()); }
  void add(const matsubara_function& f) {
    for (int k = 0; k < f.n_momenta(); ++k)
      for (int n = 0; n < f.n_frequencies(); ++n)
        for (double x : {f(k, n).real(), f(k, n).imag()}) values.push_back(x);
  }
  std::vector<double> values;
};

class list_of_estimates {
 public:
  explicit list_of_estimates(std::vector<estimate> e) : all_(std::move(e)) {}
  estimate one() { return all_[at_++]; }
  std::vector<estimate> several(std::size_t n) {
    std::vector<estimate> some(all_.begin() + at_, all_.begin() + at_ + n);
    at_ += n;
    return some;
  }
  // Real and imaginary errors.
  matsubara_function errors(const matsubara_function& f) {
    matsubara_function e(f.n_momenta(), f.n_frequencies());
    for (int k = 0; k < f.n_momenta(); ++k)
      for (int n = 0; n < f.n_frequencies(); ++n, at_ += 2) e(k, n) = {all_[at_].error, all_[at_ + 1].error};
    return e;
  }

 private:
  std::vector<estimate> all_;
  std::size_t at_ = 0;
};

// sum_r exp(i K r) f(r), real because f(-r) = f(r).
std::vector<double> over_momenta(const cluster& c, const std::vector<double>& of_site) {
  std::vector<double> out(of_site.size(), 0.0);
  for (int k = 0; k < c.n_sites(); ++k)
    for (int r = 0; r < c.n_sites(); ++r) out[k] += c.phase(k, r).real() * of_site[r];
  return out;
}

void add_correlations(list_of_values& v, const cluster& lattice, const cluster_correlations& c) {
  v.add(c.double_occupancy);
  for (const auto* of_site : {&c.spin, &c.charge, &c.spin_susceptibility, &c.charge_susceptibility}) {
    v.add(*of_site);
    v.add(over_momenta(lattice, *of_site));
  }
  for (double x : c.pairs) v.add(x);
}

correlation_estimates correlations_in(list_of_estimates& e, std::size_t n) {
  correlation_estimates c;
  c.double_occupancy = e.one();
  for (auto* of_site : {&c.spin, &c.charge, &c.spin_susceptibility, &c.charge_susceptibility}) {
    of_site->of_site = e.several(n);
    of_site->of_momentum = e.several(n);
  }
  for (auto& x : c.pairs) x = e.one();
  return c;
}

}  // namespace

result<bool> conclude(const dca_options& options, const coarse_graining& grain, const transfers& more,
                      const impurity& p, const std::vector<std::vector<double>>& rows, const std::atomic<bool>* stop,
                      dca_temperature& t) {
  const int n_pairs = options.pair_frequencies, n_k = p.lattice->n_sites();
  const pair_index index{n_k, n_pairs};
  std::optional<error> failure;
  bool stopped = false;
  std::size_t length = 0;
  t.four_points.clear();
  for (const auto& f : more.functions.functions) t.four_points.push_back({f, {}, {}, {}, {}});
  // Sets G, Sigma and P of `t`, too: the last row is the mean of all.
  const auto values_of = [&](std::span<const double> row) {
    stopped = stopped || (stop != nullptr && *stop);
    if (stopped || failure) return std::vector<double>(length);  // they are not used
    list_of_values v;
    const auto averages = averages_of(p, options.expansion_k, row);
    t.green = green_of(p, row);
    t.self_energy = self_energy_of(p.g0, t.green, p.u, averages.density, p.beta);
    const double limit = 0.5 * p.u * (averages.density - 1);
    const double kinetic = grain.kinetic_energy(t.self_energy, p.mu, limit, p.beta);
    const double potential = p.u > 0 ? p.u * (averages.double_occupancy - averages.density / 2 + 0.25) : 0;
    for (double x : {kinetic + potential, kinetic, potential}) v.add(x);
    v.add(t.green);
    v.add(t.self_energy);
    for (int k = 0; k < n_k; ++k)
      v.add(occupation(t.green.of_momentum(k), t.green.n_frequencies(), p.moments[k] + limit, p.beta));
    if (options.correlations) add_correlations(v, *p.lattice, correlations_of(p, row));
    for (std::size_t f = 0; f < t.four_points.size(); ++f) {
      auto& point = t.four_points[f];
      point.mean = four_point_of(p, n_pairs, more.functions, f, row);
      const auto s = solve_transfer(*p.lattice, {n_k, more.functions.n_frequencies}, point.function, point.mean,
                                    t.green, t.self_energy, more.bubble, p.u, p.mu, p.beta);
      if (!s) failure = s.error();
      for (double x : {s ? s->cluster : 0, s ? s->lattice : 0, s ? s->bubble : 0}) v.add(x);
    }
    length = v.values.size();
    if (n_pairs == 0) return v.values;
    t.pairs = pairs_of(p, n_pairs, row);
    const auto solved =
        solve_pairing(*p.lattice, index, t.pairs, t.green, grain.pair_bubble(t.self_energy, p.mu, p.beta, n_pairs));
    if (!solved) failure = solved.error();
    v.add(solved ? solved->d_wave : 0);
    v.add(solved ? solved->leading : 0);
    t.d_wave_overlap = solved ? solved->d_wave_overlap : 0;
    length = v.values.size();
    return v.values;
  };
  list_of_estimates e(jackknife(rows, values_of));
  if (failure) return *failure;
  if (stopped) return false;
  t.energy = e.one();
  t.kinetic_energy = e.one();
  t.potential_energy = e.one();
  t.green_error = e.errors(t.green);
  t.self_energy_error = e.errors(t.self_energy);
  t.occupation = e.several(static_cast<std::size_t>(n_k));
  if (options.correlations) t.correlations = correlations_in(e, static_cast<std::size_t>(n_k));
  for (auto& point : t.four_points)
    for (estimate* x : {&point.cluster, &point.lattice, &point.bubble}) *x = e.one();
  if (n_pairs > 0) {
    const estimate d_wave = e.one();
    if (t.d_wave_overlap >= least_overlap) t.d_wave = d_wave;
    t.leading = e.one();
  }
  return true;
}

}  // namespace plx::qmc
