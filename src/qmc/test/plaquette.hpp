// The periodic plaquette for tests of functions of two particles: the problem, and its exact solution.
#pragma once

#include <complex>
#include <memory>
#include <vector>

#include "qmc/exact/exact_diagonalization.hpp"
#include "qmc/green/coarse_graining.hpp"
#include "qmc/solver/monte_carlo.hpp"

namespace plx::qmc::test {

inline impurity periodic_plaquette(double u, double beta, double mu, double t_prime = 0) {
  impurity p;
  p.lattice = std::make_shared<const cluster>(cluster::named("2x2").value());
  p.u = u;
  p.beta = beta;
  p.mu = mu;
  const coarse_graining grain(*p.lattice, {1, t_prime}, 1);
  p.g0 = grain.green(matsubara_function(4, 32), mu, beta);
  for (int k = 0; k < 4; ++k) p.moments.push_back(grain.patch(k).mean() - mu);
  return p;
}

struct exact_plaquette {
  impurity p;
  exact_diagonalization e;
  explicit exact_plaquette(const impurity& problem, double t_prime = 0)
      : p(problem), e({problem.lattice->hopping({1, t_prime}), problem.u, problem.mu, problem.beta}) {}
  /// c_K, or its adjoint.
  fermion_operator of(int k, bool creates, spin s) const {
    std::vector<std::complex<double>> wave(4);
    for (int r = 0; r < 4; ++r) wave[r] = std::conj(p.lattice->phase(k, r)) / 2.0;
    return {creates, s, wave};
  }
  /// <c_Ku(w) c+_K'u(w') c_-Kd(-w) c+_-K'd(-w')>
  std::complex<double> pair(int k, int n, int k2, int n2) const {
    const int minus = p.lattice->negative(k), minus2 = p.lattice->negative(k2);
    return e.two_particle({of(k, false, spin::up), of(k2, true, spin::up), of(minus, false, spin::down),
                           of(minus2, true, spin::down)},
                          {n, -1 - n2, -1 - n}) /
           p.beta;
  }
};

}  // namespace plx::qmc::test
