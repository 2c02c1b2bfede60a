#include "block_steps.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "gpu/cpu/cpu_backend.hpp"
#include "rt/runtime.hpp"
#include "star/device/test/gas_cases_test.hpp"

namespace plx::star::device {
namespace {

gas_options full3d(const integrator& steps, bool steepening = false) {
  gas_options o;
  o.hydro.reconstruct = reconstruction::ppm;
  o.hydro.riemann = riemann_solver::hll;
  o.hydro.scheme = hydro_scheme::full3d;
  o.hydro.contact_steepening = steepening;
  o.scheme = steps;
  return o;
}

struct one_way {
  const char* name;
  gpu::device_options options;
  std::function<void(block_steps&, gpu::device&)> step;
};

const one_way ways[] = {
    {"not recycled", {.recycle_streams = false, .recycle_buffers = false}, [](auto& s, auto&) { s.step_in_streams(); }},
    {"recycled buffers", {.recycle_streams = false}, [](auto& s, auto&) { s.step_in_streams(); }},
    {"recycled", {}, [](auto& s, auto&) { s.step_in_streams(); }},
    {"one stream", {.streams = 1}, [](auto& s, auto& d) { s.step_in_tasks(gpu::executor(d)); }},
    {"streams", {.streams = 3}, [](auto& s, auto& d) { s.step_in_tasks(gpu::executor(d)); }},
    {"slices", {}, [](auto& s, auto& d) { s.step_in_tasks(gpu::aggregating_executor(d, {.most = 2})); }},
    {"futures", {}, [](auto& s, auto& d) { s.step_by_futures(gpu::executor(d)); }},
    {"slices and futures", {}, [](auto& s, auto& d) { s.step_by_futures(gpu::aggregating_executor(d, {.most = 2})); }},
};

/// A machine with its own runtime, on the first device of a backend.
struct station {
  station(const gpu::backend& b, gpu::device_options o)
      : rt({.workers = 3, .bind = false}), device(rt, b, 0, o), on(device) {}
  plx::runtime rt;
  gpu::device device;
  machine on;
};

/// Alternates steps of the given kind with device_gas::step(), and compares with the CPU's kernels.
std::string differences_by(const one_way& way, const gpu::backend& b, const mesh::block_mesh& mesh,
                           const gas_options& o) {
  station at(b, way.options);
  std::unique_ptr<block_steps> steps;
  std::string text = differences_of(at.on, mesh, o, 3, 0.01, [&](device_gas& gas, int number) {
    if (number == 1) return gas.step();
    at.rt.run([&] {
      if (steps == nullptr) steps = std::make_unique<block_steps>(gas, mesh);
      way.step(*steps, at.device);
    });
  });
  steps.reset();
  return text;
}

mesh::block_mesh row_of(int blocks, mesh::boundary sides) {
  mesh::domain box = cube_of(1, 8, sides, 1);
  box.root_blocks = {blocks, 1, 1};
  box.upper[0] = box.lower[0] + blocks * (box.upper[1] - box.lower[1]);
  return mesh::block_mesh(box);
}

TEST(block_steps, every_variant_gives_the_bits_of_the_cpu_kernels) {
  for (const gpu::backend* b : gpu::backends()) {
    if (gpu::device_count(*b) == 0) continue;
    for (const one_way& way : ways)
      EXPECT_EQ(differences_by(way, *b, row_of(3, mesh::boundary::outflow), full3d(ssp_rk3)), "")
          << b->name << ": " << way.name;
  }
}

TEST(block_steps, other_schemes_of_steps_blocks_and_levels) {
  for (const gpu::backend* b : gpu::backends()) {
    if (gpu::device_count(*b) == 0) continue;
    const mesh::block_mesh large(cube_of(1, 16, mesh::boundary::reflecting));
    const mesh::block_mesh levels = refined(row_of(2, mesh::boundary::outflow).box(), 1, 3, 0.5);
    ASSERT_GT(levels.block_count(), 2u);
    ASSERT_LT(levels.block_count(), 16u);
    for (const int way : {4, 7}) {
      SCOPED_TRACE(std::string(b->name) + ": " + ways[way].name);
      EXPECT_EQ(differences_by(ways[way], *b, row_of(2, mesh::boundary::periodic), full3d(ssp_rk2, true)), "");
    }
    EXPECT_EQ(differences_by(ways[4], *b, large, full3d(ssp_rk2)), "");
    EXPECT_EQ(differences_by(ways[7], *b, levels, full3d(ssp_rk2)), "");
  }
}

TEST(block_steps, a_failed_launch_is_reported_by_the_step) {
  for (const one_way& way : ways) {
    SCOPED_TRACE(way.name);
    gpu::cpu::testing_backend b({});
    station at(b.get(), way.options);
    const mesh::block_mesh mesh = row_of(3, mesh::boundary::outflow);
    const gas_options o = full3d(ssp_rk2);
    reference_stepper start(mesh, o);
    fill_blast(mesh, o, start.now);
    device_gas gas(at.on, o);
    gas.adopt(mesh);
    gas.upload(start.now);
    step_control c;
    c.rule.t_end = 1e9, c.dt = 1e-4;
    gas.begin(c);
    at.rt.run([&] {
      block_steps steps(gas, mesh);
      b.fail_call("launch", gpu::cpu::invalid, 3, 30);
      EXPECT_THROW(way.step(steps, at.device), gpu::error);
      b.fail_call("launch", gpu::cpu::ok);
    });
  }
}

}  // namespace
}  // namespace plx::star::device
