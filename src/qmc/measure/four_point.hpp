// Measurement of the two-particle functions with a momentum transfer q and a frequency transfer Omega = 2 pi m / beta:
//
//   particle_particle  <c_u(x) c_d(Q - x) c+_d(Q - x') c+_u(x')>,   x = (K, w), Q = (q, Omega)
//   magnetic           1/2 sum_st s t <c+_s(x) c_s(x + Q) c+_t(x' + Q) c_t(x')>
//   charge             the same without s t
//   transverse         <c+_u(x) c_d(x + Q) c+_d(x' + Q) c_u(x')>
//
// with c(w) = beta^-1/2 integral dtau exp(i w tau) c(tau). In one configuration Wick's theorem gives products of
// g(x, x') = G0(x) delta - G0(x) M(x, x') G0(x'):
//
//   particle_particle  g_u(x, x') g_d(Q - x, Q - x')
//   magnetic, charge   1/2 sum_st (s t) g_s(x + Q, x) g_t(x', x' + Q) - 1/2 sum_s g_s(x + Q, x' + Q) g_s(x', x)
//   transverse         -g_d(x + Q, x' + Q) g_u(x', x)
//
// Means are also taken over the exchange of the spins, over the operations of the point group that map q, or another
// q of the set with the same channel and Omega, to q, and, for Omega = 0, over the reversal of all frequencies.
// Magnetic and transverse functions are equal without a magnetic field.
//
// Thread safety: one thread at a time per object. Cost per measurement: some 20 operations per element of each
// function, beside the transform. Memory: 16 bytes per element, [size][size]. Example:
// qmc/measure/test/four_point_test.cpp
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "num/dense/matrix.hpp"
#include "num/saved_numbers.hpp"
#include "qmc/green/matsubara.hpp"
#include "qmc/measure/vertex_transform.hpp"

namespace plx::qmc {

enum class four_point_channel { particle_particle, magnetic, charge, transverse };
inline constexpr std::string_view four_point_names[] = {"particle_particle", "magnetic", "charge", "transverse"};
constexpr std::string_view name_of(four_point_channel c) { return four_point_names[static_cast<int>(c)]; }

/// A two-particle function: a channel with its transfer.
struct four_point {
  four_point_channel channel = four_point_channel::magnetic;
  int momentum = 0, frequency = 0;  // q, an index of the cluster; m >= 0

  /// The momentum and the frequency that belong to (k, n): those of Q - x or x + Q.
  std::array<int, 2> partner(const cluster& c, int k, int n) const noexcept {
    if (channel == four_point_channel::particle_particle)
      return {c.momentum_difference(momentum, k), frequency - 1 - n};
    return {c.momentum_sum(k, momentum), n + frequency};
  }
};

/// The functions to measure, and for how many positive fermionic frequencies.
struct four_point_set {
  std::vector<four_point> functions;
  int n_frequencies = 0;
  /// Positive frequencies of the transform.
  int n_transformed() const noexcept;
};

class four_point_accumulator {
 public:
  /// The cluster must outlive the accumulator. Requires: g0 has at least set.n_transformed() frequencies.
  four_point_accumulator(const cluster& c, const matsubara_function& g0, double beta, four_point_set set);
  /// Requires: t has at least set.n_transformed() frequencies.
  void add(const vertex_transform& t);
  /// Sums of sign times the functions since the last call. Shape: [function][x'][x][2], flat, in the order of
  /// pair_index: real and imaginary parts.
  std::vector<double> take();
  /// The sums, for checkpoints.
  void save(number_writer& to) const;
  void load(number_reader& from);
  /// The sums without their sizes, and an accumulator with these. Shape: [function][part][x'][x], flat.
  std::vector<double> all_sums() const;
  void set_all_sums(std::span<const double> all);

 private:
  using complex = std::complex<double>;
  // A complex matrix, [x][x'], whose real and imaginary parts are apart, for loops that are vectorized.
  struct split_matrix {
    split_matrix() = default;
    explicit split_matrix(int size) : re(size, size), im(size, size) {}
    complex operator()(int x, int y) const { return {re(x, y), im(x, y)}; }
    real_matrix re, im;
  };
  struct sums {
    std::vector<int> partner;  // [momentum]: the place in g_ of the partner of its lowest frequency
    split_matrix sum;
  };
  void fill(const vertex_transform& t);
  void add(const four_point& f, sums& s, double sign);

  const cluster* cluster_;
  double scale_;  // of M
  four_point_set set_;
  pair_index window_, all_;
  std::vector<complex> g0_;  // [x of all_]
  std::vector<int> own_;     // [momentum]: the place in g_ of the window's lowest frequency
  std::vector<sums> sums_;
  std::array<split_matrix, 2> g_, transposed_;  // [spin]: [x][x'] of all_
  std::vector<double> equal_;                   // [part][x]: g(x + Q, x) of both spins, of one function
};

/// The function f of a row of means of take(), over the mean sign. Shape: [x][x'].
complex_matrix four_point_from(const pair_index& window, std::size_t f, double sign, const double* means);

}  // namespace plx::qmc
