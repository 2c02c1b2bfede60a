#include "parquet/equations/schwinger_dyson.hpp"

#include "rt/for_loop.hpp"

namespace plx::parquet {

using complex = std::complex<double>;

std::vector<complex> vertex_limits::of_slabs(const vertex_grid& grid, const complex* phi, int first, int last) {
  std::vector<complex> values;
  values.reserve(grid.row_offset(last) - grid.row_offset(first));
  for (int s = first; s < last; ++s) {
    const std::size_t rows = grid.rows(grid.transfer_of(s).frequency);
    const auto* density = phi + (grid.offset(s, channel::density) - grid.slab_offset(first)) + (rows - 1) * rows;
    const auto* magnetic = density + rows * rows;
    for (std::size_t i = 0; i < rows; ++i) values.push_back(density[i] + magnetic[i]);
  }
  return values;
}

qmc::matsubara_function schwinger_dyson(const vertex_limits& phi, const propagator& g) {
  const auto& grid = phi.grid();
  const int n_momenta = grid.n_momenta(), n_frequencies = g.n_frequencies();
  const double factor = 0.5 / (g.model().beta * n_momenta), u_squared = g.model().u * g.model().u;
  auto sigma = g.second_order();
  for_loop({probe::register_name("parquet/schwinger-dyson"), probe::no_key}, 0, n_momenta * n_frequencies, [&](int i) {
    const int k = i / n_frequencies, n = i % n_frequencies;
    complex sum = 0;
    for (int m = 1 - grid.bosons(); m < grid.bosons(); ++m)
      for (int q = 0; q < n_momenta; ++q) {
        sum += (phi({k, n}, {q, m}) - 2 * u_squared * g.particle_hole(q, m)) *
               g.green(grid.lattice().momentum_sum(k, q), n + m);
      }
    sigma(k, n) -= factor * sum;
  });
  return sigma;
}

}  // namespace plx::parquet
