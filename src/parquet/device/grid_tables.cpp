#include "parquet/device/grid_tables.hpp"

#include "parquet/equations/rotation.hpp"

namespace plx::parquet::device {

grid_tables::grid_tables(const vertex_grid& grid) : n_momenta(grid.n_momenta()), most(2 * grid.frequencies()) {
  for (int m = 0; m < grid.bosons(); ++m)
    frequencies.push_back({static_cast<std::int64_t>(grid.slab_offset(grid.slab({0, m}))), grid.first(true, m),
                           grid.first(false, m), grid.columns(m), grid.rows(m)});
  for (const rotation r : all_rotations)
    for (int q = 0; q < n_momenta; ++q) {
      const rotation_momenta momenta(grid.lattice(), r, q);
      for (int kp = 0; kp < n_momenta; ++kp)
        for (int k = 0; k < n_momenta; ++k) {
          second.push_back(momenta.second(k, kp));
          transfer.push_back(momenta.transfer(k, kp));
        }
    }
}

std::vector<double> grid_tables::beyond(const propagator& g) const {
  const double u_squared = g.model().u * g.model().u;
  std::vector<double> values;
  for (const bool hole : {true, false})
    for (int m = 0; m <= most; ++m)
      for (int q = 0; q < n_momenta; ++q) {
        const auto v = hole ? u_squared * g.particle_hole(q, m) : -2.0 * u_squared * g.particle_particle(q, m);
        values.insert(values.end(), {v.real(), v.imag()});
      }
  return values;
}

}  // namespace plx::parquet::device
