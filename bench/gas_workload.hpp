// A gas that benchmark programs advance, in a runtime of its own.
//
// Thread safety: none. Cost: that of the initial state, then of the steps. Example: bench/star.cpp
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "rt/runtime.hpp"
#include "star/refine/regrid.hpp"
#include "star/runners/stepper.hpp"

namespace plx::bench {

/// An input from text and settings. A mistake in it ends the program.
inline std::unique_ptr<star::input> input_of(const std::string& text, const std::vector<std::string>& sets = {}) {
  auto in = star::input::from_text(text, "benchmark", sets);
  if (!in) {
    std::fprintf(stderr, "%s\n", in.error().message.c_str());
    std::exit(1);
  }
  return *std::move(in);
}

class gas_workload {
 public:
  /// `workers`: 0: as many as runtime_options chooses.
  explicit gas_workload(std::unique_ptr<star::input> in, unsigned workers = 0)
      : runtime_({.workers = workers}),
        input_(std::move(in)),
        setup_(input_->prepare().value()),
        gas_(setup_),
        stepper_(gas_, setup_, runtime_.worker_count()) {
    runtime_.run([this] {
      star::build_initial(gas_, setup_, input_->refinement, *input_->problem, stepper_.scratch());
      stepper_.adopt_mesh();
    });
  }

  runtime& tasks() { return runtime_; }
  const star::input& input() const { return *input_; }
  const star::gas& state() const { return gas_; }
  double cells() const { return static_cast<double>(gas_.cell_count()); }

  /// Makes steps; returns the seconds of one.
  double measure(int steps = 1) {
    const double begin = monotonic_seconds();
    runtime_.run([&] {
      for (int i = 0; i < steps; ++i) stepper_.advance(setup_.cfl / gas_.largest_signal_rate(), 0.0);
    });
    return (monotonic_seconds() - begin) / steps;
  }

 private:
  runtime runtime_;
  std::unique_ptr<star::input> input_;
  star::setup setup_;
  star::gas gas_;
  star::stepper stepper_;
};

}  // namespace plx::bench
