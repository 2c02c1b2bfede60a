// Green's functions of a cluster over Matsubara frequencies, and their transforms to imaginary time.
//
// Functions are stored for w = (2n + 1) pi / beta with n >= 0; G(-iw) = conj G(iw). The transforms subtract the
// function of a free level, whose transform is known, and the next term of the tail, so that what is summed over
// frequencies decays as w^-4. Thread safety: const functions from any thread. Example: qmc/green/test/green_test.cpp
#pragma once

#include <complex>
#include <vector>

#include "num/saved_numbers.hpp"

namespace plx::qmc {

/// (2n + 1) pi / beta
double matsubara_frequency(int n, double beta);

/// A function of the cluster momentum and frequency. Shape: [momentum][frequency], n >= 0.
class matsubara_function {
 public:
  matsubara_function() = default;
  matsubara_function(int n_momenta, int n_frequencies)
      : n_momenta_(n_momenta),
        n_frequencies_(n_frequencies),
        values_(static_cast<std::size_t>(n_momenta) * n_frequencies) {}

  int n_momenta() const noexcept { return n_momenta_; }
  int n_frequencies() const noexcept { return n_frequencies_; }
  std::complex<double>& operator()(int k, int n) noexcept {
    return values_[static_cast<std::size_t>(k) * n_frequencies_ + n];
  }
  const std::complex<double>& operator()(int k, int n) const noexcept {
    return values_[static_cast<std::size_t>(k) * n_frequencies_ + n];
  }
  const std::complex<double>* of_momentum(int k) const noexcept { return &(*this)(k, 0); }
  bool operator==(const matsubara_function&) const = default;

 private:
  int n_momenta_ = 0, n_frequencies_ = 0;
  std::vector<std::complex<double>> values_;
};

/// The state of a function, for checkpoints.
void save_function(number_writer& to, const matsubara_function& f);
matsubara_function load_function(number_reader& from);

/// G(tau) = -exp(-tau xi) / (1 + exp(-beta xi)) of a free level with the energy xi = eps - mu. Requires: 0 <= tau <=
/// beta.
double free_green_tau(double xi, double tau, double beta);

/// A Green's function of one momentum in imaginary time. Requires: values of G(iw) ~ 1/iw + xi/(iw)^2 + ..., n >= 0, at
/// least eight.
class imaginary_time_function {
 public:
  /// xi: the second moment, which the subtracted free level shares. Cost of the constructor: O(n_frequencies).
  imaginary_time_function(const std::complex<double>* g, int n_frequencies, double xi, double beta);
  /// G(tau). Requires: 0 <= tau <= beta; the values at 0 and beta are the limits from inside. Cost: O(n_frequencies).
  double operator()(double tau) const;

 private:
  double xi_, beta_, third_;                     // third: the coefficient of (iw)^-3 beyond the free level
  std::vector<std::complex<double>> remainder_;  // what is left after both subtractions
};

/// -G(beta) of both spins: the number of particles in this momentum.
double occupation(const std::complex<double>* g, int n_frequencies, double xi, double beta);

}  // namespace plx::qmc
