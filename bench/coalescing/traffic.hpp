// Communication patterns in small units, from which phases are built (phases.cpp).
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "net/locality.hpp"

namespace plx::bench {

using number = std::complex<double>;

/// The calls of a toy or of a rotation; results are checked.
class traffic {
 public:
  virtual ~traffic() = default;
  /// Makes `n` independent calls, waits for all, and checks the results. Seconds from the first to the last answer.
  virtual double exchange(unsigned n) = 0;
  /// The number of calls of a dense unit, and of one burst.
  [[nodiscard]] virtual unsigned dense() const = 0;
  [[nodiscard]] virtual unsigned burst() const = 0;
  /// Checks that are only possible at the end.
  virtual void check() {}
};

std::unique_ptr<traffic> toy_traffic();
/// Rows of a tensor of nc^3 elements over all localities.
std::unique_ptr<traffic> rotation_traffic(unsigned nc);

/// Names of actions, for settings.
inline constexpr std::string_view toy_action = "bench_conjugate", row_action = "bench_store_row";

/// Tensors of nc^3 complex numbers whose planes are distributed over the localities, and the eight rotations that
/// exchange their rows, as a solver of the parquet equations does for its vertices: rotation r moves row (i, j) to row
/// (a i + b j, c i + d j) modulo nc, with its own matrix of determinant 1 or -1, so that rows are permuted and each
/// plane has rows for every other plane.
///
/// Thread safety: rows with different indices may be stored concurrently. Cost: nine tensors, of which this locality
/// holds its part: 9 * 16 nc^3 / localities bytes.
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
