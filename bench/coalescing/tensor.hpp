// Tensors of nc^3 complex numbers whose planes are distributed over the localities, and the eight rotations that
// exchange their rows, as a solver of the parquet equations does for its vertices: rotation r moves row (i, j) to row
// (a i + b j, c i + d j) modulo nc, with its own matrix of determinant 1 or -1, so that rows are permuted and each
// plane has rows for every other plane.
//
// Thread safety: rows with different indices may be stored concurrently. Cost: nine tensors, of which this locality
// holds its part: 9 * 16 nc^3 / localities bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "net/locality.hpp"
#include "traffic.hpp"

namespace plx::bench {

inline constexpr unsigned n_rotations = 8;

/// A row of a rotated tensor: its index counts the rows of all rotations.
struct row_place {
  unsigned rotation, i, j;
};

class rotated_tensor {
 public:
  /// Requires: nc is a multiple of `localities`.
  rotated_tensor(unsigned nc, locality_id here, unsigned localities);

  [[nodiscard]] unsigned nc() const noexcept { return nc_; }
  [[nodiscard]] unsigned first_plane() const noexcept { return here_ * planes_; }
  [[nodiscard]] unsigned planes() const noexcept { return planes_; }
  [[nodiscard]] locality_id owner(const row_place& to) const noexcept { return to.i / planes_; }
  /// The position to which rotation r moves row (i, j).
  [[nodiscard]] row_place rotated(unsigned r, unsigned i, unsigned j) const noexcept;
  [[nodiscard]] std::uint32_t number_of(const row_place& to) const noexcept;
  [[nodiscard]] row_place place_of(std::uint32_t which) const noexcept;

  /// Row (i, j) of the original tensor. Requires: plane i is local.
  [[nodiscard]] std::span<const number> row(unsigned i, unsigned j) const noexcept;
  /// Stores a row of this locality at its position. False if it has another length, or belongs to another locality.
  bool store(std::uint32_t which, std::span<const number> row) noexcept;
  /// True if every row of this locality is correct, bit by bit.
  [[nodiscard]] bool complete() const noexcept;
  /// Discards the stored rows.
  void clear() noexcept;

 private:
  [[nodiscard]] std::size_t offset(unsigned i, unsigned j) const noexcept {
    return (std::size_t{i - first_plane()} * nc_ + j) * nc_;
  }
  [[nodiscard]] bool is_rotated_row(unsigned r, unsigned i, unsigned j) const noexcept;

  unsigned nc_, planes_;
  locality_id here_;
  std::vector<number> from_;
  std::vector<number> to_;  // rotation by rotation
};

}  // namespace plx::bench
