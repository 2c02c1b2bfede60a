#include "star/refine/refinement.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/assert.hpp"
#include "mesh/between/gather.hpp"
#include "mesh/tree/domain.hpp"
#include "mesh/tree/regrid.hpp"
#include "num/symmetric.hpp"
#include "rt/for_loop.hpp"
#include "rt/runtime.hpp"
#include "star/device/data/step_data.hpp"
#include "star/device/device_gas.hpp"
#include "star/runners/gravity_field.hpp"
#include "star/state/gas.hpp"

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

/// The marks of a block's cells: directions (bits 0..26, 13 the block itself) that a marked cell reaches, and those
/// that a cell reaches which would be marked one level coarser.
struct marks {
  std::uint32_t directions = 0, before = 0;
  bool may_coarsen = true;
};

// Directions of the blocks within `buffer` cells of a cell of a block of n^3, including its own.
std::uint32_t reached(int i, int j, int k, int n, int buffer) {
  std::uint32_t bits = 0;
  const auto from = [&](int c) { return c < buffer ? -1 : 0; };
  const auto to = [&](int c) { return c >= n - buffer ? 1 : 0; };
  for (int dz = from(k); dz <= to(k); ++dz)
    for (int dy = from(j); dy <= to(j); ++dy)
      for (int dx = from(i); dx <= to(i); ++dx) bits |= 1u << mesh::direction_index(dx, dy, dz);
  return bits;
}

int buffer_of(const refinement_options& o, int block_size) {
  return std::min<int>(static_cast<int>(o.buffer), block_size);
}

marks check_regions(const mesh::block_mesh& mesh, slot_id slot, const std::vector<double>& regions) {
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

// `potential`: of the block's cells.
void check_potential(const mesh::block_mesh& mesh, slot_id slot, const refinement_options& o, double weakening,
                     const double* potential, marks& m) {
  const auto level = static_cast<std::size_t>(mesh.level(slot));
  const auto depth = [&](std::size_t l) {
    return l < o.potential_levels.size() ? weakening * o.potential_levels[l] : HUGE_VAL;
  };
  const double marked_below = -depth(level), before_below = level > 0 ? -depth(level - 1) : -HUGE_VAL;
  const int n = mesh.block_size(), buffer = buffer_of(o, n);
  for (int c = 0; c < n * n * n; ++c) {
    const bool marked = potential[c] < marked_below, before = potential[c] < before_below;
    if (!marked && !before) continue;
    const std::uint32_t near = reached(c % n, c / n % n, c / (n * n), n, buffer);
    if (marked) m.directions |= near;
    if (before) m.before |= near;
  }
}

// The criteria that the host checks, also for a gas on a device: they do not read the state of the gas.
marks check_block(const mesh::block_mesh& mesh, slot_id slot, const refinement_options& o, double weakening,
                  const gravity_field* gravity) {
  marks m = check_regions(mesh, slot, o.regions);
  if (o.potential_levels.empty()) return m;
  PLX_ASSERT(gravity != nullptr);
  check_potential(mesh, slot, o, weakening, gravity->values(slot), m);
  return m;
}

class block_marker {
 public:
  block_marker(const gas& g, const setup& s, const device::cell_criteria& criteria)
      : g_(g),
        s_(s),
        o_(criteria),
        gradient_(criteria.gradient_of),
        curvature_(criteria.curvature_of),
        levels_(criteria.limits.size() / device::level_limit_count) {}

  /// Adds to `m`, the marks of check_block().
  void operator()(slot_id slot, worker_scratch::one& mine, marks& m) const {
    const int n = g_.mesh.block_size(), level = g_.mesh.level(slot);
    const cells_of c(mine.criteria, n, o_.species.size() / 3);
    fill_values(slot, mine, c);
    std::fill(c.gradient, c.curvature + n * n * n, 0.0);
    for (int v = 0; v < n_looked_at; ++v)
      for (int axis = 0; axis < 3; ++axis) {
        if ((gradient_ >> v & 1) != 0) add_gradient(c, v, axis);
        if ((curvature_ >> v & 1) != 0) add_curvature(c, v, axis);
      }
    const double marked_above = limit(device::dense, level), kept_above = limit(device::dense_kept, level);
    const double marked_below = limit(device::jeans, level), kept_below = limit(device::jeans_kept, level);
    const double before_above = limit(device::dense_before, level), before_below = limit(device::jeans_before, level);
    for (int i = 0; i < n * n * n; ++i) {
      const std::ptrdiff_t at = c.index(i % n, i / n % n, i / n / n);
      const double density = c.value(0)[at], sound = o_.of_sound ? c.value(i_sound)[at] : HUGE_VAL;
      const bool in_range = in_species_range(c, at, 1.0);
      if (c.gradient[i] > o_.gradient_refine || c.curvature[i] > o_.curvature_refine || density > marked_above ||
          sound * sound < marked_below * density || in_range)
        m.directions |= reached(i % n, i / n % n, i / n / n, n, o_.buffer);
      if (density > before_above || sound * sound < before_below * density)
        m.before |= reached(i % n, i / n % n, i / n / n, n, o_.buffer);
      const bool quiet = (c.gradient[i] < o_.gradient_coarsen || gradient_ == 0) &&
                         (c.curvature[i] < o_.curvature_coarsen || curvature_ == 0) && !(density > kept_above) &&
                         !(sound * sound < kept_below * density) && !in_species_range(c, at, device::species_kept);
      m.may_coarsen = m.may_coarsen && quiet;
    }
    if (m.directions != 0) m.may_coarsen = false;
  }

 private:
  /// Buffers for a block: values [value][k][j][i] with one layer of cells around it, the fractions of species_ranges
  /// after those of n_values; and per cell the largest ratios.
  struct cells_of {
    cells_of(std::vector<double>& memory, int block_size, std::size_t ranges) : n(block_size), width(n + 2) {
      const std::size_t values = (n_values + ranges) * static_cast<std::size_t>(width * width * width);
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

  double limit(device::level_limit which, int level) const {
    return o_.limits[static_cast<std::size_t>(which) * levels_ + static_cast<std::size_t>(level)];
  }

  /// Does a range of mass fractions, with its distances from 0 and 1 multiplied by `share`, contain the cell's fraction
  /// or a value between it and that of a neighbour? Where no cell of a block does, no mean of eight cells does.
  bool in_species_range(const cells_of& c, std::ptrdiff_t at, double share) const {
    for (std::size_t r = 0; r < o_.species.size() / 3; ++r) {
      const double* x = c.value(n_values + static_cast<int>(r)) + at;
      double least = *x, most = *x;
      for (int axis = 0; axis < 3; ++axis)
        for (const std::ptrdiff_t step : {-c.step(axis), c.step(axis)})
          least = std::min(least, x[step]), most = std::max(most, x[step]);
      const double upper = o_.species[3 * r + 2];
      if (most >= share * o_.species[3 * r + 1] && (upper >= 1.0 || least <= 1.0 - share * (1.0 - upper))) return true;
    }
    return false;
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
    for (std::size_t r = 0; r < o_.species.size() / 3; ++r)
      c.value(n_values + static_cast<int>(r))[at] =
          u[(i_species + static_cast<std::ptrdiff_t>(o_.species[3 * r])) * stride] * inverse;
    const std::uint32_t wanted = gradient_ | curvature_;
    const double* m = u + i_momentum * stride;
    for (int a = 0; a < 3; ++a)
      if ((wanted >> (1 + a) & 1) != 0) c.value(1 + a)[at] = m[a * stride] * inverse;
    if (wanted < 2 && !o_.of_sound) return;  // density alone
    const equation_of_state eos(s_.hydro.eos);
    const double total = u[i_energy * stride];
    const double heat =
        eos.thermal_energy(density, total - 0.5 * symmetric_norm2(m[0], m[stride], m[2 * stride]) * inverse);
    const bool cold = !(heat > s_.hydro.dual_energy_switch * total);
    const auto here =
        eos.of_thermal_energy(density, cold ? eos.thermal_energy_of_tracer(density, u[i_tracer * stride]) : heat);
    c.value(i_pressure)[at] = here.pressure;
    if ((wanted & 0b1110) != 0 || o_.of_sound) c.value(i_sound)[at] = here.sound_speed;
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

  const gas& g_;
  const setup& s_;
  const device::cell_criteria& o_;
  std::uint32_t gradient_, curvature_;
  std::size_t levels_;
};

// Shapes: all: by position on the curve.
std::vector<flag> spread(const mesh::block_mesh& mesh, std::span<const marks> all) {
  const auto blocks = mesh.blocks();
  std::vector<flag> flags(mesh.slot_count(), flag::keep);
  for (std::size_t p = 0; p < all.size(); ++p) flags[blocks[p]] = all[p].may_coarsen ? flag::coarsen : flag::keep;
  const auto at_least = [&](slot_id s, flag f) { flags[s] = std::max(flags[s], f); };
  // A marked cell requests blocks of the next level around it, and one that would be marked in a coarser block, of its
  // own level: what has been refined stays so on its way through coarse blocks.
  for (std::size_t p = 0; p < all.size(); ++p)
    for (std::uint32_t rest = all[p].directions | all[p].before; rest != 0; rest &= rest - 1) {
      const slot_id s = blocks[p];
      const int d = std::countr_zero(rest);
      const bool marked = (all[p].directions >> d & 1) != 0;
      if (d == mesh::self_direction) {
        at_least(s, marked ? flag::refine : flag::keep);
        continue;
      }
      const mesh::neighbour& n = mesh.around(s, d);
      if (n.kind == mesh::relation::side || (n.kind == mesh::relation::finer && !marked)) continue;
      const bool refine = n.kind == mesh::relation::coarser || (n.kind == mesh::relation::same && marked);
      for (int i = 0; i < n.count; ++i) at_least(n.slots[i], refine ? flag::refine : flag::keep);
    }
  return flags;
}

/// Limits of the density and of c^2 / density, [level_limit][level]. A block of level l keeps its level where one of
/// level l - 1 would be refined, with a margin.
std::vector<double> level_limits(const refinement_options& o, const setup& s, double weakening) {
  const auto levels = static_cast<std::size_t>(s.domain.max_level) + 1;
  std::vector<double> all(device::level_limit_count * levels);
  const auto density_above = [&](std::size_t level, double share) {
    const double width = s.domain.cell_width(static_cast<int>(level));
    const double of_mass = o.cell_mass > 0.0 ? share * o.cell_mass / (width * width * width) : HUGE_VAL;
    return weakening * std::min(level < o.density_levels.size() ? o.density_levels[level] : HUGE_VAL, of_mass);
  };
  const auto sound2_below = [&](std::size_t level, double share) {
    const double length = share * o.jeans_cells * s.domain.cell_width(static_cast<int>(level));
    return s.gravitational_constant * (length * length) / (std::numbers::pi * weakening);
  };
  for (std::size_t level = 0; level < levels; ++level) {
    all[device::dense * levels + level] = density_above(level, 1.0);
    all[device::dense_before * levels + level] = level > 0 ? density_above(level - 1, 1.0) : HUGE_VAL;
    all[device::dense_kept * levels + level] = level > 0 ? density_above(level - 1, o.cell_mass_coarsen) : HUGE_VAL;
    all[device::jeans * levels + level] = sound2_below(level, 1.0);
    all[device::jeans_before * levels + level] = level > 0 ? sound2_below(level - 1, 1.0) : 0.0;
    all[device::jeans_kept * levels + level] = level > 0 ? sound2_below(level - 1, o.jeans_coarsen) : 0.0;
  }
  return all;
}

/// The ranges of mass fractions, drawn towards their middle by `weakening`; those of which nothing is left are omitted.
std::vector<double> species_ranges(const refinement_options& o, double weakening) {
  std::vector<double> all;
  for (std::size_t r = 0; r + 2 < o.species.size(); r += 3) {
    const double lower = weakening * o.species[r + 1], upper = 1.0 - weakening * (1.0 - o.species[r + 2]);
    if (lower <= upper) all.insert(all.end(), {o.species[r], lower, upper});
  }
  return all;
}

task_info info_of(const char* name) { return {probe::register_name(name), probe::no_key}; }

// Marks of all blocks, by position, from those that each locality has of its own blocks; sent as numbers, exactly.
std::vector<marks> gathered(const gas& g, std::vector<marks> own) {
  if (g.net.is_alone()) return own;
  constexpr double may_coarsen = 1u << mesh::direction_count;
  std::vector<double> mine;
  for (const marks& m : own) {
    mine.push_back(m.directions + (m.may_coarsen ? may_coarsen : 0.0));
    mine.push_back(m.before);
  }
  const auto from = g.net.all_gather(std::move(mine));
  std::vector<marks> all;
  all.reserve(g.mesh.block_count());
  for (int p = 0; p < g.parts.count(); ++p) {
    const auto blocks = static_cast<std::size_t>(g.parts.end(p) - g.parts.begin(p));
    PLX_ASSERT_EQ(from[p].size(), 2 * blocks);
    for (std::size_t i = 0; i < blocks; ++i) {
      const double m = from[p][2 * i];
      all.push_back({static_cast<std::uint32_t>(m >= may_coarsen ? m - may_coarsen : m),
                     static_cast<std::uint32_t>(from[p][2 * i + 1]), m >= may_coarsen});
    }
  }
  return all;
}

}  // namespace

std::vector<flag> refinement_flags(const gas& g, const setup& s, const refinement_options& options,
                                   worker_scratch& scratch, double weakening, const gravity_field* gravity) {
  const auto own = g.own();
  std::vector<marks> mine(own.size());
  const device::cell_criteria criteria = criteria_of(options, s, weakening);
  const block_marker mark(g, s, criteria);
  for_loop(info_of("star.refinement"), std::size_t{0}, own.size(), [&](std::size_t p) {
    mine[p] = check_block(g.mesh, own[p], options, weakening, gravity);
    mark(own[p], scratch.mine(), mine[p]);
  });
  return spread(g.mesh, gathered(g, std::move(mine)));
}

std::vector<flag> refinement_flags(const gas& g, const refinement_options& options,
                                   std::span<const std::uint32_t> marks_of_cells, double weakening,
                                   const gravity_field* gravity) {
  const auto own = g.own();
  PLX_ASSERT_EQ(marks_of_cells.size(), 2 * own.size());
  std::vector<marks> mine(own.size());
  for_loop(info_of("star.refinement"), std::size_t{0}, own.size(), [&](std::size_t p) {
    marks& m = mine[p] = check_block(g.mesh, own[p], options, weakening, gravity);
    m.directions |= marks_of_cells[2 * p] & (device::mark_busy - 1);
    m.before |= marks_of_cells[2 * p + 1];
    m.may_coarsen = m.may_coarsen && (marks_of_cells[2 * p] & device::mark_busy) == 0 && m.directions == 0;
  });
  return spread(g.mesh, gathered(g, std::move(mine)));
}

device::cell_criteria criteria_of(const refinement_options& o, const setup& s, double weakening) {
  return {.gradient_of = bits_of(o.gradient_of),
          .curvature_of = bits_of(o.curvature_of),
          .gradient_refine = weakening * o.gradient_refine,
          .gradient_coarsen = weakening * o.gradient_coarsen,
          .curvature_refine = weakening * o.curvature_refine,
          .curvature_coarsen = weakening * o.curvature_coarsen,
          .buffer = buffer_of(o, s.domain.block_size),
          .of_sound = o.jeans_cells > 0.0,
          .limits = level_limits(o, s, weakening),
          .species = species_ranges(o, weakening)};
}

}  // namespace plx::star
