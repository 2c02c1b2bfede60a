#include "star/device/device_gas.hpp"

#include <gtest/gtest.h>

#include "star/device/gas_cases_test.hpp"

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

/// On every backend that has a device.
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
    for (auto solver : {riemann_solver::hllc, riemann_solver::hll, riemann_solver::lax_friedrichs})
      for (const integrator& steps : {ssp_rk3, ssp_rk2})
        EXPECT_EQ(differences_of(*on, mesh, options_with(scheme, solver, steps), 3), "")
            << static_cast<int>(scheme) << static_cast<int>(solver) << steps.stages;
}

TEST_P(DeviceGas, EveryBoundaryAndBlockSize) {
  for (const int n : {8, 16, 24})
    for (auto side : {mesh::boundary::outflow, mesh::boundary::reflecting, mesh::boundary::inflow}) {
      mesh::domain box = cube_of(1, n, side);
      box.sides[1] = mesh::boundary::outflow;
      gas_options o = options_with(reconstruction::ppm, riemann_solver::hllc);
      o.hydro.pressure_floor = 1e-3;  // is met
      for (auto& values : o.sides.inflow) values = {1.1, 0.02, -0.1, 0.03, 1.2, 0.5};
      EXPECT_EQ(differences_of(*on, mesh::block_mesh(box), o, 3), "") << n << static_cast<int>(side);
    }
}

TEST_P(DeviceGas, RefinedMeshes) {
  for (const int n : {8, 16})
    for (auto side :
         {mesh::boundary::periodic, mesh::boundary::outflow, mesh::boundary::reflecting, mesh::boundary::inflow})
      for (auto limiter : {mesh::limiter::minmod, mesh::limiter::central}) {
        mesh::domain box = cube_of(2, n, side, 3);
        box.prolongation = limiter;
        gas_options o = options_with(reconstruction::ppm, riemann_solver::hllc);
        for (auto& values : o.sides.inflow) values = {1.1, 0.02, -0.1, 0.03, 1.2, 0.5};
        o.hydro.pressure_floor = 1e-3;  // is met
        EXPECT_EQ(differences_of(*on, refined(box, n == 8 ? 2 : 1, 7), o, 2), "")
            << n << static_cast<int>(side) << static_cast<int>(limiter);
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
    for (auto side : {mesh::boundary::outflow, mesh::boundary::reflecting, mesh::boundary::inflow}) {
      mesh::domain box = cube_of(1, n, side);
      box.sides[1] = mesh::boundary::outflow;
      gas_options o = full3d(n == 16);
      o.hydro.pressure_floor = 1e-3;  // is met
      EXPECT_EQ(differences_of(*on, mesh::block_mesh(box), o, 2), "") << n << static_cast<int>(side);
    }
}

TEST_P(DeviceGas, Full3dOnRefinedMeshes) {
  for (auto side :
       {mesh::boundary::periodic, mesh::boundary::outflow, mesh::boundary::reflecting, mesh::boundary::inflow}) {
    const bool is_open = side == mesh::boundary::outflow || side == mesh::boundary::inflow;
    mesh::domain box = cube_of(2, side == mesh::boundary::reflecting ? 16 : 8, side, 3);
    box.prolongation = is_open ? mesh::limiter::central : mesh::limiter::minmod;
    gas_options o = full3d(side == mesh::boundary::outflow, ssp_rk2);
    o.hydro.pressure_floor = 1e-3;  // is met
    EXPECT_EQ(differences_of(*on, refined(box, box.block_size == 8 ? 2 : 1, 7, 0.1), o, 2), "")
        << static_cast<int>(side);
  }
}

}  // namespace
}  // namespace plx::star::device
