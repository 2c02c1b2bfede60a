// A gas on a device that benchmark programs advance, on a mesh that stays as it is.
//
// Thread safety: none. Errors: gpu::error and std::runtime_error, thrown. Cost: that of the initial state on the host,
// then of the steps. Example: tests/gpu/device_workload_test.cpp
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "gas_workload.hpp"
#include "star/device/device_gas.hpp"
#include "star/runners/device_course.hpp"
#include "star/runners/gravity_field.hpp"

namespace plx::bench {

class device_workload {
 public:
  /// The initial state of the input, on the first device of a backend. `workers`: 0: as many as runtime_options
  /// chooses.
  device_workload(const gpu::backend& b, std::unique_ptr<star::input> in, unsigned workers = 0)
      : runtime_({.workers = workers}),
        input_(std::move(in)),
        setup_(input_->prepare().value()),
        gas_(setup_),
        on_(runtime_, b, 0),
        values_(on_.machine, star::gas_options_of(setup_)) {
    runtime_.run([this] {
      if (auto built = input_->problem->build(); !built) throw std::runtime_error(built.error().message);
      star::worker_scratch scratch(runtime_.worker_count(), setup_.hydro, gas_.mesh.block_size());
      star::build_initial(gas_, setup_, input_->refinement, *input_->problem, scratch);
      values_.adopt(gas_.mesh);
      values_.upload(gas_.now);
    });
    control_.rule.cfl = setup_.cfl;
    control_.rule.t_end = 1e9;
    control_.dt = setup_.cfl / gas_.largest_signal_rate();
  }

  std::string device() { return std::string(on_.machine.device().label()); }
  /// The state at time 0.
  const star::gas& start() const { return gas_; }
  const star::input& input() const { return *input_; }
  std::size_t blocks() const { return gas_.mesh.block_count(); }
  double cells() const { return static_cast<double>(gas_.cell_count()); }
  double time() const { return control_.now.time; }

  /// Makes steps; returns the seconds of one.
  double measure(int steps = 1) {
    const double begin = monotonic_seconds();
    runtime_.run([&] {
      values_.begin(control_);
      for (int s = 0; s < steps; ++s) {
        if (s > 0 && s % star::device::device_gas::steps_kept == 0) control_ = values_.wait();
        values_.step();
      }
      control_ = values_.wait();
    });
    if (control_.stopped != 0)
      throw std::runtime_error("a step failed: the integration stopped at step " + std::to_string(control_.now.steps));
    return (monotonic_seconds() - begin) / steps;
  }

  /// Computes the potential and the acceleration at time 0, the state of later steps; returns the seconds it takes.
  /// Requires: self-gravity.
  double solve() {
    double seconds = 0.0;
    runtime_.run([&] {
      values_.upload(gas_.now);  // the field that the last step has left is then no longer used
      const double begin = monotonic_seconds();
      values_.solve_gravity(nullptr);
      on_.machine.synchronize();
      seconds = monotonic_seconds() - begin;
    });
    return seconds;
  }
  /// Copies the field of the last solve().
  void copy_gravity(star::gravity_field& to) {
    runtime_.run([&] { star::read_gravity(values_, gas_, to); });
  }

 private:
  runtime runtime_;
  std::unique_ptr<star::input> input_;
  star::setup setup_;
  star::gas gas_;
  star::run_device on_;
  star::device::device_gas values_;
  star::device::step_control control_;
};

}  // namespace plx::bench
