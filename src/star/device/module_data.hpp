// The data of additional physics on a device (star/step/portable_pass.hpp): tables of the nodes, lists of nodes by set
// and level, and fields.
//
// Thread safety, errors: those of the machine. Cost: adopt() uploads 40 bytes per node. Example: device_gas.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "mesh/tree/block_mesh.hpp"
#include "star/device/data/device_memory.hpp"
#include "star/step/gas_step.hpp"

namespace plx::step {
class node_graph;
}

namespace plx::star::device {

class module_data {
 public:
  /// Adds a field; returns its index.
  int add_field(int doubles);
  /// Ensures that adopt() makes the list of these nodes.
  void add_set(step::node_set set);
  /// Takes another mesh, or part of one; the values of fields are lost. Shapes: values: by slot: the block's first
  /// double in each place, or -1.
  void adopt(machine& on, const step::node_graph& graph, const std::vector<std::int64_t>& values);

  /// Tables and fields.
  pass_view view() const { return view_; }
  /// Nodes of a launch, in the memory of the device.
  struct list {
    const std::int32_t* nodes = nullptr;
    int count = 0;
  };
  list nodes_of(step::launch_range range) const;

 private:
  struct set_list {
    step::node_set set{};
    std::vector<int> begin;  // by level, and one more
    device_memory<std::int32_t> nodes{};
  };
  std::vector<int> doubles_;
  std::vector<device_memory<double>> fields_;
  std::vector<set_list> sets_;
  device_memory<std::int64_t> values_;
  device_memory<double> lower_, width_;
  device_memory<std::int32_t> children_, parent_;
  pass_view view_;
};

}  // namespace plx::star::device
