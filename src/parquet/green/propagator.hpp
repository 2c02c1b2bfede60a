// The Hubbard model of a cluster, and its propagator with a self-energy, its bubbles, and the self-energy of second
// order.
//
//   G(K, iw) = 1 / (iw - xi_K - Sigma(K, iw)),  xi_K = eps_K - mu + U (n - 1) / 2
//   X_ph(Q, w) = T/N sum_k G(K, nu) G(K + Q, nu + w)      X_pp(Q, w) = T/N sum_k G(K, nu) G(Q - K, w - nu)
//   Sigma_2(K, nu) = -U^2 T/N sum_q X_ph(q) G(k + q)
//
// Sums over nu have no cutoff: the bubbles of the levels xi are known in closed form, and the difference of the bubbles
// decays as nu^-4. Beyond the frequencies of Sigma its last value continues as 1/w.
// Thread safety: const functions from any thread; the constructor runs a parallel loop and belongs in a task.
// Cost: O(N^2 F + N F^2) for F frequencies of Sigma. Example: parquet/green/test/propagator_test.cpp
#pragma once

#include <atomic>
#include <complex>
#include <memory>
#include <vector>

#include "qmc/cluster/cluster.hpp"
#include "qmc/green/matsubara.hpp"

namespace plx::parquet {

/// The Hubbard model of a finite cluster, in units of the hopping, hbar = k_B = 1:
///   H = sum_K,s energies[K] n_Ks + U sum_i (n_iu - 1/2)(n_id - 1/2) - mu N
struct hubbard_model {
  std::shared_ptr<const qmc::cluster> lattice;
  std::vector<double> energies;  // [momentum]; equal at K and -K
  double u = 0, mu = 0, beta = 1;

  int n_momenta() const noexcept { return lattice->n_sites(); }
};

class propagator {
 public:
  /// sigma: without the Hartree term, which follows from `density`, particles per site of both spins. stop: once it is
  /// true, loops end early, and bubbles and second_order() are incomplete; nullptr: never.
  propagator(const hubbard_model& model, const qmc::matsubara_function& sigma, double density,
             const std::atomic<bool>* stop = nullptr);

  const hubbard_model& model() const noexcept { return model_; }
  /// Frequencies of Sigma, w > 0.
  int n_frequencies() const noexcept { return n_frequencies_; }
  /// Particles per site of this propagator.
  double density() const noexcept { return density_; }
  /// G(K, (2n + 1) pi T) for any n in [-3 F, 3 F).
  std::complex<double> green(int k, int n) const noexcept {
    return n >= 0 ? green_(k, n) : std::conj(green_(k, -1 - n));
  }
  /// X_ph and X_pp at the momentum Q and w = 2 m pi T, |m| <= 2 F.
  std::complex<double> particle_hole(int q, int m) const noexcept { return bubble(ph_, q, m); }
  std::complex<double> particle_particle(int q, int m) const noexcept { return bubble(pp_, q, m); }

  /// Shape: [momentum][F].
  qmc::matsubara_function second_order() const;

  /// Bytes of an object with F frequencies of Sigma, and the most that its making and second_order() need besides.
  static double memory_bytes(int n_momenta, int n_frequencies) noexcept {
    // G: 3 F, bubbles: 2 (2 F + 1); temporary: G of the levels, and both on the sites: 9 F.
    return 16.0 * n_momenta * (16.0 * n_frequencies + 2);
  }

 private:
  std::complex<double> bubble(const std::vector<std::complex<double>>& x, int q, int m) const noexcept {
    const auto& value = x[static_cast<std::size_t>(m < 0 ? -m : m) * model_.n_momenta() + q];
    return m < 0 ? std::conj(value) : value;
  }
  void make_bubbles();
  bool is_stopping() const noexcept { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); }
  std::vector<std::complex<double>> on_sites(const qmc::matsubara_function& g) const;  // [n][site]

  hubbard_model model_;
  int n_frequencies_;
  const std::atomic<bool>* stop_;
  double density_ = 1;
  std::vector<double> xi_;                     // [momentum]
  qmc::matsubara_function green_;              // [momentum][3 F]
  std::vector<std::complex<double>> ph_, pp_;  // [m][momentum], 0 <= m <= 2 F
};

}  // namespace plx::parquet
