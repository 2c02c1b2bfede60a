#include "step_graph.hpp"

#include "base/assert.hpp"
#include "mesh/curve_cut.hpp"
#include "stepping_builder.hpp"

namespace plx::scale {

using mesh::slot_id;

namespace {

std::vector<double> along_curve(const workload& w, const mesh::block_mesh& m) {
  std::vector<double> cost;
  for (const slot_id slot : m.blocks()) cost.push_back(w.block_s[slot]);
  return cost;
}

}  // namespace

reduction add_reduction(work_graph& g, int localities, const exchange& how, double bytes, double bytes_all) {
  return how.tree ? add_tree(g, localities, bytes + how.header_bytes, bytes_all + how.header_bytes)
                  : add_all_to_all(g, localities, bytes + how.header_bytes);
}

distributed_run::distributed_run(const workload& w, int localities, const exchange& how)
    : work_(w), how_(how), mesh_(*mesh_of(w)), parts_(mesh::cut_curve(along_curve(w, mesh_), localities), localities) {
  PLX_ASSERT(localities >= 1 && static_cast<std::size_t>(localities) <= w.blocks.size(), localities);
}

work_graph distributed_run::stepping() const { return stepping_builder(work_, how_, mesh_, parts_).build(); }

// Every block's totals, their sum over localities; then the root writes what it writes, and nobody waits for it.
work_graph distributed_run::summing() const {
  work_graph g;
  const reduction all = add_reduction(g, localities(), how_, how_.sum_bytes, how_.sum_bytes);
  for (const slot_id slot : mesh_.blocks()) {
    const int l = parts_.part_of(mesh_, slot);
    g.edge(g.add_task(l, work_.costs.totals_s), all.in[l]);
  }
  g.edge(all.out.front(), g.add_task(0, work_.costs.root_s));
  g.finish();
  return g;
}

// Every block is looked at, all marks go to all, every locality makes the new mesh.
work_graph distributed_run::looking() const {
  work_graph g;
  const auto blocks = static_cast<double>(mesh_.block_count());
  const reduction all = add_reduction(g, localities(), how_, blocks / localities(), blocks);
  for (const slot_id slot : mesh_.blocks()) {
    const int l = parts_.part_of(mesh_, slot);
    g.edge(g.add_task(l, work_.costs.look_s), all.in[l]);
  }
  for (int l = 0; l < localities(); ++l) g.edge(all.out[l], g.add_task(l, work_.costs.rebuild_s * blocks));
  g.finish();
  return g;
}

}  // namespace plx::scale
