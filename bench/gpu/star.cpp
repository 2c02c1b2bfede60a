// Steps of the gas on a device: checks that they have the bits of the CPU's kernels, and measures their time.
//
//   bench_gpu_star [--backend NAME] [--quick] [--no-check] [--json FILE]
//
// Without --backend the first device of the best backend; if only the cpu is available, one line says so, and there are
// no rows.
// Rows: gpu/sedov/faces and gpu/sedov/full3d (ms per step, 512 blocks of 8^3, PPM, HLLC or nine central-upwind fluxes a
// face, RK3), gpu/uniform/ppm_rk3 and plm_rk2 (cell updates per second, 256^3 in blocks of 32^3), gpu/blocks8over32
// (rate with 8^3 blocks over that with 32^3). Lines that begin with # give details. A number is the median of five
// turns.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "gpu_program.hpp"
#include "report.hpp"
#include "star/device/device_gas.hpp"
#include "star/device/test/gas_cases_test.hpp"

namespace {

using namespace plx;
using namespace plx::star::device;
using star::reconstruction;
using star::riemann_solver;

gas_options options_with(reconstruction scheme, riemann_solver solver, const star::integrator& steps) {
  gas_options o;
  o.hydro.reconstruct = scheme;
  o.hydro.riemann = solver;
  o.scheme = steps;
  return o;
}

gas_options full3d(const star::integrator& steps) {
  gas_options o = options_with(reconstruction::ppm, riemann_solver::hll, steps);
  o.hydro.scheme = star::hydro_scheme::full3d;
  return o;
}

int check(machine& on) {
  int wrong = 0, cases = 0;
  const auto one = [&](const mesh::block_mesh& m, const gas_options& o, const std::string& name) {
    ++cases;
    const std::string text = differences_of(on, m, o, 5);
    if (text.empty()) return;
    ++wrong;
    std::printf("# DIFFERENT %s: %s\n", name.c_str(), text.c_str());
  };
  const mesh::block_mesh small(cube_of(3, 8, mesh::boundary::periodic));
  for (int scheme = 0; scheme < 3; ++scheme)
    for (int solver = 0; solver < 3; ++solver)
      for (const star::integrator& steps : {star::ssp_rk3, star::ssp_rk2})
        one(small, options_with(reconstruction{scheme}, riemann_solver{solver}, steps),
            "scheme " + std::to_string(scheme) + " solver " + std::to_string(solver) + " rk" +
                std::to_string(steps.stages));
  for (const star::integrator& steps : {star::ssp_rk3, star::ssp_rk2}) {
    one(small, full3d(steps), "full3d rk" + std::to_string(steps.stages));
    one(refined(cube_of(2, 8, mesh::boundary::outflow, 3), 2, 7), full3d(steps),
        "full3d, refined, rk" + std::to_string(steps.stages));
  }
  for (const int n : {8, 16, 32})
    for (auto side : {mesh::boundary::outflow, mesh::boundary::reflecting, mesh::boundary::inflow}) {
      gas_options o = options_with(reconstruction::ppm, riemann_solver::hllc, star::ssp_rk3);
      o.hydro.pressure_floor = 1e-3;
      for (auto& values : o.sides.inflow) values = {1.1, 0.02, -0.1, 0.03, 1.2, 0.5};
      one(mesh::block_mesh(cube_of(1, n, side)), o,
          "side " + std::to_string(static_cast<int>(side)) + " n " + std::to_string(n));
    }
  for (const int n : {8, 16})
    for (auto side : {mesh::boundary::periodic, mesh::boundary::outflow, mesh::boundary::reflecting})
      for (auto rule : {mesh::limiter::minmod, mesh::limiter::central}) {
        mesh::domain box = cube_of(2, n, side, 3);
        box.prolongation = rule;
        one(refined(box, n == 8 ? 2 : 1, 7), options_with(reconstruction::ppm, riemann_solver::hllc, star::ssp_rk3),
            "refined, side " + std::to_string(static_cast<int>(side)) + " n " + std::to_string(n));
      }
  std::printf("# %d of %d cases equal to the CPU's kernels, bit by bit\n", cases - wrong, cases);
  return wrong;
}

/// Seconds per step, median of five turns.
double seconds_per_step(machine& on, const mesh::block_mesh& m, const gas_options& o, int steps, int turns) {
  reference_stepper start(m, o);
  fill_blast(m, o, start.now, 0.0);
  device_gas gas(on, o);
  gas.adopt(m);
  gas.upload(start.now);
  step_control c;
  c.rule.cfl = o.cfl;
  c.rule.t_end = 1e9;
  c.dt = 1e-5;
  gas.begin(c);
  for (int s = 0; s < 4; ++s) gas.step();
  c = gas.wait();
  std::vector<double> all;
  for (int t = 0; t < turns; ++t) {
    const double begin = monotonic_seconds();
    for (int s = 0; s < steps; ++s) {
      if (s > 0 && s % device_gas::steps_kept == 0) c = gas.wait();
      gas.step();
    }
    c = gas.wait();
    all.push_back((monotonic_seconds() - begin) / steps);
  }
  for (const auto& [name, seconds] : gas.time_parts(steps)) std::printf("#   %-16s %10.2f us\n", name, 1e6 * seconds);
  if (c.stopped != 0) std::printf("# STOPPED: reason %d after %lld steps\n", c.stopped, (long long)c.now.steps);
  return bench::median(all);
}

int run(bench::report& out) {
  std::string which;
  bool quick = false, checks = true;
  for (std::size_t i = 0; i < out.rest().size(); ++i) {
    const std::string& word = out.rest()[i];
    if (word == "--quick") {
      quick = true;
    } else if (word == "--no-check") {
      checks = false;
    } else if (word == "--backend" && i + 1 < out.rest().size()) {
      which = out.rest()[++i];
    } else {
      throw std::runtime_error("'" + word + "': expected --backend NAME, --quick, --no-check or --json FILE");
    }
  }
  const gpu::backend* b = bench::chosen_backend(which, "gpu/sedov/*, gpu/uniform/*");
  if (b == nullptr) return 0;
  const std::unique_ptr<machine> on = make_machine(*b);
  std::printf("# device: %s\n", std::string(on->device().label()).c_str());
  int wrong = checks ? check(*on) : 0;

  const auto ppm = options_with(reconstruction::ppm, riemann_solver::hllc, star::ssp_rk3);
  const auto plm = options_with(reconstruction::plm, riemann_solver::hllc, star::ssp_rk2);
  const int turns = quick ? 1 : 5, edge = quick ? 64 : 256;
  const auto cube = [](int blocks, int n) { return mesh::block_mesh(cube_of(blocks, n, mesh::boundary::outflow)); };
  const double cells = double(edge) * edge * edge;

  const double sedov = seconds_per_step(*on, cube(8, 8), ppm, quick ? 2 : 200, turns);
  out.add("gpu/sedov/faces", 1e3 * sedov, "ms/step", bench::lower);
  const double full = seconds_per_step(*on, cube(8, 8), full3d(star::ssp_rk3), quick ? 2 : 50, turns);
  out.add("gpu/sedov/full3d", 1e3 * full, "ms/step", bench::lower);
  const double ppm32 = cells / seconds_per_step(*on, cube(edge / 32, 32), ppm, quick ? 1 : 10, turns);
  out.add("gpu/uniform/ppm_rk3", ppm32, "cell updates/s", bench::higher);
  const double plm32 = cells / seconds_per_step(*on, cube(edge / 32, 32), plm, quick ? 1 : 10, turns);
  out.add("gpu/uniform/plm_rk2", plm32, "cell updates/s", bench::higher);
  const double ppm8 = cells / seconds_per_step(*on, cube(edge / 8, 8), ppm, quick ? 1 : 10, turns);
  out.add("gpu/blocks8over32", ppm8 / ppm32, "1", bench::higher);
  // Cost of a stage of PPM and HLLC on the device: about 1200 operations and 144 bytes per cell.
  constexpr double operations = 1200.0, bytes = 144.0, peak_operations = 17e12, peak_bytes = 4.3e12;
  const double stages = 3.0 * ppm32;
  std::printf("# ppm_rk3: %.3g operations/s (%.0f %% of 17 T/s unfused), %.3g B/s (%.0f %% of 4.3 TB/s)\n",
              stages * operations, 100.0 * stages * operations / peak_operations, stages * bytes,
              100.0 * stages * bytes / peak_bytes);
  {
    mesh::domain box = cube_of(4, 8, mesh::boundary::outflow, 2);
    const mesh::block_mesh m = refined(box, 2, 7);
    const double s = seconds_per_step(*on, m, ppm, quick ? 1 : 200, turns);
    std::printf("# refined mesh of %zu blocks of 8^3: %.4g ms/step, %.4g cell updates/s\n", m.block_count(), 1e3 * s,
                512.0 * double(m.block_count()) / s);
  }
  std::printf("# with 8^3 blocks: %.4g cell updates/s; Sedov 512 x 8^3: %.4g\n", ppm8, 512.0 * 512.0 / sedov);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) { return bench::main_of("bench_gpu_star", argc, argv, run); }
