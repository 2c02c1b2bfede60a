#include "parquet/vertex/vertex_grid.hpp"

#include <algorithm>

namespace plx::parquet {

const char* name_of(channel c) noexcept {
  constexpr const char* names[] = {"density", "magnetic", "singlet", "triplet"};
  return names[static_cast<int>(c)];
}

double bare_vertex(channel c, double u) noexcept {
  constexpr double factors[] = {1, -1, 2, 0};
  return factors[static_cast<int>(c)] * u;
}

vertex_grid::vertex_grid(std::shared_ptr<const qmc::cluster> lattice, int frequencies, int bosons)
    : lattice_(std::move(lattice)), n_momenta_(lattice_->n_sites()), frequencies_(frequencies), bosons_(bosons) {
  PLX_ASSERT(frequencies > 0 && bosons > 0 && bosons <= 2 * frequencies, frequencies, bosons);
  offsets_ = {0};
  row_offsets_ = {0};
  for (int s = 0; s < n_slabs(); ++s) {
    const std::size_t n = rows(transfer_of(s).frequency);
    offsets_.push_back(offsets_.back() + all_channels.size() * n * n);
    row_offsets_.push_back(row_offsets_.back() + n);
  }
}

int vertex_grid::first_slab(unsigned rank, unsigned ranks) const noexcept {
  // The slab that begins nearest to the rank's share; ranks beyond the number of slabs get none.
  const double share = static_cast<double>(size()) * rank / ranks;
  const auto at = std::lower_bound(offsets_.begin(), offsets_.end(), static_cast<std::size_t>(share));
  int slab = static_cast<int>(at - offsets_.begin());
  if (slab > 0 && share - static_cast<double>(offsets_[slab - 1]) < static_cast<double>(offsets_[slab]) - share) --slab;
  return slab;
}

}  // namespace plx::parquet
