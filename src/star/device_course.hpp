// A run on a device: steps of the whole gas in batches, from one look at the mesh to the next, without the host; what
// blocks ask of the mesh, and the values of new blocks, are made there too. The host knows the tree, and reads values
// for files only.
//
// Every number is that of the CPU's stepper, to the bit; so runs go on on either.
//
// Thread safety: one task at a time. Errors: gpu::error, thrown; the values on the device are lost then. Cost: a launch
// per step (docs/plx-star.md), and per look at the mesh some copies. Example: star/device_course_test.cpp
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "star/bad_cell.hpp"
#include "star/device/device_gas.hpp"
#include "star/gas.hpp"
#include "star/options.hpp"
#include "star/regrid.hpp"

namespace plx::star {

struct course_device;

class device_course {
 public:
  /// On the device that run.device names, or the first of `on`, where that is not null. Requires: all outlive it.
  /// Errors: one line: no such backend in this program, no device, no driver, several localities.
  static result<std::unique_ptr<device_course>> open(const input& in, const setup& s, gas& g, runtime& rt,
                                                     const gpu::backend* on = nullptr);
  ~device_course();

  /// Takes the mesh and the values of the gas, and the signal rates of its blocks.
  void take();

  /// Are there steps that the device has made and next() has not told of?
  bool ahead() const { return !results_.empty(); }
  /// Makes up to `count` steps, the first by c.dt, or fewer: to the end, to where a mesh file is due, to the first that
  /// fails. Requires: not ahead; the course as the host knows it.
  void advance(const device::step_control& c, int count);
  device::step_result next();
  /// Of the step that failed, when advance() has made none.
  std::optional<bad_cell> failed() const { return bad_; }
  double signal_rate() const { return signal_rate_; }  ///< of the whole gas, after the last step

  /// What all blocks ask for; the next mesh; both as the functions of the same names do on the CPU.
  std::vector<mesh::flag> refinement_flags();
  regrid_result regrid(const std::vector<mesh::flag>& flags, block_costs& costs);

  std::vector<double> totals();
  /// Brings the values and the signal rates to the gas on the host, where they are not there.
  void fetch();

  static constexpr int most_steps = device::device_gas::steps_kept - 1;

 private:
  device_course(const input& in, const setup& s, gas& g, std::unique_ptr<course_device> on);
  void fetch_rates();

  const input& in_;
  const setup& setup_;
  gas& gas_;
  std::unique_ptr<course_device> on_;
  device::device_gas values_;
  std::deque<device::step_result> results_;
  std::optional<bad_cell> bad_;
  double signal_rate_ = 0.0;
  bool values_here_ = true, rates_here_ = true;
};

}  // namespace plx::star
