// Clusters of the square lattice with periodic boundaries: sites, momenta, and the point group.
//
// A cluster is the lattice modulo the vectors a1 and a2. All of its arithmetic is of integers: a site is a vector of
// integers, a momentum is 2 pi / N times one, where N is the number of sites.
// Thread safety: const functions from any thread. Cost: O(N^2) memory. Example: qmc/cluster/test/cluster_test.cpp
#pragma once

#include <array>
#include <complex>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "num/dense/matrix.hpp"

namespace plx::qmc {

using lattice_vector = std::array<int, 2>;

/// eps_k = -2t (cos kx + cos ky) - 4t' cos kx cos ky
struct dispersion {
  double t = 1, t_prime = 0;
  double operator()(double kx, double ky) const;
};

/// An operation of the point group: the images of sites and momenta.
struct cluster_symmetry {
  std::vector<int> sites, momenta;
};

class cluster {
 public:
  static constexpr int max_sites = 1024;

  /// The cluster spanned by two vectors. Error: they are parallel, or span more than max_sites sites.
  static result<cluster> spanned_by(lattice_vector a1, lattice_vector a2);
  /// "2x2", "4x4", "6x4", ... (width x height), "4A" (2x2), "8A" (2, 2), (2, -2), "16A" (4, 2), (0, 4), "16B" (4x4).
  static result<cluster> named(std::string_view name);

  int n_sites() const noexcept { return static_cast<int>(sites_.size()); }
  lattice_vector a1() const noexcept { return a1_; }
  lattice_vector a2() const noexcept { return a2_; }
  const std::vector<lattice_vector>& sites() const noexcept { return sites_; }
  /// Site 0 is the origin. The site equivalent to any vector.
  int site_at(lattice_vector r) const;
  /// The site at the difference r_a - r_b.
  int difference(int a, int b) const noexcept { return site_difference_[a * n_sites() + b]; }

  /// Components in [0, 2 pi). Momentum 0 is zero.
  std::array<double, 2> momentum(int k) const;
  /// The momentum equal to 2 pi / N times a vector, or -1 if the cluster does not have it.
  int momentum_at(lattice_vector n) const;
  /// The momentum with these components modulo 2 pi, within 1e-9, or -1.
  int find_momentum(double kx, double ky) const;
  int momentum_sum(int a, int b) const noexcept { return momentum_sum_[a * n_sites() + b]; }
  int momentum_difference(int a, int b) const noexcept { return momentum_sum_[a * n_sites() + negative_[b]]; }
  int negative(int k) const noexcept { return negative_[k]; }
  /// exp(i K r) for the momentum k and the site r.
  std::complex<double> phase(int k, int r) const;

  /// The operations of the square's point group that map the cluster to itself; the first is the identity.
  const std::vector<cluster_symmetry>& symmetries() const noexcept { return symmetries_; }

  /// The corners, counterclockwise, of the set of wave vectors closer to zero than to any other of the vectors that are
  /// equivalent to zero modulo the reciprocal vectors of a1, a2. Each momentum's patch is this polygon around it. Area:
  /// 4 pi^2 / N.
  std::vector<std::array<double, 2>> patch() const;

  /// Hopping between the sites of the periodic cluster by itself: the transform of eps at its momenta.
  real_matrix hopping(const dispersion& e) const;

 private:
  cluster(lattice_vector a1, lattice_vector a2);
  int site_key(lattice_vector r) const noexcept;

  lattice_vector a1_, a2_;
  int determinant_ = 0;
  std::vector<lattice_vector> sites_, momenta_;
  std::vector<std::pair<int, int>> site_of_key_;  // sorted
  std::vector<int> momentum_of_key_;              // [kx * N + ky], -1: none
  std::vector<int> site_difference_, momentum_sum_, negative_;
  std::vector<std::complex<double>> roots_;  // exp(2 pi i n / N)
  std::vector<cluster_symmetry> symmetries_;
};

}  // namespace plx::qmc
