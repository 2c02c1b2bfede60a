#include "parquet/solver/exact.hpp"

#include <cmath>

namespace plx::parquet {

using complex = std::complex<double>;

namespace {

// c_K = N^-1/2 sum_r exp(-i K r) c_r
qmc::fermion_operator operator_of(const qmc::cluster& lattice, int k, bool creates, qmc::spin s) {
  const int n = lattice.n_sites();
  std::vector<complex> c(n);
  for (int r = 0; r < n; ++r) c[r] = std::conj(lattice.phase(k, r)) / std::sqrt(double(n));
  return {creates, s, std::move(c)};
}

complex green_of(const qmc::exact_diagonalization& e, const qmc::cluster& lattice, int k, int n) {
  return e.green(operator_of(lattice, k, false, qmc::spin::up), operator_of(lattice, k, true, qmc::spin::up), n);
}

}  // namespace

qmc::exact_diagonalization diagonalize(const hubbard_model& model) {
  const auto& lattice = *model.lattice;
  const int n = lattice.n_sites();
  PLX_ASSERT_LE(n, most_exact_sites);
  real_matrix hopping(n, n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < n; ++k)
        hopping(i, j) += model.energies[k] * lattice.phase(k, lattice.difference(i, j)).real() / n;
  return qmc::exact_diagonalization({hopping, model.u, model.mu, model.beta});
}

exact_result exact_self_energy(const hubbard_model& model, int n_frequencies) {
  const auto e = diagonalize(model);
  const auto& lattice = *model.lattice;
  exact_result r{qmc::matsubara_function(model.n_momenta(), n_frequencies), e.density()};
  const double hartree = model.u * (e.density() - 1) / 2;
  for (int k = 0; k < model.n_momenta(); ++k) {
    const auto g =
        e.spectrum(operator_of(lattice, k, false, qmc::spin::up), operator_of(lattice, k, true, qmc::spin::up));
    for (int n = 0; n < n_frequencies; ++n) {
      const complex iw(0, qmc::matsubara_frequency(n, model.beta));
      r.sigma(k, n) = iw - model.energies[k] + model.mu - hartree - 1.0 / g(iw);
    }
  }
  return r;
}

double exact_susceptibility(const hubbard_model& model, channel c, int momentum) {
  PLX_ASSERT(c != channel::triplet);
  const auto e = diagonalize(model);
  const auto& lattice = *model.lattice;
  const int n = lattice.n_sites();
  const auto at = [n](int site, bool creates, qmc::spin s) {
    std::vector<complex> coefficients(n);
    coefficients[site] = 1;
    return qmc::fermion_operator{creates, s, std::move(coefficients)};
  };
  const auto occupation = [&](int site, qmc::spin s) {
    return qmc::fermion_product{at(site, true, s), at(site, false, s)};
  };
  complex sum = 0;
  for (int r = 0; r < n; ++r) {
    const complex phase = lattice.phase(momentum, r);
    if (c == channel::singlet) {
      sum += phase * e.susceptibility({at(r, false, qmc::spin::up), at(r, false, qmc::spin::down)},
                                      {at(0, true, qmc::spin::down), at(0, true, qmc::spin::up)});
      continue;
    }
    const double opposite = c == channel::density ? 1 : -1;
    sum += phase * (e.susceptibility(occupation(r, qmc::spin::up), occupation(0, qmc::spin::up)) +
                    opposite * e.susceptibility(occupation(r, qmc::spin::up), occupation(0, qmc::spin::down)));
  }
  if (c == channel::density && momentum == 0) sum -= 0.5 * model.beta * n * e.density() * e.density();
  return sum.real();
}

complex exact_vertex(const qmc::exact_diagonalization& e, const qmc::cluster& lattice, channel c, fermion k, fermion kp,
                     boson q) {
  PLX_ASSERT(is_particle_hole(c));
  const int kq = lattice.momentum_sum(k.k, q.k), kpq = lattice.momentum_sum(kp.k, q.k);
  const complex g1 = green_of(e, lattice, k.k, k.n), g2 = green_of(e, lattice, kq, k.n + q.m),
                g3 = green_of(e, lattice, kp.k, kp.n), g4 = green_of(e, lattice, kpq, kp.n + q.m);
  complex vertex = 0;
  for (const auto spin : {qmc::spin::up, qmc::spin::down}) {
    complex connected =
        e.two_particle({operator_of(lattice, k.k, true, qmc::spin::up), operator_of(lattice, kq, false, qmc::spin::up),
                        operator_of(lattice, kpq, true, spin), operator_of(lattice, kp.k, false, spin)},
                       {-1 - k.n, k.n + q.m, -1 - kp.n - q.m});
    if (q.k == 0 && q.m == 0) connected -= e.beta() * g1 * g3;
    if (spin == qmc::spin::up && k.k == kp.k && k.n == kp.n) connected += e.beta() * g1 * g4;
    const complex f = -double(lattice.n_sites()) * connected / (g1 * g2 * g3 * g4);
    vertex += spin == qmc::spin::up || c == channel::density ? f : -f;
  }
  return vertex;
}

}  // namespace plx::parquet
