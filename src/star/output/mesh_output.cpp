#include "star/output/mesh_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "mesh/files/athdf.hpp"
#include "star/driver/simulation.hpp"

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
    const primitive w = to_primitive(p.eos, u + c, cells, p.n_species, p.dual_energy_switch);
    double* at = out + c;
    at[0] = w.density;
    for (int a = 0; a < 3; ++a) at[(1 + a) * cells] = w.velocity[a];
    at[4 * cells] = w.pressure;
    for (int s = 0; s < p.n_species; ++s) at[(5 + s) * cells] = w.fraction[s];
  }
}

mesh::athdf_info info_of(const simulation& sim) {
  mesh::athdf_info info;
  info.time = sim.time();
  info.cycle = sim.steps();
  info.datasets = {{"prim", names_of(sim.settings().hydro.n_species)}};
  info.single_precision = sim.options().output.precision == "single";
  return info;
}

/// The tables of local blocks.
struct tables {
  std::vector<double> cost, updates, idle, locality_idle;
  std::vector<std::int32_t> owner, locality;

  tables(simulation& sim, const idle_rates& rates) {
    const gas& g = sim.state();
    for (const mesh::slot_id slot : g.own()) {
      const unsigned worker = sim.worker_of(slot);
      cost.push_back(sim.costs().of(slot).seconds);
      updates.push_back(sim.costs().of(slot).steps);
      owner.push_back(static_cast<std::int32_t>(worker));
      idle.push_back(worker < rates.workers.size() ? rates.workers[worker] : 0.0);
    }
    locality.assign(owner.size(), g.net.here());
    locality_idle.assign(owner.size(), rates.locality);
  }
  void put_into(mesh::athdf_info& info) const {
    info.cost_s = cost;
    info.updates = updates;
    info.owner = owner;
    info.idle_rate = idle;
    info.locality = locality;
    info.locality_idle_rate = locality_idle;
  }
};

/// Calls fill_primitives(), and checks whether the values fit into the file's precision.
class checked_filler {
 public:
  explicit checked_filler(const simulation& sim) : sim_(sim) {}
  void operator()(mesh::slot_id slot, int, double* out) {
    const gas& g = sim_.state();
    const int n_species = sim_.settings().hydro.n_species;
    fill_primitives(g, sim_.settings().hydro, slot, out);
    if (sim_.options().output.precision != "single") return;
    const std::ptrdiff_t count = (5 + n_species) * static_cast<std::ptrdiff_t>(g.now.cells());
    for (std::ptrdiff_t i = 0; i < count; ++i) largest_ = std::max(largest_, std::abs(out[i]));
  }
  result<void> check(const std::string& path) const {
    if (largest_ <= std::numeric_limits<float>::max()) return {};
    std::remove(path.c_str());
    return error{
        fmt::format("cannot write '{}': a value of {:g} does not fit into single precision; set "
                    "output.precision = double",
                    path, largest_)};
  }

 private:
  const simulation& sim_;
  double largest_ = 0.0;
};

}  // namespace

result<void> write_mesh_file(const std::string& path, simulation& sim, const idle_rates& idle) {
  const gas& g = sim.state();
  mesh::athdf_info info = info_of(sim);
  const tables own(sim, idle);
  own.put_into(info);
  checked_filler fill(sim);
  if (auto r = mesh::write_athdf(path, g.mesh, info, fill); !r) return r;
  return fill.check(path);
}

result<void> write_mesh_part(const std::string& path, simulation& sim, const idle_rates& idle) {
  const gas& g = sim.state();
  if (g.own().empty()) return {};
  mesh::athdf_info info = info_of(sim);
  const tables own(sim, idle);
  own.put_into(info);
  checked_filler fill(sim);
  if (auto r = mesh::write_athdf_part(path, g.own(), g.mesh.block_size(), info, fill); !r) return r;
  return fill.check(path);
}

result<void> write_mesh_of_parts(const std::string& path, const simulation& sim,
                                 const std::vector<std::string>& names) {
  const gas& g = sim.state();
  std::vector<mesh::athdf_part> parts;
  for (int k = 0; k < g.parts.count(); ++k)
    parts.push_back({names[static_cast<std::size_t>(k)], g.parts.blocks(g.mesh, k).size()});
  return mesh::write_athdf_of_parts(path, g.mesh, info_of(sim), parts);
}

}  // namespace plx::star
