#include <algorithm>
#include <span>
#include <utility>

#include "base/assert.hpp"
#include "star/device/device_passes_detail.hpp"
#include "step/node_graph.hpp"

namespace plx::star::device {

namespace {

using step::access;
using step::launch_range;
using step::node_id;
using step::stencil;

/// Nodes of a launch whose values in a field no later pass writes, and the nodes that read them.
class final_nodes final : public step::border_use {
 public:
  final_nodes(const step::recipe& r, const step::node_graph& graph, step::field_id field, int writer,
              launch_range range)
      : graph_(graph), range_(range) {
    for (const int w : r.writers(field))
      if (w > writer) later_.push_back(r.passes()[static_cast<std::size_t>(w)].where);
    for (const step::pass& p : r.passes())
      for (const access& a : p.reads)
        if (a.field == field) readers_.emplace_back(a.at, p.where);
  }
  bool is_written(node_id node) const override {
    return graph_.contains(range_.where, node) &&
           (range_.level == launch_range::all_levels || graph_.level(node) == range_.level) &&
           std::none_of(later_.begin(), later_.end(), [&](step::node_set s) { return graph_.contains(s, node); });
  }
  bool reads(node_id node, stencil at) const override {
    return std::any_of(readers_.begin(), readers_.end(),
                       [&](const auto& r) { return r.first == at && graph_.contains(r.second, node); });
  }

 private:
  const step::node_graph& graph_;
  launch_range range_;
  std::vector<step::node_set> later_;
  std::vector<std::pair<stencil, step::node_set>> readers_;
};

// The stencils at which passes read a field at other nodes; of one pass, or of all.
std::vector<stencil> stencils_of(std::span<const step::pass> passes, step::field_id field) {
  std::vector<stencil> all;
  for (const step::pass& p : passes)
    for (const access& a : p.reads)
      if (a.field == field && a.at != stencil::own && std::find(all.begin(), all.end(), a.at) == all.end())
        all.push_back(a.at);
  return all;
}

}  // namespace

part_plan plan_part(const step::recipe& r, const step::node_graph& graph,
                    const std::vector<module_field_shape>& module_fields) {
  part_plan plan;
  const auto then = [&](part_exchange_plan e) {
    plan.launches.back().then.push_back(static_cast<int>(plan.exchanges.size()));
    plan.exchanges.push_back(std::move(e));
  };
  for (int p = 0; p < static_cast<int>(r.passes().size()); ++p) {
    const step::pass& pass = r.passes()[static_cast<std::size_t>(p)];
    const auto exchange_nodes = [&](step::field_id field, launch_range range) {
      const module_field_shape& f = module_fields[static_cast<std::size_t>(field)];
      const std::vector<stencil> at = stencils_of(r.passes(), field);
      if (f.index < 0 || at.empty()) return;
      then({exchanged::nodes, f.index,
            nodes_between(graph, at, final_nodes(r, graph, field, p, range), static_cast<std::size_t>(f.doubles))});
    };
    const std::vector<launch_range> launches = r.launches(pass, graph.levels());
    for (const launch_range& range : launches) {
      plan.launches.push_back({&pass, range});
      for (const step::field_id f : pass.writes)
        if (!stencils_of({&pass, 1}, f).empty()) exchange_nodes(f, range);
    }
    for (const step::field_id f : pass.writes)
      if (stencils_of({&pass, 1}, f).empty()) exchange_nodes(f, {pass.where});
    for (const access& a : r.read_elsewhere_after(p))
      if (module_fields[static_cast<std::size_t>(a.field)].index < 0)
        then({a.at == stencil::neighbours ? exchanged::ghosts : exchanged::fluxes, r.field(a.field).tag, {}});
  }
  return plan;
}

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
