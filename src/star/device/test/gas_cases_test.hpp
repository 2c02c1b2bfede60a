// Test fixtures, also for benchmarks: meshes and states that a device and the CPU advance for comparison.
//
// Thread safety: none. Cost: small meshes. Example: star/device/test/device_gas_test.cpp
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>

#include "mesh/tree/regrid.hpp"
#include "star/device/test/reference_stepper_test.hpp"

namespace plx::star::device {

inline mesh::domain cube_of(int blocks, int n, mesh::boundary sides, int max_level = 0) {
  mesh::domain d;
  d.block_size = n;
  d.root_blocks = {blocks, blocks, blocks};
  d.max_level = max_level;
  d.lower = {-0.5, -0.5, -0.5};
  d.upper = {0.5, 0.5, 0.5};
  d.sides.fill(sides);
  return d;
}

/// Some levels of refinement at random places.
inline mesh::block_mesh refined(const mesh::domain& box, int rounds, unsigned seed, double share = 0.15) {
  std::mt19937_64 rng(seed);
  mesh::block_mesh m(box);
  for (int r = 0; r < rounds; ++r) {
    std::vector<mesh::flag> flags(m.slot_count(), mesh::flag::keep);
    for (const mesh::slot_id slot : m.blocks())
      if (std::uniform_real_distribution<double>(0.0, 1.0)(rng) < share) flags[slot] = mesh::flag::refine;
    m = mesh::plan_regrid(m, flags, 1).next;
  }
  return m;
}

/// The same options with species; the inflow holds equal parts of them.
inline gas_options with_species(gas_options o, int n_species) {
  o.hydro.n_species = n_species;
  for (auto& values : o.sides.inflow)
    if (!values.empty())
      values.insert(values.end(), static_cast<std::size_t>(n_species), values[i_density] / n_species);
  return o;
}

/// The same options with spin, after the species.
inline gas_options with_spin(gas_options o) {
  o.hydro.spin = true;
  for (auto& values : o.sides.inflow)
    if (!values.empty())
      for (const double spin : {0.1, -0.2, 0.3}) values.push_back(spin);
  return o;
}

/// Random mass fractions; a fifth of them vanish.
inline void fill_fractions(std::mt19937_64& rng, int n_species, primitive& w) {
  std::uniform_real_distribution<double> any(0.0, 1.0);
  double sum = 0.0;
  for (int s = 0; s < n_species; ++s) sum += w.fraction[s] = std::fmax(0.0, any(rng) - 0.2);
  for (int s = 0; s < n_species; ++s) w.fraction[s] = sum > 0.0 ? w.fraction[s] / sum : 1.0 / n_species;
}

/// A blast of radius 0.1 near the middle, and small random differences everywhere, also of the velocities.
inline void fill_blast(const mesh::block_mesh& mesh, const gas_options& o, mesh::arena& values, double noise = 0.01) {
  std::mt19937_64 rng(1234);
  std::uniform_real_distribution<double> any(-noise, noise);
  const equation_of_state eos(o.hydro.eos);
  const int n = mesh.block_size();
  const std::ptrdiff_t cells = values.cells();
  for (const mesh::slot_id slot : mesh.blocks())
    for (int c = 0; c < cells; ++c) {
      const double x = mesh.centre(slot, 0, c % n), y = mesh.centre(slot, 1, c / n % n) - 0.03,
                   z = mesh.centre(slot, 2, c / n / n) + 0.02;
      primitive w;
      w.density = 1.0 + any(rng);
      w.velocity = {any(rng), any(rng), any(rng)};
      w.pressure = (x * x + y * y + z * z < 0.01 ? 10.0 : 1e-3) * (1.0 + any(rng));
      fill_fractions(rng, o.hydro.n_species, w);
      to_conserved(eos, w, o.hydro.n_species, values.block(slot) + c, cells);
      for (int a = 0; o.hydro.spin && a < spin_variables; ++a)
        values.block(slot)[(spin_variable(o.hydro) + a) * cells + c] = 10.0 * any(rng);
    }
}

/// Values of live blocks whose bits differ, and the largest relative difference.
struct difference {
  std::int64_t values = 0;
  double largest = 0.0;
};
inline difference compare(const mesh::block_mesh& mesh, const mesh::arena& a, const mesh::arena& b) {
  difference d;
  for (const mesh::slot_id slot : mesh.blocks())
    for (std::size_t i = 0; i < a.stride(); ++i) {
      const double x = a.block(slot)[i], y = b.block(slot)[i];
      if (std::memcmp(&x, &y, sizeof x) == 0) continue;
      ++d.values;
      d.largest = std::fmax(d.largest, std::fabs(x - y) / std::fmax(std::fabs(x), 1e-300));
    }
  return d;
}

/// Compares `steps` steps on a machine with the CPU's kernels; `step(gas, number)` submits one of them. Returns "" if
/// everything is equal to the last bit.
template <class Step>
std::string differences_of(machine& on, const mesh::block_mesh& mesh, const gas_options& o, int steps, double noise,
                           Step&& step) {
  reference_stepper cpu(mesh, o);
  fill_blast(mesh, o, cpu.now, noise);
  device_gas gas(on, o);
  gas.adopt(mesh);
  gas.upload(cpu.now);
  step_control c;
  c.rule.cfl = o.cfl;
  c.rule.t_end = 1e9;
  c.dt = 1e-4;
  gas.begin(c);
  double dt = c.dt;
  for (int s = 0; s < steps; ++s) {
    step(gas, s);
    if (!cpu.step(dt)) return "the CPU's state went bad in step " + std::to_string(s);
    dt = o.cfl / cpu.largest_rate();
  }
  c = gas.wait();
  std::string text;
  const auto differ = [&](const char* what, double here, double there) {
    if (here != there && !(here != here && there != there))
      text += std::string(what) + ": " + std::to_string(there) + " on the CPU, " + std::to_string(here) + " here; ";
  };
  differ("steps", static_cast<double>(c.now.steps), steps);
  differ("stopped", c.stopped, 0);
  differ("signal rate", c.now.signal_rate, cpu.largest_rate());
  differ("next dt", c.dt, dt);
  differ("density floors", double(c.density_floors), double(cpu.density_floors));
  differ("pressure floors", double(c.pressure_floors), double(cpu.pressure_floors));
  differ("input floors", double(c.input_floors), double(cpu.input_floors));
  mesh::arena here(fields_of(o.hydro), mesh.block_size());
  here.resize(mesh.slot_count());
  gas.download(here);
  const difference d = compare(mesh, cpu.now, here);
  if (d.values > 0)
    text += std::to_string(d.values) + " values differ, by up to " + std::to_string(d.largest * 1e15) + "e-15; ";
  for (int v = 0; v < here.variable_count(); ++v)
    for (int f = 0; f < mesh::face_count; ++f) differ("outflow", gas.left().total(f, v), cpu.left.total(f, v));
  const std::vector<double> rates = gas.signal_rates();
  for (const mesh::slot_id slot : mesh.blocks())
    if (rates[slot] != cpu.signal_rate[slot]) return text + "rates of blocks differ";
  return text;
}
/// With device_gas::step().
inline std::string differences_of(machine& on, const mesh::block_mesh& mesh, const gas_options& o, int steps,
                                  double noise = 0.01) {
  return differences_of(on, mesh, o, steps, noise, [](device_gas& gas, int) { gas.step(); });
}

}  // namespace plx::star::device
