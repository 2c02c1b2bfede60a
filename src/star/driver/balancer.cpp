#include "star/driver/balancer.hpp"

#include <algorithm>
#include <numeric>

#include "base/assert.hpp"
#include "mesh/tree/block_mesh.hpp"
#include "probe/record/recorder.hpp"
#include "step/node_graph.hpp"

namespace plx::star {

block_costs::entry& block_costs::at(std::vector<entry>& all, mesh::slot_id slot) {
  const auto i = static_cast<std::size_t>(slot);
  if (all.size() <= i) all.resize(i + 1);
  return all[i];
}

void block_costs::stepped(std::span<const mesh::slot_id> blocks) {
  for (const mesh::slot_id slot : blocks) {
    at(slot).steps += 1.0;
    at(recent_, slot).steps += 1.0;
  }
}

void block_costs::add(mesh::slot_id slot, double seconds) {
  at(slot).seconds += seconds;
  at(recent_, slot).seconds += seconds;
}

void block_costs::add(std::span<const mesh::slot_id> blocks, double seconds) {
  for (const mesh::slot_id slot : blocks) add(slot, seconds / static_cast<double>(blocks.size()));
}

// Blocks below a node are next to each other on the curve, and the first of them has the owner of the node.
void block_costs::collect(probe::recorder& r, const step::node_graph& nodes) {
  const mesh::tree& tree = nodes.tree();
  std::vector<double> of_refined(nodes.has_tree() ? tree.refined_count() : 0, 0.0);
  const std::size_t slots = nodes.mesh().slot_count();
  for (const probe::key_cost& c : r.costs()) {
    if (c.key < slots) add(static_cast<mesh::slot_id>(c.key), c.seconds);
    if (c.key >= slots && c.key - slots < of_refined.size()) of_refined[c.key - slots] = c.seconds;
  }
  r.reset_costs();
  const int end = nodes.parts().end(nodes.here());
  std::vector<int> blocks_below(of_refined.size(), 0);
  for (std::size_t i = 0; i < of_refined.size(); ++i) {
    const mesh::node_id node = tree.refined(i);
    for (const mesh::node_id child : tree.child_list(node))
      blocks_below[i] += tree.is_refined(child) ? blocks_below[static_cast<std::size_t>(child) - slots] : 1;
    if (!(of_refined[i] > 0.0) || !nodes.is_local(node)) continue;
    const int first = tree.position(node), last = std::min(first + blocks_below[i], end);
    for (int p = first; p < last; ++p)
      add(nodes.mesh().blocks()[static_cast<std::size_t>(p)], of_refined[i] / (last - first));
  }
}

// Slots of new blocks were free before, so no entry is overwritten before it is read.
void block_costs::move(std::span<const mesh::family> refined, std::span<const mesh::family> merged) {
  for (const mesh::family& f : refined) {
    const entry whole = at(f.parent);
    at(f.parent) = {};
    for (const mesh::slot_id child : f.children) at(child) = {whole.seconds / 8, whole.steps / 8};
  }
  for (const mesh::family& f : merged) {
    entry sum;
    for (const mesh::slot_id child : f.children) {
      sum.seconds += at(child).seconds;
      sum.steps += at(child).steps;
      at(child) = {};
    }
    at(f.parent) = sum;
  }
}

void block_costs::clear() { std::fill(entries_.begin(), entries_.end(), entry{}); }

namespace {

constexpr std::ptrdiff_t head = 2;  // numbers before those of the blocks

// Relative load difference that measurement noise alone can cause.
constexpr double noise = 0.02;

// A task that was interrupted appears a hundred times as expensive as it is. So a measurement is limited to three times
// the expected value and enters with weight 1/4: a single outlier changes little, while lasting costs are followed.
double next_weight(double weight, double measured, double mean) {
  if (!(weight > 0.0)) return std::min(measured, 3.0 * mean);
  return weight + 0.25 * (std::min(measured, 3.0 * weight) - weight);
}

std::vector<double> loads_of(std::span<const double> cost, const mesh::curve_parts& parts) {
  std::vector<double> loads;
  for (int p = 0; p < parts.count(); ++p)
    loads.push_back(std::accumulate(cost.begin() + parts.begin(p), cost.begin() + parts.end(p), 0.0));
  return loads;
}

double largest(const std::vector<double>& of) { return *std::max_element(of.begin(), of.end()); }

// The number of blocks that leave or reach the locality with most such blocks.
std::size_t busiest(const mesh::curve_parts& held, const mesh::curve_parts& wanted) {
  std::size_t most = 0;
  for (int p = 0; p < held.count(); ++p) {
    const int both = std::max(0, std::min(held.end(p), wanted.end(p)) - std::max(held.begin(p), wanted.begin(p)));
    const int either = held.end(p) - held.begin(p) + wanted.end(p) - wanted.begin(p) - 2 * both;
    most = std::max(most, static_cast<std::size_t>(either));
  }
  return most;
}

}  // namespace

void balancer::set_weight(mesh::slot_id slot, double seconds) {
  if (weights_.size() <= static_cast<std::size_t>(slot)) weights_.resize(slot + 1, 0.0);
  weights_[slot] = seconds;
}

void balancer::measure(const gas& g, block_costs& costs) {
  const std::vector<block_costs::entry> recent = costs.take_recent();
  std::vector<double> mine{my_byte_s_, my_rebuild_s_};
  for (const mesh::slot_id slot : g.own()) {
    const auto i = static_cast<std::size_t>(slot);
    const block_costs::entry e = i < recent.size() ? recent[i] : block_costs::entry{};
    mine.push_back(e.steps > 0.0 ? e.seconds / e.steps : 0.0);
  }
  const auto all = g.net.all_gather(std::move(mine));
  byte_s_ = rebuild_s_ = 0.0;
  double sum = 0.0;
  std::size_t measured = 0;
  for (const std::vector<double>& from : all) {
    byte_s_ = std::max(byte_s_, from.at(0));
    rebuild_s_ = std::max(rebuild_s_, from.at(1));
    sum = std::accumulate(from.begin() + head, from.end(), sum);
    measured += from.size() - head;
  }
  for (int p = 0; p < g.parts.count(); ++p) {
    const auto blocks = g.parts.blocks(g.mesh, p);
    PLX_ASSERT_EQ(all[p].size(), head + blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (const double cost = all[p][head + i]; cost > 0.0)
        set_weight(blocks[i], next_weight(weight(blocks[i]), cost, sum / static_cast<double>(measured)));
  }
}

void balancer::carry(std::span<const mesh::family> refined, std::span<const mesh::family> merged) {
  for (const mesh::family& f : refined)
    for (const mesh::slot_id child : f.children) set_weight(child, weight(f.parent));
  for (const mesh::family& f : merged) {
    double sum = 0.0;
    for (const mesh::slot_id child : f.children) sum += weight(child);
    set_weight(f.parent, sum / 8);
  }
}

mesh::curve_parts balancer::decide(const mesh::block_mesh& mesh, const mesh::curve_parts& held, std::size_t block_bytes,
                                   std::int64_t steps) {
  std::vector<double> cost;
  for (const mesh::slot_id slot : mesh.blocks()) cost.push_back(weight(slot));
  const mesh::curve_parts better(mesh::cut_curve(cost, held.count()), held.count());
  const std::vector<double> now = loads_of(cost, held);
  const double mean = std::accumulate(now.begin(), now.end(), 0.0) / held.count();
  const double reachable = largest(loads_of(cost, better));
  imbalance_ = mean > 0.0 ? largest(now) / mean : 1.0;
  lost_s_ += std::max(0.0, largest(now) - (1.0 + noise) * reachable) * static_cast<double>(steps);
  const double price_s = rebuild_s_ + byte_s_ * static_cast<double>(block_bytes * busiest(held, better));
  if (better == held || lost_s_ <= price_s) return held;
  lost_s_ = 0.0;
  ++decisions_;
  return better;
}

void balancer::moved(std::size_t bytes, double move_s, double rebuild_s) {
  if (bytes >= std::size_t{1} << 20) my_byte_s_ = 0.5 * (my_byte_s_ + move_s / static_cast<double>(bytes));
  my_rebuild_s_ = 0.5 * (my_rebuild_s_ + rebuild_s);
}

mesh::curve_parts inherited_parts(const mesh::regrid_plan& plan, const mesh::block_mesh& old,
                                  const mesh::curve_parts& parts) {
  std::vector<std::int32_t> owner(plan.next.slot_count(), -1);  // of new blocks, by slot
  for (const mesh::family& f : plan.refined)
    for (const mesh::slot_id child : f.children) owner[child] = parts.part_of(old, f.parent);
  for (const mesh::family& f : plan.merged) owner[f.parent] = parts.part_of(old, f.children[0]);
  std::vector<std::int32_t> along;
  for (const mesh::slot_id slot : plan.next.blocks())
    along.push_back(owner[slot] >= 0 ? owner[slot] : parts.part_of(old, slot));
  return {along, parts.count()};
}

}  // namespace plx::star
