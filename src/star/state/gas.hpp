// The state of the gas: mesh, values of blocks, boundary conditions; the spin of cells; totals of conserved variables;
// the outcome of a step.
//
// Each locality knows the whole mesh. It holds the values of its own part of the curve, and of mirrors
// (mesh/between/halo.hpp), the blocks that touch that part, the cells that it reads. Between steps the mirrors of `now`
// are up to date.
//
// Thread safety: that of its parts: different slots may be used concurrently; changes of the topology need exclusive
// access. Cost: three field sets of all blocks. Example: star/runners/test/stepper_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mesh/between/gather.hpp"
#include "mesh/between/halo.hpp"
#include "mesh/field/arena.hpp"
#include "mesh/tree/block_mesh.hpp"
#include "mesh/tree/regrid.hpp"
#include "num/running_sum.hpp"
#include "star/driver/options.hpp"
#include "star/hydro/stage.hpp"
#include "star/problems/problem.hpp"
#include "step/exchange.hpp"

namespace plx {
class exact_sum;
}

namespace plx::star {

/// Number of floors applied, counted in cells.
struct floor_counts {
  std::int64_t density = 0;   ///< of new states
  std::int64_t pressure = 0;  ///< of new states
  std::int64_t input = 0;     ///< of states before reconstruction, ghost cells included

  void add(const stage_output& out) {
    density += out.density_floors;
    pressure += out.pressure_floors;
    input += out.input_floors;
  }
  void add(const floor_counts& other) {
    density += other.density;
    pressure += other.pressure;
    input += other.input;
  }
};

/// Changes by floors of the integrals of the conserved variables over the whole domain, of all steps and regrids
/// since the initial state. In place of the spin, the angular momentum about the origin.
class floor_amounts {
 public:
  explicit floor_amounts(int variables) : sums_(static_cast<std::size_t>(variables)) {}
  /// Adds the exact sums of a step or regrid: [variable], or none.
  void add(std::span<const exact_sum> sums);
  double total(int variable) const { return sums_[static_cast<std::size_t>(variable)].value(); }

  /// For a checkpoint; a restored run continues with the same bits.
  std::vector<double> state() const;
  void restore(std::span<const double> state);

 private:
  std::vector<running_sum> sums_;
};

struct gas {
  /// The root grid, in parts of equal numbers of blocks. Requires: `net` outlives the gas.
  explicit gas(const setup& s, step::exchange& net = step::exchange::alone());

  step::exchange& net;
  mesh::block_mesh mesh;
  mesh::curve_parts parts;  ///< which locality owns which blocks
  mesh::halo ghosts;        ///< exchange of ghost cells
  mesh::flux_halo between;  ///< exchange of fluxes
  /// now: the state. The others belong to the stages; after a step one of them holds the previous state.
  mesh::arena now, stage_a, stage_b;
  bool elsewhere = false;  ///< the values are on a device: adopt() allocates no memory
  mesh::boundary_values sides;
  std::array<double, 3> stage_time{};      ///< of the states that the stages of the current step read
  mesh::reach reach = mesh::reach::faces;  ///< which ghosts the scheme reads
  int spin = -1;                           ///< the first of the variables of the spin, if they are there
  std::vector<double> signal_rate;         ///< by slot: largest sum over axes of (|v| + c) / dx; of local blocks

  /// The blocks that this locality advances, in the order of the curve.
  std::span<const mesh::slot_id> own() const { return parts.blocks(mesh, net.here()); }
  bool owns(mesh::slot_id slot) const { return parts.part_of(mesh, slot) == net.here(); }

  /// Replaces the mesh: allocates memory in all field sets; values of kept slots stay. Requires: the values of local
  /// blocks that are not new are here.
  void adopt(mesh::block_mesh next, mesh::curve_parts next_parts);
  /// The same, in parts of equal numbers of blocks.
  void adopt(mesh::block_mesh next);
  /// Allocates memory in `now` for these blocks, too, until the next adopt(). Shapes: slots: of their mesh.
  void make_room(std::size_t slots, std::span<const mesh::slot_id> wanted);
  /// Over the local blocks.
  double largest_signal_rate() const;
  /// Over the blocks of all localities.
  std::int64_t cell_count() const { return static_cast<std::int64_t>(mesh.block_count()) * now.cells(); }
};

/// Parts of equal numbers of blocks.
mesh::curve_parts equal_parts(const mesh::block_mesh& mesh, int count);

/// Updates the mirrors of `now`. All localities call it, each in a task.
void refresh_mirrors(gas& g);

/// Averages of the problem's solution at time t over the cells of a block, without the spin.
void fill_from_problem(const problem& p, const mesh::block_mesh& mesh, mesh::slot_id slot, double t, double* values);

/// Memory of each worker: a tile, the kernel's scratch, the fluxes of six faces. Indexed by plx::worker_index(), for
/// tasks that do not suspend while they use it.
class worker_scratch {
 public:
  worker_scratch(unsigned workers, const hydro_parameters& parameters, int block_size);

  struct one {
    mesh::tile_scratch tile;
    std::unique_ptr<std::byte[]> memory;
    void* kernel = nullptr;
    std::array<double*, mesh::face_count> face{};
    std::vector<double> criteria;  ///< of refinement.cpp
    std::vector<exact_limbs> added;
    std::int64_t added_terms = 0;
  };
  /// Requires: called by a worker.
  one& mine();

  /// Calls f(stage_output::added), which returns the output of a kernel that adds what floors change to sums of the
  /// calling worker. `weight`: of floor_sums.
  template <class F>
  void with_sums(double weight, F&& f) {
    one& w = mine();
    w.added_terms += f(floor_sums{w.added.data(), weight}).added_terms;
  }
  /// Returns the sums of all workers, [variable], and clears them; none if there are no terms. Requires: no task uses
  /// this object.
  std::vector<exact_sum> take_added();

 private:
  std::vector<one> all_;
};

// ---- The spin of the cells on workers, outside of the kernels (star/device/data/spin_rule.hpp).
//
// Requires: gas::spin >= 0. Cost: some ns per cell.

/// Completes the kernel's flux of the spin through a face of a block to blocks of another level or of the domain
/// (device::arm_of_flux()). Shapes: flux: [variable][n][n], as stage_output::face_flux.
void complete_spin_flux(const mesh::block_mesh& mesh, mesh::slot_id slot, int face, int spin, double* flux);

/// After mesh::refine_values() and mesh::merge_values() (device::cell_family).
void refine_spin(gas& g, const mesh::family& made);
void merge_spin(gas& g, const mesh::family& made);

/// Sets the spin of all local blocks to that of their velocities. Requires: mirrors are up to date; call it in a task.
/// The spin of mirrors is not set.
void start_spin(gas& g, worker_scratch& scratch);

/// Angular momentum per volume of each cell about the origin, one component.
std::vector<double> angular_momentum(const gas& g, mesh::slot_id slot, int component);

// ---- Totals of the conserved variables over the domain, exact: the same bits for any order of blocks and any number
// of workers, with errors far below the last digit, so that a drift of 1e-14 is that of the scheme and not of the sum.
//
// Cost: about 0.3 ns per value, in parallel over blocks.

/// Integral of each conserved variable over the domain: [variable_count]. In place of the spin, the angular momentum
/// about the origin, spin included.
/// Errors of the sum: within a block those of Kahan summation (about 1e-16 relative to the sum of magnitudes), between
/// blocks none.
std::vector<double> totals(const gas& g, unsigned workers);

// ---- the outcome of a step, and the exchange at its end by which all localities know it

/// A cell whose state the floors could not repair.
struct bad_cell {
  mesh::slot_id slot = mesh::no_slot;
  int stage = 0;
  int cell = -1;                       ///< (k * n + j) * n + i
  double density = 0.0, energy = 0.0;  ///< before the step
};

struct step_account {
  double signal_rate = 0.0;         ///< the largest
  std::array<double, 3> floors{};   ///< density, pressure, input
  double wishes = 0.0;              ///< bits
  std::array<double, 5> bad{-1.0};  ///< stage or -1, position on the curve, cell, density, energy
  double failed = 0.0;              ///< 1 + the first locality whose device has failed

  void take(const floor_counts& f) { floors = {double(f.density), double(f.pressure), double(f.input)}; }
  floor_counts floors_found() const {
    return {std::int64_t(floors[0]), std::int64_t(floors[1]), std::int64_t(floors[2])};
  }
  bool is_bad() const { return bad[0] >= 0.0; }
  void take(const gas& g, const bad_cell& b) {
    bad = {double(b.stage), double(g.mesh.position(b.slot)), double(b.cell), b.density, b.energy};
  }
  std::optional<bad_cell> bad_found(const gas& g) const;
};

/// The account of the whole step, the same on all localities. It has the first bad cell in the order of
/// stages, then of the curve. `sums`: outflow by face and variable, and others; on return, of all localities. Called by
/// a task on all localities. Cost: one all_reduce of a few numbers and of the exact sums that are not empty. Errors:
/// locality_lost, thrown.
step_account agree_on_step(step::exchange& net, const step_account& mine, std::span<exact_sum> sums);

}  // namespace plx::star
