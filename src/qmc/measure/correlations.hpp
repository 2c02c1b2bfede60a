// Measurement of correlations between the sites of the cluster: densities, spins and pairs, at equal times and
// integrated over the time between them.
//
// In one configuration Wick's theorem holds for each spin with g(i, j; t, t') = <T c_i(t) c+_j(t')> =
// g0 + sum_pq g0(i - p, t - tau_p) M_pq g0(q - j, tau_q - t'). Each measurement takes it at two times that are drawn at
// random; quantities at equal times use both, the others their difference. Fields with N the number of sites:
//
//   spin    <Sz_i Sz_j>, Sz = (n_u - n_d) / 2          charge  <n_i n_j>, n = n_u + n_d
//   pairs   integral dtau <D(tau) D+(0)>, D = N^-1/2 sum_K f(K) c_Ku c_-Kd,
//           f = 1 (s), cos Kx + cos Ky (extended s), cos Kx - cos Ky (d)
//
// Thread safety: one thread at a time per object. Cost per measurement and spin: the product of a [k][k] and a [k][2 N]
// matrix, and 4 N k lookups of g0 for both spins. Example: qmc/solver/test/correlations_test.cpp
#pragma once

#include <array>
#include <span>
#include <vector>

#include "num/dense/matrix.hpp"
#include "num/random/random_stream.hpp"
#include "qmc/cluster/cluster.hpp"
#include "qmc/measure/single_particle.hpp"
#include "qmc/walker/free_propagator.hpp"

namespace plx::qmc {

/// Where f(K) = 1, cos Kx + cos Ky, cos Kx - cos Ky.
enum class form_factor { s, extended_s, d };
inline constexpr int n_form_factors = 3;

/// Correlations of the cluster. Vectors: [site], the vector from the one to the other.
struct cluster_correlations {
  double density = 0, double_occupancy = 0;  // per site
  std::vector<double> spin, charge;          // at equal times; charge without the product of the means
  std::vector<double> spin_susceptibility, charge_susceptibility;  // integrated over time, in the same way
  std::array<double, n_form_factors> pairs{};
  static std::size_t count(int n_sites) { return 2 + 4 * static_cast<std::size_t>(n_sites) + n_form_factors; }
};

class correlation_accumulator {
 public:
  /// The cluster and g0 must outlive the accumulator. times: the stream of random times.
  correlation_accumulator(const cluster& c, const free_propagator& g0, random_stream times);
  void add(const snapshot& s);
  /// Sums since the last call, weighted with the sign, averaged over the point group. Shape:
  /// [cluster_correlations::count()].
  std::vector<double> take();
  void save(number_writer& to) const;
  void load(number_reader& from);

 private:
  using at_two_times = std::array<std::array<real_matrix, 2>, 2>;  // [time][time]: [site][site]
  void green_of_spin(const snapshot& s, int sigma, at_two_times& g);
  void add_at_equal_times(double sign, int t);
  void add_over_time(double sign);
  void add_pairs(double sign);

  const cluster* cluster_;
  const free_propagator* g0_;
  random_stream times_;
  std::array<real_matrix, n_form_factors> forms_;  // [site][site]
  std::vector<double> sum_;
  std::array<double, 2> time_{};
  real_matrix left_, right_, middle_;
  std::array<at_two_times, 2> g_;  // [spin]
  real_matrix half_, full_;
};

/// From means over measurements of what take() returns, with the mean sign.
cluster_correlations correlations_from(const cluster& c, double beta, double sign, std::span<const double> means);

}  // namespace plx::qmc
