// The field of gravity between steps: the bits of a solution on workers, wherever the run keeps it, and the same steps
// after it.
#include "star/runners/gravity_field.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>

#include "gpu/cpu/cpu_backend.hpp"
#include "star/test/course_test.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {

using namespace test;

// A blast in gas that attracts itself.
const texts blast_with_gravity{"gravity.self=true", "gravity.constant=0.1", "gravity.order=3",
                               "gravity.theta=0.5", "mesh.max_level=1",     "run.max_steps=4"};

/// Has the field of the states at the start and between steps the bits of a solution?
class field_check {
 public:
  explicit field_check(simulation& sim) : sim_(sim), solver_(sim.state(), options_of(sim)) {}

  void operator()() {
    sim_.fetch();
    const gravity_field& found = sim_.gravity();
    solver_.solve(expected_);
    const gas& g = sim_.state();
    for (const mesh::slot_id slot : g.own())
      ASSERT_EQ(std::memcmp(found.values(slot), expected_.values(slot), 4 * sizeof(double) * g.now.cells()), 0)
          << "step " << sim_.steps() << ", block " << slot;
    after_changes_ += blocks_ > 0 && blocks_ != g.mesh.block_count();
    after_steps_ += blocks_ == g.mesh.block_count();
    blocks_ = g.mesh.block_count();
  }
  // Both ways to a field were taken.
  void expect_all_cases() const {
    EXPECT_GT(after_changes_ * after_steps_, 0) << after_changes_ << " and " << after_steps_;
  }

 private:
  static gravity::gravity_options options_of(const simulation& sim) {
    gravity::gravity_options o = sim.options().gravity;
    o.constant = sim.settings().gravitational_constant;
    return o;
  }
  simulation& sim_;
  gravity_solver solver_;
  gravity_field expected_;
  std::size_t blocks_ = 0;
  int after_changes_ = 0, after_steps_ = 0;
};

/// A run that asks for the field between all steps, or not at all.
outcome run_to_end(unsigned n, const texts& sets, bool asks) {
  outcome all;
  std::vector<outcome> each(n);
  std::mutex lock;
  on_each(n, 2, [&](int i, step::exchange& net, runtime& rt) {
    const auto in = blast(sets);
    const setup s = in->prepare().value();
    simulation sim(*in, s, rt, n == 1 ? step::exchange::alone() : net);
    ASSERT_TRUE(sim.take_device());
    sim.start();
    field_check check(sim);
    if (asks) check();
    while (!sim.finished()) {
      ASSERT_TRUE(sim.step());
      if (asks && !sim.is_ahead()) check();
    }
    if (asks) check.expect_all_cases();
    sim.fetch();
    each[static_cast<std::size_t>(i)].totals = sim.totals();
    const std::lock_guard guard(lock);
    all.take(sim);
  });
  all.totals = each[0].totals;
  return all;
}

TEST(GravityField, HasTheBitsOfASolutionAndLeavesTheRunAsItIs) {
  const outcome without = run_to_end(1, blast_with_gravity, false);
  for (const unsigned n : {1u, 3u})
    for (const texts& sets : {blast_with_gravity, on_device(blast_with_gravity)}) {
      SCOPED_TRACE(sets.back() + " on localities: " + std::to_string(n));
      expect_same(run_to_end(n, sets, true), without);
    }
}

/// A backend of the emulated device that counts launches of the pass that computes potential and acceleration, also
/// those that are recorded in the graph of a step.
struct launch_counter {
  static inline std::atomic<int> launches{0};
  static const gpu::backend& get() {
    static const gpu::backend b = [] {
      gpu::backend counting = gpu::cpu::table();
      counting.launch = [](gpu::native_device d, const gpu::any_operation& op, const gpu::launch& where,
                           const void* items, unsigned n, gpu::item_errors errors) {
        launches += std::string_view(op.name) == "star.gravity.accelerations";
        return gpu::cpu::table().launch(d, op, where, items, n, errors);
      };
      return counting;
    }();
    return b;
  }
};

// A field is computed once for the state at the start; after a step nothing is.
TEST(GravityField, AStepLeavesTheFieldOfItsFinalState) {
  const auto in = blast(with(blast_with_gravity, {"run.device=emulated"}));
  const setup s = in->prepare().value();
  runtime rt({.workers = 2});
  simulation sim(*in, s, rt);
  ASSERT_TRUE(sim.take_device(&launch_counter::get()));
  launch_counter::launches = 0;  // those of an earlier repetition
  sim.start();
  for (int i = 0; i < 2; ++i) sim.gravity();
  EXPECT_EQ(launch_counter::launches, 1);
  ASSERT_TRUE(sim.step());  // a regrid check follows the second one
  ASSERT_FALSE(sim.is_ahead());
  const int stepped = launch_counter::launches;
  EXPECT_GT(stepped, 1);
  sim.gravity();
  EXPECT_EQ(launch_counter::launches, stepped);
}

}  // namespace
}  // namespace plx::star
