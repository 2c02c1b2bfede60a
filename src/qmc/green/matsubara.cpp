#include "qmc/green/matsubara.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/assert.hpp"

namespace plx::qmc {

double matsubara_frequency(int n, double beta) { return (2 * n + 1) * std::numbers::pi / beta; }

void save_function(number_writer& to, const matsubara_function& f) {
  to.add(f.n_momenta());
  std::vector<double> values;
  for (int k = 0; k < f.n_momenta(); ++k)
    for (int n = 0; n < f.n_frequencies(); ++n) values.insert(values.end(), {f(k, n).real(), f(k, n).imag()});
  to.add(values);
}

matsubara_function load_function(number_reader& from) {
  const auto n_momenta = from.integer<std::size_t>();
  const auto values = from.numbers();
  if (n_momenta == 0 || values.size() % (2 * n_momenta) != 0) return {};
  matsubara_function f(static_cast<int>(n_momenta), static_cast<int>(values.size() / (2 * n_momenta)));
  std::size_t at = 0;
  for (int k = 0; k < f.n_momenta(); ++k)
    for (int n = 0; n < f.n_frequencies(); ++n, at += 2) f(k, n) = {values[at], values[at + 1]};
  return f;
}

double free_green_tau(double xi, double tau, double beta) {
  // No exponent is positive.
  return xi >= 0 ? -std::exp(-tau * xi) / (1 + std::exp(-beta * xi))
                 : -std::exp((beta - tau) * xi) / (1 + std::exp(beta * xi));
}

imaginary_time_function::imaginary_time_function(const std::complex<double>* g, int n_frequencies, double xi,
                                                 double beta)
    : xi_(xi), beta_(beta), remainder_(n_frequencies) {
  PLX_ASSERT(n_frequencies >= 8, n_frequencies);
  using complex = std::complex<double>;
  for (int n = 0; n < n_frequencies; ++n) remainder_[n] = g[n] - 1.0 / (complex(0, matsubara_frequency(n, beta)) - xi);
  // Least squares of the remainder to third / (iw)^3 over the last quarter, weighted by w^6: a mean of (iw)^3 times it.
  const int first = n_frequencies - n_frequencies / 4;
  third_ = 0;
  for (int n = first; n < n_frequencies; ++n) {
    const complex iw(0, matsubara_frequency(n, beta));
    third_ += (iw * iw * iw * remainder_[n]).real() / (n_frequencies - first);
  }
  for (int n = 0; n < n_frequencies; ++n) {
    const complex iw(0, matsubara_frequency(n, beta));
    remainder_[n] -= third_ / (iw * iw * iw);
  }
}

double imaginary_time_function::operator()(double tau) const {
  // T sum exp(-iw tau) f(iw) over both signs of w is 2 T Re sum over n >= 0. The sum of (iw)^-3 is tau (beta - tau)
  // / 4.
  const double angle = std::numbers::pi * tau / beta_;
  const std::complex<double> step = std::polar(1.0, -2 * angle);
  double sum = 0;
  constexpr int block = 64;  // powers are restarted, so that their error does not grow
  for (int start = 0; start < static_cast<int>(remainder_.size()); start += block) {
    std::complex<double> factor = std::polar(1.0, -(2 * start + 1) * angle);
    const int end = std::min(start + block, static_cast<int>(remainder_.size()));
    for (int n = start; n < end; ++n) {
      sum += factor.real() * remainder_[n].real() - factor.imag() * remainder_[n].imag();
      factor = {factor.real() * step.real() - factor.imag() * step.imag(),
                factor.real() * step.imag() + factor.imag() * step.real()};
    }
  }
  return free_green_tau(xi_, tau, beta_) + third_ * tau * (beta_ - tau) / 4 + 2 * sum / beta_;
}

double occupation(const std::complex<double>* g, int n_frequencies, double xi, double beta) {
  return -2 * imaginary_time_function(g, n_frequencies, xi, beta)(beta);
}

}  // namespace plx::qmc
