#include "step/task_graph.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace plx::step {

class task_graph::use_of final : public border_use {
 public:
  use_of(const task_graph& all, const link& values) : all_(all), values_(values) {}
  bool is_written(node_id node) const override { return (all_.passes_of(node) & values_.source_bits) != 0; }
  bool reads(node_id node, stencil at) const override {
    for (const link& l : all_.links_)
      if (l.by == values_.by && l.values.at == at && (l.is_published || (all_.passes_of(node) & l.reader_bits) != 0))
        return true;
    return false;
  }

 private:
  const task_graph& all_;
  const link& values_;
};

task_graph::task_graph(const recipe& r) : recipe_(r), provided_(r.passes().size()), read_(r.passes().size()) {
  const auto checked = r.check();
  PLX_ASSERT(checked, checked ? "" : checked.error().message.c_str());
  for (std::size_t p = 0; p < r.passes().size(); ++p)
    for (const access& a : r.passes()[p].reads)
      if (const int l = link_of(a); l >= 0) {
        links_[static_cast<std::size_t>(l)].readers.push_back(static_cast<int>(p));
        links_[static_cast<std::size_t>(l)].reader_bits |= std::uint64_t{1} << p;
        read_[p].push_back(l);
      }
  for (const access& a : r.published())
    if (const int l = link_of(a); l >= 0) links_[static_cast<std::size_t>(l)].is_published = true;
  for (std::size_t l = 0; l < links_.size(); ++l)
    for (const int p : links_[l].sources) provided_[static_cast<std::size_t>(p)].push_back(static_cast<int>(l));
  for (std::size_t l = 0; l < links_.size(); ++l) {
    links_[l].carrier = static_cast<int>(l);
    for (std::size_t earlier = l; earlier-- > 0;)
      if (links_[l].by != nullptr && links_[earlier].by == links_[l].by) {
        PLX_ASSERT(links_[earlier].values.field == links_[l].values.field, l, earlier);
        links_[l].carrier = static_cast<int>(earlier);
      }
  }
}

// -1: no task waits for these values, because they are on the node itself or there from the start.
int task_graph::link_of(const access& a) {
  std::vector<int> sources = recipe_.writers(a.field);
  if (a.at == stencil::own || sources.empty()) return -1;
  for (std::size_t l = 0; l < links_.size(); ++l)
    if (links_[l].values == a) return static_cast<int>(l);
  link& l = links_.emplace_back();
  l.values = a;
  l.sources = std::move(sources);
  for (const int p : l.sources) l.source_bits |= std::uint64_t{1} << p;
  for (const transfer& t : recipe_.field(a.field).transfers)
    if (t.at == a.at) l.by = t.by;
  return static_cast<int>(links_.size() - 1);
}

void task_graph::adopt(const node_graph& nodes) {
  nodes_ = &nodes;
  passes_of_.assign(nodes.node_count(), 0);
  for (std::size_t n = 0; n < passes_of_.size(); ++n) {
    const auto node = static_cast<node_id>(n);
    if (nodes.is_block(node) && !nodes.mesh().is_live(node)) continue;
    for (std::size_t p = 0; p < recipe_.passes().size(); ++p)
      if (nodes.contains(recipe_.passes()[p].where, node)) passes_of_[n] |= std::uint64_t{1} << p;
  }
}

void task_graph::adopt_borders() {
  for (std::size_t l = 0; l < links_.size(); ++l) {
    const access& values = links_[l].values;
    PLX_ASSERT(links_[l].by != nullptr, recipe_.field(values.field).name.c_str(), to_string(values.at));
    if (is_carrier(l)) links_[l].by->adopt(*nodes_, use_of(*this, links_[l]));
  }
}

std::int32_t task_graph::inputs(node_id node, int pass) const {
  std::int32_t count = 0;
  for (const int i : read_[static_cast<std::size_t>(pass)]) {
    const link& l = links_[static_cast<std::size_t>(i)];
    for (const node_id from : nodes_->read_by(l.values.at, node)) count += (passes_of(from) & l.source_bits) != 0;
  }
  return count;
}

// A result depends on nodes as many layers away as there are passes that read their neighbours. The rest follows along
// the curve.
std::vector<node_id> task_graph::order(bool is_alone) const {
  const auto local = nodes_->local();
  std::vector<node_id> all(local.begin(), local.end());
  std::erase_if(all, [&](node_id node) { return passes_of(node) == 0; });
  if (is_alone) return all;
  const auto layers = static_cast<std::uint8_t>(
      std::count_if(links_.begin(), links_.end(), [](const link& l) { return l.values.at == stencil::neighbours; }));
  std::vector<std::uint8_t> distance(nodes_->node_count(), layers);
  for (const link& l : links_)
    if (l.by != nullptr)
      for (const border_group& g : l.by->sends())
        for (const node_id node : g.nodes) distance[static_cast<std::size_t>(node)] = 0;
  for (std::uint8_t d = 1; d < layers; ++d)
    for (const node_id node : all)
      for (const node_id other : nodes_->read_by(stencil::neighbours, node))
        if (distance[node] > d && distance[other] == d - 1 && nodes_->is_local(other)) distance[node] = d;
  std::stable_sort(all.begin(), all.end(), [&](node_id a, node_id b) { return distance[a] < distance[b]; });
  return all;
}

}  // namespace plx::step
