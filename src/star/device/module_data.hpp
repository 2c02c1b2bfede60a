// The data of additional physics on a device (star/step/portable_pass.hpp): tables of the nodes, lists of nodes by set
// and level, and fields.
//
// Thread safety, errors: those of the machine. Cost: adopt() uploads 150 bytes per node, and 4 per node and field.
// Example: device_gas.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/tree/block_mesh.hpp"
#include "num/exact_sum.hpp"
#include "star/device/data/device_memory.hpp"
#include "star/step/gas_step.hpp"

namespace plx::step {
class node_graph;
}

namespace plx::star::device {

class module_data {
 public:
  /// Ensures that adopt() makes the list of these nodes.
  void add_set(step::node_set set);
  /// Copies tables to the device.
  void set_tables(machine& on, const std::vector<std::vector<double>>& tables);
  /// The memory of a field on a mesh.
  struct field_rows {
    step::node_rows rows;
    int doubles = 0;
  };
  /// Takes another mesh, or part of one; the values of fields are lost. Shapes: values: by slot: the block's first
  /// double in each place, or -1.
  void adopt(machine& on, const step::node_graph& graph, const std::vector<std::int64_t>& values,
             std::vector<field_rows> fields);
  const step::node_rows& rows(int field) const { return fields_[static_cast<std::size_t>(field)].shape.rows; }
  /// Copies all values of a field to the host. Does not wait. Shapes: to: [row][double].
  void download(machine& on, int field, double* to) const;
  /// Adds the values of these blocks in a field, by double. Waits.
  void add_sums(machine& on, int field, std::span<const mesh::slot_id> blocks, std::span<exact_sum> sums) const;

  /// Position of a node's doubles in the memory of a field. Requires: it has memory there.
  std::int64_t place(int field, step::node_id node) const {
    const field_rows& f = fields_[static_cast<std::size_t>(field)].shape;
    return std::int64_t{f.rows.of[static_cast<std::size_t>(node)]} * f.doubles;
  }
  int doubles(int field) const { return fields_[static_cast<std::size_t>(field)].shape.doubles; }
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
    std::vector<int> begin;  // by level, from the coarsest, and one more
    device_memory<std::int32_t> nodes{};
  };
  struct field_memory {
    field_rows shape;
    device_memory<double> values{};
    device_memory<std::int32_t> rows{};
  };
  std::vector<field_memory> fields_;
  std::vector<device_memory<double>> tables_;
  std::vector<set_list> sets_;
  int coarsest_ = 0;
  device_memory<std::int64_t> values_;
  device_memory<double> lower_, width_;
  device_memory<std::int32_t> children_, parent_, around_;
  pass_view view_;
};

}  // namespace plx::star::device
