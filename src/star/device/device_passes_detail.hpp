// The passes of a step on a device. Private to device_gas.
//
// Thread safety, errors: those of device_gas. Cost: that of the launches.
// Example: star/device/device_gas.cpp
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "star/device/device_gas.hpp"
#include "star/device/module_data.hpp"
#include "star/device/part_plan.hpp"
#include "star/step/gas_step.hpp"
#include "step/node_graph.hpp"

namespace plx::star::device {

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
      fields.push_back({std::move(rows), module_fields()[fields.size()].doubles});
    data_.adopt(g_.on_, graph, values, std::move(fields));
  }
  // The sums of modules over these blocks. Waits.
  std::vector<exact_sum> sums(std::span<const mesh::slot_id> blocks) const {
    std::vector<exact_sum> all;
    for (const int index : sum_fields()) {
      const std::size_t first = all.size();
      all.resize(first + static_cast<std::size_t>(module_fields()[static_cast<std::size_t>(index)].doubles));
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
        all[f] = {index, module_fields()[static_cast<std::size_t>(index)].doubles};
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
