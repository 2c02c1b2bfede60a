#include "parquet/equations/rotation.hpp"

#include <algorithm>

namespace plx::parquet {

using complex = std::complex<double>;

vertex_place rotated(const qmc::cluster& c, rotation r, fermion k, fermion kp, boson q) noexcept {
  switch (r) {
    case rotation::crossed:
      return {k, {c.momentum_sum(k.k, q.k), k.n + q.m}, {c.momentum_difference(kp.k, k.k), kp.n - k.n}};
    case rotation::pairs:
      return {k, kp, {c.momentum_sum(c.momentum_sum(k.k, q.k), kp.k), k.n + kp.n + q.m + 1}};
    case rotation::direct:
      return {k, {c.momentum_difference(q.k, kp.k), q.m - 1 - kp.n}, {c.momentum_difference(kp.k, k.k), kp.n - k.n}};
    case rotation::exchanged:
      break;
  }
  return {k, kp, {c.momentum_difference(c.momentum_difference(q.k, kp.k), k.k), q.m - 1 - k.n - kp.n}};
}

fermion partner(const qmc::cluster& c, rotation r, fermion k, boson q, boson source) noexcept {
  switch (r) {
    case rotation::crossed:
    case rotation::direct:
      return {c.momentum_sum(k.k, source.k), k.n + source.m};
    case rotation::pairs:
      return {c.momentum_difference(source.k, c.momentum_sum(k.k, q.k)), source.m - q.m - 1 - k.n};
    case rotation::exchanged:
      break;
  }
  return {c.momentum_difference(c.momentum_difference(q.k, k.k), source.k), q.m - 1 - k.n - source.m};
}

channel_pair combine_particle_hole(double u, const channel_pair& crossed, const channel_pair& pairs) noexcept {
  const auto &x = crossed, &y = pairs;
  return {bare_vertex(channel::density, u) - 0.5 * x.a - 1.5 * x.b + 0.5 * y.a + 1.5 * y.b,
          bare_vertex(channel::magnetic, u) - 0.5 * x.a + 0.5 * x.b - 0.5 * y.a + 0.5 * y.b};
}

channel_pair combine_particle_particle(double u, const channel_pair& direct, const channel_pair& exchanged) noexcept {
  const auto &x = direct, &y = exchanged;
  return {bare_vertex(channel::singlet, u) + 0.5 * (x.a + y.a) - 1.5 * (x.b + y.b),
          bare_vertex(channel::triplet, u) + 0.5 * (y.a - x.a) + 0.5 * (y.b - x.b)};
}

channel_pair irreducible_particle_hole(const vertex_reader& phi, fermion k, fermion kp, boson q) noexcept {
  const auto& c = phi.grid().lattice();
  const auto at = [&](rotation r) { return read(phi, r, rotated(c, r, k, kp, q)); };
  return combine_particle_hole(phi.green().model().u, at(rotation::crossed), at(rotation::pairs));
}

channel_pair irreducible_particle_particle(const vertex_reader& phi, fermion k, fermion kp, boson q) noexcept {
  const auto& c = phi.grid().lattice();
  const auto at = [&](rotation r) { return read(phi, r, rotated(c, r, k, kp, q)); };
  return combine_particle_particle(phi.green().model().u, at(rotation::direct), at(rotation::exchanged));
}

complex full_vertex(const vertex_reader& phi, channel c, fermion k, fermion kp, boson q) noexcept {
  const bool ph = is_particle_hole(c);
  const auto gamma = ph ? irreducible_particle_hole(phi, k, kp, q) : irreducible_particle_particle(phi, k, kp, q);
  const auto reducible = ph ? phi.particle_hole(k, kp, q) : phi.particle_particle(k, kp, q);
  return c == channel::density || c == channel::singlet ? gamma.a + reducible.a : gamma.b + reducible.b;
}

void irreducible_slab(const vertex_reader& phi, bool particle_hole, transfer q, matrix_view<complex> a,
                      matrix_view<complex> b) noexcept {
  const auto& grid = phi.grid();
  const int n_momenta = grid.n_momenta(), first = grid.first(particle_hole, q.frequency),
            outside = grid.rows(q.frequency) - 1;
  const boson transferred = {q.momentum, q.frequency};
  const auto fermion_of = [&](int row) { return fermion{row % n_momenta, first + row / n_momenta}; };
  for (int j = 0; j < outside; ++j) {
    const fermion kp = fermion_of(j);
    for (int i = 0; i < outside; ++i) {
      const auto v = particle_hole ? irreducible_particle_hole(phi, fermion_of(i), kp, transferred)
                                   : irreducible_particle_particle(phi, fermion_of(i), kp, transferred);
      a(i, j) = v.a;
      b(i, j) = v.b;
    }
  }
  set_outside(particle_hole, phi.green().model().u, a, b);
}

void set_outside(bool particle_hole, double u, matrix_view<complex> a, matrix_view<complex> b) noexcept {
  const int outside = a.rows - 1;
  const double bare_a = bare_vertex(particle_hole ? channel::density : channel::singlet, u),
               bare_b = bare_vertex(particle_hole ? channel::magnetic : channel::triplet, u);
  for (int i = 0; i <= outside; ++i) {
    a(i, outside) = a(outside, i) = bare_a;
    b(i, outside) = b(outside, i) = bare_b;
  }
}

}  // namespace plx::parquet
