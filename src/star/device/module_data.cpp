#include "star/device/module_data.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "step/node_graph.hpp"

namespace plx::star::device {

void module_data::add_set(step::node_set set) {
  if (std::none_of(sets_.begin(), sets_.end(), [&](const set_list& l) { return l.set == set; }))
    sets_.push_back({set, {}});
}

void module_data::set_tables(machine& on, const std::vector<std::vector<double>>& tables) {
  tables_.resize(tables.size());
  for (std::size_t t = 0; t < tables.size(); ++t) {
    tables_[t].set(on, tables[t]);
    view_.tables[t] = tables_[t].data();
  }
  on.synchronize();
}

void module_data::adopt(machine& on, const step::node_graph& graph, const std::vector<std::int64_t>& values,
                        std::vector<field_rows> fields) {
  coarsest_ = graph.levels().coarsest;
  const int levels = graph.levels().deepest - coarsest_ + 1;
  const node_arrays arrays(graph);
  values_.set(on, values);
  lower_.set(on, arrays.lower);
  width_.set(on, arrays.width);
  children_.set(on, arrays.children);
  parent_.set(on, arrays.parent);
  around_.set(on, arrays.around);
  for (set_list& s : sets_) {
    std::vector<std::int32_t> nodes;
    for (const step::node_id node : graph.local())
      if (graph.contains(s.set, node)) nodes.push_back(node);
    std::stable_sort(nodes.begin(), nodes.end(), [&](auto a, auto b) { return graph.level(a) < graph.level(b); });
    s.begin.assign(static_cast<std::size_t>(levels) + 1, 0);
    for (const std::int32_t node : nodes) ++s.begin[static_cast<std::size_t>(graph.level(node) - coarsest_) + 1];
    for (std::size_t l = 1; l < s.begin.size(); ++l) s.begin[l] += s.begin[l - 1];
    s.nodes.set(on, nodes);
  }
  fields_.resize(fields.size());
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    field_memory& to = fields_[f];
    to.shape = std::move(fields[f]);
    to.values.reserve(on, static_cast<std::size_t>(to.shape.rows.count) * static_cast<std::size_t>(to.shape.doubles));
    to.rows.set(on, to.shape.rows.of);
    view_.fields[f] = {to.values.data(), to.rows.data(), to.shape.doubles};
  }
  view_.n = graph.mesh().block_size();
  for (const std::int64_t*& v : view_.nodes.values) v = values_.data();
  view_.nodes.lower = lower_.data();
  view_.nodes.width = width_.data();
  view_.nodes.children = graph.has_tree() ? children_.data() : nullptr;
  view_.nodes.parent = graph.has_tree() ? parent_.data() : nullptr;
  view_.nodes.around = graph.has_tree() ? around_.data() : nullptr;
  view_.nodes.first_refined = arrays.first_refined;
  on.synchronize();
}

module_data::list module_data::nodes_of(step::launch_range range) const {
  const auto at = std::find_if(sets_.begin(), sets_.end(), [&](const set_list& l) { return l.set == range.where; });
  PLX_ASSERT(at != sets_.end());
  if (range.level == step::launch_range::all_levels) return {at->nodes.data(), at->begin.back()};
  const auto level = static_cast<std::size_t>(range.level - coarsest_);
  return {at->nodes.data() + at->begin[level], at->begin[level + 1] - at->begin[level]};
}

void module_data::download(machine& on, int field, double* to) const {
  const field_memory& f = fields_[static_cast<std::size_t>(field)];
  const std::size_t doubles = static_cast<std::size_t>(f.shape.rows.count) * static_cast<std::size_t>(f.shape.doubles);
  on.from_device(to, f.values.data(), doubles * sizeof(double));
}

void module_data::add_sums(machine& on, int field, std::span<const mesh::slot_id> blocks,
                           std::span<exact_sum> sums) const {
  if (blocks.empty()) return;
  const field_memory& f = fields_[static_cast<std::size_t>(field)];
  const auto doubles = static_cast<std::size_t>(f.shape.doubles);
  std::vector<double> values(static_cast<std::size_t>(f.shape.rows.count) * doubles);
  download(on, field, values.data());
  on.synchronize();
  for (const mesh::slot_id b : blocks)
    for (std::size_t i = 0; i < doubles; ++i)
      sums[i].add(values[static_cast<std::size_t>(f.shape.rows.of[static_cast<std::size_t>(b)]) * doubles + i]);
}

}  // namespace plx::star::device
