#include "step/border.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "step/node_graph.hpp"

namespace plx::step {

namespace {

using nodes_by_level = std::map<std::pair<int, int>, std::vector<mesh::node_id>>;  // by peer and level

std::vector<border_group> groups_of(const node_graph& graph, nodes_by_level& all, std::size_t per_node) {
  std::vector<border_group> groups;
  for (auto& [key, nodes] : all) {
    // The order on both sides: along the curve; nodes of one level have different positions.
    std::sort(nodes.begin(), nodes.end(),
              [&](mesh::node_id a, mesh::node_id b) { return graph.position(a) < graph.position(b); });
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    groups.push_back({key.first, nodes, nodes.size() * per_node});
  }
  return groups;
}

}  // namespace

void node_values::resize(std::size_t nodes) {
  node_rows all{std::vector<std::int32_t>(nodes), static_cast<std::int32_t>(nodes)};
  std::iota(all.of.begin(), all.of.end(), 0);
  resize(std::move(all));
}

void node_values::resize(node_rows rows) {
  rows_ = std::move(rows);
  values_.resize(static_cast<std::size_t>(rows_.count) * per_node_);
}

border_nodes nodes_between(const node_graph& graph, std::span<const stencil> stencils, const border_use& use,
                           std::size_t doubles_per_node) {
  nodes_by_level out, in;
  for (const stencil at : stencils)
    for (const node_id node : graph.local()) {
      if (use.reads(node, at))
        for (const node_id from : graph.read_by(at, node))
          if (const int peer = graph.owner(from); peer != graph.here() && use.is_written(from))
            in[{peer, graph.level(from)}].push_back(from);
      if (use.is_written(node))
        for (const node_id to : graph.readers_of(at, node))
          if (const int peer = graph.owner(to); peer != graph.here() && use.reads(to, at))
            out[{peer, graph.level(node)}].push_back(node);
    }
  return {groups_of(graph, out, doubles_per_node), groups_of(graph, in, doubles_per_node)};
}

void node_border::adopt(const node_graph& graph, const border_use& use) {
  border_nodes nodes = nodes_between(graph, at_, use, values_.per_node());
  sends_ = std::move(nodes.sends);
  receives_ = std::move(nodes.receives);
}

void node_border::pack(std::size_t group, std::size_t index, double* message) const {
  std::copy_n(values_.at(sends_[group].nodes[index]), values_.per_node(), message + index * values_.per_node());
}

void node_border::unpack(std::size_t group, const double* message) {
  for (const mesh::node_id node : receives_[group].nodes) {
    std::copy_n(message, values_.per_node(), values_.at(node));
    message += values_.per_node();
  }
}

}  // namespace plx::step
