// The data of portable passes on workers (star/step/portable_pass.hpp): tables of the nodes, and fields of additional
// physics.
//
// Thread safety: const functions from any thread. Cost: adopt() some 10 ns per node; nothing without additional
// physics. Example: star/runners/stepper.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "star/state/gas.hpp"
#include "star/step/portable_pass.hpp"
#include "step/border.hpp"
#include "step/node_graph.hpp"

namespace plx::star {

class host_pass_data {
 public:
  /// Adds a field; returns its index.
  int add_field(int doubles);
  step::node_values& field(int index) { return *fields_[static_cast<std::size_t>(index)]; }
  /// Takes another mesh.
  void adopt(const step::node_graph& nodes);
  /// Takes the places of the state: the start of the step, and the two of the stages. Call it before each step.
  void set_places(mesh::arena& start, mesh::arena& a, mesh::arena& b);
  /// Nodes, places and fields.
  pass_view view() const;

 private:
  std::vector<std::unique_ptr<step::node_values>> fields_;
  std::optional<node_arrays> arrays_;
  std::vector<std::int64_t> values_[3];  // by place and slot
  pass_view view_;
};

}  // namespace plx::star
