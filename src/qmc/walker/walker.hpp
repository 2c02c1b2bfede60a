// A Markov chain over configurations of auxiliary spins: the solver CT-AUX.
//
// The partition function is expanded in the interaction; a configuration has k vertices, each with a time, a site, and
// an auxiliary spin s = +-1. Its weight is (K / 2 beta Nc)^k prod_sigma det A_sigma with
//
//   A = e^V - g0 (e^V - 1),   e^V = diag(exp(sigma gamma s)),   cosh gamma = 1 + U beta Nc / 2K,   N = A^-1.
//
// A move inserts a vertex, removes one, or flips its spin. rank_one_walker computes each move from N directly and is
// the reference; submatrix_walker makes the same decisions with products of matrices.
// Thread safety: one thread at a time per walker; a free_propagator may be shared.
// Example: qmc/walker/test/walker_test.cpp
// Source: Gull, Werner, Parcollet, Troyer (2008), Europhys. Lett. 82, 57003.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "num/dense/matrix.hpp"
#include "num/random/random_stream.hpp"
#include "num/saved_numbers.hpp"
#include "qmc/walker/free_propagator.hpp"

namespace plx::qmc {

struct vertex {
  double tau = 0;
  int site = 0;
  int s = 1;  // +1 or -1
  bool operator==(const vertex&) const = default;
};

/// Constants of the expansion.
struct expansion {
  double u = 0, beta = 1;
  int n_sites = 1;
  double k = 1;  // the free parameter K: the mean order is K plus the interaction's part

  double gamma() const;  // requires u >= 0
  /// exp(sigma gamma s) for sigma = up (0) or down (1) and s = +-1.
  double exp_v(int sigma, int s) const { return exp_gamma[(sigma == 0) == (s > 0) ? 1 : 0]; }
  std::array<double, 2> exp_gamma = {1, 1};  // exp(-gamma), exp(gamma)

  static expansion of(double u, double beta, int n_sites, double k);
};

/// A proposal, before the configuration is known. Each takes five random numbers, whatever becomes of it.
struct proposal {
  enum class kind { insert, remove, flip };
  kind what = kind::insert;
  vertex inserted;    // for insert
  double choice = 0;  // for remove and flip: the index is the integer part of choice times the order
  double accept = 0;  // the move is accepted if accept < |R|

  static proposal draw(random_stream& r, const expansion& e);
};

struct walker_statistics {
  std::uint64_t proposed = 0, accepted = 0;
  double largest_drift = 0;  // of an element of N, when it is computed from the start
};

class walker {
 public:
  walker(const free_propagator& g0, expansion e, random_stream stream);
  virtual ~walker() = default;

  /// Makes n moves. Afterwards inverse() is up to date.
  virtual void advance(int n) = 0;

  int order() const noexcept { return static_cast<int>(vertices_.size()); }
  const std::vector<vertex>& vertices() const noexcept { return vertices_; }
  /// N of sigma = 0 (up) or 1 (down). Shape: [order][order].
  const real_matrix& inverse(int sigma) const noexcept { return inverse_[sigma]; }
  /// The sign of the weight.
  double sign() const noexcept { return sign_; }
  const expansion& constants() const noexcept { return expansion_; }
  const random_stream& stream() const noexcept { return stream_; }
  const walker_statistics& statistics() const noexcept { return statistics_; }
  /// The ratio R of every following proposal is appended to a vector, for tests; nullptr ends that.
  void trace_ratios(std::vector<double>* ratios) noexcept { trace_ = ratios; }

  /// M = (e^V - 1) N. Shape: [order][order].
  void m_matrix(int sigma, real_matrix& m) const;
  /// Computes N and the sign from the vertices, and records how far N had drifted. Cost: O(order^3).
  void rebuild();

  /// The state between two calls of advance(), for checkpoints.
  void save(number_writer& to) const;
  /// Requires: made with the same propagator, constants and stream.
  void load(number_reader& from);

 protected:
  /// Probability ratio of a move from the ratio of determinants of both spins.
  double weight_ratio(proposal::kind what, int order, double determinants) const;
  /// A(i, j) of two different vertices.
  double off_diagonal(const vertex& i, const vertex& j, int sigma) const {
    return -(*g0_)(i.site, j.site, i.tau - j.tau) * (expansion_.exp_v(sigma, j.s) - 1);
  }

  const free_propagator* g0_;
  expansion expansion_;
  random_stream stream_;
  double equal_time_;  // g0 at r = 0, tau = 0+
  std::vector<vertex> vertices_;
  std::array<real_matrix, 2> inverse_;
  double sign_ = 1, last_ratio_ = 0;
  walker_statistics statistics_;
  std::vector<double>* trace_ = nullptr;
};

/// A walker's state as measurements see it. A copy, so that the walker can continue.
struct snapshot {
  std::vector<vertex> vertices;
  std::array<real_matrix, 2> m;  // (e^V - 1) N of both spins
  double sign = 1;

  void take(const walker& w);
};

/// O(k^2) per accepted or inserted move.
class rank_one_walker final : public walker {
 public:
  using walker::walker;
  void advance(int n) override;

 private:
  bool insert(const proposal& p);
  bool remove(const proposal& p);
  bool flip(const proposal& p);
  std::array<std::vector<double>, 2> column_, row_;
  std::vector<double> border_column_, border_row_;
};

}  // namespace plx::qmc
