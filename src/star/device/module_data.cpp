#include "star/device/module_data.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "step/node_graph.hpp"

namespace plx::star::device {

int module_data::add_field(int doubles) {
  doubles_.push_back(doubles);
  return static_cast<int>(doubles_.size() - 1);
}

void module_data::add_set(step::node_set set) {
  if (std::none_of(sets_.begin(), sets_.end(), [&](const set_list& l) { return l.set == set; }))
    sets_.push_back({set, {}});
}

void module_data::adopt(machine& on, const step::node_graph& graph, const std::vector<std::int64_t>& values) {
  const int levels = graph.mesh().deepest() + 1;
  const node_arrays arrays(graph);
  values_.set(on, values);
  lower_.set(on, arrays.lower);
  width_.set(on, arrays.width);
  children_.set(on, arrays.children);
  parent_.set(on, arrays.parent);
  for (set_list& s : sets_) {
    std::vector<std::int32_t> nodes;
    for (const step::node_id node : graph.local())
      if (graph.contains(s.set, node)) nodes.push_back(node);
    std::stable_sort(nodes.begin(), nodes.end(), [&](auto a, auto b) { return graph.level(a) < graph.level(b); });
    s.begin.assign(static_cast<std::size_t>(levels) + 1, 0);
    for (const std::int32_t node : nodes) ++s.begin[static_cast<std::size_t>(graph.level(node)) + 1];
    for (std::size_t l = 1; l < s.begin.size(); ++l) s.begin[l] += s.begin[l - 1];
    s.nodes.set(on, nodes);
  }
  fields_.resize(doubles_.size());
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    fields_[f].reserve(on, graph.node_count() * static_cast<std::size_t>(doubles_[f]));
    view_.fields[f] = fields_[f].data();
  }
  view_.n = graph.mesh().block_size();
  for (const std::int64_t*& v : view_.nodes.values) v = values_.data();
  view_.nodes.lower = lower_.data();
  view_.nodes.width = width_.data();
  view_.nodes.children = graph.has_tree() ? children_.data() : nullptr;
  view_.nodes.parent = graph.has_tree() ? parent_.data() : nullptr;
  view_.nodes.first_refined = arrays.first_refined;
  on.synchronize();
}

module_data::list module_data::nodes_of(step::launch_range range) const {
  const auto at = std::find_if(sets_.begin(), sets_.end(), [&](const set_list& l) { return l.set == range.where; });
  PLX_ASSERT(at != sets_.end());
  const int first = range.level < 0 ? 0 : at->begin[static_cast<std::size_t>(range.level)];
  const int last = range.level < 0 ? at->begin.back() : at->begin[static_cast<std::size_t>(range.level) + 1];
  return {at->nodes.data() + first, last - first};
}

}  // namespace plx::star::device
