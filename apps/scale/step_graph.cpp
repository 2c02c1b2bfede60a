#include "step_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/assert.hpp"
#include "mesh/between/halo.hpp"
#include "mesh/tree/block_mesh.hpp"

namespace plx::scale {

using mesh::slot_id;

namespace {

std::vector<double> along_curve(const workload& w, const mesh::block_mesh& m) {
  std::vector<double> cost;
  for (const slot_id slot : m.blocks()) cost.push_back(w.block_s[slot]);
  return cost;
}

}  // namespace

reduction add_reduction(work_graph& g, int localities, const exchange& how, double bytes) {
  return how.pairwise ? add_pairwise(g, localities, bytes + how.header_bytes)
                      : add_all_to_all(g, localities, bytes + how.header_bytes);
}

namespace {

reduction add_gathering(work_graph& g, int localities, const exchange& how, double bytes) {
  return how.pairwise ? add_gather(g, localities, bytes + how.bundle_bytes, how.header_bytes)
                      : add_all_to_all(g, localities, bytes + how.header_bytes);
}

std::vector<std::int32_t> owners(const workload& w, const mesh::block_mesh& m, int localities) {
  if (w.part.empty()) return mesh::cut_curve(along_curve(w, m), localities);
  std::vector<std::int32_t> all;
  for (const slot_id slot : m.blocks()) all.push_back(w.part[slot]);
  return all;
}

}  // namespace

result<void> check_parts(const workload& w, int localities) {
  if (w.part.empty()) return {};
  const auto all = owners(w, *mesh_of(w), localities);
  if (!std::is_sorted(all.begin(), all.end()) || all.front() != 0 || all.back() != localities - 1)
    return error{fmt::format("blocks.part: expected localities 0 to {} in the order of the curve, found {} to {}{}",
                             localities - 1, all.front(), all.back(),
                             std::is_sorted(all.begin(), all.end()) ? "" : " in another order")};
  return {};
}

distributed_run::distributed_run(const workload& w, int localities, const exchange& how)
    : work_(w), how_(how), mesh_(*mesh_of(w)), parts_(owners(w, mesh_, localities), localities) {
  PLX_ASSERT(localities >= 1 && static_cast<std::size_t>(localities) <= w.blocks.size(), localities);
}

work_graph distributed_run::stepping() const { return stages_of_step(work_, how_, mesh_, parts_); }

// Every block's totals, their sum over localities; then the root writes its tables, and no locality waits for it.
work_graph distributed_run::summing() const {
  work_graph g;
  const reduction all = add_reduction(g, localities(), how_, how_.sum_bytes);
  add_tasks_of_blocks(g, work_.costs.totals_s, all);
  g.edge(all.out.front(), g.add_task(0, work_.costs.root_s));
  g.finish();
  return g;
}

// After a handoff, one task per block on each locality, before `all` join.
void distributed_run::add_tasks_of_blocks(work_graph& g, double seconds, const reduction& all) const {
  std::vector<node_id> begin;
  for (int l = 0; l < localities(); ++l) begin.push_back(g.add_task(l, work_.costs.handoff_s));
  for (const slot_id slot : mesh_.blocks()) {
    const int l = parts_.part_of(mesh_, slot);
    const node_id task = g.add_task(l, seconds);
    g.edge(begin[l], task);
    g.edge(task, all.in[l]);
  }
}

// All localities gather the costs of all blocks; every block is checked for refinement; all localities gather all
// marks; every locality decides whether the mesh changes.
work_graph distributed_run::looking() const {
  work_graph g;
  const auto blocks = static_cast<double>(mesh_.block_count());
  const double number_each = sizeof(double) * blocks / localities();
  const reduction costs = add_gathering(g, localities(), how_, number_each);
  const reduction marks = add_gathering(g, localities(), how_, number_each);
  for (int l = 0; l < localities(); ++l) g.edge(g.add_task(l, work_.costs.handoff_s), costs.in[l]);
  for (const slot_id slot : mesh_.blocks()) {
    const int l = parts_.part_of(mesh_, slot);
    const node_id look = g.add_task(l, work_.costs.look_s);
    g.edge(costs.out[l], look);
    g.edge(look, marks.in[l]);
  }
  for (int l = 0; l < localities(); ++l) g.edge(marks.out[l], g.add_task(l, work_.costs.rebuild_s * blocks));
  g.finish();
  return g;
}

work_graph distributed_run::changing() const {
  work_graph g;
  const reduction all = add_reduction(g, localities(), how_, 4 * sizeof(double));
  const auto blocks = static_cast<double>(mesh_.block_count());
  for (int l = 0; l < localities(); ++l) {
    const node_id plan = g.add_task(l, work_.costs.plan_s * blocks);
    g.edge(plan, all.in[l]);
    if (localities() == 1) continue;
    const mesh::halo halo(mesh_, parts_, l, work_.variables, how_.group_bytes, work_.reach());
    std::size_t border = halo.mirrors().size();
    for (const mesh::halo_group& group : halo.sends()) border += group.blocks.size();
    const double nodes_s = work_.gravity ? work_.costs.tree_s * blocks : 0.0;
    const node_id lists = g.add_task(l, work_.costs.lists_s * static_cast<double>(border) + nodes_s);
    g.edge(plan, lists);
    g.edge(lists, all.in[l]);
    for (const mesh::halo_group& group : halo.sends()) {
      const double values = sizeof(double) * static_cast<double>(group.size());
      const node_id m = g.add_message(l, group.peer, values + how_.header_bytes);
      g.copies(lists, values);
      g.edge(lists, m);
      g.edge(m, all.in[group.peer]);
    }
  }
  g.finish();
  return g;
}

}  // namespace plx::scale
