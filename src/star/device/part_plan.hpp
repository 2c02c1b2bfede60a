// The step of a part of a mesh as a device makes it: the launches of the recipe, and after each the exchanges with
// other parts of what they read of its results. All parts make the same list, in the same order.
//
// Ghost cells and fluxes of the gas are exchanged after the last pass that writes them (part_borders.hpp says which).
// The fields of additional physics are exchanged node by node: a value is sent after the last pass that writes it on
// its node; if that pass itself reads it on other nodes (up or down the tree), after each level.
//
// Thread safety: const; any thread. Cost: a pass over the nodes per exchange of nodes. Example:
// star/runners/test/distributed_device_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "step/border.hpp"
#include "step/node_graph.hpp"
#include "step/recipe.hpp"

namespace plx::star::device {

enum class exchanged : std::uint8_t { ghosts, fluxes, nodes };

/// An exchange with the other parts.
struct part_exchange_plan {
  exchanged what{};
  int index = 0;             ///< ghosts, fluxes: the stage that computes them; nodes: the field (pass_view::field)
  step::border_nodes nodes;  ///< of `nodes`: by peer, then level
};

struct part_plan {
  struct launch {
    const step::pass* pass = nullptr;
    step::launch_range nodes;
    std::vector<int> then{};  ///< exchanges that follow
  };
  std::vector<launch> launches;
  std::vector<part_exchange_plan> exchanges;
};

/// Shapes: module_fields: by field of the recipe: its index and doubles per node, or {-1, 0} for fields of the gas.
struct module_field_shape {
  int index = -1, doubles = 0;
};
part_plan plan_part(const step::recipe& r, const step::node_graph& graph,
                    const std::vector<module_field_shape>& module_fields);

}  // namespace plx::star::device
