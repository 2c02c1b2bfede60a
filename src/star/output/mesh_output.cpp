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

mesh::athdf_info info_of(const simulation& sim, const mesh_content& content) {
  mesh::athdf_info info;
  info.time = sim.time();
  info.cycle = sim.steps();
  info.datasets = {{"prim", {}}};
  for (const output_variable& v : content.variables) info.datasets[0].variables.push_back(v.name_in_mesh);
  info.numbers = attributes_of(sim.settings().code_units);
  info.single_precision = content.single_precision;
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

/// Calls fill_variables(), and checks whether the values fit into the file's precision.
class checked_filler {
 public:
  checked_filler(const simulation& sim, const mesh_content& content) : sim_(sim), content_(content) {}
  void operator()(mesh::slot_id slot, int, double* out) {
    const gas& g = sim_.state();
    fill_variables(content_.variables, g, sim_.settings().hydro, slot, out);
    if (!content_.single_precision) return;
    const std::size_t count = content_.variables.size() * static_cast<std::size_t>(g.now.cells());
    for (std::size_t i = 0; i < count; ++i) largest_ = std::max(largest_, std::abs(out[i]));
  }
  result<void> check(const std::string& path) const {
    if (largest_ <= std::numeric_limits<float>::max()) return {};
    std::remove(path.c_str());
    return error{
        fmt::format("cannot write '{}': a value of {:g} does not fit into single precision; set "
                    "output.precision = \"double\", or the same of its [[output.series]]",
                    path, largest_)};
  }

 private:
  const simulation& sim_;
  const mesh_content& content_;
  double largest_ = 0.0;
};

}  // namespace

result<void> write_mesh_file(const std::string& path, simulation& sim, const mesh_content& content,
                             const idle_rates& idle) {
  const gas& g = sim.state();
  mesh::athdf_info info = info_of(sim, content);
  const tables own(sim, idle);
  own.put_into(info);
  checked_filler fill(sim, content);
  if (auto r = mesh::write_athdf(path, g.mesh, info, fill); !r) return r;
  return fill.check(path);
}

result<void> write_mesh_part(const std::string& path, simulation& sim, const mesh_content& content,
                             const idle_rates& idle) {
  const gas& g = sim.state();
  if (g.own().empty()) return {};
  mesh::athdf_info info = info_of(sim, content);
  const tables own(sim, idle);
  own.put_into(info);
  checked_filler fill(sim, content);
  if (auto r = mesh::write_athdf_part(path, g.own(), g.mesh.block_size(), info, fill); !r) return r;
  return fill.check(path);
}

result<void> write_mesh_of_parts(const std::string& path, const simulation& sim, const mesh_content& content,
                                 const std::vector<std::string>& names) {
  const gas& g = sim.state();
  std::vector<mesh::athdf_part> parts;
  for (int k = 0; k < g.parts.count(); ++k)
    parts.push_back({names[static_cast<std::size_t>(k)], g.parts.blocks(g.mesh, k).size()});
  return mesh::write_athdf_of_parts(path, g.mesh, info_of(sim, content), parts);
}

}  // namespace plx::star
