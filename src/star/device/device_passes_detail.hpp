// The passes of a step on a device: the plan of a part of a mesh (part_plan), the data of additional physics
// (module_data), and the passes of device_gas. Private to device_gas.
//
// The plan has the launches of the recipe, and after each the exchanges with other parts of what they read of its
// results. All parts make the same list, in the same order. Ghost cells and fluxes of the gas are exchanged after the
// last pass that writes them (part_borders in device_gas.hpp says which). The fields of additional physics are
// exchanged node by node: a value is sent after the last pass that writes it on its node; if that pass itself reads it
// on other nodes (up or down the tree), after each level.
//
// Thread safety, errors: those of device_gas. Cost: that of the launches; a plan takes a pass over the nodes per
// exchange of nodes, module_data::adopt() uploads 150 bytes per node, and 4 per node and field. Example:
// star/device/device_gas.cpp, star/runners/test/distributed_device_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "mesh/tree/block_mesh.hpp"
#include "num/exact_sum.hpp"
#include "star/device/data/machine.hpp"
#include "star/device/device_gas.hpp"
#include "star/step/gas_step.hpp"
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

/// Tables of the nodes, lists of nodes by set and level, and fields (star/step/portable_pass.hpp).
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

class device_gas::passes final : public gas_passes {
 public:
  passes(device_gas& g, const integrator& scheme, const std::vector<const step_module*>& modules)
      : g_(g), has_modules_(!modules.empty()), recipe_(gas_step(scheme, *this, modules)) {
    data_.set_tables(g.on_, module_tables());
  }

  void put() const { recipe_.launch(levels_); }
  /// The passes before the first stage: they compute the fields of the state at the start of the step.
  void put_first() const {
    for (const step::pass& p : recipe_.passes()) {
      if (p.kernel.get() == first_stage_) return;
      for (const step::launch_range& nodes : recipe_.launches(p, levels_)) p.kernel->launch(nodes);
    }
  }
  bool put_with(part_exchange& with, bool first_only = false) const {
    for (const part_plan::launch& l : plan_.launches) {
      if (first_only && l.pass->kernel.get() == first_stage_) break;
      l.pass->kernel->launch(l.nodes);
      for (const int lane : l.then)
        if (!with.exchange(lane)) return false;
    }
    return true;
  }
  const std::vector<part_exchange_plan>& exchanges() const { return plan_.exchanges; }
  const module_data& data() const { return data_; }
  void adopt(const mesh::block_mesh& mesh, const mesh::curve_parts& parts, int here) {
    if (!has_modules_ && parts.count() == 1) return;
    const step::node_graph graph(mesh, parts, here, recipe_.uses_tree());
    levels_ = graph.levels();
    if (parts.count() > 1) plan_ = plan_part(recipe_, graph, shapes_of_fields());
    if (!has_modules_) return;
    for (const step::pass& p : recipe_.passes()) data_.add_set(p.where);
    std::vector<std::int64_t> values(mesh.slot_count(), -1);
    for (std::size_t s = 0; s < values.size(); ++s)
      if (const std::int64_t row = g_.row_of_.empty() ? static_cast<std::int64_t>(s) : g_.row_of_[s]; row >= 0)
        values[s] = row * static_cast<std::int64_t>(g_.stride_);
    std::vector<module_data::field_rows> fields;
    for (step::node_rows& rows : rows_of_fields(graph))
      fields.push_back({std::move(rows), module_fields()[fields.size()].info.doubles});
    data_.adopt(g_.on_, graph, values, std::move(fields));
  }
  // The sums of modules over these blocks. Waits.
  std::vector<exact_sum> sums(std::span<const mesh::slot_id> blocks) const {
    std::vector<exact_sum> all;
    for (const int index : sum_fields()) {
      const std::size_t first = all.size();
      all.resize(first + static_cast<std::size_t>(module_fields()[static_cast<std::size_t>(index)].info.doubles));
      data_.add_sums(g_.on_, index, blocks, std::span(all).subspan(first));
    }
    return all;
  }

  const work_fields& gravity() const { return gravity_; }
  std::unique_ptr<step::pass_kernel> advance(int stage, work_fields gravity) override {
    gravity_ = gravity;
    auto made = step::launcher([this, stage, gravity](step::launch_range) { g_.put_whole_stage(stage, gravity); });
    if (stage == 0) first_stage_ = made.get();
    return made;
  }
  std::unique_ptr<step::pass_kernel> correct_fluxes(int stage) override {
    return step::launcher([this, stage](step::launch_range) { g_.put_correction(stage, g_.fluxes_.data()); });
  }
  std::unique_ptr<step::pass_kernel> check_state(int stage) override {
    return step::launcher([this, stage](step::launch_range) { g_.put_check(stage); });
  }
  std::unique_ptr<step::pass_kernel> portable(std::unique_ptr<portable_code> code, int stage) override {
    return step::launcher([this, stage, code = std::move(code)](step::launch_range range) {
      const module_data::list nodes = data_.nodes_of(range);
      code->launch(g_.on_, view(stage), nodes.nodes, nodes.count, g_.control_.data());
    });
  }

 private:
  std::vector<module_field_shape> shapes_of_fields() const {
    std::vector<module_field_shape> all(recipe_.field_count());
    for (std::size_t f = 0; f < all.size(); ++f)
      if (const int index = module_index(static_cast<step::field_id>(f)); index >= 0)
        all[f] = {index, module_fields()[static_cast<std::size_t>(index)].info.doubles};
    return all;
  }
  pass_view view(int stage) const {
    pass_view v = data_.view();
    v.n_var = g_.n_var_;
    for (int p = 0; p < 3; ++p) v.places[p] = g_.arenas_[p == 0 ? g_.now_ : p == 1 ? g_.a_ : g_.b_].data();
    set_stage(g_.options_.scheme, stage, v);
    const step_control* control = g_.control_.data();
    v.time = &control->now.time, v.dt = &control->dt, v.carried = &control->carried;
    return v;
  }

  device_gas& g_;
  bool has_modules_;
  module_data data_;
  // Set while the recipe is made:
  work_fields gravity_;
  const step::pass_kernel* first_stage_ = nullptr;
  step::recipe recipe_;
  part_plan plan_;  // of a part of a mesh
  step::level_range levels_;
};

}  // namespace plx::star::device
