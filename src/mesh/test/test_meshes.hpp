// Test fixtures of the mesh: random balanced meshes, and slow reference implementations.
// They share no code with the mesh: leaves are found by searching all of them, balance is checked for all pairs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "mesh/field/arena.hpp"
#include "mesh/tree/block_mesh.hpp"
#include "mesh/tree/domain.hpp"

namespace plx::mesh::test {

inline domain box(std::array<int, 3> roots, int n, int max_level, boundary sides = boundary::periodic) {
  domain d;
  d.block_size = n;
  d.root_blocks = roots;
  d.max_level = max_level;
  for (int a = 0; a < 3; ++a) d.upper[a] = roots[a];
  d.sides.fill(sides);
  return d;
}

/// Do the closed boxes of two locations meet, also through periodic boundaries? Corners in units of the deeper level.
inline bool meet(const domain& d, const location& a, const location& b) {
  const int level = std::max(a.level, b.level);
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t n = d.blocks_along(axis, level);
    const std::int64_t a0 = std::int64_t{a.x[axis]} << (level - a.level), a1 = a0 + (1LL << (level - a.level));
    const std::int64_t b0 = std::int64_t{b.x[axis]} << (level - b.level), b1 = b0 + (1LL << (level - b.level));
    bool touch = a0 <= b1 && b0 <= a1;
    if (d.is_periodic(axis)) touch = touch || (a0 <= b1 + n && b0 + n <= a1) || (a0 <= b1 - n && b0 - n <= a1);
    if (!touch) return false;
  }
  return true;
}

inline bool balanced(const domain& d, const std::vector<location>& leaves) {
  for (const location& a : leaves)
    for (const location& b : leaves)
      if (std::abs(a.level - b.level) > 1 && meet(d, a, b)) return false;
  return true;
}

inline void split(std::vector<location>& leaves, std::size_t i) {
  const location l = leaves[i];
  leaves.erase(leaves.begin() + static_cast<std::ptrdiff_t>(i));
  for (int c = 0; c < 8; ++c) leaves.push_back(child_of(l, c));
}

inline void balance(const domain& d, std::vector<location>& leaves) {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < leaves.size() && !changed; ++i)
      for (const location& b : leaves)
        if (b.level > leaves[i].level + 1 && meet(d, leaves[i], b)) {
          split(leaves, i);
          changed = true;
          break;
        }
  }
}

inline std::vector<location> random_leaves(const domain& d, int splits, std::mt19937_64& rng) {
  std::vector<location> leaves;
  const block_mesh roots(d);
  for (const slot_id s : roots.blocks()) leaves.push_back(roots.where(s));
  for (int n = 0; n < splits; ++n) {
    const std::size_t i = rng() % leaves.size();
    if (leaves[i].level < d.max_level) split(leaves, i);
  }
  balance(d, leaves);
  return leaves;
}

/// A mesh of these leaves whose slots are a random permutation.
inline block_mesh mesh_of(const domain& d, const std::vector<location>& leaves, std::mt19937_64& rng) {
  std::vector<slot_id> slots(leaves.size());
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = static_cast<slot_id>(i);
  std::shuffle(slots.begin(), slots.end(), rng);
  std::vector<leaf> made;
  for (std::size_t i = 0; i < leaves.size(); ++i) made.push_back({leaves[i], slots[i], 0});
  return block_mesh(d, made);
}

inline block_mesh random_mesh(const domain& d, int splits, std::mt19937_64& rng) {
  return mesh_of(d, random_leaves(d, splits, rng), rng);
}

using cell = std::array<std::int64_t, 3>;  // index over the whole domain at some level

/// Values of cells of any level, found by searching all blocks.
class point_lookup {
 public:
  point_lookup(const block_mesh& mesh, const arena& values, const boundary_values& sides)
      : mesh_(mesh), values_(values), sides_(sides) {}

  /// The expected value of a ghost cell at the level of its block.
  double operator()(int level, cell c, int v) const {
    for (int a = 2; a >= 0; --a) {
      const std::int64_t n = cells_along(a, level);
      if (c[a] >= 0 && c[a] < n) continue;
      const bool upper = c[a] >= n;
      switch (mesh_.box().sides[2 * a + (upper ? 1 : 0)]) {
        case boundary::periodic:
          c[a] = (c[a] + n) % n;
          break;
        case boundary::inflow:
          return sides_.inflow[2 * a + (upper ? 1 : 0)][v];
        case boundary::reflecting: {
          c[a] = upper ? 2 * n - 1 - c[a] : -1 - c[a];
          const double mirrored = (*this)(level, c, v);
          return values_.fields()[v].axis == a ? -mirrored : mirrored;
        }
        case boundary::zero_gradient:
        case boundary::problem:
        case boundary::outflow: {
          const bool as_it_is = mesh_.box().sides[2 * a + (upper ? 1 : 0)] != boundary::outflow;
          c[a] = upper ? n - 1 : 0;
          const double edge = (*this)(level, c, v);
          if (as_it_is || values_.fields()[v].axis != a) return edge;
          return upper ? std::abs(edge) : -std::abs(edge);
        }
      }
    }
    return inside(level, c, v);
  }

 private:
  std::int64_t cells_along(int a, int level) const { return mesh_.box().blocks_along(a, level) * mesh_.block_size(); }

  double inside(int level, const cell& c, int v) const {
    for (const slot_id slot : mesh_.blocks()) {
      const location& l = mesh_.where(slot);
      const int up = level - l.level;
      bool covers = true;
      cell at{};
      for (int a = 0; a < 3; ++a) {
        // Lower corner of the cell in units of the block's cells; for finer blocks that of the first of its fine cells.
        at[a] = (up >= 0 ? c[a] >> up : c[a] << -up) - std::int64_t{l.x[a]} * mesh_.block_size();
        covers = covers && at[a] >= 0 && at[a] < mesh_.block_size();
      }
      if (!covers) continue;
      if (up == 0) return value(slot, v, at);
      return up < 0 ? mean(level, c, v) : prolonged(level, c, v);
    }
    ADD_FAILURE() << "no block covers the cell";
    return 0;
  }

  double mean(int level, const cell& c, int v) const {
    double sum = 0;
    for (int n = 0; n < 8; ++n)
      sum += inside(level + 1, {2 * c[0] + (n & 1), 2 * c[1] + (n >> 1 & 1), 2 * c[2] + (n >> 2)}, v);
    return sum / 8;
  }

  double prolonged(int level, const cell& c, int v) const {
    const cell p{c[0] >> 1, c[1] >> 1, c[2] >> 1};
    const double middle = (*this)(level - 1, p, v);
    double result = middle;
    for (int a = 0; a < 3; ++a) {
      cell below = p, above = p;
      --below[a];
      ++above[a];
      const double l = middle - (*this)(level - 1, below, v), u = (*this)(level - 1, above, v) - middle;
      const double slope = l * u <= 0 ? 0 : std::copysign(std::min(std::abs(l), std::abs(u)), l);
      result += (c[a] & 1 ? 0.25 : -0.25) * slope;
    }
    return result;
  }

  double value(slot_id slot, int v, const cell& c) const {
    const int n = mesh_.block_size();
    return values_.block(slot)[((v * n + c[2]) * n + c[1]) * n + c[0]];
  }

  const block_mesh& mesh_;
  const arena& values_;
  const boundary_values& sides_;
};

inline std::vector<field_info> gas() {
  constexpr auto polar = field_kind::polar;
  return {{"rho"}, {"mx", polar, 0}, {"my", polar, 1}, {"mz", polar, 2}, {"e"}, {"tau"}};
}

inline void fill_random(arena& values, std::mt19937_64& rng) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (std::size_t i = 0; i < values.slots() * values.stride(); ++i) values.base()[i] = uniform(rng);
}

/// f(x, y, z, v) at the centre of each cell of each block.
template <class F>
void fill_with(const block_mesh& mesh, arena& values, F&& f) {
  const int n = mesh.block_size();
  values.resize(mesh.slot_count());
  for (const slot_id s : mesh.blocks())
    for (int v = 0; v < values.variable_count(); ++v)
      for (int k = 0; k < n; ++k)
        for (int j = 0; j < n; ++j)
          for (int i = 0; i < n; ++i)
            values.block(s)[((v * n + k) * n + j) * n + i] =
                f(mesh.centre(s, 0, i), mesh.centre(s, 1, j), mesh.centre(s, 2, k), v);
}

}  // namespace plx::mesh::test
