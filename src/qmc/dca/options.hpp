// Options of plx-dca: one plain struct; keys, units, ranges and meanings are in describe().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/result.hpp"
#include "qmc/cluster/cluster.hpp"
#include "qmc/measure/four_point.hpp"

namespace plx::qmc {

struct dca_options {
  double u = 6, t_prime = 0, density = 0.95;
  bool adjust_mu = true;  // false: the chemical potential is mu
  double mu = 0;
  std::string cluster = "2x2";
  std::vector<int> vectors;  // a1x a1y a2x a2y, instead of a name
  bool lattice = true;       // false: the periodic cluster by itself

  std::vector<double> temperatures = {1, 0.75, 0.5, 0.25, 0.125, 0.1, 0.09, 0.08, 0.07};
  int first_iterations = 8, iterations = 6;
  double mixing = 0.75;
  int frequencies = 256;

  std::string method = "submatrix";
  int walkers = 8, bins = 8;
  std::int64_t measurements = 100000;
  double sweeps = 1, expansion_k = 1;
  int warm_up = 5000, batch = 64;
  std::int64_t seed = 1;
  bool correlations = true;

  int pair_frequencies = 16;

  std::vector<std::string> channels;
  std::vector<double> transfer = {1, 1};  // in units of pi
  int transfer_frequency = 0, four_point_frequencies = 8;
  bool all_transfers = false;
  std::string distribute = "auto";  // distributes() of dca/memory.hpp

  double checkpoint_interval_s = 60;

  void describe(config_table& t);
  /// The cluster of `vectors` or of the name. Errors: one line: there is no such cluster.
  result<qmc::cluster> make_cluster() const;
  /// The functions of two particles. Errors: one line: the cluster does not have the momentum.
  result<four_point_set> make_four_points(const qmc::cluster& c) const;
  /// Checks values that depend on each other. Error: one line.
  result<void> check() const;
};

}  // namespace plx::qmc
