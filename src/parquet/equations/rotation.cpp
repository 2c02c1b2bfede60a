#include "parquet/equations/rotation.hpp"

#include <algorithm>

namespace plx::parquet {

using complex = std::complex<double>;

channel_pair irreducible_particle_hole(const vertex_reader& phi, fermion k, fermion kp, boson q) noexcept {
  const auto& c = phi.grid().lattice();
  const double u = phi.green().model().u;
  const int sum = c.momentum_sum(k.k, q.k);
  const auto ph = phi.particle_hole(k, {sum, k.n + q.m}, {c.momentum_difference(kp.k, k.k), kp.n - k.n});
  const auto pp = phi.particle_particle(k, kp, {c.momentum_sum(sum, kp.k), k.n + kp.n + q.m + 1});
  return {bare_vertex(channel::density, u) - 0.5 * ph.a - 1.5 * ph.b + 0.5 * pp.a + 1.5 * pp.b,
          bare_vertex(channel::magnetic, u) - 0.5 * ph.a + 0.5 * ph.b - 0.5 * pp.a + 0.5 * pp.b};
}

channel_pair irreducible_particle_particle(const vertex_reader& phi, fermion k, fermion kp, boson q) noexcept {
  const auto& c = phi.grid().lattice();
  const double u = phi.green().model().u;
  const int rest = c.momentum_difference(q.k, kp.k);
  const auto x = phi.particle_hole(k, {rest, q.m - 1 - kp.n}, {c.momentum_difference(kp.k, k.k), kp.n - k.n});
  const auto y = phi.particle_hole(k, kp, {c.momentum_difference(rest, k.k), q.m - 1 - k.n - kp.n});
  return {bare_vertex(channel::singlet, u) + 0.5 * (x.a + y.a) - 1.5 * (x.b + y.b),
          bare_vertex(channel::triplet, u) + 0.5 * (y.a - x.a) + 0.5 * (y.b - x.b)};
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
  const double u = phi.green().model().u;
  const double bare_a = bare_vertex(particle_hole ? channel::density : channel::singlet, u),
               bare_b = bare_vertex(particle_hole ? channel::magnetic : channel::triplet, u);
  for (int i = 0; i <= outside; ++i) {
    a(i, outside) = a(outside, i) = bare_a;
    b(i, outside) = b(outside, i) = bare_b;
  }
}

}  // namespace plx::parquet
