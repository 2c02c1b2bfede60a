// The integrator on one device: it advances all blocks in batches of steps from one regrid check to the next without
// the host, and evaluates the refinement criteria and the values of new blocks there too. The host holds the tree, and
// reads values for files only.
//
// Every number equals that of the CPU's stepper to the last bit, so a run can be continued on either.
//
// Thread safety: one task at a time. Errors: gpu::error, thrown; the values on the device are then lost. Cost: one
// launch per step (docs/plx-star.md), and a few copies per regrid check. Example:
// star/runners/test/device_course_test.cpp
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "num/exact_sum.hpp"
#include "star/driver/options.hpp"
#include "star/refine/regrid.hpp"
#include "star/runners/step_account.hpp"
#include "star/state/gas.hpp"

namespace plx {
class runtime;
namespace gpu {
struct backend;
}
}  // namespace plx

namespace plx::star {

namespace device {
class device_gas;
struct step_control;
struct step_result;
}  // namespace device

struct run_device;
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

  /// The refinement flags of all blocks, and the next mesh; both as the functions of the same names do on the CPU.
  std::vector<mesh::flag> refinement_flags(double weakening);
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
  double signal_rate_ = 0.0;
  bool values_here_ = true, rates_here_ = true;
};

}  // namespace plx::star
