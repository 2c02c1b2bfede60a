#include "star/refine/refinement.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/assert.hpp"
#include "mesh/between/gather.hpp"
#include "num/symmetric.hpp"
#include "rt/for_loop.hpp"
#include "rt/runtime.hpp"
#include "star/device/device_gas.hpp"

namespace plx::star {

using mesh::flag;
using mesh::slot_id;

namespace {

// Variables that criteria check, in the order of the names in the options.
constexpr int n_looked_at = 5;
constexpr const char* looked_at[n_looked_at] = {"rho", "vel1", "vel2", "vel3", "press"};
constexpr int i_pressure = 4, i_sound = 5, n_values = 6;

std::uint32_t bits_of(const std::vector<std::string>& names) {
  std::uint32_t bits = 0;
  for (const std::string& name : names)
    for (int v = 0; v < n_looked_at; ++v)
      if (name == looked_at[v]) bits |= 1u << v;
  return bits;
}

/// The marks of a block's cells: directions (bits 0..26, 13 the block itself) that a marked cell reaches.
struct marks {
  std::uint32_t directions = 0;
  bool may_coarsen = true;
};

marks look_at_regions(const mesh::block_mesh& mesh, slot_id slot, const std::vector<double>& regions) {
  marks m;
  const std::array<double, 3> lower = mesh.lower(slot);
  const double width = mesh.cell_width(slot) * mesh.block_size();
  for (std::size_t r = 0; r + 7 <= regions.size(); r += 7) {
    const double* box = &regions[r];
    bool overlaps = true;
    for (int a = 0; a < 3; ++a) overlaps = overlaps && lower[a] < box[2 * a + 1] && lower[a] + width > box[2 * a];
    if (!overlaps) continue;
    if (mesh.level(slot) < box[6]) m.directions |= 1u << mesh::self_direction;
    if (mesh.level(slot) <= box[6]) m.may_coarsen = false;
  }
  return m;
}

class block_marker {
 public:
  block_marker(const gas& g, const setup& s, const refinement_options& o)
      : g_(g),
        s_(s),
        o_(o),
        gradient_(bits_of(o.gradient_of)),
        curvature_(bits_of(o.curvature_of)),
        buffer_(std::min<int>(static_cast<int>(o.buffer), s.domain.block_size)) {}

  marks operator()(slot_id slot, worker_scratch::one& mine) const {
    marks m = look_at_regions(g_.mesh, slot, o_.regions);
    const int n = g_.mesh.block_size(), level = g_.mesh.level(slot);
    const cells_of c(mine.criteria, n);
    fill_values(slot, mine, c);
    std::fill(c.gradient, c.curvature + n * n * n, 0.0);
    for (int v = 0; v < n_looked_at; ++v)
      for (int axis = 0; axis < 3; ++axis) {
        if ((gradient_ >> v & 1) != 0) add_gradient(c, v, axis);
        if ((curvature_ >> v & 1) != 0) add_curvature(c, v, axis);
      }
    const double marked_above = threshold(level), kept_above = threshold(level - 1);
    for (int i = 0; i < n * n * n; ++i) {
      const double density = c.value(0)[c.index(i % n, i / n % n, i / n / n)];
      if (c.gradient[i] > o_.gradient_refine || c.curvature[i] > o_.curvature_refine || density > marked_above)
        m.directions |= reached(i % n, i / n % n, i / n / n, n);
      const bool quiet = (c.gradient[i] < o_.gradient_coarsen || gradient_ == 0) &&
                         (c.curvature[i] < o_.curvature_coarsen || curvature_ == 0) && !(density > kept_above);
      m.may_coarsen = m.may_coarsen && quiet;
    }
    if (m.directions != 0) m.may_coarsen = false;
    return m;
  }

 private:
  /// Buffers for a block: values [value][k][j][i] with one layer of cells around it, and per cell the largest ratios.
  struct cells_of {
    cells_of(std::vector<double>& memory, int block_size) : n(block_size), width(n + 2) {
      const std::size_t values = static_cast<std::size_t>(n_values) * width * width * width;
      memory.resize(values + 2 * static_cast<std::size_t>(n) * n * n);
      data = memory.data();
      gradient = data + values;
      curvature = gradient + static_cast<std::ptrdiff_t>(n) * n * n;
    }
    double* value(int v) const { return data + static_cast<std::ptrdiff_t>(v) * width * width * width; }
    std::ptrdiff_t index(int i, int j, int k) const { return ((k + 1) * width + (j + 1)) * width + (i + 1); }
    std::ptrdiff_t step(int axis) const { return axis == 0 ? 1 : axis == 1 ? width : width * width; }

    std::ptrdiff_t n, width;
    double *data, *gradient, *curvature;
  };

  double threshold(int level) const {
    return level >= 0 && level < static_cast<int>(o_.density_levels.size()) ? o_.density_levels[level] : HUGE_VAL;
  }

  // Cells of the block and one layer around it across faces.
  void fill_values(slot_id slot, worker_scratch::one& mine, const cells_of& c) const {
    const int n = g_.mesh.block_size(), width = mesh::tile_width(n);
    const double* tile = mesh::gather_tile(g_.mesh, g_.now, slot, g_.sides, mine.tile, mesh::reach::faces);
    const auto beyond = [n](int a) { return a < 0 || a >= n ? 1 : 0; };
    for (int k = -1; k <= n; ++k)
      for (int j = -1; j <= n; ++j) {
        if (beyond(j) + beyond(k) > 1) continue;
        const int side = beyond(j) + beyond(k) == 0 ? 1 : 0;  // inner rows have a ghost cell at both ends
        for (int i = -side; i < n + side; ++i)
          fill_cell(tile + ((k + mesh::ghosts) * width + (j + mesh::ghosts)) * width + i + mesh::ghosts,
                    mesh::tile_cells(n), c, c.index(i, j, k));
      }
  }

  void fill_cell(const double* u, std::ptrdiff_t stride, const cells_of& c, std::ptrdiff_t at) const {
    const double density = u[0], inverse = 1.0 / density;
    c.value(0)[at] = density;
    const std::uint32_t wanted = gradient_ | curvature_;
    const double* m = u + i_momentum * stride;
    for (int a = 0; a < 3; ++a)
      if ((wanted >> (1 + a) & 1) != 0) c.value(1 + a)[at] = m[a * stride] * inverse;
    if (wanted < 2) return;  // density alone
    const equation_of_state eos(s_.hydro.eos);
    const double total = u[i_energy * stride];
    const double heat =
        eos.thermal_energy(density, total - 0.5 * symmetric_norm2(m[0], m[stride], m[2 * stride]) * inverse);
    const bool cold = !(heat > s_.hydro.dual_energy_switch * total);
    const auto here = eos.of_thermal_energy(density, cold ? eos.thermal_energy_of_tracer(u[i_tracer * stride]) : heat);
    c.value(i_pressure)[at] = here.pressure;
    if ((wanted & 0b1110) != 0) c.value(i_sound)[at] = here.sound_speed;
  }

  // The largest difference of each cell to its two neighbours along an axis, relative to the larger of both values.
  static void add_gradient(const cells_of& c, int v, int axis) {
    const bool is_velocity = v >= 1 && v <= 3;
    const double *q = c.value(v), *scale = c.value(is_velocity ? i_sound : v);
    const std::ptrdiff_t step = c.step(axis);
    for (int k = 0; k < c.n; ++k)
      for (int j = 0; j < c.n; ++j)
        for (int i = 0; i < c.n; ++i) {
          const std::ptrdiff_t at = c.index(i, j, k);
          const auto ratio = [&](std::ptrdiff_t other) {
            const double size = std::max(std::abs(scale[at]), std::abs(scale[other]));
            return std::abs(q[other] - q[at]) / std::max(size, 1e-300);
          };
          double& largest = c.gradient[(k * c.n + j) * c.n + i];
          largest = std::max(largest, std::max(ratio(at - step), ratio(at + step)));
        }
  }

  static void add_curvature(const cells_of& c, int v, int axis) {
    const double* q = c.value(v);
    const std::ptrdiff_t step = c.step(axis);
    for (int k = 0; k < c.n; ++k)
      for (int j = 0; j < c.n; ++j)
        for (int i = 0; i < c.n; ++i) {
          const std::ptrdiff_t at = c.index(i, j, k);
          const double up = q[at + step] - q[at], down = q[at] - q[at - step];
          const double small = 0.01 * ((std::abs(q[at + step]) + std::abs(q[at - step])) + 2 * std::abs(q[at]));
          const double scale = (std::abs(up) + std::abs(down)) + small;
          double& largest = c.curvature[(k * c.n + j) * c.n + i];
          largest = std::max(largest, std::abs(up - down) / std::max(scale, 1e-300));
        }
  }

  // Directions of the blocks within `buffer` cells of a cell, including its own.
  std::uint32_t reached(int i, int j, int k, int n) const {
    std::uint32_t bits = 0;
    const auto from = [&](int c) { return c < buffer_ ? -1 : 0; };
    const auto to = [&](int c) { return c >= n - buffer_ ? 1 : 0; };
    for (int dz = from(k); dz <= to(k); ++dz)
      for (int dy = from(j); dy <= to(j); ++dy)
        for (int dx = from(i); dx <= to(i); ++dx) bits |= 1u << mesh::direction_index(dx, dy, dz);
    return bits;
  }

  const gas& g_;
  const setup& s_;
  const refinement_options& o_;
  std::uint32_t gradient_, curvature_;
  int buffer_;
};

std::vector<flag> spread(const mesh::block_mesh& mesh, const std::vector<marks>& all) {
  std::vector<flag> flags(mesh.slot_count(), flag::keep);
  for (const slot_id s : mesh.blocks()) flags[s] = all[s].may_coarsen ? flag::coarsen : flag::keep;
  const auto at_least = [&](slot_id s, flag f) { flags[s] = std::max(flags[s], f); };
  for (const slot_id s : mesh.blocks())
    for (int d = 0; d < mesh::direction_count; ++d) {
      if ((all[s].directions >> d & 1) == 0) continue;
      if (d == mesh::self_direction) {
        at_least(s, flag::refine);
        continue;
      }
      const mesh::neighbour& n = mesh.around(s, d);
      if (n.kind == mesh::relation::side) continue;
      const flag wish = n.kind == mesh::relation::finer ? flag::keep : flag::refine;
      for (int i = 0; i < n.count; ++i) at_least(n.slots[i], wish);
    }
  return flags;
}

task_info info_of(const char* name) { return {probe::register_name(name), probe::no_key}; }

// Marks of all blocks, by slot, from those that each locality has of its own blocks; sent as numbers, exactly.
std::vector<marks> gathered(const gas& g, const std::vector<marks>& own) {
  constexpr double may_coarsen = 1u << mesh::direction_count;
  std::vector<double> mine;
  for (const marks& m : own) mine.push_back(m.directions + (m.may_coarsen ? may_coarsen : 0.0));
  const auto from = g.net.all_gather(std::move(mine));
  std::vector<marks> all(g.mesh.slot_count());
  for (int p = 0; p < g.parts.count(); ++p) {
    const auto blocks = g.parts.blocks(g.mesh, p);
    PLX_ASSERT_EQ(from[p].size(), blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const double m = from[p][i];
      all[blocks[i]] = {static_cast<std::uint32_t>(m >= may_coarsen ? m - may_coarsen : m), m >= may_coarsen};
    }
  }
  return all;
}

}  // namespace

std::vector<flag> refinement_flags(const gas& g, const setup& s, const refinement_options& options,
                                   worker_scratch& scratch) {
  const auto own = g.own();
  std::vector<marks> mine(own.size());
  const block_marker mark(g, s, options);
  for_loop(info_of("star.refinement"), std::size_t{0}, own.size(),
           [&](std::size_t p) { mine[p] = mark(own[p], scratch.mine()); });
  return spread(g.mesh, gathered(g, mine));
}

std::vector<flag> refinement_flags(const gas& g, const refinement_options& options,
                                   std::span<const std::uint32_t> marks_of_cells) {
  const auto own = g.own();
  PLX_ASSERT_EQ(marks_of_cells.size(), own.size());
  std::vector<marks> mine(own.size());
  for (std::size_t p = 0; p < own.size(); ++p) {
    marks& m = mine[p] = look_at_regions(g.mesh, own[p], options.regions);
    m.directions |= marks_of_cells[p] & (device::mark_busy - 1);
    m.may_coarsen = m.may_coarsen && (marks_of_cells[p] & device::mark_busy) == 0 && m.directions == 0;
  }
  return spread(g.mesh, gathered(g, mine));
}

device::cell_criteria criteria_of(const refinement_options& o, int block_size) {
  return {bits_of(o.gradient_of),
          bits_of(o.curvature_of),
          o.gradient_refine,
          o.gradient_coarsen,
          o.curvature_refine,
          o.curvature_coarsen,
          std::min<int>(static_cast<int>(o.buffer), block_size),
          o.density_levels};
}

}  // namespace plx::star
