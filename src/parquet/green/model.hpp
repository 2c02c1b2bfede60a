// The Hubbard model of a finite cluster, as the parquet equations take it.
//
//   H = sum_K,s energies[K] n_Ks + U sum_i (n_iu - 1/2)(n_id - 1/2) - mu N
//
// Energies in units of the hopping, hbar = k_B = 1. Thread safety: a plain value.
// Example: parquet/green/test/propagator_test.cpp
#pragma once

#include <memory>
#include <vector>

#include "qmc/cluster/cluster.hpp"

namespace plx::parquet {

struct hubbard_model {
  std::shared_ptr<const qmc::cluster> lattice;
  std::vector<double> energies;  // [momentum]; equal at K and -K
  double u = 0, mu = 0, beta = 1;

  int n_momenta() const noexcept { return lattice->n_sites(); }
};

}  // namespace plx::parquet
