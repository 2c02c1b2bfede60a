// Test fixtures: runs on devices, compared with the same run on the CPU's workers.
//
// Thread safety: none. Cost: that of small runs. Example: star/runners/test/device_course_test.cpp
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mesh/files/checkpoint.hpp"
#include "rt/runtime.hpp"
#include "star/driver/options.hpp"
#include "star/driver/simulation.hpp"

namespace plx::star::test {

using texts = std::vector<std::string>;

/// The device under test: its kernels on the CPU, or the device that PLX_STAR_TEST_DEVICE names.
inline const std::string& tested() {
  static const char* const named = std::getenv("PLX_STAR_TEST_DEVICE");
  static const std::string name = named != nullptr ? named : "emulated";
  return name;
}

inline runtime& workers() {
  static runtime rt({.workers = 2});
  return rt;
}

/// A simulation with its runtime and input, on a device that it has opened, or on the CPU.
struct one_run {
  one_run(const std::string& problem, texts sets, const gpu::backend* on = nullptr, runtime& rt = workers()) {
    sets.insert(sets.begin(), {"mesh.lower=[-0.5,-0.5,-0.5]", "mesh.upper=[0.5,0.5,0.5]"});
    in = input::from_text("[problem]\nname = \"" + problem + "\"\n", "t", sets).value();
    s = in->prepare().value();
    sim = std::make_unique<simulation>(*in, s, rt);
    const auto taken = sim->take_device(on);
    EXPECT_TRUE(taken) << taken.error().message;
  }
  std::unique_ptr<input> in;
  setup s;
  std::unique_ptr<simulation> sim;
};

inline texts with(texts sets, const texts& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}
/// `sets` and the device under test.
inline texts on_device(const texts& sets) { return with(sets, {"run.device=" + tested()}); }

/// The error for this input of "sod"; "" if there is none.
inline std::string complaint_about(const texts& sets) {
  const auto in = input::from_text("[problem]\nname = \"sod\"\n", "t", sets);
  if (!in) return in.error().message;
  const auto s = in.value()->prepare();
  return s ? "" : s.error().message;
}

/// Continues a run from its checkpoint in another simulation of the same input, to the end. Requires: `path` is free.
inline void continue_in(one_run& next, one_run& run, const std::string& path) {
  const mesh::checkpoint_state state{"test", run.in->table.toml(), identity_of(run.in->table), run.sim->numbers()};
  ASSERT_TRUE(mesh::write_checkpoint(path, run.sim->state().mesh, run.sim->state().now, state));
  const auto c = mesh::read_checkpoint(path);
  ASSERT_TRUE(c) << c.error().message;
  ASSERT_TRUE(next.sim->restore(*c, path));
  next.sim->go_on();
  while (!next.sim->finished()) ASSERT_TRUE(next.sim->step());
}

/// A dense body without symmetry that rotates about an oblique axis and moves obliquely, partly out of the domain: the
/// problem "expressions", with the spin of cells.
inline texts turning_body() {
  return {"expressions.centre=[0.05,-0.1,0.03]",
          "expressions.density=1 + 5*exp(-((x-0.05)^2 + 2*(y+0.1)^2 + 1.3*(z-0.03)^2)/0.02)",
          "expressions.velocity_x=1.1 - 6*exp(-r^2/0.03)*(y+0.1) + 2*exp(-r^2/0.03)*(z-0.03)",
          "expressions.velocity_y=0.8 + 6*exp(-r^2/0.03)*(x-0.05)",
          "expressions.velocity_z=-0.7 - 2*exp(-r^2/0.03)*(x-0.05)",
          "expressions.pressure=1",
          "hydro.spin=true",
          "refinement.gradient_of=[\"rho\"]",
          "refinement.gradient_refine=0.3",
          "refinement.gradient_coarsen=0.1",
          "refinement.interval=2",
          "refinement.coarsen_after=1",
          "refinement.buffer=1",
          "refinement.regions=[-0.1,0.15,-0.25,0.1,-0.2,0.2,1]",
          "mesh.max_level=2",
          "run.t_end=1"};
}

/// Returns the name of a quantity that differs, or "".
inline std::string same_course(simulation& a, simulation& b) {
  if (a.steps() != b.steps()) return "steps";
  if (a.time() != b.time() || a.dt() != b.dt()) return "time";
  const bool has_row =
      a.steps() % a.options().output.history_interval == 0;  // otherwise comparable only when not ahead
  if ((has_row || !b.is_ahead()) && a.totals() != b.totals()) return "totals";
  for (int v = 0; v < a.state().now.variable_count(); ++v)
    if (a.left(v) != b.left(v)) return "outflow";
  for (int v = 0; v < a.state().now.variable_count(); ++v)
    if (a.added().total(v) != b.added().total(v)) return "amounts that floors have added";
  const floor_counts &f = a.floors(), &g = b.floors();
  if (f.density != g.density || f.pressure != g.pressure || f.input != g.input) return "floors";
  return "";
}

inline std::string same_state(simulation& a, simulation& b) {
  a.fetch();
  b.fetch();
  const gas &g = a.state(), &h = b.state();
  if (g.mesh.block_count() != h.mesh.block_count()) return "blocks";
  for (std::size_t p = 0; p < g.mesh.block_count(); ++p) {
    const mesh::slot_id s = g.mesh.blocks()[p], t = h.mesh.blocks()[p];
    if (g.mesh.where(s) != h.mesh.where(t) || g.mesh.coarsen_votes(s) != h.mesh.coarsen_votes(t)) return "tree";
    if (std::memcmp(g.now.block(s), h.now.block(t), sizeof(double) * g.now.stride()) != 0) return "values";
    if (g.signal_rate[s] != h.signal_rate[t]) return "signal rates";
  }
  return "";
}

/// The device's run in compare(): floors applied, and the largest relative drift of mass and energy with outflow.
struct device_outcome {
  std::int64_t floors = -1;
  double drift = 1.0;
};

/// Runs both to their end. Compares time, totals and outflow after each step, and the values after every `every`th if
/// they can be read; requires at least `changes` changes of the mesh. `how`: options of the run on the device.
inline void compare(const std::string& problem, const texts& sets, const texts& how, int changes, int every = 1,
                    device_outcome* outcome = nullptr) {
  one_run cpu(problem, sets), device(problem, with(on_device(sets), how));
  cpu.sim->start();
  device.sim->start();
  ASSERT_TRUE(device.sim->on_device());
  const std::vector<double> start = device.sim->totals();
  int changed = 0;
  while (!cpu.sim->finished()) {
    const mesh::block_mesh before = cpu.sim->state().mesh;
    const auto r = cpu.sim->step(), s = device.sim->step();
    ASSERT_TRUE(r) << r.error().message;
    ASSERT_TRUE(s) << s.error().message;
    const mesh::block_mesh& now = cpu.sim->state().mesh;
    bool other = before.block_count() != now.block_count();
    for (std::size_t p = 0; p < now.block_count() && !other; ++p)
      other = before.where(before.blocks()[p]) != now.where(now.blocks()[p]);
    changed += other ? 1 : 0;
    ASSERT_EQ(same_course(*cpu.sim, *device.sim), "") << problem << ", step " << cpu.sim->steps();
    if (device.sim->is_ahead() || (cpu.sim->steps() % every != 0 && !cpu.sim->finished())) continue;
    ASSERT_EQ(same_state(*cpu.sim, *device.sim), "") << problem << ", step " << cpu.sim->steps();
  }
  EXPECT_TRUE(device.sim->finished());
  EXPECT_FALSE(device.sim->is_ahead());
  EXPECT_GE(changed, changes) << problem;
  EXPECT_EQ(cpu.sim->checks().plans, changed);  // a plan of the whole mesh only where it changes
  EXPECT_EQ(device.sim->checks().plans, changed);
  if (outcome == nullptr) return;
  const floor_counts& f = device.sim->floors();
  const std::vector<double> end = device.sim->totals();
  *outcome = {f.density + f.pressure + f.input, 0.0};
  for (const std::size_t v : {std::size_t{i_density}, std::size_t{i_energy}})
    outcome->drift = std::max(outcome->drift,
                              std::abs(end[v] + device.sim->left(static_cast<int>(v)) - start[v]) / std::abs(start[v]));
}

/// A run that stops after `half` steps on the workers continues on the device from its checkpoint, and the reverse,
/// with the bits of one that does not stop.
inline void expect_same_after_a_restart(const std::string& problem, const texts& sets, int half) {
  const std::string path = "restart-" + std::to_string(::getpid()) + ".h5";
  one_run whole(problem, sets);
  whole.sim->start();
  while (!whole.sim->finished()) ASSERT_TRUE(whole.sim->step());
  const texts stopped = with(sets, {"run.max_steps=" + std::to_string(half)});
  for (const auto& [first, second] : {std::pair(stopped, on_device(sets)), {on_device(stopped), sets}}) {
    one_run a(problem, first), b(problem, second);
    a.sim->start();
    while (!a.sim->finished()) ASSERT_TRUE(a.sim->step());
    a.sim->fetch();
    ASSERT_NO_FATAL_FAILURE(continue_in(b, a, path));
    EXPECT_EQ(same_course(*whole.sim, *b.sim), "") << second.back();
    EXPECT_EQ(same_state(*whole.sim, *b.sim), "") << second.back();
  }
  std::remove(path.c_str());
}

}  // namespace plx::star::test
