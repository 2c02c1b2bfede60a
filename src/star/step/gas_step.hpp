// The time step of the gas as a recipe (step/recipe.hpp): the only place that says what a step consists of. It is the
// same for workers and for devices, which provide the kernels (gas_passes), and for additional physics (step_module).
//
// Thread safety: none. Cost: none at run time. Example: star/runners/stepper.cpp, star/device/device_gas.cpp
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/field/field_info.hpp"
#include "mesh/tree/block_mesh.hpp"
#include "star/hydro/options.hpp"
#include "star/step/portable_pass.hpp"
#include "step/recipe.hpp"

namespace plx::star {

/// The place of a block of a mesh for the kernels.
inline block_place place_of(const mesh::block_mesh& mesh, mesh::slot_id slot) {
  block_place p(mesh.cell_width(slot));
  for (std::size_t a = 0; a < 3; ++a) {
    p.lower[a] = mesh.box().lower[a];
    p.first[a] = static_cast<double>(mesh.where(slot).x[a]) * mesh.block_size();
  }
  return p;
}

/// A field of additional physics.
struct node_field {
  step::field_id field{};
  int index = 0;  ///< of pass_view::field()
};

/// The fields of one stage.
struct stage_fields {
  int stage = 0;
  step::field_id start{};  ///< the state at the start of the step
  step::field_id now{};    ///< the state that this stage reads
  step::field_id next{};   ///< the state that it computes
  node_field sums{};       ///< of the module that is called: step_module::sums()
};

/// A potential of gravity and its work on the gas, fields on blocks.
struct work_fields {
  node_field potential{.index = -1};  ///< stage_input::potential, read
  node_field work{.index = -1};       ///< stage_output::work, written
  /// Potential and acceleration of the state, [4][n^3], and the correction of the acceleration (gravity::layout).
  node_field field{.index = -1}, correction{.index = -1};

  explicit operator bool() const { return potential.index >= 0; }
};

/// The kernels of the gas on one kind of processor, and how its fields reach other localities.
class gas_passes {
 public:
  virtual ~gas_passes() = default;
  /// Advances blocks by one stage: the new state from the state of the stage and that at the start of the step.
  /// `gravity`: the fields of step_module::potential(), or indices -1.
  virtual std::unique_ptr<step::pass_kernel> advance(int stage, work_fields gravity) = 0;
  /// Replaces the fluxes of blocks by those of finer neighbours.
  virtual std::unique_ptr<step::pass_kernel> correct_fluxes(int stage) = 0;
  /// Applies the floors to the new state, and evaluates its signal rate, after modules have changed it in a stage or,
  /// if `stage` is the number of stages, at the end of the step.
  virtual std::unique_ptr<step::pass_kernel> check_state(int stage) = 0;
  /// The state that stage - 1 has computed, or with 0 that at the start of the step.
  virtual std::vector<step::transfer> state_transfers(int /*stage*/) { return {}; }
  virtual std::vector<step::transfer> flux_transfers(int /*stage*/) { return {}; }

  /// Adds a field, which passes read at these stencils: info.name, and info.doubles on info.nodes, which are blocks,
  /// refined, or blocks_and_refined. It has no memory elsewhere, and is not part of files. `in_place_of`: an earlier
  /// version with the same nodes and doubles, whose memory it takes over (step/recipe.hpp, rules). Errors: the recipe
  /// is refused, also if other members of `info` are set: the field is neither mirrored, interpolated nor summed.
  node_field add_node_field(step::recipe& r, const mesh::field_info& info, std::vector<step::stencil> read_at,
                            const node_field* in_place_of = nullptr);
  /// Adds constants that all passes may read, pass_view::table(); returns their index. Values that are there already,
  /// bit by bit, are not added again, so a module may call it in each stage. Errors: the recipe is refused if there are
  /// more than pass_view::most_tables.
  int add_table(step::recipe& r, std::vector<double> values);
  /// Adds the field of step_module::sums(); gas_step() calls it.
  node_field add_sums(step::recipe& r, const std::vector<std::string>& names);
  /// The kernel of a portable pass in a stage, or with stage_fields::stage of after_step() at the end of the step.
  virtual std::unique_ptr<step::pass_kernel> portable(std::unique_ptr<portable_code> code, int stage) = 0;

 protected:
  /// A field, all of its versions.
  struct module_field {
    mesh::field_info info{};
    std::vector<step::stencil> read_at{};
  };
  const std::vector<module_field>& module_fields() const { return fields_; }
  /// The index of a field of the recipe among them, or -1 for a field of the gas.
  int module_index(step::field_id f) const {
    const auto i = static_cast<std::size_t>(f);
    return i < index_of_.size() ? index_of_[i] : -1;
  }
  const std::vector<std::vector<double>>& module_tables() const { return tables_; }
  /// The memory of each field on a mesh.
  std::vector<step::node_rows> rows_of_fields(const step::node_graph& nodes) const;
  /// The fields of step_module::sums(), in order.
  const std::vector<int>& sum_fields() const { return sum_fields_; }
  /// How a version of the field `index` reaches other localities.
  virtual std::vector<step::transfer> field_transfers(int /*index*/, const std::vector<step::stencil>& /*read_at*/) {
    return {};
  }

 private:
  std::vector<module_field> fields_;
  std::vector<int> index_of_;  // by field of the recipe
  std::vector<std::vector<double>> tables_;
  std::vector<int> sum_fields_;
};

/// Physics besides the flow of the gas: it adds passes to each stage, some twenty at most (recipe::most_passes), and up
/// to pass_view::most_fields fields for all modules together. Modules are shared by several recipes. Their passes read
/// states at their own node only; their own fields at any stencil (of neighbours: those of blocks).
class step_module {
 public:
  virtual ~step_module() = default;
  /// Does it leave the mass of the gas unchanged? Then the unexplained remainder of the mass counts for
  /// run.conservation_limit, besides what floors have added.
  virtual bool keeps_mass() const { return false; }
  /// Adds passes that read the state of the stage, before the gas is advanced. `own`: the module's fields, empty at
  /// first, kept from stage to stage. A field that other nodes read gets a new version in each stage. Passes of the
  /// first stage may also run between steps, for diagnostics, and then again in the step.
  virtual void before_stage(step::recipe& /*r*/, const stage_fields& /*f*/, std::vector<node_field>& /*own*/,
                            gas_passes& /*on*/) const {}
  /// A potential that passes of before_stage() have written, and a field for its work, which after_stage() adds to the
  /// energy of the gas. The energy that leaves through the boundaries then includes the potential energy of the mass.
  /// At most one module has a potential.
  virtual work_fields potential(const std::vector<node_field>& /*own*/) const { return {}; }
  /// Adds passes that change the new state. They read and write it at their own node only.
  virtual void after_stage(step::recipe& /*r*/, const stage_fields& /*f*/, std::vector<node_field>& /*own*/,
                           gas_passes& /*on*/) const {}
  /// Adds passes after the last stage. f.stage is the number of stages, f.now and f.next are both the final state,
  /// which passes read and may write at their own node only. For them pass_view::stage_time() is the time at the end of
  /// the step, and stage_dt() its whole length. If they write the state, floors and the signal rate are evaluated
  /// again, as after after_stage().
  virtual void after_step(step::recipe& /*r*/, const stage_fields& /*f*/, std::vector<node_field>& /*own*/,
                          gas_passes& /*on*/) const {}
  /// Names of sums over all blocks, columns of history.csv: lower-case letters, digits and _. A pass on blocks, of any
  /// stage or of after_step(), writes the contributions of its block to stage_fields::sums, [names]; those that are
  /// there at the end of a step are summed exactly.
  virtual std::vector<std::string> sums() const { return {}; }
  /// Are the columns the totals of the sums over all steps since the start of the run, and not those of the last step?
  /// A device then makes one step at a time.
  virtual bool sums_accumulate() const { return false; }
};

/// A step in the given scheme. The tag of a state or of fluxes is the stage that computes them. States have three
/// places in memory: that at the start of the step, which is not overwritten, has place 0; the stages write to places 1
/// and 2 in turn.
step::recipe gas_step(const integrator& scheme, gas_passes& gas, std::span<const step_module* const> modules = {});

/// The place in memory of the state that stage - 1 has computed: 0, 1 or 2.
constexpr int state_place(int stage) { return stage == 0 ? 0 : 1 + (stage - 1) % 2; }

/// Sets the places and times of the view for passes of a stage, or with stage == scheme.stages for those after the
/// last.
void set_stage(const integrator& scheme, int stage, pass_view& view);

/// Is this the name of a column of history.csv, apart from those of species and of sums of modules?
bool is_column_of_history(std::string_view name);
/// The names of the sums of all modules.
std::vector<std::string> sum_names(std::span<const step_module* const> modules);
/// For each of these, step_module::sums_accumulate().
std::vector<bool> accumulating_sums(std::span<const step_module* const> modules);

/// Checks the recipe of a step with these modules. Errors: one line that names the pass and the field, or the sum.
result<void> check_modules(const integrator& scheme, std::span<const step_module* const> modules);

}  // namespace plx::star
