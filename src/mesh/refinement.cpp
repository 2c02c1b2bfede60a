#include "mesh/refinement.hpp"

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"
#include "mesh/symmetric.hpp"
#include "mesh/tile.hpp"

namespace plx::mesh {

namespace {

// Square of Loehner's indicator.
double second_derivative(const double* q, const std::ptrdiff_t step[3], double noise) {
  double top[3], bottom[3];
  for (int a = 0; a < 3; ++a) {
    const double l = q[-step[a]], c = q[0], u = q[step[a]];
    const double curvature = (l + u) - 2.0 * c;
    const double slopes = std::fabs(u - c) + std::fabs(c - l);
    const double ripple = noise * ((std::fabs(l) + std::fabs(u)) + 2.0 * std::fabs(c));
    top[a] = curvature * curvature;
    bottom[a] = (slopes + ripple) * (slopes + ripple);
  }
  const double below = sum3(bottom[0], bottom[1], bottom[2]);
  return below > 0.0 ? sum3(top[0], top[1], top[2]) / below : 0.0;
}

double gradient(const double* q, const std::ptrdiff_t step[3]) {
  double largest = 0.0;
  for (int a = 0; a < 3; ++a) {
    const double l = q[-step[a]], u = q[step[a]];
    const double size = std::fabs(l) + std::fabs(u);
    if (size > 0.0) largest = larger(largest, std::fabs(u - l) / size);
  }
  return largest;
}

// Directions whose side lies within `buffer` cells of a cell, the block itself included.
std::uint32_t directions_near(int i, int j, int k, int n, int buffer) {
  const auto near = [&](int x) { return 2u | (x < buffer ? 1u : 0u) | (x >= n - buffer ? 4u : 0u); };
  const std::uint32_t x = near(i), y = near(j), z = near(k);
  const std::uint32_t plane = (y & 1 ? x : 0) | (y & 2 ? x << 3 : 0) | (y & 4 ? x << 6 : 0);
  return (z & 1 ? plane : 0) | (z & 2 ? plane << 9 : 0) | (z & 4 ? plane << 18 : 0);
}

// The largest indicator over a block; `near` collects the directions around the cells above `limit`.
template <class F>
double largest_over(const block_mesh& mesh, const double* tile, int buffer, double limit, std::uint32_t& near, F&& at) {
  const int n = mesh.block_size(), w = tile_width(n);
  double largest = 0.0;
  bool any = false;
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        const double x = at(tile + ((k + ghosts) * w + j + ghosts) * w + i + ghosts);
        if (!any || x > largest) largest = x;
        any = true;
        if (x > limit) near |= directions_near(i, j, k, n, buffer);
      }
  return largest;
}

judgement judge_indicator(const criterion& c, const block_mesh& mesh, slot_id slot, const double* tile, int buffer) {
  const std::ptrdiff_t w = tile_width(mesh.block_size()), step[3] = {1, w, w * w};
  const int level = mesh.level(slot);
  std::uint32_t near = 0;
  double largest = 0.0, coarsen = c.coarsen;
  if (c.what == criterion::kind::gradient) {
    largest = largest_over(mesh, tile, buffer, c.refine, near, [&](const double* q) { return gradient(q, step); });
  } else {
    largest = largest_over(mesh, tile, buffer, c.refine * c.refine, near,
                           [&](const double* q) { return second_derivative(q, step, c.noise); });
    coarsen *= coarsen;
  }
  const int finer = std::min(level + 1, c.max_level);
  if (near != 0) return {finer, finer, near};
  return {largest < coarsen ? 0 : std::min(level, c.max_level), 0, 0};
}

judgement judge_threshold(const criterion& c, const block_mesh& mesh, slot_id slot, const double* tile, int buffer) {
  const int level = mesh.level(slot);
  const auto levels = static_cast<int>(c.above.size());
  const double limit = level < levels ? c.above[level] : std::numeric_limits<double>::infinity();
  std::uint32_t near = 0;
  const double largest = largest_over(mesh, tile, buffer, limit, near, [](const double* q) { return *q; });
  int want = 0, keep = 0;
  for (int l = 0; l < levels; ++l) {
    if (largest > c.above[l]) want = l + 1;
    if (largest > c.coarsen * c.above[l]) keep = l + 1;
  }
  return {std::max(want, std::min(keep, level)), near != 0 ? want : 0, near};
}

// Distance of a coordinate to an interval.
double outside(double x, double lo, double hi) { return std::max({lo - x, x - hi, 0.0}); }

judgement judge_region(const criterion& c, const block_mesh& mesh, slot_id slot, int buffer) {
  const std::array<double, 3> corner = mesh.lower(slot);
  const double cell = mesh.cell_width(slot), width = cell * mesh.block_size(), margin = cell * buffer;
  double distance2 = 0.0;
  bool overlaps = true;
  for (int a = 0; a < 3; ++a) {
    const double lo = corner[a] - margin, hi = corner[a] + width + margin;
    const double d = outside(c.lower[a], lo, hi);
    distance2 += d * d;
    overlaps = overlaps && c.lower[a] < hi && c.upper[a] > lo;
  }
  const bool inside = c.what == criterion::kind::sphere ? distance2 <= c.radius * c.radius : overlaps;
  return {inside ? c.max_level : 0, 0, 0};
}

}  // namespace

judgement judge(const criterion& c, const block_mesh& mesh, slot_id slot, const double* tile, int buffer_cells) {
  PLX_ASSERT(tile != nullptr || !c.needs_tile());
  const int buffer = std::min(buffer_cells, mesh.block_size());
  switch (c.what) {
    case criterion::kind::second_derivative:
    case criterion::kind::gradient:
      return judge_indicator(c, mesh, slot, tile, buffer);
    case criterion::kind::threshold:
      return judge_threshold(c, mesh, slot, tile, buffer);
    default:
      return judge_region(c, mesh, slot, buffer);
  }
}

judgement combine(const judgement& a, const judgement& b) {
  return {std::max(a.want, b.want), std::max(a.want_around, b.want_around), a.around | b.around};
}

std::vector<flag> decide(const block_mesh& mesh, std::span<const judgement> judgements) {
  PLX_ASSERT(judgements.size() >= mesh.slot_count(), judgements.size(), mesh.slot_count());
  std::vector<std::int32_t> want(mesh.slot_count(), 0);
  for (const slot_id s : mesh.blocks()) {
    const judgement& j = judgements[s];
    want[s] = std::max(want[s], j.want);
    for (int d = 0; d < direction_count; ++d) {
      if (d == self_direction || !(j.around >> d & 1)) continue;
      const neighbour& n = mesh.around(s, d);
      for (int i = 0; i < n.count; ++i) want[n.slots[i]] = std::max(want[n.slots[i]], j.want_around);
    }
  }
  std::vector<flag> flags(mesh.slot_count(), flag::keep);
  for (const slot_id s : mesh.blocks()) {
    const int level = mesh.level(s), wish = std::min(want[s], mesh.box().max_level);
    flags[s] = wish > level ? flag::refine : wish < level ? flag::coarsen : flag::keep;
  }
  return flags;
}

}  // namespace plx::mesh
