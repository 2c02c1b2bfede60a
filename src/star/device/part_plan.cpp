#include "star/device/part_plan.hpp"

#include <algorithm>
#include <span>
#include <utility>

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

}  // namespace plx::star::device
