// Exact diagonalization of Hubbard clusters of up to four sites: the reference that the Monte Carlo code is tested
// against.
//
//   H = sum_ij,s t_ij c+_is c_js + U sum_i (n_iu - 1/2)(n_id - 1/2) - mu N
//
// The states are grouped in sectors with given numbers of spin-up and spin-down particles; the largest of four sites
// has 36 states. Energies in units of the hopping, hbar = k_B = 1. Thread safety: const functions from any thread.
// Cost: milliseconds to construct with four sites. Example: qmc/exact/test/exact_diagonalization_test.cpp
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <vector>

#include "num/dense/matrix.hpp"

namespace plx::qmc {

enum class spin { up, down };

/// A cluster. Requires: hopping symmetric, with 1 to 4 rows; beta > 0.
struct cluster_hamiltonian {
  real_matrix hopping;  // [site][site]; the diagonal is a potential
  double u = 0, mu = 0, beta = 1;
};

/// An annihilation operator sum_i coefficients[i] c_i, or the creation operator sum_i conj(coefficients[i]) c+_i.
struct fermion_operator {
  bool creates = false;
  qmc::spin spin = spin::up;
  std::vector<std::complex<double>> coefficients;  // [site]

  static fermion_operator annihilate(std::vector<std::complex<double>> c, qmc::spin s) {
    return {false, s, std::move(c)};
  }
  static fermion_operator create(std::vector<std::complex<double>> c, qmc::spin s) { return {true, s, std::move(c)}; }
};

/// A product of two operators; the second acts first.
using fermion_product = std::array<fermion_operator, 2>;

/// G(z) as a sum over poles: sum_p residues[p] / (z - energies[p]).
struct pole_sum {
  std::vector<double> energies;
  std::vector<std::complex<double>> residues;
  std::complex<double> operator()(std::complex<double> z) const;
};

class exact_diagonalization {
 public:
  explicit exact_diagonalization(cluster_hamiltonian h);

  int n_sites() const noexcept { return h_.hopping.rows(); }
  double beta() const noexcept { return h_.beta; }
  /// ln Z of the grand canonical ensemble.
  double log_partition_function() const noexcept;
  /// <n_up + n_down> per site.
  double density() const noexcept { return density_; }
  /// <n_up n_down> per site.
  double double_occupancy() const noexcept { return double_occupancy_; }
  /// <H + mu N> per site.
  double energy() const noexcept { return energy_; }

  /// G_ab(i w) = -integral_0^beta dtau e^{i w tau} <a(tau) b(0)>, w = (2n + 1) pi / beta, for a that annihilates and b
  /// that creates. Source: the Lehmann representation.
  std::complex<double> green(const fermion_operator& a, const fermion_operator& b, int n) const;
  /// The same function at any complex frequency; poles with residues below 1e-15 are omitted.
  pole_sum spectrum(const fermion_operator& a, const fermion_operator& b) const;
  /// G_ab(tau) = -<a(tau) b(0)>. Requires: 0 <= tau <= beta.
  std::complex<double> green_tau(const fermion_operator& a, const fermion_operator& b, double tau) const;

  /// The integral over tau_1, tau_2, tau_3 in [0, beta] of exp(i sum_k w_k tau_k) <T o1(tau_1) o2(tau_2) o3(tau_3)
  /// o4(0)> with fermionic w_k = (2 n_k + 1) pi / beta. Cost: O(sectors x states^3), about 20 ms with four sites.
  std::complex<double> two_particle(const std::array<fermion_operator, 4>& o, const std::array<int, 3>& n) const;

  /// <a b>
  std::complex<double> correlation(const fermion_product& a, const fermion_product& b) const;
  /// The integral over tau in [0, beta] of <a(tau) b(0)>.
  std::complex<double> susceptibility(const fermion_product& a, const fermion_product& b) const;

 private:
  struct sector {
    int n_up = 0, n_down = 0;
    std::vector<std::uint32_t> states;  // up bits, and down bits above them
    std::vector<double> energies;       // above the ground state
    std::vector<double> weights;        // Boltzmann's, their sum over all sectors is 1
    real_matrix vectors;                // [state][eigenstate]
  };
  // The matrix elements <m|o|n> from the eigenstates n of one sector to m of the target sector.
  struct operator_block {
    int target = -1;  // -1: the operator annihilates every state of the sector
    complex_matrix elements;
  };
  using operator_blocks = std::vector<operator_block>;  // [source sector]

  int sector_index(int n_up, int n_down) const noexcept { return n_up * (n_sites() + 1) + n_down; }
  void diagonalize(sector& s) const;
  void measure();
  operator_blocks blocks_of(const fermion_operator& o) const;
  operator_blocks blocks_of(const fermion_product& o) const;
  template <class Weight>
  std::complex<double> sum_over_states(const fermion_product& a, const fermion_product& b, Weight&& weight) const;
  std::complex<double> time_ordered(const std::array<const operator_blocks*, 4>& o, const std::array<int, 3>& n) const;

  cluster_hamiltonian h_;
  std::vector<sector> sectors_;
  double ground_energy_ = 0, log_z_ = 0, density_ = 0, double_occupancy_ = 0, energy_ = 0;
};

}  // namespace plx::qmc
