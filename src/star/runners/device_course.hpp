// The device of a locality, and the integrator on one device: it advances all blocks in batches of steps from one
// regrid check to the next without the host, and evaluates the refinement criteria and the values of new blocks there
// too. The host holds the tree, and reads values for files only.
//
// Every number equals that of the CPU's stepper to the last bit, so a run can be continued on either.
//
// Thread safety: one task at a time. Errors: gpu::error, thrown; the values on the device are then lost. Cost: one
// launch per step (docs/plx-star.md), and a few copies per regrid check. Example:
// star/runners/test/device_course_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "gpu/error.hpp"
#include "num/exact_sum.hpp"
#include "star/driver/options.hpp"
#include "star/refine/regrid.hpp"
#include "star/state/gas.hpp"

namespace plx {
class runtime;
namespace gpu {
struct backend;
}
}  // namespace plx

namespace plx::star {

struct run_device;  // star/device/data/machine.hpp
namespace device {
class device_gas;
struct gas_options;
struct step_control;
struct step_result;
}  // namespace device

// ---- the device of a locality: each has one (docs/decisions/0022-one-device-per-locality.md)

/// Options of a device's values, without totals.
device::gas_options gas_options_of(const setup& s);

/// The backend that run.device names, or `on` if it is not null. Errors: gpu::error if this program lacks the backend.
const gpu::backend& backend_of(const run_options& run, const gpu::backend* on);

/// One line: the request, the reason of the failure, and what to do.
error device_error(const run_options& run, const gpu::error& why);

/// The index of a locality's device: the localities of a host take its devices in turn, and share them if there are too
/// few. `rank`: rank_on_host().
int device_index(const gpu::backend& b, int rank);
/// The number of localities on this host with lower numbers. Collective, in a task.
int rank_on_host(step::exchange& net);

/// f(backend), or the error of device_error().
template <class F>
auto on_backend(const run_options& run, const gpu::backend* on, F&& f)
    -> result<std::invoke_result_t<F, const gpu::backend&>> {
  try {
    return std::forward<F>(f)(backend_of(run, on));
  } catch (const gpu::error& e) {
    return device_error(run, e);
  }
}

// ---- the integrator

class gravity_field;

class device_course {
 public:
  /// Opens the device that run.device names, or the first of `on` if it is not null. Requires: all arguments outlive
  /// it.
  /// Errors: one line: this program lacks the backend, no device, no driver, several localities.
  static result<std::unique_ptr<device_course>> open(const input& in, const setup& s, gas& g, runtime& rt,
                                                     const gpu::backend* on = nullptr);
  ~device_course();

  /// Copies the mesh, the values and the signal rates of the blocks to the device.
  void take();

  /// Has the device made steps that next() has not returned?
  bool ahead() const;
  /// Makes up to `count` steps, the first by c.dt; fewer if the end, the time of a mesh file or a failing step comes
  /// first.
  /// Requires: not ahead; `c` is the host's current state.
  void advance(const device::step_control& c, int count);
  device::step_result next();
  /// The bad cell of the step that failed, if advance() has made none.
  std::optional<bad_cell> failed() const { return bad_; }
  double signal_rate() const { return signal_rate_; }  ///< largest of all blocks, after the last step

  /// The refinement flags of all blocks, as the function of the same name computes them on the CPU.
  std::vector<mesh::flag> refinement_flags(double weakening, const gravity_field* gravity);
  /// How often refinement_flags() has computed flags because marks differed from those of its last call.
  std::int64_t marks_read() const { return marks_read_; }
  /// Seconds that the kernels of the criteria take, the mean of `repeats` in a row.
  double time_marks(int repeats);
  /// Makes the next mesh, as the function of the same name does on the CPU. Requires: mesh::changes_mesh().
  regrid_result regrid(const std::vector<mesh::flag>& flags, block_costs& costs);

  std::vector<double> totals();
  /// The sums of modules (step_module::sums()) after the last step that advance() has made.
  const std::vector<exact_sum>& sums() const { return sums_; }
  /// The field of gravity of the present state. Requires: self-gravity.
  void gravity(gravity_field& to);
  /// Copies the values and the signal rates to the host, if they are not there.
  void fetch();

  static constexpr int most_steps = 15;  ///< steps that advance() can make

 private:
  device_course(const input& in, const setup& s, gas& g, std::unique_ptr<run_device> on);
  void fetch_rates();

  const input& in_;
  const setup& setup_;
  gas& gas_;
  std::unique_ptr<run_device> on_;
  std::unique_ptr<device::device_gas> values_;
  std::vector<device::step_result> results_;
  std::size_t next_ = 0;  // index of the first result that has not been returned
  std::optional<bad_cell> bad_;
  std::vector<exact_sum> sums_;
  std::vector<mesh::flag> flags_;  // of the last marks
  std::int64_t marks_read_ = 0;
  double signal_rate_ = 0.0;
  bool values_here_ = true, rates_here_ = true;
};

}  // namespace plx::star
