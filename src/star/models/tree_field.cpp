#include "star/models/tree_field.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "mesh/tree/block_mesh.hpp"
#include "star/gravity/lattice.hpp"
#include "star/gravity/passes.hpp"
#include "star/models/solver.hpp"
#include "star/step/portable_pass.hpp"
#include "step/node_graph.hpp"

namespace plx::star::models {

using mesh::slot_id;

tree_field::tree_field(mesh::block_mesh m) : mesh_(std::move(m)) {
  const auto n = static_cast<std::size_t>(mesh_.block_size());
  stride_ = 4 * n * n * n;
  values_.resize(stride_ * mesh_.slot_count());
}

std::array<double, 3> tree_field::centre(slot_id slot, int cell) const {
  const int n = mesh_.block_size();
  return {mesh_.centre(slot, 0, cell % n), mesh_.centre(slot, 1, cell / n % n), mesh_.centre(slot, 2, cell / (n * n))};
}

// The values of a cell of a level, which may be finer or coarser than the mesh there.
tree_field::sample tree_field::of_cell(int level, const index& cell) const {
  const mesh::domain& d = mesh_.box();
  const int n = d.block_size;
  mesh::location where{level, {}};
  index inside = cell;
  for (int a = 0; a < 3; ++a) {
    inside[a] = std::clamp<std::int64_t>(cell[a], 0, d.blocks_along(a, level) * n - 1);
    where.x[a] = static_cast<std::int32_t>(inside[a] / n);
  }
  const double width = d.cell_width(level);
  sample s;
  const slot_id slot = mesh_.find_covering(where);
  if (slot == mesh::no_slot) {
    for (int child = 0; child < 8; ++child) {
      const sample one = of_cell(
          level + 1, {2 * inside[0] + (child & 1), 2 * inside[1] + (child >> 1 & 1), 2 * inside[2] + (child >> 2)});
      double to_middle = 0.0;
      for (int a = 0; a < 3; ++a) {
        to_middle += one.slope[a] * ((child >> a & 1) != 0 ? -0.25 : 0.25) * width;
        s.slope[a] += 0.125 * one.slope[a];
      }
      s.value += 0.125 * (one.value + 0.5 * to_middle);
    }
  } else if (mesh_.level(slot) == level) {
    const auto at = static_cast<std::size_t>(((inside[2] % n) * n + inside[1] % n) * n + inside[0] % n);
    const std::size_t cells = stride_ / 4;
    const double* from = block(slot);
    s = {from[at], {from[cells + at], from[2 * cells + at], from[3 * cells + at]}};
  } else {
    s = between(mesh_.level(slot),
                {d.coordinate(0, level, 2 * inside[0] + 1), d.coordinate(1, level, 2 * inside[1] + 1),
                 d.coordinate(2, level, 2 * inside[2] + 1)});
  }
  for (int a = 0; a < 3; ++a) s.value += s.slope[a] * (static_cast<double>(cell[a] - inside[a]) * width);
  return s;
}

// Interpolation between the centres of cells of a level.
tree_field::sample tree_field::between(int level, const std::array<double, 3>& x) const {
  const mesh::domain& d = mesh_.box();
  const double width = d.cell_width(level);
  index first{};
  double t[3];
  for (int a = 0; a < 3; ++a) {
    const double at = (x[a] - d.lower[a]) / width - 0.5, whole = std::floor(at);
    first[a] = static_cast<std::int64_t>(whole);
    t[a] = at - whole;
  }
  sample s;
  for (int corner = 0; corner < 8; ++corner) {
    double weight = 1.0;
    index cell = first;
    for (int a = 0; a < 3; ++a) {
      const int upper = corner >> a & 1;
      weight *= upper != 0 ? t[a] : 1.0 - t[a];
      cell[a] += upper;
    }
    if (weight == 0.0) continue;
    const sample one = of_cell(level, cell);
    double rest = 0.0;
    for (int a = 0; a < 3; ++a) {
      rest += one.slope[a] * (t[a] - (corner >> a & 1)) * width;
      s.slope[a] += weight * one.slope[a];
    }
    s.value += weight * (one.value + 0.5 * rest);
  }
  return s;
}

double tree_field::at(const std::array<double, 3>& x) const {
  const mesh::domain& d = mesh_.box();
  const int level = mesh_.deepest();
  mesh::location where{level, {}};
  for (int a = 0; a < 3; ++a) {
    if (!(x[a] >= d.lower[a] && x[a] <= d.upper[a])) return 0.0;
    const auto blocks = d.blocks_along(a, level);
    const double share = (x[a] - d.lower[a]) / (d.upper[a] - d.lower[a]);
    where.x[a] = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(static_cast<std::int64_t>(share * static_cast<double>(blocks)), 0, blocks - 1));
  }
  return between(mesh_.level(mesh_.find_covering(where)), x).value;
}

struct attraction::passes {
  const mesh::block_mesh& mesh;
  mesh::curve_parts parts;
  step::node_graph graph;
  node_arrays arrays;
  gravity::lattice_table table;
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> by_node, by_refined;
  std::vector<double> densities;
  std::vector<std::vector<double>> memory;
  pass_view view;
  gravity::layout layout;
  std::vector<std::vector<slot_id>> levels;  // refined nodes, the deepest first
  std::vector<slot_id> blocks, nodes;

  explicit passes(const mesh::block_mesh& m)
      : mesh(m), parts(m.block_count()), graph(m, parts, 0, true), arrays(graph) {}

  // A field with this many doubles on blocks, refined nodes or both.
  int add_field(std::size_t doubles, step::node_set on) {
    const std::size_t slots = mesh.slot_count(), refined = graph.node_count() - slots;
    const std::size_t rows = on == step::node_set::blocks    ? slots
                             : on == step::node_set::refined ? refined
                                                             : slots + refined;
    memory.emplace_back(rows * doubles);
    const auto at = memory.size() - 1;
    view.fields[at] = {memory.back().data(), on == step::node_set::refined ? by_refined.data() : by_node.data(),
                       static_cast<std::int32_t>(doubles)};
    return static_cast<int>(at);
  }

  void prepare(const gravity::gravity_options& o) {
    using step::node_set;
    const std::size_t slots = mesh.slot_count();
    const int n = mesh.block_size();
    const auto cells = static_cast<std::size_t>(n * n * n), moments = cells * gravity::count_up_to(table.order);
    densities.resize(slots * cells);
    for (std::size_t i = 0; i < slots; ++i) offsets.push_back(static_cast<std::int64_t>(i * cells));
    for (std::size_t i = 0; i < graph.node_count(); ++i) {
      by_node.push_back(static_cast<std::int32_t>(i));
      by_refined.push_back(static_cast<std::int32_t>(i < slots ? 0 : i - slots));
    }
    for (std::size_t i = 0; i < graph.tree().refined_count(); ++i) {
      const slot_id node = graph.tree().refined(i);
      if (levels.empty() || graph.level(node) != graph.level(levels.back().front())) levels.emplace_back();
      levels.back().push_back(node);
    }
    blocks.assign(mesh.blocks().begin(), mesh.blocks().end());
    nodes.assign(graph.local().begin(), graph.local().end());
    view.n = n, view.n_var = 1;
    view.nodes.values[0] = offsets.data();
    view.nodes.lower = arrays.lower.data(), view.nodes.width = arrays.width.data();
    view.nodes.children = arrays.children.data(), view.nodes.parent = arrays.parent.data();
    view.nodes.around = arrays.around.data(), view.nodes.first_refined = arrays.first_refined;
    view.places[0] = densities.data();
    view.tables[0] = table.values.data();
    layout.order = table.order, layout.reach = table.reach, layout.near = table.near, layout.constant = o.constant;
    memory.reserve(8);
    layout.masses = add_field(cells, node_set::blocks);
    layout.moments = add_field(moments, node_set::refined);
    layout.locals = add_field(moments, node_set::refined);
    layout.results = add_field(4 * cells, node_set::blocks);
    layout.sums = add_field(gravity::node_sum_count, node_set::blocks_and_refined);
    layout.correction = add_field(gravity::correction_count, node_set::blocks_and_refined);
    layout.potential = add_field(cells, node_set::blocks);
  }

  void run(gravity::pass_kind kind, const std::vector<slot_id>& on) const {
    const auto code = gravity::make_pass(kind, layout);
    for_all(gravity::name_of(kind), on.size(), [&](std::size_t i) { code->run(view, on[i]); });
  }
  void up(gravity::pass_kind kind) const {
    for (const auto& level : levels) run(kind, level);
  }
  void down(gravity::pass_kind kind) const {
    for (auto level = levels.rbegin(); level != levels.rend(); ++level) run(kind, *level);
  }

  void solve() const {
    using gravity::pass_kind;
    run(pass_kind::masses, blocks);
    up(pass_kind::moments);
    for (const auto& level : levels) run(pass_kind::interactions, level);
    down(pass_kind::translations);
    run(pass_kind::accelerations, blocks);
    run(pass_kind::node_sums, blocks);
    up(pass_kind::node_sums);
    down(pass_kind::corrections);
    run(pass_kind::corrections, blocks);
  }

  // Potential and gradient of a block.
  void copy(slot_id slot, tree_field& to) const {
    const int cells = view.cells();
    const double *from = view.field(layout.results, slot), *fix = view.field(layout.correction, slot);
    double* at = to.block(slot);
    std::copy_n(from, cells, at);
    for (int c = 0; c < cells; ++c) {
      const std::array<double, 3> x = to.centre(slot, c);
      for (int a = 0; a < 3; ++a) {
        const int b = (a + 1) % 3, d = (a + 2) % 3;
        const double turn = fix[3 + b] * (x[d] - fix[6 + d]) - fix[3 + d] * (x[b] - fix[6 + b]);
        at[(1 + a) * cells + c] = -(from[(1 + a) * cells + c] + (fix[a] + turn));
      }
    }
  }
};

attraction::~attraction() = default;

result<std::unique_ptr<attraction>> attraction::make(const mesh::block_mesh& mesh, const gravity::gravity_options& o) {
  auto table = gravity::make_lattice(o.theta, static_cast<int>(o.order), mesh.block_size());
  if (!table) return table.error();
  std::unique_ptr<attraction> made(new attraction);
  made->passes_ = std::make_unique<passes>(mesh);
  made->passes_->table = *std::move(table);
  made->passes_->prepare(o);
  return made;
}

double* attraction::density(slot_id slot) {
  return passes_->densities.data() + passes_->offsets[static_cast<std::size_t>(slot)];
}
const double* attraction::density(slot_id slot) const {
  return passes_->densities.data() + passes_->offsets[static_cast<std::size_t>(slot)];
}

void attraction::solve(tree_field& to) {
  passes_->solve();
  for_all("star.models.copy", passes_->blocks.size(), [&](std::size_t i) { passes_->copy(passes_->blocks[i], to); });
}

}  // namespace plx::star::models
