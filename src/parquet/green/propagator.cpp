#include "parquet/green/propagator.hpp"

#include <cmath>
#include <numbers>

#include "base/assert.hpp"
#include "rt/for_loop.hpp"

namespace plx::parquet {
namespace {

using complex = std::complex<double>;

double fermi(double beta, double x) {
  return x > 0 ? std::exp(-beta * x) / (1 + std::exp(-beta * x)) : 1 / (1 + std::exp(beta * x));
}

// T sum_nu 1 / (i nu - a) 1 / (i nu + i w - b)
complex level_bubble(double a, double b, int m, double beta) {
  const double w = 2 * m * std::numbers::pi / beta;
  if (m != 0 || std::abs(a - b) > 1e-6) return (fermi(beta, a) - fermi(beta, b)) / complex(a - b, w);
  const double f = fermi(beta, (a + b) / 2);  // the error is of second order in a - b
  return -beta * f * (1 - f);
}

}  // namespace

propagator::propagator(const hubbard_model& model, const qmc::matsubara_function& sigma, double density,
                       const std::atomic<bool>* stop)
    : model_(model),
      n_frequencies_(sigma.n_frequencies()),
      stop_(stop),
      green_(model.n_momenta(), 3 * sigma.n_frequencies()) {
  PLX_ASSERT_EQ(sigma.n_momenta(), model.n_momenta());
  PLX_ASSERT_EQ(static_cast<int>(model.energies.size()), model.n_momenta());
  double particles = 0;
  for (int k = 0; k < model.n_momenta(); ++k) {
    xi_.push_back(model.energies[k] - model.mu + model.u * (density - 1) / 2);
    const double last = qmc::matsubara_frequency(n_frequencies_ - 1, model.beta);
    double difference = 0;  // from the level, decays as w^-4
    for (int n = 0; n < green_.n_frequencies(); ++n) {
      const double w = qmc::matsubara_frequency(n, model.beta);
      const complex tail(0, sigma(k, n_frequencies_ - 1).imag() * last / w);
      const complex s = n < n_frequencies_ ? sigma(k, n) : tail;
      green_(k, n) = 1.0 / (complex(0, w) - xi_[k] - s);
      difference += (green_(k, n) - 1.0 / (complex(0, w) - xi_[k])).real();
    }
    particles += fermi(model.beta, xi_[k]) + 2 * difference / model.beta;
  }
  density_ = 2 * particles / model.n_momenta();
  make_bubbles();
}

std::vector<complex> propagator::on_sites(const qmc::matsubara_function& g) const {
  const int n_sites = model_.n_momenta();
  std::vector<complex> out(static_cast<std::size_t>(g.n_frequencies()) * n_sites);
  for (int r = 0; r < n_sites; ++r)
    for (int k = 0; k < n_sites; ++k) {
      const double phase = model_.lattice->phase(k, r).real() / n_sites;  // G is even in K
      for (int n = 0; n < g.n_frequencies(); ++n) out[static_cast<std::size_t>(n) * n_sites + r] += phase * g(k, n);
    }
  return out;
}

void propagator::make_bubbles() {
  const int n_sites = model_.n_momenta(), most = green_.n_frequencies();
  const auto& lattice = *model_.lattice;
  qmc::matsubara_function level(n_sites, most);
  for (int k = 0; k < n_sites; ++k)
    for (int n = 0; n < most; ++n) level(k, n) = 1.0 / (complex(0, qmc::matsubara_frequency(n, model_.beta)) - xi_[k]);
  const auto full = on_sites(green_), free = on_sites(level);
  const auto at = [n_sites](const std::vector<complex>& g, int n, int r) {
    return n >= 0 ? g[static_cast<std::size_t>(n) * n_sites + r]
                  : std::conj(g[static_cast<std::size_t>(-1 - n) * n_sites + r]);
  };
  ph_.assign(static_cast<std::size_t>(2 * n_frequencies_ + 1) * n_sites, 0);
  pp_ = ph_;
  for_loop({probe::register_name("parquet/bubble"), probe::no_key}, 0, 2 * n_frequencies_ + 1, [&](int m) {
    if (is_stopping()) return;
    std::vector<complex> ph(n_sites), pp(n_sites);  // by site
    for (int n = -most; n < most - m; ++n)
      for (int r = 0; r < n_sites; ++r) {
        const complex g = at(full, n, r), g0 = at(free, n, r);
        ph[r] += g * at(full, n + m, r) - g0 * at(free, n + m, r);
        // w - nu has the number m - 1 - n; n -> -1 - n covers the same range.
        pp[r] += std::conj(g) * at(full, m + n, r) - std::conj(g0) * at(free, m + n, r);
      }
    for (int q = 0; q < n_sites; ++q) {
      complex x = 0, y = 0;
      for (int r = 0; r < n_sites; ++r) {
        const double phase = lattice.phase(q, r).real() / model_.beta;
        x += phase * ph[r];
        y += phase * pp[r];
      }
      for (int k = 0; k < n_sites; ++k) {
        x += level_bubble(xi_[k], xi_[lattice.momentum_sum(k, q)], m, model_.beta) / double(n_sites);
        // 1 / (i w - i nu - b) = -1 / (i nu - i w + b)
        y -= level_bubble(xi_[k], -xi_[lattice.momentum_difference(q, k)], -m, model_.beta) / double(n_sites);
      }
      ph_[static_cast<std::size_t>(m) * n_sites + q] = x;
      pp_[static_cast<std::size_t>(m) * n_sites + q] = y;
    }
  });
}

qmc::matsubara_function propagator::second_order() const {
  const int n_sites = model_.n_momenta(), most = 2 * n_frequencies_;
  const auto g = on_sites(green_);
  std::vector<complex> x(static_cast<std::size_t>(most + 1) * n_sites);  // X_ph by site; real, even in r
  for (int m = 0; m <= most; ++m)
    for (int r = 0; r < n_sites; ++r)
      for (int q = 0; q < n_sites; ++q)
        x[static_cast<std::size_t>(m) * n_sites + r] +=
            model_.lattice->phase(q, r).real() / n_sites * ph_[static_cast<std::size_t>(m) * n_sites + q];
  qmc::matsubara_function sigma(n_sites, n_frequencies_);
  for_loop({probe::register_name("parquet/second-order"), probe::no_key}, 0, n_frequencies_, [&](int n) {
    if (is_stopping()) return;
    for (int r = 0; r < n_sites; ++r) {
      complex sum = 0;
      for (int m = -most; m <= most; ++m) {
        const int j = n + m;
        const complex xm = m >= 0 ? x[static_cast<std::size_t>(m) * n_sites + r]
                                  : std::conj(x[static_cast<std::size_t>(-m) * n_sites + r]);
        sum += xm * (j >= 0 ? g[static_cast<std::size_t>(j) * n_sites + r]
                            : std::conj(g[static_cast<std::size_t>(-1 - j) * n_sites + r]));
      }
      for (int k = 0; k < n_sites; ++k)
        sigma(k, n) -= model_.u * model_.u / model_.beta * model_.lattice->phase(k, r).real() * sum;
    }
  });
  return sigma;
}

}  // namespace plx::parquet
