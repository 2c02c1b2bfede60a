// Tensors of nc^3 complex numbers whose planes are spread over the localities, and the eight rotations that exchange
// their rows, as a solver of the parquet equations exchanges those of its vertices: rotation r takes row (i, j) to row
// (a i + b j, c i + d j) modulo nc, with a matrix of determinant 1 or -1 of its own, so that rows are permuted and each
// plane has rows for every other.
//
// Thread safety: rows of different numbers may be stored at once. Cost: nine tensors, of which this locality has its
// part: 9 * 16 nc^3 / localities bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "net/locality.hpp"
#include "traffic.hpp"

namespace plx::bench {

inline constexpr unsigned n_rotations = 8;

/// A row of a rotated tensor: its number counts the rows of all rotations.
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
  /// Where rotation r takes row (i, j).
  [[nodiscard]] row_place rotated(unsigned r, unsigned i, unsigned j) const noexcept;
  [[nodiscard]] std::uint32_t number_of(const row_place& to) const noexcept;
  [[nodiscard]] row_place place_of(std::uint32_t which) const noexcept;

  /// Row (i, j) of the tensor as it was. Requires: plane i is here.
  [[nodiscard]] std::span<const number> row(unsigned i, unsigned j) const noexcept;
  /// Puts a row of this locality where it belongs. False: it has another length, or belongs elsewhere.
  bool store(std::uint32_t which, std::span<const number> row) noexcept;
  /// Every row that comes here is what it must be, bit by bit.
  [[nodiscard]] bool complete() const noexcept;
  /// Forgets what was stored.
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
