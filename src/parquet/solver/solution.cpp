// The susceptibilities of a solution, and the memory that it takes.
#include <algorithm>
#include <cmath>

#include "parquet/distribution/rotation_exchange.hpp"
#include "parquet/solver/mixing.hpp"
#include "parquet/solver/solver.hpp"

namespace plx::parquet {

using complex = std::complex<double>;

leading leading_of(const iteration_report& r) noexcept {
  leading most;
  most.eigenvalue = -HUGE_VAL;
  for (const channel c : all_channels) {
    const auto& values = r.eigenvalues[static_cast<int>(c)];
    for (std::size_t q = 0; q < values.size(); ++q)
      if (values[q] > most.eigenvalue) most = {c, static_cast<int>(q), values[q]};
  }
  return most;
}

complex parquet_solution::susceptibility(channel c, transfer q) const {
  PLX_ASSERT(c != channel::triplet);
  const double u = green->model().u;
  if (u == 0)  // K1 / U^2 of the second order
    return c == channel::singlet ? green->particle_particle(q.momentum, q.frequency)
                                 : -green->particle_hole(q.momentum, q.frequency);
  const complex k1 = limits[static_cast<std::size_t>(grid->slab(q)) * all_channels.size() + static_cast<int>(c)];
  return -k1 / (c == channel::singlet ? 2 * u * u : u * u);
}

vertex_reader parquet_solution::reader() const {
  PLX_ASSERT(first_slab == 0 && last_slab == grid->n_slabs() && "the vertices of other localities are missing");
  return {*grid, *green, phi.data()};
}

double memory_bytes(const vertex_grid& grid, const solver_settings& s, unsigned workers, unsigned localities) {
  const double n = grid.rows(0), per_worker = 2 * n * n * sizeof(complex);
  const std::size_t sigma = static_cast<std::size_t>(grid.n_momenta()) * s.sigma_frequencies;
  std::size_t most = 0;
  for (unsigned rank = 0; rank < localities; ++rank)
    most = std::max(most, grid.slab_offset(grid.first_slab(rank + 1, localities)) -
                              grid.slab_offset(grid.first_slab(rank, localities)));
  const double own = static_cast<double>(most * sizeof(complex));
  // Messages on their way, sent and received. All of them, of two channels of four rotations, have twice the size of
  // the slabs.
  const double step = 2.0 * std::pow(grid.n_momenta(), 3),
               block = std::max<double>(rotation_exchange::block_numbers, step) * sizeof(complex);
  const double messages = localities == 1 ? 0 : std::min(4 * own, 2 * rotation_exchange::blocks_on_way * block);
  return anderson_mixing::memory_bytes(most + sigma + 1, s.history) +
         propagator::memory_bytes(grid.n_momenta(), s.sigma_frequencies) + messages + workers * per_worker;
}

}  // namespace plx::parquet
