// The arrays of rotation_tables in host memory, for a grid.
//
// Thread safety: immutable. Cost: 8 N^3 numbers for N momenta. Example: parquet/device/test/operations_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "parquet/device/rotation_tables.hpp"
#include "parquet/green/propagator.hpp"
#include "parquet/vertex/vertex_grid.hpp"

namespace plx::parquet::device {

struct grid_tables {
  explicit grid_tables(const vertex_grid& grid);
  /// The vertices beyond the largest transfer; they change with the propagator.
  std::vector<double> beyond(const propagator& g) const;
  /// With the addresses of copies of the arrays.
  rotation_tables at(const frequency_row* f, const std::int32_t* s, const std::int32_t* t,
                     const double* values) const noexcept {
    return {f, s, t, values, n_momenta, static_cast<std::int32_t>(frequencies.size()), most};
  }

  std::vector<frequency_row> frequencies;
  std::vector<std::int32_t> second, transfer;
  std::int32_t n_momenta, most;
};

}  // namespace plx::parquet::device
