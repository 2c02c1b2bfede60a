// The workload of the benchmarks of gravity on devices, on the backend cpu: the solve has the bits of the solver on
// workers, and steps advance the gas.
#include "device_workload.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "gpu/backend.hpp"
#include "gravity_inputs.hpp"

namespace plx {
namespace {

const std::vector<std::string> cheap{"gravity.order=3", "gravity.theta=0.5"};

void expect_field_of_workers(bench::device_workload& w) {
  star::gravity::gravity_options o = w.input().gravity;
  o.constant = 1.0;
  const star::gas& g = w.start();
  star::gravity_solver solver(g, o);
  star::gravity_field expected, found;
  runtime rt({.workers = 2});
  rt.run([&] { solver.solve(expected); });
  w.copy_gravity(found);
  for (const mesh::slot_id slot : g.own())
    ASSERT_EQ(std::memcmp(found.values(slot), expected.values(slot), 4 * sizeof(double) * g.now.cells()), 0) << slot;
}

TEST(DeviceWorkload, ASolveHasTheBitsOfWorkersAlsoAfterSteps) {
  bench::device_workload w(gpu::find_backend("cpu"), bench::star_in_a_box(4, 1, cheap), 2);
  EXPECT_EQ(w.blocks(), 120U);
  EXPECT_EQ(w.cells(), 120 * 512);
  EXPECT_GT(w.solve(), 0.0);
  expect_field_of_workers(w);
  EXPECT_GT(w.measure(1), 0.0);
  const double one = w.time();
  EXPECT_GT(one, 0.0);
  EXPECT_GT(w.solve(), 0.0);
  expect_field_of_workers(w);
  w.measure(1);
  EXPECT_NEAR(w.time(), 2.0 * one, 0.1 * one);
}

TEST(DeviceWorkload, ARotatingStarAdvances) {
  bench::device_workload w(gpu::find_backend("cpu"), bench::rotating_star(0, cheap), 2);
  EXPECT_EQ(w.blocks(), 64U);
  EXPECT_GT(w.measure(1), 0.0);
  EXPECT_GT(w.time(), 0.0);
}

}  // namespace
}  // namespace plx
