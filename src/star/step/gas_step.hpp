// The time step of the gas as a recipe (step/recipe.hpp): the only place that says what a step consists of. It is the
// same for workers and for devices, which provide the kernels (gas_passes), and for additional physics (step_module).
//
// Thread safety: none. Cost: none at run time. Example: star/runners/stepper.cpp, star/device/device_gas.cpp
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "star/hydro/options.hpp"
#include "star/step/portable_pass.hpp"
#include "step/recipe.hpp"

namespace plx::star {

/// The fields of one stage.
struct stage_fields {
  int stage = 0;
  step::field_id start{};  ///< the state at the start of the step
  step::field_id now{};    ///< the state that this stage reads
  step::field_id next{};   ///< the state that it computes
};

/// A field of additional physics.
struct node_field {
  step::field_id field{};
  int index = 0;  ///< in pass_view::fields
};

/// The kernels of the gas on one kind of processor, and how its fields reach other localities.
class gas_passes {
 public:
  virtual ~gas_passes() = default;
  /// Advances blocks by one stage: the new state from the state of the stage and that at the start of the step.
  virtual std::unique_ptr<step::pass_kernel> advance(int stage) = 0;
  /// Replaces the fluxes of blocks by those of finer neighbours.
  virtual std::unique_ptr<step::pass_kernel> correct_fluxes(int stage) = 0;
  /// Applies the floors to the new state, and evaluates its signal rate, after modules have changed it.
  virtual std::unique_ptr<step::pass_kernel> check_state(int stage) = 0;
  /// The state that stage - 1 has computed, or with 0 that at the start of the step.
  virtual std::vector<step::transfer> state_transfers(int /*stage*/) { return {}; }
  virtual std::vector<step::transfer> flux_transfers(int /*stage*/) { return {}; }

  /// Adds a field with that many doubles per node, for blocks and refined nodes, which passes read at these stencils.
  /// `in_place_of`: an earlier version, whose memory it takes over (step/recipe.hpp, rules).
  virtual node_field add_node_field(step::recipe& r, std::string name, int doubles, std::vector<step::stencil> read_at,
                                    const node_field* in_place_of = nullptr) = 0;
  /// The kernel of a portable pass in a stage.
  virtual std::unique_ptr<step::pass_kernel> portable(std::unique_ptr<portable_code> code, int stage) = 0;
};

/// Physics besides the flow of the gas: it adds passes to each stage, some twenty at most (recipe::most_passes), and up
/// to pass_view::most_fields fields for all modules together. Modules are shared by several recipes. Their passes read
/// states at their own node only.
class step_module {
 public:
  virtual ~step_module() = default;
  /// Adds passes that read the state of the stage, before the gas is advanced. `own`: the module's fields, empty at
  /// first, kept from stage to stage. A field that other nodes read gets a new version in each stage.
  virtual void before_stage(step::recipe& /*r*/, const stage_fields& /*f*/, std::vector<node_field>& /*own*/,
                            gas_passes& /*on*/) const {}
  /// Adds passes that change the new state. They read and write it at their own node only.
  virtual void after_stage(step::recipe& /*r*/, const stage_fields& /*f*/, std::vector<node_field>& /*own*/,
                           gas_passes& /*on*/) const {}
};

/// A step in the given scheme. The tag of a state or of fluxes is the stage that computes them. States have three
/// places in memory: that at the start of the step, which is not overwritten, has place 0; the stages write to places 1
/// and 2 in turn.
step::recipe gas_step(const integrator& scheme, gas_passes& gas, std::span<const step_module* const> modules = {});

/// The place in memory of the state that stage - 1 has computed: 0, 1 or 2.
constexpr int state_place(int stage) { return stage == 0 ? 0 : 1 + (stage - 1) % 2; }

/// The properties of a field of additional physics, for implementations of gas_passes::add_node_field(). Refuses the
/// recipe if the index is out of range.
step::field_info module_field(step::recipe& r, std::string name, int index, std::vector<step::stencil> read_at);

/// Checks the recipe of a step with these modules. Errors: one line that names the pass and the field.
result<void> check_modules(const integrator& scheme, std::span<const step_module* const> modules);

}  // namespace plx::star
