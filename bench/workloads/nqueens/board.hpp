// Queens on a board, one bit per column: the columns and diagonals that the rows so far attack.
#pragma once

#include <bit>
#include <cstdint>

struct board {
  std::uint32_t columns = 0, left = 0, right = 0;

  [[nodiscard]] std::uint32_t free(int n) const { return ((1u << n) - 1) & ~(columns | left | right); }
  [[nodiscard]] bool full(int n) const { return columns == (1u << n) - 1; }
  /// With one more row, whose queen is in the column of `bit`.
  [[nodiscard]] board with(std::uint32_t bit) const { return {columns | bit, (left | bit) << 1, (right | bit) >> 1}; }
};

/// Calls `visit(board, i)` for the i-th possible position of a queen in the next row.
template <class Visit>
void for_each_way(const board& b, int n, Visit&& visit) {
  int i = 0;
  for (std::uint32_t ways = b.free(n); ways != 0; ways &= ways - 1) visit(b.with(ways & -ways), i++);
}

inline constexpr int max_queens = 16;

/// The number of solutions on a board of n x n. Requires: n <= max_queens.
using nqueens_run = long(int n);
