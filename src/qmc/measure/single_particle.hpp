// Measurement of one-particle quantities: the matrix M over cluster momentum and frequency, the expansion order, the
// sign.
//
//   M(K, iw) = 1/Nc sum_pq exp(i w (tau_p - tau_q) - i K (r_p - r_q)) M_pq,  G = G0 - G0 M G0 / beta
//
// Both are means over the spins.
// Thread safety: one thread at a time per object. Cost: nonuniform_fourier::spread per pair of vertices.
// Example: qmc/solver/test/monte_carlo_test.cpp
#pragma once

#include <vector>

#include "num/nonuniform_fourier.hpp"
#include "num/statistics.hpp"
#include "qmc/cluster/cluster.hpp"
#include "qmc/green/matsubara.hpp"
#include "qmc/walker/walker.hpp"

namespace plx::qmc {

/// Sums over the measurements of one bin, each weighted with the sign.
struct measurement_bin {
  int count = 0;
  double sign = 0, order = 0;
  matsubara_function m;
  real_matrix pairs;                 // the pair function, empty if it is not measured
  std::vector<double> four_points;   // of four_point_accumulator, empty without functions
  std::vector<double> correlations;  // of correlation_accumulator, empty if they are not measured

  void save(number_writer& to) const;
  void load(number_reader& from);
};

class single_particle_accumulator {
 public:
  /// The cluster and the transform must outlive the accumulator.
  single_particle_accumulator(const cluster& c, const nonuniform_fourier& transform, double beta);
  void add(const snapshot& s);
  /// The sums since the last call.
  measurement_bin take_bin();
  /// The sums, for checkpoints.
  void save(number_writer& to) const;
  void load(number_reader& from);

 private:
  const cluster* cluster_;
  const nonuniform_fourier* transform_;
  double beta_;
  measurement_bin bin_;
  std::vector<std::vector<double>> grids_;  // [difference]
  std::vector<nonuniform_fourier::point> points_;
  std::vector<double> places_;    // tau / beta of the vertices
  std::vector<double*> of_site_;  // grids of the differences of all sites from one
};

}  // namespace plx::qmc
