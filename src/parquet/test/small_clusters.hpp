// Clusters that exact diagonalization can solve, for tests.
//
// Thread safety: pure. Cost: milliseconds. Example: parquet/solver/test/solver_test.cpp
#pragma once

#include "parquet/solver/exact.hpp"

namespace plx::parquet::test {

inline hubbard_model cluster_model(const char* name, std::vector<double> energies, double u, double mu, double beta) {
  return {std::make_shared<const qmc::cluster>(qmc::cluster::named(name).value()), std::move(energies), u, mu, beta};
}
inline hubbard_model atom(double u, double mu, double beta) { return cluster_model("1x1", {0}, u, mu, beta); }
/// Two sites with the hopping 1.
inline hubbard_model dimer(double u, double mu, double beta) { return cluster_model("2x1", {-1, 1}, u, mu, beta); }
/// 2x2 with periodic boundaries: hopping 2 between neighbours.
inline hubbard_model plaquette(double u, double mu, double beta) {
  return cluster_model("2x2", {-4, 0, 0, 4}, u, mu, beta);
}

}  // namespace plx::parquet::test
