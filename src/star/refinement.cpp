#include "star/refinement.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.hpp"
#include "mesh/gather.hpp"
#include "rt/for_loop.hpp"
#include "rt/runtime.hpp"

namespace plx::star {

using mesh::flag;
using mesh::slot_id;

namespace {

// Variables that criteria look at, in the order of the names that options allow.
constexpr int n_looked_at = 5;
constexpr const char* looked_at[n_looked_at] = {"rho", "vel1", "vel2", "vel3", "press"};
constexpr int i_pressure = 4, i_sound = 5;  // in a cell_view

std::uint32_t bits_of(const std::vector<std::string>& names) {
  std::uint32_t bits = 0;
  for (const std::string& name : names)
    for (int v = 0; v < n_looked_at; ++v)
      if (name == looked_at[v]) bits |= 1u << v;
  return bits;
}

/// What a block's cells say: directions (bits 0..26, 13 the block itself) that a marked cell reaches.
struct marks {
  std::uint32_t directions = 0;
  bool may_coarsen = true;
};

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
    marks m = look_at_regions(slot);
    const int n = g_.mesh.block_size();
    const std::vector<double> w = primitives(slot, mine);
    const int level = g_.mesh.level(slot);
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) {
          const double* c = &w[n_values * (((k + 1) * (n + 2) + (j + 1)) * (n + 2) + (i + 1))];
          const verdict v = look_at_cell(c, n, level);
          if (v == verdict::refine) m.directions |= reached(i, j, k, n);
          m.may_coarsen = m.may_coarsen && v == verdict::coarsen;
        }
    return m;
  }

 private:
  enum class verdict { coarsen, keep, refine };
  static constexpr int n_values = 6;  // those looked at, and the sound speed

  // Cells of the block and one layer around across faces: [k][j][i][value].
  std::vector<double> primitives(slot_id slot, worker_scratch::one& mine) const {
    const int n = g_.mesh.block_size(), width = mesh::tile_width(n);
    const double* tile = mesh::gather_tile(g_.mesh, g_.now, slot, g_.sides, mine.tile, mesh::reach::faces);
    const std::ptrdiff_t stride = mesh::tile_cells(n);
    const gamma_law eos{s_.hydro.gamma};
    std::vector<double> w(static_cast<std::size_t>(n_values) * (n + 2) * (n + 2) * (n + 2), 0.0);
    const auto beyond = [n](int a) { return a < 0 || a >= n ? 1 : 0; };
    for (int k = -1; k <= n; ++k)
      for (int j = -1; j <= n; ++j)
        for (int i = -1; i <= n; ++i) {
          if (beyond(i) + beyond(j) + beyond(k) > 1) continue;
          const double* u = tile + ((k + mesh::ghosts) * width + (j + mesh::ghosts)) * width + i + mesh::ghosts;
          const primitive q = to_primitive(eos, u, stride, 0, s_.hydro.dual_energy_switch);
          double* c = &w[n_values * (((k + 1) * (n + 2) + (j + 1)) * (n + 2) + (i + 1))];
          c[0] = q.density;
          for (int a = 0; a < 3; ++a) c[1 + a] = q.velocity[a];
          c[i_pressure] = q.pressure;
          c[i_sound] = eos.sound_speed(q.density, q.pressure);
        }
    return w;
  }

  static double relative_difference(const double* a, const double* b, int v) {
    const bool is_velocity = v >= 1 && v <= 3;
    const double scale = is_velocity ? std::max(a[i_sound], b[i_sound]) : std::max(std::abs(a[v]), std::abs(b[v]));
    return scale > 0 ? std::abs(a[v] - b[v]) / scale : 0.0;
  }

  static double curvature_ratio(const double* below, const double* c, const double* above, int v) {
    const double up = above[v] - c[v], down = c[v] - below[v];
    const double small = 0.01 * ((std::abs(above[v]) + std::abs(below[v])) + 2 * std::abs(c[v]));
    const double scale = (std::abs(up) + std::abs(down)) + small;
    return scale > 0 ? std::abs(up - down) / scale : 0.0;
  }

  verdict look_at_cell(const double* c, int n, int level) const {
    double gradient = 0, curvature = 0;
    const std::ptrdiff_t steps[3] = {n_values, n_values * (n + 2), std::ptrdiff_t{n_values} * (n + 2) * (n + 2)};
    for (const std::ptrdiff_t step : steps)
      for (int v = 0; v < n_looked_at; ++v) {
        if ((gradient_ >> v & 1) != 0)
          gradient = std::max({gradient, relative_difference(c, c - step, v), relative_difference(c, c + step, v)});
        if ((curvature_ >> v & 1) != 0) curvature = std::max(curvature, curvature_ratio(c - step, c, c + step, v));
      }
    const auto threshold = [&](int l) {
      return l >= 0 && l < static_cast<int>(o_.density_levels.size()) ? o_.density_levels[l] : HUGE_VAL;
    };
    if (gradient > o_.gradient_refine || curvature > o_.curvature_refine || c[0] > threshold(level))
      return verdict::refine;
    const bool quiet = gradient < o_.gradient_coarsen || gradient_ == 0;
    const bool straight = curvature < o_.curvature_coarsen || curvature_ == 0;
    return quiet && straight && !(c[0] > threshold(level - 1)) ? verdict::coarsen : verdict::keep;
  }

  // Directions of the blocks within `buffer` cells of a cell, its own included.
  std::uint32_t reached(int i, int j, int k, int n) const {
    std::uint32_t bits = 0;
    const auto from = [&](int c) { return c < buffer_ ? -1 : 0; };
    const auto to = [&](int c) { return c >= n - buffer_ ? 1 : 0; };
    for (int dz = from(k); dz <= to(k); ++dz)
      for (int dy = from(j); dy <= to(j); ++dy)
        for (int dx = from(i); dx <= to(i); ++dx) bits |= 1u << mesh::direction_index(dx, dy, dz);
    return bits;
  }

  marks look_at_regions(slot_id slot) const {
    marks m;
    const std::array<double, 3> lower = g_.mesh.lower(slot);
    const double width = g_.mesh.cell_width(slot) * g_.mesh.block_size();
    for (std::size_t r = 0; r + 7 <= o_.regions.size(); r += 7) {
      const double* box = &o_.regions[r];
      bool overlaps = true;
      for (int a = 0; a < 3; ++a) overlaps = overlaps && lower[a] < box[2 * a + 1] && lower[a] + width > box[2 * a];
      if (!overlaps) continue;
      if (g_.mesh.level(slot) < box[6]) m.directions |= 1u << mesh::self_direction;
      if (g_.mesh.level(slot) <= box[6]) m.may_coarsen = false;
    }
    return m;
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

std::vector<slot_id> new_slots(const regrid_result& r) {
  std::vector<slot_id> slots;
  for (const mesh::family& f : r.refined) slots.insert(slots.end(), f.children.begin(), f.children.end());
  for (const mesh::family& f : r.merged) slots.push_back(f.parent);
  return slots;
}

// Floors and the signal rate of blocks that no stage has made.
floor_counts check_blocks(gas& g, const setup& s, const std::vector<slot_id>& slots) {
  std::vector<stage_output> outs(slots.size());
  const int n = g.mesh.block_size();
  for_loop(info_of("star.check"), std::size_t{0}, slots.size(), [&](std::size_t i) {
    check_cells(s.hydro, g.now.block(slots[i]), n, g.mesh.cell_width(slots[i]), {{0, 0, 0}, {n, n, n}}, outs[i]);
  });
  floor_counts floors;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    g.signal_rate[slots[i]] = outs[i].max_signal_rate;
    floors.add(outs[i]);
  }
  return floors;
}

}  // namespace

std::vector<flag> refinement_flags(const gas& g, const setup& s, const refinement_options& options,
                                   worker_scratch& scratch) {
  std::vector<marks> all(g.mesh.slot_count());
  const block_marker mark(g, s, options);
  const auto blocks = g.mesh.blocks();
  for_loop(info_of("star.refinement"), std::size_t{0}, blocks.size(),
           [&](std::size_t p) { all[blocks[p]] = mark(blocks[p], scratch.mine()); });
  return spread(g.mesh, all);
}

regrid_result regrid(gas& g, const setup& s, const std::vector<flag>& flags, int coarsen_after,
                     worker_scratch& scratch) {
  mesh::regrid_plan plan = mesh::plan_regrid(g.mesh, flags, coarsen_after);
  if (!plan.changed()) {
    g.mesh = std::move(plan.next);  // it counts the votes
    return {};
  }
  g.now.resize(plan.next.slot_count());
  const task_info info = info_of("star.regrid");
  for_loop(info, std::size_t{0}, plan.refined.size(),
           [&](std::size_t i) { mesh::refine_values(plan, g.mesh, g.now, i, g.sides, scratch.mine().tile); });
  for_loop(info, std::size_t{0}, plan.merged.size(), [&](std::size_t i) { mesh::merge_values(plan, g.now, i); });
  regrid_result result{std::move(plan.refined), std::move(plan.merged), {}};
  g.adopt(std::move(plan.next));
  result.floors = check_blocks(g, s, new_slots(result));
  return result;
}

floor_counts build_initial(gas& g, const setup& s, const refinement_options& options, const problem& p,
                           worker_scratch& scratch) {
  const auto fill = [&](const std::vector<slot_id>& slots) {
    for_loop(info_of("star.initial"), std::size_t{0}, slots.size(),
             [&](std::size_t i) { fill_from_problem(p, g.mesh, slots[i], 0.0, g.now.block(slots[i])); });
  };
  fill({g.mesh.blocks().begin(), g.mesh.blocks().end()});
  for (int round = 0; round < 4 * s.domain.max_level; ++round) {
    std::vector<flag> flags = refinement_flags(g, s, options, scratch);
    for (flag& f : flags) f = std::max(f, flag::keep);
    mesh::regrid_plan plan = mesh::plan_regrid(g.mesh, flags, 1);
    if (!plan.changed()) break;
    regrid_result changed{std::move(plan.refined), {}, {}};
    g.adopt(std::move(plan.next));
    fill(new_slots(changed));
  }
  return check_blocks(g, s, {g.mesh.blocks().begin(), g.mesh.blocks().end()});
}

}  // namespace plx::star
