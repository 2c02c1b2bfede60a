#include "parquet/equations/rotation.hpp"

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

channel_pair irreducible_particle_hole(const vertex_reader& phi, fermion k, fermion kp, boson q) noexcept {
  const auto& c = phi.grid().lattice();
  const auto at = [&](rotation r) {
    return contribution(r, phi.green().model().u, read(phi, r, rotated(c, r, k, kp, q)));
  };
  return combine(at(rotation::crossed), at(rotation::pairs));
}

channel_pair irreducible_particle_particle(const vertex_reader& phi, fermion k, fermion kp, boson q) noexcept {
  const auto& c = phi.grid().lattice();
  const auto at = [&](rotation r) {
    return contribution(r, phi.green().model().u, read(phi, r, rotated(c, r, k, kp, q)));
  };
  return combine(at(rotation::direct), at(rotation::exchanged));
}

complex full_vertex(const vertex_reader& phi, channel c, fermion k, fermion kp, boson q) noexcept {
  const bool ph = is_particle_hole(c);
  const auto gamma = ph ? irreducible_particle_hole(phi, k, kp, q) : irreducible_particle_particle(phi, k, kp, q);
  const auto reducible = ph ? phi.particle_hole(k, kp, q) : phi.particle_particle(k, kp, q);
  return c == channel::density || c == channel::singlet ? gamma.a + reducible.a : gamma.b + reducible.b;
}

rotation_momenta::rotation_momenta(const qmc::cluster& c, rotation r, int q) : n_(c.n_sites()) {
  for (int kp = 0; kp < n_; ++kp)
    for (int k = 0; k < n_; ++k) {
      const auto place = rotated(c, r, {k, 0}, {kp, 0}, {q, 0});
      second_.push_back(place.kp.k);
      transfer_.push_back(place.q.k);
    }
}

void irreducible_slab(const vertex_reader& phi, bool particle_hole, transfer q, matrix_view<complex> a,
                      matrix_view<complex> b) noexcept {
  const auto& grid = phi.grid();
  const auto& lattice = grid.lattice();
  const double u = phi.green().model().u;
  const int n_momenta = grid.n_momenta(), m = q.frequency, first = grid.first(particle_hole, m),
            columns = grid.columns(m);
  const rotation one = particle_hole ? rotation::crossed : rotation::direct,
                 two = particle_hole ? rotation::pairs : rotation::exchanged;
  const rotation_momenta of_one(lattice, one, q.momentum), of_two(lattice, two, q.momentum);
  const auto window = [&](rotation r, int n, int np) {
    const auto place = rotated(lattice, r, {0, n}, {0, np}, {0, m});
    return phi.at(reads_particle_hole(r), place.k.n, place.kp.n, place.q.m);
  };
  for (int np = 0; np < columns; ++np)
    for (int n = 0; n < columns; ++n) {
      const vertex_window x = window(one, first + n, first + np), y = window(two, first + n, first + np);
      for (int kp = 0; kp < n_momenta; ++kp)
        for (int k = 0; k < n_momenta; ++k) {
          const auto vx = x(k, of_one.second(k, kp), of_one.transfer(k, kp)),
                     vy = y(k, of_two.second(k, kp), of_two.transfer(k, kp));
          const auto v = combine(contribution(one, u, vx), contribution(two, u, vy));
          a(n * n_momenta + k, np * n_momenta + kp) = v.a;
          b(n * n_momenta + k, np * n_momenta + kp) = v.b;
        }
    }
  set_outside(particle_hole, u, a, b);
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
