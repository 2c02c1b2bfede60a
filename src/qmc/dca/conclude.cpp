#include "qmc/dca/conclude.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "probe/record/names.hpp"
#include "qmc/dca/evaluate_rows.hpp"
#include "qmc/dca/function_results.hpp"
#include "qmc/pairing/bethe_salpeter.hpp"
#include "rt/task_group.hpp"

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

// The results that follow from a row of means.
struct evaluation {
  std::vector<double> values;  // those that get errors
  matsubara_function green, self_energy;
  real_matrix pairs;
  double d_wave_overlap = 0;
};

struct evaluator {
  const dca_options& options;
  const coarse_graining& grain;
  const impurity& p;

  result<evaluation> operator()(std::span<const double> row) const {
    const int n_pairs = options.pair_frequencies, n_k = p.lattice->n_sites();
    evaluation e;
    list_of_values v;
    const auto averages = averages_of(p, options.expansion_k, row);
    e.green = green_of(p, row);
    e.self_energy = self_energy_of(p.g0, e.green, p.u, averages.density, p.beta);
    const double limit = 0.5 * p.u * (averages.density - 1);
    const double kinetic = grain.kinetic_energy(e.self_energy, p.mu, limit, p.beta);
    const double potential = p.u > 0 ? p.u * (averages.double_occupancy - averages.density / 2 + 0.25) : 0;
    for (double x : {kinetic + potential, kinetic, potential}) v.add(x);
    v.add(e.green);
    v.add(e.self_energy);
    for (int k = 0; k < n_k; ++k)
      v.add(occupation(e.green.of_momentum(k), e.green.n_frequencies(), p.moments[k] + limit, p.beta));
    if (options.correlations) add_correlations(v, *p.lattice, correlations_of(p, row));
    if (n_pairs > 0) {
      e.pairs = pairs_of(p, n_pairs, row);
      const auto solved = solve_pairing(*p.lattice, {n_k, n_pairs}, e.pairs, e.green,
                                        grain.pair_bubble(e.self_energy, p.mu, p.beta, n_pairs));
      if (!solved) return solved.error();
      for (double x : {solved->d_wave, solved->leading}) v.add(x);
      e.d_wave_overlap = solved->d_wave_overlap;
    }
    e.values = std::move(v.values);
    return e;
  }
};

}  // namespace

result<bool> evaluate_rows(std::size_t n_rows, const std::function<bool()>& stop,
                           const std::function<result<void>(std::size_t)>& f) {
  static const task_info info{probe::register_name("qmc/jackknife"), probe::no_key};
  std::vector<std::optional<error>> failures(n_rows);
  std::atomic<bool> ended = false;  // relaxed: orders no other data
  task_group tasks;
  for (std::size_t i = 0; i < n_rows; ++i)
    tasks.run(info, [&, i] {
      if (stop && stop()) ended.store(true, std::memory_order_relaxed);
      if (ended.load(std::memory_order_relaxed)) return;
      if (auto done = f(i); !done) failures[i] = done.error();
    });
  tasks.wait();
  if (ended) return false;
  for (const auto& failure : failures)
    if (failure) return *failure;
  return true;
}

result<bool> conclude(const dca_options& options, const coarse_graining& grain, const transfers& more,
                      const impurity& p, const std::vector<std::vector<double>>& rows,
                      const std::function<bool()>& stop, dca_temperature& t) {
  const evaluator evaluate{options, grain, p};
  // The last row is the mean of all. A task per row; results are combined in the order of the rows.
  const auto means = detail::leave_one_out(rows, {});
  std::vector<std::vector<double>> results(means.size());
  evaluation whole;
  const auto evaluated = evaluate_rows(means.size(), stop, [&](std::size_t i) -> result<void> {
    const bool is_mean = i + 1 == means.size();
    auto e = evaluate(means[i]);
    if (!e) return e.error();
    results[i] = std::move(e->values);
    if (is_mean) whole = *std::move(e);
    return {};
  });
  if (!evaluated || !*evaluated) return evaluated;
  function_results::table of_functions;
  const auto complete = more.results.evaluate(means, more.held_bins, of_functions);
  if (!complete || !*complete) return complete;
  list_of_estimates e(detail::jackknife_estimates(results));
  const int n_k = p.lattice->n_sites();
  t.green = std::move(whole.green);
  t.self_energy = std::move(whole.self_energy);
  t.pairs = std::move(whole.pairs);
  t.d_wave_overlap = whole.d_wave_overlap;
  t.four_points.clear();
  list_of_estimates of_transfers(detail::jackknife_estimates(of_functions.rows));
  for (std::size_t f = 0; f < of_functions.means.size(); ++f) {
    auto& point = t.four_points.emplace_back();
    point.function = more.functions.functions[f];
    point.mean = std::move(of_functions.means[f]);
    for (estimate* x : {&point.cluster, &point.lattice, &point.bubble, &point.leading}) *x = of_transfers.one();
  }
  t.energy = e.one();
  t.kinetic_energy = e.one();
  t.potential_energy = e.one();
  t.green_error = e.errors(t.green);
  t.self_energy_error = e.errors(t.self_energy);
  t.occupation = e.several(static_cast<std::size_t>(n_k));
  if (options.correlations) t.correlations = correlations_in(e, static_cast<std::size_t>(n_k));
  if (options.pair_frequencies > 0) {
    const estimate d_wave = e.one();
    if (t.d_wave_overlap >= least_overlap) t.d_wave = d_wave;
    t.leading = e.one();
  }
  return true;
}

}  // namespace plx::qmc
