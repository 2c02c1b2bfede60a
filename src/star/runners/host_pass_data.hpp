// The data of portable passes on workers (star/step/portable_pass.hpp): tables of the nodes, places of the state, and
// fields of additional physics.
//
// Thread safety: none while it changes; view() from any thread. Cost: adopt() some 0.2 us per node.
// Example: star/runners/stepper.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "mesh/field/arena.hpp"
#include "star/step/portable_pass.hpp"
#include "step/border.hpp"

namespace plx::star {

/// Empty without additional physics.
class host_pass_data {
 public:
  /// The values of a field; the first call adds it.
  step::node_values& field(int index, int doubles);
  /// Takes another mesh. `rows`: of each field.
  void adopt(const step::node_graph& nodes, std::vector<step::node_rows> rows,
             const std::vector<std::vector<double>>& tables);
  /// Takes the places of the state: the start of the step, and the two of the stages. Call it before each step.
  void set_places(mesh::arena& start, mesh::arena& a, mesh::arena& b);
  /// Nodes, places and fields.
  const pass_view& view() const { return view_; }

 private:
  std::vector<std::unique_ptr<step::node_values>> fields_;
  std::optional<node_arrays> arrays_;
  std::vector<std::int64_t> values_[3];  // by place and slot
  pass_view view_;
};

}  // namespace plx::star
