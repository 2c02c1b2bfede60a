// The state of a run on a device: all blocks of the mesh are in device memory for the whole run, and steps run without
// the host, which holds the tree and reads values for files only.
//
// Every number equals that of the CPU's stepper to the last bit.
//
// Thread safety: one thread at a time. Errors: those of the machine, thrown. Cost: a step is one launch per stage (two
// with full3d, three with species or spin) and one at its end, as one graph; a new mesh uploads 220 bytes per block.
// Memory: three arenas; with full3d 290 KB more per 8^3 cells, with species 170 KB and 36 KB for each, with spin 520
// KB. Example: star/device/test/device_gas_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "mesh/between/halo.hpp"
#include "mesh/field/arena.hpp"
#include "mesh/field/face_fluxes.hpp"
#include "mesh/tree/block_mesh.hpp"
#include "num/exact_sum.hpp"
#include "star/device/data/machine.hpp"
#include "star/device/data/step_data.hpp"
#include "star/hydro/options.hpp"

namespace plx::mesh {
struct regrid_plan;
}
namespace plx::step {
struct node_rows;
}
namespace plx::star {
class step_module;
struct work_fields;
}  // namespace plx::star

namespace plx::star::device {

struct mesh_tables;
struct part_exchange_plan;
enum class exchanged : std::uint8_t;

// ---- the messages that one part of a mesh exchanges with the others: at most one per pair of parts and exchange,
// stored one after the other in the part's memory. Cost: as mesh/between/halo.hpp.

/// The messages of one exchange: at most one to and one from each other part.
struct message_lane {
  struct piece {
    int peer = 0;
    std::size_t at = 0, size = 0;  ///< in the part's memory; doubles
  };
  std::vector<piece> out, in;  ///< none is empty

  /// Adds doubles for a peer after those that are there.
  static void add(std::vector<piece>& to, int peer, std::size_t doubles) {
    if (doubles == 0) return;
    if (!to.empty() && to.back().peer == peer)
      to.back().size += doubles;
    else
      to.push_back({peer, size(to), doubles});
  }
  static std::size_t size(const std::vector<piece>& all) { return all.empty() ? 0 : all.back().at + all.back().size; }
  bool empty() const { return out.empty() && in.empty(); }
};

/// The data of the gas that parts exchange: one group per pair of parts.
struct part_borders {
  part_borders() = default;
  part_borders(const mesh::block_mesh& mesh, const mesh::curve_parts& parts, int here, int variables,
               mesh::reach wanted)
      : face_doubles(static_cast<std::size_t>(variables) * mesh.block_size() * mesh.block_size()),
        ghosts(mesh, parts, here, variables, no_limit, wanted),
        fluxes(mesh, parts, here, no_limit) {}

  bool empty() const { return ghosts.empty(); }
  static constexpr std::size_t no_limit = std::size_t{1} << 40;  ///< one group per pair
  std::size_t face_doubles = 0;  ///< of a face of a block: fluxes are sent unchanged, [variable][n][n]
  mesh::halo ghosts;
  mesh::flux_halo fluxes;
};

// ---- the gas

/// Parameters of the steps other than the mesh.
struct gas_options {
  hydro_parameters hydro;
  integrator scheme;
  double cfl = 0.9;
  mesh::boundary_values sides;
  int totals_every = 0;                       ///< totals are computed at multiples of this number of steps; 0: never
  std::vector<const step_module*> modules{};  ///< additional physics
};

/// The results of a step.
struct step_result {
  step_record course;
  std::vector<exact_sum> left;     ///< outflow, [face][variable]
  std::vector<double> totals;      ///< of the variables; empty if they were not computed
  std::vector<exact_sum> added{};  ///< by floors, by variable: floor_amounts; empty if none
};

/// The criteria of star/refine/refinement.hpp for cells; variables as bits: rho, vel1, vel2, vel3, press.
struct cell_criteria {
  std::uint32_t gradient_of = 0, curvature_of = 0;
  double gradient_refine = 0.0, gradient_coarsen = 0.0, curvature_refine = 0.0, curvature_coarsen = 0.0;
  int buffer = 0;
  bool of_sound = false;
  std::vector<double> limits;   ///< [level_limit][level] (device/data/step_data.hpp)
  std::vector<double> species;  ///< ranges of mass fractions: [range][number, lower, upper]
};

/// The marks of the blocks' cells, two words each by position (step_data.hpp), valid until the next call.
struct found_marks {
  std::span<const std::uint32_t> words;
  bool as_before = false;  ///< those of the last call, which was for the same mesh
};

/// The exchange of a part of a mesh with the others during a step.
class part_exchange {
 public:
  virtual ~part_exchange() = default;
  /// Sends what the others read (device_gas::put_out()), and waits for theirs (put_in()). False ends the step.
  virtual bool exchange(int lane) = 0;
};

class device_gas {
 public:
  static constexpr int steps_kept = 16;  ///< maximum number of steps submitted before wait()

  /// Requires: `on` outlives the object. Errors: gpu::error, unsupported, if a thread block has less shared
  ///           memory than a step needs.
  device_gas(machine& on, const gas_options& options);
  device_gas(const device_gas&) = delete;
  device_gas& operator=(const device_gas&) = delete;
  ~device_gas();

  /// Takes a mesh and allocates its blocks; those that are not new keep their values. Waits for the device.
  void adopt(const mesh::block_mesh& mesh);
  /// The same for a part of the mesh; the other parts are elsewhere, and no value is kept. Allocates the part's blocks
  /// and those that touch it. Functions put_...() do not wait.
  void adopt_part(const mesh::block_mesh& mesh, const mesh::curve_parts& parts, int here);
  const part_borders& borders() const { return borders_; }
  bool has_blocks() const { return n_blocks_ > 0; }
  /// Makes a step, in which `with` exchanges data at the places that the recipe requires; then end_step() follows.
  /// False if an exchange has ended it.
  bool run_part(double time, double dt, std::int64_t steps, part_exchange& with);
  /// The exchanges of a step with the other parts, in order; the same number on all parts.
  std::vector<message_lane> lanes() const;
  /// The lane of the final state's ghost cells.
  int last_ghosts() const;
  /// Copies data for other parts to host memory, and data that they sent from there. Shapes: as the lane says.
  /// Requires: pinned memory that stays valid until the copy has run.
  void put_out(int lane, double* messages);
  void put_in(int lane, const double* messages);
  /// Waits; returns the reports of the part's blocks on the step, in the order of the curve.
  std::vector<block_report> end_step();
  /// Adds the outflow in the step, by face and variable. Waits. Requires: the step succeeded.
  void add_left(std::span<exact_sum> sums);
  /// Returns the changes by floors since the last call, by variable: in a step of a part, or in make_blocks(). Waits.
  /// Call it if the reports have block_report::added_terms.
  std::vector<exact_sum> take_added();
  /// Makes the new state current after a step that succeeded.
  void commit() { swap_after_step(), carried_ = 1; }
  /// Adds the integrals of the variables. Waits.
  void add_totals(std::span<exact_sum> sums);
  /// Upload the values of the part's blocks and of those that touch it; download those of the part's blocks. Both wait.
  void upload_part(const mesh::arena& values);
  void download_part(mesh::arena& values);

  /// Values of all blocks. Requires: an arena of the mesh, with a row for each slot. Both wait for the device.
  void upload(const mesh::arena& values);
  void download(mesh::arena& values);

  /// The marks of the present state. Waits once for the device, which compares them with those of the last call; and
  /// once more for the words if any differs.
  found_marks marks(const cell_criteria& criteria);
  /// Seconds that the kernels of marks() take, the mean of `repeats` in a row. Waits.
  double time_marks(const cell_criteria& criteria, int repeats);
  /// Computes and checks the values of new blocks. Returns the reports of the checks, children of all refined blocks
  /// first, then merged blocks. Requires: the old mesh is the adopted one; adopt(plan.next) follows. Waits.
  std::vector<block_report> make_blocks(const mesh::regrid_plan& plan, const mesh::block_mesh& old);
  /// Integrals of the variables over the domain. Waits.
  std::vector<double> totals();
  /// The sums of modules (step_module::sums()) over these blocks, after the last step; local ones of a part. Waits.
  std::vector<exact_sum> sums(std::span<const mesh::slot_id> blocks) const;

  /// Computes the field of gravity of the present state, unless the last step has left it; the next step begins with
  /// it. `with`: of a part of a mesh. False: an exchange has ended it. Requires: nothing submitted since wait(), and a
  /// module with step_module::potential().
  bool solve_gravity(part_exchange* with);
  /// The memory of work_fields::field and of work_fields::correction.
  struct gravity_rows {
    const step::node_rows *field, *correction;
  };
  gravity_rows rows_of_gravity() const;
  /// Copies both to the host. Waits. Shapes: field: [row][4][n^3], correction: [row][9].
  void download_gravity(double* field, double* correction);

  /// Are there boundaries of the kind `problem`? Then set_time() comes before each step.
  bool has_outside() const { return !given_faces_.empty(); }
  /// Sets the states beyond those boundaries for a step from this time of this length. Requires: nothing submitted
  /// since wait(). Errors: gpu::error, thrown.
  void set_time(const mesh::block_mesh& mesh, double time, double dt);
  /// Starts from this state of the integration. Requires: control.dt > 0.
  void begin(const step_control& control);
  /// Submits one step, which does nothing once the integration has stopped. Does not wait. Requires: fewer than
  /// steps_kept since begin() or the last wait(); if totals are computed, begin() after each wait().
  void step();
  /// Waits for all steps, and returns the state after them.
  step_control wait();
  /// For a step whose kernels the caller launches block by block (bench/gpu/ladder/): the arguments of launches on all
  /// blocks, valid while arena() and the mesh are the same, and the launches that follow. Shapes: fluxes: those of
  /// stage_arguments, of the same stage. Requires: full3d, no totals of steps, no additional physics.
  machine& on() { return on_; }
  const gas_options& options() const { return options_; }
  int arena() const { return now_; }  ///< 0 to 2: the one that holds the state
  tiles_arguments tiles_of(int stage);
  stage_arguments stage_of(int stage);
  void put_correction(int stage, const double* fluxes);
  void put_side_sums(int stage, const double* fluxes);
  /// Ends such a step as step() does, and waits for it.
  void end_step_of_caller();
  /// Seconds that each part of a step takes, the mean of `repeats` in a row. The state is invalid afterwards.
  std::vector<std::pair<const char*, double>> time_parts(int repeats);
  /// After the last good step, by slot: largest sum over axes of (|v| + c) / dx.
  std::vector<double> signal_rates();
  void set_signal_rates(std::span<const double> rates) { rates_.set(on_, rates), on_.synchronize(); }
  /// The results of the steps that the last wait() waited for.
  std::vector<step_result>& results() { return results_; }
  /// Cumulative outflow of all steps that were waited for.
  const mesh::side_totals& left() const { return left_; }
  mesh::side_totals& left() { return left_; }

 private:
  class passes;
  int arena_of(int stage) const;
  const double* source(int stage) const { return arenas_[arena_of(stage)].data(); }
  double* target(int stage) { return arenas_[arena_of(stage + 1)].data(); }
  const double* given_of(int stage) const { return has_outside() ? given_.data() + stage * given_doubles_ : nullptr; }
  void check_device();
  void adopt_tables(const mesh::block_mesh& mesh, const mesh_tables& t);
  void give_rows(const mesh::block_mesh& mesh, const mesh::curve_parts& parts, int here);
  /// Values that are copied to and from messages: items of copies_, those that leave and those that arrive.
  struct copy_lane {
    exchanged what{};
    int index = 0;  ///< part_exchange_plan::index
    message_lane messages{};
    std::size_t out_begin = 0, out_end = 0, in_begin = 0, in_end = 0;
  };
  void list_lanes(const mesh::block_mesh& mesh, const mesh_tables& t, int first_block);
  copy_lane flux_lane(const mesh::block_mesh& mesh, const mesh_tables& t, int first_block,
                      std::vector<copy_item>& copies) const;
  copy_lane ghost_lane(std::vector<copy_item>& copies) const;
  copy_lane node_lane(const part_exchange_plan& e, std::vector<copy_item>& copies) const;
  void put_copies(bool out, const copy_lane& lane, double* message);
  void put_ghosts(const double* from, const step_control* control);
  void put_marks(const cell_criteria& criteria);
  bool is_full() const { return options_.hydro.scheme == hydro_scheme::full3d; }
  bool has_tiles() const { return tile_reach_of(options_.hydro) != tile_reach::no_tiles; }
  void put_tiles(int stage);
  void put_stage(const stage_arguments& a);
  void put_species_and_spin(const stage_arguments& a);
  void put_whole_stage(int stage, const work_fields& gravity);
  void put_check(int stage);
  void put_finish();
  void put_totals(const double* values, const step_control* control, int steps_kept, int every, exact_limbs* sums);
  void put_step();
  void collect_results(std::int64_t begin, std::int64_t end);
  void collect_left(std::int64_t begin);
  void collect_totals(std::int64_t begin);
  void collect_added(std::int64_t begin);
  floor_sums added_in(int stage) { return {added_.data(), options_.scheme.state_weight(stage)}; }
  void swap_after_step();

  machine& on_;
  gas_options options_;
  mesh::field_table fields_;
  std::unique_ptr<passes> passes_;  // of a step
  int n_ = 0, n_var_ = 0, n_blocks_ = 0, n_levels_ = 0, n_corrections_ = 0;
  bool central_ = false;
  std::int32_t side_[mesh::face_count] = {};
  std::vector<std::uint8_t> side_face_;
  mesh::side_totals left_;
  std::size_t slots_ = 0, stride_ = 0;
  device_memory<double> arenas_[3];
  int now_ = 0, a_ = 1, b_ = 2;
  std::vector<given_face> given_faces_;
  std::size_t given_doubles_ = 0;  // of each stage
  device_memory<double> given_;    // [stage]
  device_memory<double> inflow_, fluxes_, slabs_, coarse_tiles_, rates_, left_parts_;
  device_memory<double> tiles_;
  device_memory<double> parts_;  // of the scheme full3d
  device_memory<double> kept_;   // of species and spin
  device_memory<tile_item> tile_items_;
  device_memory<block_item> blocks_;
  device_memory<level_item> levels_;
  device_memory<coarse_fill> fills_;
  device_memory<correction_item> corrections_;
  device_memory<side_item> sides_;
  device_memory<block_report> reports_;
  device_memory<step_control> control_;  // the state of the integration, and one that never stops
  device_memory<step_record> records_;
  device_memory<exact_limbs> sums_, sum_now_;
  device_memory<exact_limbs> added_, added_of_steps_;  // [added_copies][variable], [steps_kept][variable]
  std::vector<double> limits_here_, ranges_here_;      // what limits_ and ranges_ hold
  device_memory<double> limits_, ranges_;
  device_memory<std::uint32_t> marks_;
  device_memory<std::uint64_t> marks_changed_;  // the last turn in which a word changed
  pinned_memory<std::uint64_t> changed_here_;
  pinned_memory<std::uint32_t> words_here_;  // marks_, if words_known_
  std::uint64_t turn_ = 0;
  bool words_known_ = false;
  device_memory<child_item> children_;
  device_memory<merged_item> merged_;
  device_memory<std::int64_t> new_blocks_;
  device_memory<block_place> new_places_;
  device_memory<block_report> checks_;
  // For a part of a mesh:
  part_borders borders_;
  std::vector<std::int32_t> row_of_;       // by slot: its row in the arenas, or -1
  std::vector<mesh::slot_id> part_slots_;  // local blocks along the curve, then those that touch them
  device_memory<copy_item> copies_;
  std::vector<copy_lane> lanes_;
  device_memory<double> message_out_, message_in_;
  std::vector<exact_limbs> no_sums_;
  std::vector<step_result> results_;
  std::int64_t put_ = 0;      // steps submitted since the last wait
  std::int32_t carried_ = 0;  // step_control::carried of the next step
  std::int64_t steps_at_wait_ = 0;
  gpu::graph graph_[3];  // of a step, by the arena that is `now`
};

}  // namespace plx::star::device
