// Options of plx-parquet: one plain struct; keys, units, ranges and meanings are in describe().
#pragma once

#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/result.hpp"
#include "parquet/solver/solver.hpp"

namespace plx::parquet {

struct parquet_options {
  double u = 2, t = 1, t_prime = 0, mu = 0, temperature = 0.5;

  std::string cluster = "2x2";
  std::vector<int> vectors;  // a1x a1y a2x a2y, instead of a name

  std::vector<int> frequencies = {4, 6, 8};
  int bosons = 0, sigma_frequencies = 128;

  double tolerance = 1e-8, damping = 0.3;
  int iterations = 200, history = 8;
  bool symmetrize = true;

  std::string rotation = "packed";
  std::string device = "cpu";

  double memory_gb = 0, checkpoint_interval_s = 300;
  bool vertex = false, hdf5 = true;

  void describe(config_table& t);
  /// The model of `vectors` or of the name. Error: one line: there is no such cluster.
  result<hubbard_model> make_model() const;
  /// Transfers w = 0, 2 pi T, ... for that many fermionic frequencies.
  int bosons_of(int n_frequencies) const noexcept { return bosons == 0 ? n_frequencies : bosons; }
  solver_settings settings() const;
  /// Checks values that depend on each other. Error: one line.
  result<void> check() const;
};

}  // namespace plx::parquet
