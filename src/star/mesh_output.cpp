#include "star/mesh_output.hpp"

#include <fmt/format.h>

#include "mesh/athdf.hpp"

namespace plx::star {

namespace {

std::vector<std::string> names_of(int n_species) {
  std::vector<std::string> names{"rho", "vel1", "vel2", "vel3", "press"};
  for (int s = 0; s < n_species; ++s) names.push_back(fmt::format("s{}", s));
  return names;
}

void fill_primitives(const gas& g, const hydro_parameters& p, mesh::slot_id slot, double* out) {
  const std::ptrdiff_t cells = g.now.cells();
  const double* u = g.now.block(slot);
  for (std::ptrdiff_t c = 0; c < cells; ++c) {
    const primitive w = to_primitive({p.gamma}, u + c, cells, p.n_species, p.dual_energy_switch);
    double* at = out + c;
    at[0] = w.density;
    for (int a = 0; a < 3; ++a) at[(1 + a) * cells] = w.velocity[a];
    at[4 * cells] = w.pressure;
    for (int s = 0; s < p.n_species; ++s) at[(5 + s) * cells] = w.fraction[s];
  }
}

}  // namespace

result<void> write_mesh_file(const std::string& path, simulation& sim, const std::vector<double>& idle_rate) {
  const gas& g = sim.state();
  const hydro_parameters& p = sim.settings().hydro;
  std::vector<double> cost, updates, idle;
  std::vector<std::int32_t> owner;
  for (const mesh::slot_id slot : g.mesh.blocks()) {
    const unsigned worker = sim.worker_of(slot);
    cost.push_back(sim.costs().of(slot).seconds);
    updates.push_back(sim.costs().of(slot).steps);
    owner.push_back(static_cast<std::int32_t>(worker));
    idle.push_back(worker < idle_rate.size() ? idle_rate[worker] : 0.0);
  }
  mesh::athdf_info info;
  info.time = sim.time();
  info.cycle = sim.steps();
  info.datasets = {{"prim", names_of(p.n_species)}};
  info.single_precision = sim.options().output.precision == "single";
  info.cost_s = cost;
  info.updates = updates;
  info.owner = owner;
  info.idle_rate = idle;
  const auto fill = [&](mesh::slot_id slot, int, double* out) { fill_primitives(g, p, slot, out); };
  return mesh::write_athdf(path, g.mesh, info, fill);
}

}  // namespace plx::star
