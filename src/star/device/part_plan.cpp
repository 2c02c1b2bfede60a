#include "star/device/part_plan.hpp"

#include <algorithm>
#include <utility>

namespace plx::star::device {

namespace {

using step::access;
using step::launch_range;
using step::node_id;
using step::stencil;

/// Nodes of a launch whose values no later pass writes, and the nodes that read them.
class final_nodes final : public step::border_use {
 public:
  final_nodes(const step::recipe& r, const step::node_graph& graph, const access& a, int writer, launch_range range)
      : graph_(graph), range_(range) {
    for (const int w : r.writers(a.field))
      if (w > writer) later_.push_back(r.passes()[static_cast<std::size_t>(w)].where);
    for (const step::pass& p : r.passes())
      if (std::find(p.reads.begin(), p.reads.end(), a) != p.reads.end()) readers_.push_back(p.where);
  }
  bool is_written(node_id node) const override {
    return graph_.contains(range_.where, node) && !contains_any(later_, node) &&
           (range_.level == launch_range::all_levels || graph_.level(node) == range_.level);
  }
  bool reads(node_id node) const override { return contains_any(readers_, node); }

 private:
  bool contains_any(const std::vector<step::node_set>& sets, node_id node) const {
    return std::any_of(sets.begin(), sets.end(), [&](step::node_set s) { return graph_.contains(s, node); });
  }

  const step::node_graph& graph_;
  launch_range range_;
  std::vector<step::node_set> later_, readers_;
};

bool has(const std::vector<step::field_id>& list, step::field_id f) {
  return std::find(list.begin(), list.end(), f) != list.end();
}

// The reads at other nodes of fields that this pass writes, each once.
std::vector<access> read_elsewhere(const step::recipe& r, const step::pass& writer) {
  std::vector<access> all;
  for (const step::pass& p : r.passes())
    for (const access& a : p.reads)
      if (a.at != stencil::own && has(writer.writes, a.field) && std::find(all.begin(), all.end(), a) == all.end())
        all.push_back(a);
  return all;
}

}  // namespace

part_plan plan_part(const step::recipe& r, const step::node_graph& graph,
                    const std::vector<module_field_shape>& module_fields) {
  part_plan plan;
  for (int p = 0; p < static_cast<int>(r.passes().size()); ++p) {
    const step::pass& pass = r.passes()[static_cast<std::size_t>(p)];
    const auto then = [&](part_exchange_plan e) {
      plan.launches.back().then.push_back(static_cast<int>(plan.exchanges.size()));
      plan.exchanges.push_back(std::move(e));
    };
    const auto exchange_nodes = [&](const access& a, launch_range range) {
      const module_field_shape& f = module_fields[static_cast<std::size_t>(a.field)];
      then({exchanged::nodes, f.index,
            nodes_between(graph, a.at, final_nodes(r, graph, a, p, range), static_cast<std::size_t>(f.doubles))});
    };
    std::vector<access> nodes = read_elsewhere(r, pass);
    std::erase_if(nodes, [&](const access& a) { return module_fields[static_cast<std::size_t>(a.field)].index < 0; });
    for (const launch_range& range : r.launches(pass, graph.levels())) {
      plan.launches.push_back({&pass, range});
      for (const access& a : nodes)
        if (std::find(pass.reads.begin(), pass.reads.end(), a) != pass.reads.end()) exchange_nodes(a, range);
    }
    for (const access& a : nodes)
      if (std::find(pass.reads.begin(), pass.reads.end(), a) == pass.reads.end()) exchange_nodes(a, {pass.where});
    for (const access& a : r.read_elsewhere_after(p))
      if (module_fields[static_cast<std::size_t>(a.field)].index < 0)
        then({a.at == stencil::neighbours ? exchanged::ghosts : exchanged::fluxes, r.field(a.field).tag, {}});
  }
  return plan;
}

}  // namespace plx::star::device
