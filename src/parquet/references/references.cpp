#include "parquet/references/references.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <utility>

#include "num/statistics.hpp"
#include "parquet/equations/rotation.hpp"
#include "parquet/run/options.hpp"
#include "parquet/solver/exact.hpp"
#include "parquet/solver/solver.hpp"
#include "qmc/dca/dca.hpp"

namespace plx::parquet {
namespace {

using complex = std::complex<double>;
using comparisons = std::vector<comparison>;

hubbard_model model_of(const char* cluster, double u, double mu, double temperature) {
  parquet_options o;
  o.cluster = cluster;
  o.u = u;
  o.mu = mu;
  o.temperature = temperature;
  return o.make_model().value();
}

struct silent : solver_observer {
  explicit silent(const std::atomic<bool>* s) : stop(s) {}
  void iterated(const iteration_report&) override {}
  bool stop_requested() override { return stop != nullptr && stop->load(std::memory_order_relaxed); }
  const std::atomic<bool>* stop_flag() const override { return stop; }
  const std::atomic<bool>* stop;
};

result<parquet_solution> solved(const hubbard_model& model, int frequencies, const std::atomic<bool>* stop,
                                const solver_settings& settings = {}) {
  silent observer(stop);
  const auto grid = std::make_shared<const vertex_grid>(model.lattice, frequencies, frequencies);
  auto s = solve(model, grid, settings, observer);
  if (s && s->stopped) return error{"stopped"};
  if (s && !s->converged)
    return error{
        fmt::format("not converged after {} iterations (residual {:.2g})", settings.iterations, s->last.residual)};
  return s;
}

int momentum_at(const hubbard_model& model, double x, double y) {
  for (int k = 0; k < model.n_momenta(); ++k) {
    const auto p = model.lattice->momentum(k);
    const auto differs = [](double a, double b) { return std::abs(std::remainder(a - b, 2 * M_PI)) > 1e-6; };
    if (!differs(p[0], x) && !differs(p[1], y)) return k;
  }
  PLX_ASSERT(false && "the cluster has no such momentum", x, y);
  return 0;
}

std::string named(const char* quantity, const hubbard_model& model, int k) {
  if (model.n_momenta() == 1) return quantity;
  const auto p = model.lattice->momentum(k);
  return fmt::format("{} at ({:.2f}, {:.2f})", quantity, p[0], p[1]);
}

// Sigma at the lowest frequency of each momentum, of which the largest difference is shown; susceptibilities in the
// same way.
void add_exact(comparisons& all, const parquet_solution& s, double sigma_allowed, double chi_allowed) {
  const auto& model = s.green->model();
  const auto exact = exact_self_energy(model, 1);
  all.push_back({"particles per site", s.green->density(), exact.density, 0, sigma_allowed});
  comparisons sigma;
  for (int k = 0; k < model.n_momenta(); ++k)
    sigma.push_back(
        {named("Im Sigma(pi T)", model, k), s.sigma(k, 0).imag(), exact.sigma(k, 0).imag(), 0, sigma_allowed});
  all.push_back(worst_of(sigma));
  for (const auto& [c, name] : {std::pair(channel::density, "charge susceptibility"),
                                {channel::magnetic, "spin susceptibility"},
                                {channel::singlet, "pair susceptibility"}}) {
    comparisons chi;
    for (int q = 0; q < model.n_momenta(); ++q) {
      const double expected = exact_susceptibility(model, c, q);
      chi.push_back({named(name, model, q), s.susceptibility(c, {q, 0}).real(), expected, 0, chi_allowed * expected});
    }
    all.push_back(worst_of(chi));
  }
}

void add_vertex(comparisons& all, const parquet_solution& s, channel c, const char* name, double allowed) {
  const auto& model = s.green->model();
  const auto value = full_vertex(s.reader(), c, {0, 0}, {0, 0}, {0, 0}),
             exact = exact_vertex(diagonalize(model), *model.lattice, c, {0, 0}, {0, 0}, {0, 0});
  all.push_back({fmt::format("{}(pi T, pi T; 0)", name), value.real(), exact.real(), 0, allowed * model.u});
}

result<comparisons> free_electrons(const std::atomic<bool>* stop) {
  const auto s = solved(model_of("2x2", 0, 0.3, 0.5), 2, stop);
  if (!s) return s.error();
  comparisons all;
  add_exact(all, *s, 1e-8, 1e-8);
  return all;
}

// Beyond second order Sigma is of the order U^3.
result<comparisons> second_order(const std::atomic<bool>* stop) {
  const auto model = model_of("2x2", 0.1, -0.4, 1);
  const auto s = solved(model, 4, stop);
  if (!s) return s.error();
  const auto second = s->green->second_order();
  comparisons all;
  for (int k = 0; k < model.n_momenta(); ++k)
    all.push_back({named("Im Sigma(pi T)", model, k), s->sigma(k, 0).imag(), second(k, 0).imag(), 0,
                   0.05 * std::abs(second(k, 0).imag())});
  return all;
}

result<comparisons> atom(const std::atomic<bool>* stop) {
  const auto s = solved(model_of("atom", 1, 0, 1), 8, stop);
  if (!s) return s.error();
  comparisons all;
  add_exact(all, *s, 0.01 * 0.0796, 0.01);  // of |Im Sigma(pi T)|: U^2 / (4 pi T)
  add_vertex(all, *s, channel::density, "F_d", 0.01);
  add_vertex(all, *s, channel::magnetic, "F_m", 0.01);
  return all;
}

// The approximation omits the fifth order of Sigma, and the fourth of the vertex.
result<comparisons> at_weak_coupling(const char* cluster, double mu, const std::atomic<bool>* stop) {
  const auto s = solved(model_of(cluster, 0.5, mu, 1), 6, stop);
  if (!s) return s.error();
  comparisons all;
  add_exact(all, *s, 5e-6, 1e-4);
  add_vertex(all, *s, channel::density, "F_d", 1e-3);
  add_vertex(all, *s, channel::magnetic, "F_m", 1e-3);
  return all;
}
result<comparisons> dimer(const std::atomic<bool>* stop) { return at_weak_coupling("dimer", 0.3, stop); }
result<comparisons> plaquette(const std::atomic<bool>* stop) { return at_weak_coupling("2x2", -0.4, stop); }

// Extrapolated in the number of frequencies: a value of each solution.
template <class F>
result<std::vector<double>> extrapolated_values(const hubbard_model& model, const std::vector<int>& frequencies,
                                                const solver_settings& settings, const std::atomic<bool>* stop, F f) {
  std::vector<std::vector<double>> of_runs;
  for (const int n : frequencies) {
    const auto s = solved(model, n, stop, settings);
    if (!s) return s.error();
    of_runs.push_back(f(*s));
  }
  std::vector<double> limits;
  for (std::size_t i = 0; i < of_runs.front().size(); ++i) {
    std::vector<double> values;
    for (const auto& run : of_runs) values.push_back(run[i]);
    limits.push_back(extrapolated(frequencies, values).value);
  }
  return limits;
}

// Im Sigma at (0, 0) and (pi, 0), and the spin susceptibility at (pi, pi).
struct places {
  int gamma, x, m;
  explicit places(const hubbard_model& model)
      : gamma(momentum_at(model, 0, 0)), x(momentum_at(model, M_PI, 0)), m(momentum_at(model, M_PI, M_PI)) {}
  std::vector<double> of(const parquet_solution& s) const {
    return {s.sigma(gamma, 0).imag(), s.sigma(x, 0).imag(), s.susceptibility(channel::magnetic, {m, 0}).real()};
  }
  comparisons compared(const hubbard_model& model, const std::vector<double>& values, const estimate (&expected)[3],
                       double allowed) const {
    const std::string names[] = {named("Im Sigma(pi T)", model, gamma), named("Im Sigma(pi T)", model, x),
                                 named("spin susceptibility", model, m)};
    comparisons all;
    for (int i = 0; i < 3; ++i)
      all.push_back({names[i], values[i], expected[i].value, expected[i].error,
                     allowed * std::abs(expected[i].value) + 3 * expected[i].error});
    return all;
  }
};

result<comparisons> plaquette_at_u_2(const std::atomic<bool>* stop) {
  const auto model = model_of("2x2", 2, 0, 0.5);
  const places at(model);
  const auto values = extrapolated_values(model, {4, 6}, {}, stop, [&](const auto& s) { return at.of(s); });
  if (!values) return values.error();
  const auto exact = exact_self_energy(model, 1);
  return at.compared(model, *values,
                     {{exact.sigma(at.gamma, 0).imag(), 0},
                      {exact.sigma(at.x, 0).imag(), 0},
                      {exact_susceptibility(model, channel::magnetic, at.m), 0}},
                     0.1);
}

// The largest deviation from crossing symmetry of a solution on which it is not imposed.
result<comparisons> symmetry(const std::atomic<bool>* stop) {
  const auto model = model_of("2x2", 1, 0.3, 1);
  solver_settings settings;
  settings.tolerance = 1e-11;
  const auto imposed = solved(model, 3, stop, settings);
  if (!imposed) return imposed.error();
  settings.symmetrize = false;
  const auto plain = solved(model, 3, stop, settings);
  if (!plain) return plain.error();
  double most = 0;
  for (std::size_t i = 0; i < plain->phi.size(); ++i) most = std::max(most, std::abs(plain->phi[i] - imposed->phi[i]));
  return comparisons{{"largest difference of a vertex", most, 0, 0, 1e-10},
                     {"deviation before it is imposed", imposed->last.asymmetry, 0, 0, 1e-10}};
}

struct cooling final : qmc::dca_observer {
  explicit cooling(const std::atomic<bool>* s) : stop(s) {}
  void iterated(const qmc::dca_iteration&) override {}
  void cooled(const qmc::dca_temperature&) override {}
  bool stop_requested() override { return stop != nullptr && stop->load(std::memory_order_relaxed); }
  const std::atomic<bool>* stop_flag() const override { return stop; }
  const std::atomic<bool>* stop;
};

// The cluster by itself, half filled, by the Monte Carlo of plx-dca: its G0 does not depend on Sigma, so that one
// iteration is enough.
result<comparisons> monte_carlo(const char* cluster, const std::vector<int>& frequencies, std::int64_t measurements,
                                const std::atomic<bool>* stop) {
  const auto model = model_of(cluster, 2, 0, 0.5);
  const places at(model);
  solver_settings settings;
  settings.tolerance = 1e-6;
  settings.history = 5;
  const auto values = extrapolated_values(model, frequencies, settings, stop, [&](const auto& s) { return at.of(s); });
  if (!values) return values.error();
  qmc::dca_options o;
  o.u = model.u;
  o.density = 1;
  o.cluster = cluster;
  o.lattice = false;
  o.temperatures = {1 / model.beta};
  o.first_iterations = o.iterations = 1;
  o.mixing = 1;
  o.measurements = measurements;
  if (auto r = o.check(); !r) return r.error();
  cooling observer(stop);
  const auto done = qmc::run_dca(o, observer);
  if (!done) return done.error();
  if (done->stopped) return error{"stopped"};
  const auto& t = done->temperatures.front();
  // Half of the spin susceptibility here.
  const estimate chi = t.correlations->spin_susceptibility.of_momentum[at.m];
  return at.compared(model, *values,
                     {{t.self_energy(at.gamma, 0).imag(), t.self_energy_error(at.gamma, 0).imag()},
                      {t.self_energy(at.x, 0).imag(), t.self_energy_error(at.x, 0).imag()},
                      {2 * chi.value, 2 * chi.error}},
                     0.1);
}
result<comparisons> monte_carlo_4(const std::atomic<bool>* stop) { return monte_carlo("2x2", {4, 6}, 200000, stop); }
result<comparisons> monte_carlo_16(const std::atomic<bool>* stop) { return monte_carlo("4x4", {3, 4}, 100000, stop); }

constexpr reference references[] = {
    {"2x2, U = 0, T = 0.5, mu = 0.3", "exact diagonalization", false, free_electrons},
    {"2x2, U = 0.1, T = 1, mu = -0.4", "second order", false, second_order},
    {"2x2, U = 1, T = 1, mu = 0.3", "crossing symmetry", false, symmetry},
    {"atom, U = 1, T = 1", "exact diagonalization", false, atom},
    {"dimer, U = 0.5, T = 1, mu = 0.3", "exact diagonalization", false, dimer},
    {"2x2, U = 0.5, T = 1, mu = -0.4", "exact diagonalization", false, plaquette},
    {"2x2, U = 2, T = 0.5", "exact diagonalization", true, plaquette_at_u_2},
    {"2x2, U = 2, T = 0.5", "Monte Carlo", true, monte_carlo_4},
    {"4x4, U = 2, T = 0.5", "Monte Carlo", true, monte_carlo_16},
};

}  // namespace

const comparison& worst_of(std::span<const comparison> some) {
  const comparison* worst = &some.front();
  for (const comparison& c : some) {
    const double share = std::abs(c.difference()) / c.allowed, most = std::abs(worst->difference()) / worst->allowed;
    if (!std::isnan(most) && !(share <= most)) worst = &c;
  }
  return *worst;
}

std::span<const reference> all_references() { return references; }

}  // namespace plx::parquet
