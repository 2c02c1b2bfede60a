#include "star/device/device_gas.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/log.hpp"
#include "gpu/buffer.hpp"
#include "gpu/cpu/cpu_backend.hpp"
#include "rt/runtime.hpp"
#include "star/device/test/gas_cases_test.hpp"

namespace plx::star::device {
namespace {

gas_options options_with(reconstruction scheme, riemann_solver solver, const integrator& steps = ssp_rk3) {
  gas_options o;
  o.hydro.reconstruct = scheme;
  o.hydro.riemann = solver;
  o.scheme = steps;
  return o;
}

gas_options full3d(bool steepening, const integrator& steps = ssp_rk3) {
  gas_options o = options_with(reconstruction::ppm, riemann_solver::hll, steps);
  o.hydro.scheme = hydro_scheme::full3d;
  o.hydro.contact_steepening = steepening;
  for (auto& values : o.sides.inflow) values = {1.1, 0.02, -0.1, 0.03, 1.2, 0.5};
  return o;
}

/// Runs on every backend that has a device.
class DeviceGas : public ::testing::TestWithParam<const gpu::backend*> {
 protected:
  void SetUp() override {
    int devices = 0;
    const gpu::backend& b = *GetParam();
    if (const gpu::outcome o = b.count(b, devices); !o) GTEST_SKIP() << gpu::make_error(b, o, "", "").what();
    on = make_machine(b);
  }
  std::unique_ptr<machine> on;
};
INSTANTIATE_TEST_SUITE_P(Backends, DeviceGas, ::testing::ValuesIn(gpu::backends()),
                         [](const auto& i) { return std::string(i.param->name); });

TEST_P(DeviceGas, EverySchemeGivesTheBitsOfTheCpuKernels) {
  const mesh::block_mesh mesh(cube_of(2, 8, mesh::boundary::periodic));
  for (auto scheme : {reconstruction::ppm, reconstruction::plm, reconstruction::mp5})
    for (auto solver :
         {riemann_solver::hllc, riemann_solver::hllc_lm, riemann_solver::hll, riemann_solver::lax_friedrichs})
      for (const integrator& steps : {ssp_rk3, ssp_rk2})
        EXPECT_EQ(differences_of(*on, mesh, options_with(scheme, solver, steps), 3), "")
            << static_cast<int>(scheme) << static_cast<int>(solver) << steps.stages;
}

TEST_P(DeviceGas, EveryBoundaryAndBlockSize) {
  for (const int n : {8, 16, 24})
    for (auto side :
         {mesh::boundary::outflow, mesh::boundary::reflecting, mesh::boundary::inflow, mesh::boundary::zero_gradient}) {
      mesh::domain box = cube_of(1, n, side);
      box.sides[1] = mesh::boundary::outflow;
      gas_options o = options_with(reconstruction::ppm, riemann_solver::hllc);
      o.hydro.pressure_floor = 1e-3;  // is reached
      for (auto& values : o.sides.inflow) values = {1.1, 0.02, -0.1, 0.03, 1.2, 0.5};
      EXPECT_EQ(differences_of(*on, mesh::block_mesh(box), o, 3), "") << n << static_cast<int>(side);
    }
}

TEST_P(DeviceGas, RefinedMeshes) {
  for (const int n : {8, 16})
    for (auto side : {mesh::boundary::periodic, mesh::boundary::outflow, mesh::boundary::reflecting,
                      mesh::boundary::inflow, mesh::boundary::zero_gradient})
      for (auto limiter : {mesh::limiter::minmod, mesh::limiter::central}) {
        mesh::domain box = cube_of(2, n, side, 3);
        box.prolongation = limiter;
        gas_options o = options_with(reconstruction::ppm, riemann_solver::hllc);
        for (auto& values : o.sides.inflow) values = {1.1, 0.02, -0.1, 0.03, 1.2, 0.5};
        o.hydro.pressure_floor = 1e-3;  // is reached
        EXPECT_EQ(differences_of(*on, refined(box, n == 8 ? 2 : 1, 7), o, 2), "")
            << n << static_cast<int>(side) << static_cast<int>(limiter);
      }
}

// Velocities at random up to Mach 13 in cells side by side: where they are interpolated, values are limited.
TEST_P(DeviceGas, SupersonicNoiseOnRefinedMeshes) {
  for (auto side : {mesh::boundary::periodic, mesh::boundary::zero_gradient})
    for (auto limiter : {mesh::limiter::minmod, mesh::limiter::central})
      for (const bool full : {false, true}) {
        mesh::domain box = cube_of(2, 8, side, 3);
        box.prolongation = limiter;
        const gas_options o = full ? full3d(false) : options_with(reconstruction::ppm, riemann_solver::hllc);
        EXPECT_EQ(differences_of(*on, refined(box, 2, 7), o, 2, 0.5), "") << static_cast<int>(side) << full;
      }
}

TEST_P(DeviceGas, Full3dGivesTheBitsOfTheCpuKernels) {
  const mesh::block_mesh mesh(cube_of(2, 8, mesh::boundary::periodic));
  for (const bool steepening : {false, true})
    for (const integrator& steps : {ssp_rk3, ssp_rk2})
      EXPECT_EQ(differences_of(*on, mesh, full3d(steepening, steps), 3), "") << steepening << steps.stages;
}

TEST_P(DeviceGas, Full3dAtEveryBoundaryAndBlockSize) {
  for (const int n : {8, 16, 24})
    for (auto side :
         {mesh::boundary::outflow, mesh::boundary::reflecting, mesh::boundary::inflow, mesh::boundary::zero_gradient}) {
      mesh::domain box = cube_of(1, n, side);
      box.sides[1] = mesh::boundary::outflow;
      gas_options o = full3d(n == 16);
      o.hydro.pressure_floor = 1e-3;  // is reached
      EXPECT_EQ(differences_of(*on, mesh::block_mesh(box), o, 2), "") << n << static_cast<int>(side);
    }
}

TEST_P(DeviceGas, Full3dOnRefinedMeshes) {
  for (auto side : {mesh::boundary::periodic, mesh::boundary::outflow, mesh::boundary::reflecting,
                    mesh::boundary::inflow, mesh::boundary::zero_gradient}) {
    const bool is_open = side != mesh::boundary::periodic && side != mesh::boundary::reflecting;
    mesh::domain box = cube_of(2, side == mesh::boundary::reflecting ? 16 : 8, side, 3);
    box.prolongation = is_open ? mesh::limiter::central : mesh::limiter::minmod;
    gas_options o = full3d(side == mesh::boundary::outflow, ssp_rk2);
    o.hydro.pressure_floor = 1e-3;  // is reached
    EXPECT_EQ(differences_of(*on, refined(box, box.block_size == 8 ? 2 : 1, 7, 0.1), o, 2), "")
        << static_cast<int>(side);
  }
}

TEST_P(DeviceGas, SpeciesOfEveryScheme) {
  const mesh::block_mesh mesh(cube_of(2, 8, mesh::boundary::periodic));
  for (auto scheme : {reconstruction::ppm, reconstruction::plm, reconstruction::mp5})
    for (const int n_species : {1, 3}) {
      const gas_options o = with_species(options_with(scheme, riemann_solver::hllc), n_species);
      EXPECT_EQ(differences_of(*on, mesh, o, 3), "") << static_cast<int>(scheme) << n_species;
    }
  for (const bool steepening : {false, true})
    EXPECT_EQ(differences_of(*on, mesh, with_species(full3d(steepening), 2), 2), "") << steepening;
}

TEST_P(DeviceGas, SpeciesOnRefinedMeshesAtEveryBoundary) {
  for (auto side : {mesh::boundary::periodic, mesh::boundary::outflow, mesh::boundary::reflecting,
                    mesh::boundary::inflow, mesh::boundary::zero_gradient})
    for (const bool full : {false, true}) {
      mesh::domain box = cube_of(2, side == mesh::boundary::inflow ? 16 : 8, side, 3);
      box.prolongation = side == mesh::boundary::outflow || full ? mesh::limiter::central : mesh::limiter::minmod;
      gas_options o = full ? full3d(false, ssp_rk2) : options_with(reconstruction::ppm, riemann_solver::hllc);
      for (auto& values : o.sides.inflow) values = {1.1, 0.02, -0.1, 0.03, 1.2, 0.5};
      o.hydro.pressure_floor = 1e-3;  // is reached
      o = with_species(o, 3);
      const mesh::block_mesh mesh = refined(box, box.block_size == 8 ? 2 : 1, 7, 0.1);
      EXPECT_EQ(differences_of(*on, mesh, o, 2), "") << static_cast<int>(side) << full;
      if (side != mesh::boundary::periodic) continue;
      EXPECT_EQ(differences_of(*on, mesh, o, 2, 0.5), "") << "supersonic" << full;
    }
}

// The second step is so long that the state becomes invalid.
TEST_P(DeviceGas, RatesAndValuesAreThoseOfTheLastGoodStep) {
  const mesh::block_mesh mesh(cube_of(2, 8, mesh::boundary::periodic));
  const gas_options o = options_with(reconstruction::ppm, riemann_solver::hllc);
  reference_stepper cpu(mesh, o);
  fill_blast(mesh, o, cpu.now);
  device_gas gas(*on, o);
  gas.adopt(mesh);
  gas.upload(cpu.now);
  step_control c;
  c.rule.cfl = 1e300;
  c.rule.t_end = 1e305;
  c.dt = 1e-4;
  gas.begin(c);
  for (int s = 0; s < 4; ++s) gas.step();
  c = gas.wait();
  ASSERT_TRUE(cpu.step(1e-4));
  const double signal_rate = cpu.largest_rate();
  EXPECT_EQ(c.stopped, bad_state);
  EXPECT_EQ(c.now.steps, 1);
  EXPECT_EQ(c.now.signal_rate, signal_rate);
  const std::vector<double> rates = gas.signal_rates();
  for (const mesh::slot_id slot : mesh.blocks()) EXPECT_EQ(rates[slot], cpu.signal_rate[slot]) << slot;
  mesh::arena here(fields_of(o.hydro), mesh.block_size());
  here.resize(mesh.slot_count());
  gas.download(here);
  EXPECT_EQ(compare(mesh, cpu.now, here).values, 0);
  ASSERT_FALSE(cpu.step(o.cfl * c.rule.cfl / signal_rate));

  // The reports of the failed step are discarded: the integration continues.
  c.stopped = going_on, c.rule.cfl = o.cfl, c.dt = o.cfl / signal_rate;
  gas.begin(c);
  gas.step();
  const step_control next = gas.wait();
  EXPECT_EQ(next.stopped, going_on);
  EXPECT_EQ(next.now.steps, 2);
}

TEST(DeviceGasNeeds, ADeviceWithTooLittleSharedMemoryIsRefused) {
  const gpu::cpu::testing_backend enough({.group_bytes = 110592}), little({.group_bytes = 101376});
  const auto a = make_machine(enough.get()), b = make_machine(little.get());
  const gas_options o = options_with(reconstruction::ppm, riemann_solver::hllc);
  EXPECT_NO_THROW(device_gas(*a, o));
  try {
    const device_gas gas(*b, o);
    FAIL();
  } catch (const gpu::error& e) {
    EXPECT_EQ(e.kind(), gpu::failure::unsupported);
    EXPECT_NE(std::string(e.what()).find("needs 110592 bytes"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("found 101376"), std::string::npos) << e.what();
  }
}

gpu::failure failure_of(auto&& f) {
  try {
    f();
  } catch (const gpu::error& e) {
    return e.kind();
  }
  return gpu::failure::none;
}

TEST(DeviceMemory, AllocatesAReserveOnlyIfMemoryIsFree) {
  const gpu::cpu::testing_backend b({.memory_bytes = 1024});
  const auto on = make_machine(b.get());
  device_memory<char> m;
  m.reserve(*on, 900);
  EXPECT_EQ(m.room(), 900u);
  m.reserve(*on, 400);
  EXPECT_EQ(m.room(), 900u);
  EXPECT_EQ(failure_of([&] { m.reserve(*on, 1100); }), gpu::failure::out_of_memory);
  EXPECT_EQ(m.room(), 0u);  // its content is lost, and room() shows that
  m.reserve(*on, 400);
  EXPECT_EQ(m.room(), 500u);
  EXPECT_NE(m.data(), nullptr);
}

TEST(Machine, ReleasesUnusedPoolMemoryFirst) {
  const gpu::cpu::testing_backend b({.memory_bytes = 1 << 20});
  const auto on = make_machine(b.get());
  on->device().get_runtime().run([&] { gpu::buffer<char> recycled(on->stream(), 600'000); });
  device_memory<char> m;
  m.reserve(*on, 800'000);
  EXPECT_EQ(m.room(), 1'000'000u);
}

TEST(Machine, LogsOnceThatItsDeviceIsLost) {
  gpu::cpu::testing_backend b({});
  auto on = make_machine(b.get());
  device_memory<char> many[5];
  for (device_memory<char>& m : many) m.reserve(*on, 100);
  b.lose(0);
  int said = 0;
  log_to_function([](void* count, log_level, std::string_view) { ++*static_cast<int*>(count); }, &said,
                  log_level::warning);
  for (device_memory<char>& m : many) m = device_memory<char>();
  on.reset();
  log_to_function(nullptr, nullptr, log_level::none);
  EXPECT_EQ(said, 1);
}

}  // namespace
}  // namespace plx::star::device
