#include "parquet/vertex/vertex_limits.hpp"

namespace plx::parquet {

std::vector<std::complex<double>> vertex_limits::of_slabs(const vertex_grid& grid, const std::complex<double>* phi,
                                                          int first, int last) {
  std::vector<std::complex<double>> values;
  values.reserve(grid.row_offset(last) - grid.row_offset(first));
  for (int s = first; s < last; ++s) {
    const std::size_t rows = grid.rows(grid.transfer_of(s).frequency);
    const auto* density = phi + (grid.offset(s, channel::density) - grid.slab_offset(first)) + (rows - 1) * rows;
    const auto* magnetic = density + rows * rows;
    for (std::size_t i = 0; i < rows; ++i) values.push_back(density[i] + magnetic[i]);
  }
  return values;
}

}  // namespace plx::parquet
