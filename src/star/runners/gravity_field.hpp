// Potential and acceleration of the gas in the state between steps, in host memory: for diagnostics.
//
// A step leaves the field of its final state in the memory of self-gravity, on workers and on devices; simulation::
// gravity() copies it from there. Before the first step and after a change of the mesh it is computed: on workers by a
// gravity_solver, on a device by the passes of the next step, which then begins with their results. Same bits.
//
// Thread safety: const functions from any thread; others one call at a time. Results are the same for any number of
// workers and localities, and with a device. Example: star/driver/simulation.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "star/gravity/options.hpp"
#include "star/state/gas.hpp"
#include "step/border.hpp"

namespace plx::star {

struct pass_view;
struct work_fields;
namespace device {
class device_gas;
}

class gravity_field {
 public:
  /// Memory for local blocks: their rows are in the order of the curve, or those of a field. Values are undefined.
  void hold(const gas& g);
  void hold(const step::node_rows& rows, int block_size);

  /// The field of a local block. Shapes: [4][k][j][i]: potential, then acceleration along x, y, z.
  double* values(mesh::slot_id slot) { return values_.get() + place(slot); }
  const double* values(mesh::slot_id slot) const { return values_.get() + place(slot); }
  double* data() { return values_.get(); }
  /// Adds to a block's acceleration u + w x (x - c), which makes total force and torque zero. Shapes: u_w_c:
  /// [gravity::correction_count].
  void correct(const mesh::block_mesh& mesh, mesh::slot_id slot, const double* u_w_c);

 private:
  std::ptrdiff_t place(mesh::slot_id slot) const {
    return std::ptrdiff_t{row_of_[static_cast<std::size_t>(slot)]} * row_doubles_;
  }
  std::vector<std::int32_t> row_of_;  // by slot
  std::ptrdiff_t row_doubles_ = 0;
  std::size_t doubles_ = 0;  // allocated
  std::unique_ptr<double[]> values_;
};

/// Copies the field from memory of workers that holds it. Called by a task.
void copy_gravity(const pass_view& from, const work_fields& fields, const gas& g, gravity_field& to);
/// Copies the field from a device that has computed it (device_gas::solve_gravity). Called by a task. Cost: 32 bytes
/// per cell over the bus.
void read_gravity(device::device_gas& from, const gas& g, gravity_field& to);

/// The passes of self-gravity on workers, outside of a step. Cost: solve() that of one solution (docs/plx-star.md,
/// section Self-gravity), with memory for another set of the fields of gravity.
class gravity_solver {
 public:
  /// Requires: options that gravity::self_gravity::make() accepts, with the constant; `g` outlives the solver.
  gravity_solver(const gas& g, const gravity::gravity_options& o);
  ~gravity_solver();

  /// Computes the field of g.now. All localities call it, each in a task. Requires: the values are on the host. Errors:
  /// locality_lost, thrown.
  void solve(gravity_field& to);

 private:
  class passes;
  std::unique_ptr<passes> passes_;
};

}  // namespace plx::star
