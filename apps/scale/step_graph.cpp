#include "step_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "mesh/border/halo.hpp"
#include "mesh/tree/curve_cut.hpp"

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

// ------------------------------------------------------------------------------------------------- stages of one step

namespace {

class stepping_builder {
 public:
  /// Requires: all of them outlive it.
  stepping_builder(const workload& w, const exchange& how, const mesh::block_mesh& m, const mesh::curve_parts& parts);

  /// Called once.
  work_graph build();

 private:
  int owner(slot_id slot) const { return owner_[slot]; }
  node_id stage(int s, slot_id slot) const { return stages_[s * slots_ + slot]; }
  node_id correction(int s, slot_id slot) const { return corrections_[s * slots_ + slot]; }
  /// The last node of a block's stage: its correction, if it has one.
  node_id finish(int s, slot_id slot) const;
  double jittered(double seconds);
  void add_tasks();
  std::vector<slot_id> in_order(int locality) const;
  void add_begin(int locality);
  void connect_own(int s, slot_id slot);
  void release(node_id message, int s, slot_id neighbour);
  double face_bytes() const;
  void add_ghost_groups(int locality);
  void add_flux_groups(int locality);
  void add_single_ghosts(slot_id slot);
  void add_single_fluxes(slot_id slot);

  const workload& work_;
  const exchange& how_;
  const mesh::block_mesh& mesh_;
  const mesh::curve_parts& parts_;
  std::size_t slots_;
  std::vector<int> owner_;                     // by slot
  std::vector<node_id> stages_, corrections_;  // by stage and slot
  reduction end_;
  work_graph g_;
  std::mt19937_64 random_;
};

stepping_builder::stepping_builder(const workload& w, const exchange& how, const mesh::block_mesh& m,
                                   const mesh::curve_parts& parts)
    : work_(w), how_(how), mesh_(m), parts_(parts), slots_(m.slot_count()), owner_(slots_), random_(how.seed) {
  for (int l = 0; l < parts.count(); ++l)
    for (const slot_id slot : parts.blocks(m, l)) owner_[slot] = l;
}

node_id stepping_builder::finish(int s, slot_id slot) const {
  const node_id c = correction(s, slot);
  return c != no_node ? c : stage(s, slot);
}

// The factor has mean 1: the total work of all tasks remains as measured, to rounding.
double stepping_builder::jittered(double seconds) {
  const double sigma = work_.costs.jitter;
  if (!(sigma > 0.0)) return seconds;
  return seconds * std::lognormal_distribution<double>(-0.5 * sigma * sigma, sigma)(random_);
}

void stepping_builder::add_tasks() {
  const int stages = work_.stages;
  stages_.assign(stages * slots_, no_node);
  corrections_.assign(stages * slots_, no_node);
  for (int s = 0; s < stages; ++s)
    for (const slot_id slot : mesh_.blocks()) {
      const bool corrected = mesh_.finer_face_count(slot) > 0;
      const double whole = work_.block_s[slot] / stages;
      const double correction_s = corrected ? std::min(work_.costs.correction_s, 0.5 * whole) : 0.0;
      stages_[s * slots_ + slot] = g_.add_task(owner(slot), jittered(whole - correction_s));
      if (corrected) corrections_[s * slots_ + slot] = g_.add_task(owner(slot), jittered(correction_s));
    }
}

// As task_runner::order_nodes() does: blocks that others wait for first, then those next to them, then the rest along
// the curve.
std::vector<slot_id> stepping_builder::in_order(int locality) const {
  const auto own = parts_.blocks(mesh_, locality);
  std::map<slot_id, int> distance;
  for (const slot_id slot : own)
    for (const slot_id other : mesh_.touching(slot))
      if (owner(other) != locality) distance[slot] = 0;
  for (int d = 1; d < work_.stages; ++d)
    for (const slot_id slot : own)
      for (const slot_id other : mesh_.touching(slot))
        if (const auto found = distance.find(other); found != distance.end() && found->second == d - 1)
          distance.try_emplace(slot, d);
  std::vector<slot_id> order(own.begin(), own.end());
  const auto rank = [&](slot_id slot) {
    const auto found = distance.find(slot);
    return found == distance.end() ? work_.stages : found->second;
  };
  std::stable_sort(order.begin(), order.end(), [&](slot_id a, slot_id b) { return rank(a) < rank(b); });
  return order;
}

void stepping_builder::add_begin(int locality) {
  const double share = static_cast<double>(parts_.blocks(mesh_, locality).size()) / mesh_.block_count();
  const node_id begin = g_.add_task(locality, work_.costs.handoff_s + work_.costs.step_s * share);
  for (const slot_id slot : in_order(locality)) g_.edge(begin, stage(0, slot));
}

// Edges from a block's end of a stage to blocks of its own locality.
void stepping_builder::connect_own(int s, slot_id slot) {
  const int here = owner(slot);
  const node_id done = finish(s, slot);
  if (done != stage(s, slot)) g_.edge(stage(s, slot), done);
  for (const mesh::face_neighbour& coarse : mesh_.coarser_face_neighbours(slot))
    if (owner(coarse.slot) == here) g_.edge(stage(s, slot), correction(s, coarse.slot));
  if (s + 1 == work_.stages) return g_.edge(done, end_.in[here]);
  // The runner posts in the order of slots and itself last; a worker takes the newest first.
  g_.edge(done, stage(s + 1, slot));
  const auto touching = mesh_.touching(slot);
  for (std::size_t i = touching.size(); i-- > 0;)
    if (owner(touching[i]) == here) g_.edge(done, stage(s + 1, touching[i]));
}

// A message with ghosts of stage s lets a block continue with the next stage, or end its step.
void stepping_builder::release(node_id message, int s, slot_id neighbour) {
  if (s + 1 < work_.stages) g_.edge(message, stage(s + 1, neighbour));
}

void stepping_builder::add_ghost_groups(int locality) {
  const mesh::halo halo(mesh_, parts_, locality, work_.variables, how_.group_bytes);
  for (const mesh::halo_group& group : halo.sends()) {
    std::vector<slot_id> readers;
    for (const slot_id slot : group.blocks)
      for (const slot_id other : mesh_.touching(slot))
        if (owner(other) == group.peer) readers.push_back(other);
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    const double values = sizeof(double) * static_cast<double>(group.size());
    for (int s = 0; s < work_.stages; ++s) {
      const node_id m = g_.add_message(locality, group.peer, values + how_.header_bytes);
      for (std::size_t i = 0; i < group.blocks.size(); ++i) {
        const double bytes = sizeof(double) * static_cast<double>(group.place_of[i + 1] - group.place_of[i]);
        g_.copies(finish(s, group.blocks[i]), bytes);
        g_.edge(finish(s, group.blocks[i]), m);
      }
      for (const slot_id reader : readers) release(m, s, reader);
      if (s + 1 == work_.stages) g_.edge(m, end_.in[group.peer]);
    }
  }
}

// The coarsened flux of one face.
double stepping_builder::face_bytes() const {
  const double n = mesh_.block_size();
  return sizeof(double) * work_.variables * n * n / 4;
}

void stepping_builder::add_flux_groups(int locality) {
  using face = std::pair<slot_id, slot_id>;  // fine block, coarse block
  std::map<int, std::vector<face>> by_peer;
  for (const slot_id slot : parts_.blocks(mesh_, locality))
    for (const mesh::face_neighbour& coarse : mesh_.coarser_face_neighbours(slot))
      if (owner(coarse.slot) != locality) by_peer[owner(coarse.slot)].emplace_back(slot, coarse.slot);
  const auto most = std::max<std::size_t>(1, static_cast<std::size_t>(how_.group_bytes / face_bytes()));
  for (const auto& [peer, faces] : by_peer)
    for (std::size_t first = 0; first < faces.size(); first += most) {
      const std::size_t last = std::min(faces.size(), first + most);
      const double bytes = static_cast<double>(last - first) * face_bytes() + how_.header_bytes;
      for (int s = 0; s < work_.stages; ++s) {
        const node_id m = g_.add_message(locality, peer, bytes);
        for (std::size_t i = first; i < last; ++i) {
          g_.copies(stage(s, faces[i].first), face_bytes());
          g_.edge(stage(s, faces[i].first), m);
          g_.edge(m, correction(s, faces[i].second));
        }
      }
    }
}

void stepping_builder::add_single_ghosts(slot_id slot) {
  const int here = owner(slot);
  std::map<int, std::vector<slot_id>> readers;  // by peer
  for (const slot_id other : mesh_.touching(slot))
    if (owner(other) != here) readers[owner(other)].push_back(other);
  for (const auto& [peer, blocks] : readers) {
    double bytes = 0.0;
    for (const slot_id reader : blocks)
      for (const mesh::block_box& box : mesh::read_boxes(mesh_, reader))
        if (box.slot == slot) bytes += sizeof(double) * work_.variables * box.cells();
    const int parts = static_cast<int>(blocks.size());
    for (int s = 0; s < work_.stages; ++s) {
      const node_id m = g_.add_message(here, peer, bytes + parts * how_.header_bytes, parts);
      g_.copies(finish(s, slot), bytes);
      g_.edge(finish(s, slot), m);
      for (const slot_id reader : blocks) release(m, s, reader);
      if (s + 1 == work_.stages) g_.edge(m, end_.in[peer]);
    }
  }
}

void stepping_builder::add_single_fluxes(slot_id slot) {
  for (const mesh::face_neighbour& coarse : mesh_.coarser_face_neighbours(slot)) {
    if (owner(coarse.slot) == owner(slot)) continue;
    for (int s = 0; s < work_.stages; ++s) {
      const node_id m = g_.add_message(owner(slot), owner(coarse.slot), face_bytes() + how_.header_bytes);
      g_.copies(stage(s, slot), face_bytes());
      g_.edge(stage(s, slot), m);
      g_.edge(m, correction(s, coarse.slot));
    }
  }
}

work_graph stepping_builder::build() {
  end_ = add_reduction(g_, parts_.count(), how_, how_.agree_bytes);
  add_tasks();
  for (int l = 0; l < parts_.count(); ++l) add_begin(l);
  for (int s = 0; s < work_.stages; ++s)
    for (const slot_id slot : mesh_.blocks()) connect_own(s, slot);
  if (how_.coalesced) {
    for (int l = 0; l < parts_.count(); ++l) add_ghost_groups(l), add_flux_groups(l);
  } else {
    for (const slot_id slot : mesh_.blocks()) add_single_ghosts(slot), add_single_fluxes(slot);
  }
  g_.finish();
  return std::move(g_);
}

}  // namespace

work_graph distributed_run::stepping() const { return stepping_builder(work_, how_, mesh_, parts_).build(); }

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
// marks; every locality plans the new mesh.
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
  for (int l = 0; l < localities() && localities() > 1; ++l) {
    const mesh::halo halo(mesh_, parts_, l, work_.variables, how_.group_bytes);
    std::size_t border = halo.mirrors().size();
    for (const mesh::halo_group& group : halo.sends()) border += group.blocks.size();
    const node_id lists = g.add_task(l, work_.costs.lists_s * static_cast<double>(border));
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
