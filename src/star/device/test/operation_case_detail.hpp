// The parts of rows of the table of operations: a mesh with a state and all input of the operations, on the host.
//
// Thread safety: none. Cost: each row creates its state again. Example: star/device/test/operation_rows.cpp
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gpu/testing/operation_table.hpp"
#include "mesh/between/gather.hpp"
#include "star/device/data/mesh_tables.hpp"
#include "star/device/operations.hpp"
#include "star/device/test/gas_cases_test.hpp"

namespace plx::star::device {

using gpu::testing::operation_cost;
using gpu::testing::operation_data;
using gpu::testing::operation_row;
using gpu::testing::row;
using gpu::testing::row_use;

/// A mesh with a state and all input of the operations of a step, on the host.
struct gas_case {
  mesh::block_mesh mesh;
  gas_options o;
  double dt;            // small if the operation runs repeatedly on the same state
  double noise = 0.01;  // of densities and velocities; the speed of sound is 0.04
  int n = mesh.block_size(), n_var = variable_count(o.hydro);
  std::size_t stride = static_cast<std::size_t>(n_var) * n * n * n;
  bool full = o.hydro.scheme == hydro_scheme::full3d;
  bool has_tiles = tile_reach_of(o.hydro) != tile_reach::no_tiles;
  mesh_tables tables{mesh, n_var, stride, tile_reach_of(o.hydro)};

  [[nodiscard]] int blocks() const { return static_cast<int>(mesh.block_count()); }
  [[nodiscard]] double doubles() const { return static_cast<double>(stride) * blocks(); }

  /// Slots without a block hold NaN.
  [[nodiscard]] std::vector<double> state() const {
    mesh::arena values(fields_of(o.hydro), n);
    values.resize(mesh.slot_count());
    fill_blast(mesh, o, values, noise);
    std::vector<double> all(mesh.slot_count() * stride, std::numeric_limits<double>::quiet_NaN());
    for (const block_item& b : tables.blocks) std::copy_n(values.block(b.slot), stride, all.begin() + b.values);
    return all;
  }
  [[nodiscard]] std::vector<double> inflow() const {
    std::vector<double> all;
    for (const auto& side : o.sides.inflow) all.insert(all.end(), side.begin(), side.begin() + n_var);
    return all;
  }
  [[nodiscard]] std::vector<double> fluxes() const {
    std::vector<double> all(tables.flux_doubles);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = 0.01 * std::sin(static_cast<double>(i));
    return all;
  }
  /// Values for stage_arguments::kept.
  [[nodiscard]] std::vector<double> kept_values() const {
    std::vector<double> all(static_cast<std::size_t>(doubles()) / n_var / 512 * kept_doubles(o.hydro));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = 0.01 * std::sin(static_cast<double>(i));
    return all;
  }
  [[nodiscard]] step_control control() const {
    step_control c;
    c.dt = dt, c.rule.t_end = 1e9, c.rule.cfl = 0.4, c.now.steps = 3;
    return c;
  }
  [[nodiscard]] std::vector<block_report> reports() const {
    std::vector<block_report> all(tables.blocks.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i].input_floors = i;
    return all;
  }

  ghosts_arguments ghosts() const {
    ghosts_arguments a;
    a.fields = mesh::table_of(fields_of(o.hydro));
    a.n = n, a.n_items = static_cast<int>(tables.levels.size());
    a.central = mesh.box().prolongation == mesh::limiter::central;
    for (int f = 0; f < mesh::face_count; ++f) a.side[f] = static_cast<std::int32_t>(beyond(mesh.box().sides[f]));
    return a;
  }
  [[nodiscard]] std::vector<double> slabs() const {
    std::vector<double> all(tables.slab_doubles), tiles(tables.coarse_doubles);
    const std::vector<double> from = state(), sides = inflow();
    const step_control c = control();
    ghosts_arguments a = ghosts();
    a.source = from.data(), a.inflow = sides.data(), a.slabs = all.data(), a.coarse_tiles = tiles.data();
    a.blocks = tables.blocks.data(), a.items = tables.levels.data(), a.fills = tables.fills.data(), a.control = &c;
    make_ghosts_cpu(a);
    return all;
  }

  tiles_arguments tiles() const {
    tiles_arguments a;
    const ghosts_arguments g = ghosts();
    a.hydro = o.hydro;
    a.fields = g.fields;
    a.n = n, a.n_blocks = blocks();
    a.central = g.central;
    std::copy(std::begin(g.side), std::end(g.side), a.side);
    return a;
  }
  [[nodiscard]] std::size_t tile_doubles() const {
    return mesh.block_count() * tile_variables(o.hydro) * mesh::tile_cells(n);
  }
  [[nodiscard]] std::vector<double> tile_values() const {  // zeros where a tile is not filled
    std::vector<double> all(tile_doubles()), coarse(tables.coarse_doubles);
    const std::vector<double> from = state(), inflows = inflow();
    const step_control c = control();
    std::vector<block_report> said = reports();
    tiles_arguments a = tiles();
    a.source = from.data(), a.inflow = inflows.data(), a.tiles = all.data(), a.coarse_tiles = coarse.data();
    a.items = tables.tiles.data(), a.fills = tables.fills.data(), a.reports = said.data(), a.control = &c;
    a.blocks = tables.blocks.data();
    gather_tiles_cpu(a);
    return all;
  }
};

template <class T>
const T* one(operation_data& d, const T& value) {
  return d.input<T>({&value, 1});
}

/// Sums of what floors add, [added_copies][n_var].
inline exact_limbs* added_sums(const gas_case& g, operation_data& d) {
  return d.in_out<exact_limbs>(std::vector<exact_limbs>(static_cast<std::size_t>(added_copies) * g.n_var));
}

constexpr const char *scheme_names[] = {"ppm", "plm", "mp5"}, *solver_names[] = {"hllc", "hll", "lax", "hllc_lm"};

inline gas_options options_of(reconstruction scheme, riemann_solver solver) {
  gas_options o;
  o.hydro.reconstruct = scheme;
  o.hydro.riemann = solver;
  o.hydro.pressure_floor = 1e-3;  // is reached
  o.scheme = ssp_rk3;
  for (auto& values : o.sides.inflow) values = {1.1, 0.02, -0.1, 0.03, 1.2, 0.5};
  return o;
}
inline gas_options full3d_options(bool steepening = false) {
  gas_options o = options_of(reconstruction::ppm, riemann_solver::hll);
  o.hydro.scheme = hydro_scheme::full3d;
  o.hydro.contact_steepening = steepening;
  return o;
}
/// The same with another equation of state; electrons at x = 1 with a tenth of the pressure around
/// the blast; radiation that dominates in the blast.
inline gas_options with_kind(gas_options o, eos_kind kind) {
  o.hydro.eos.kind = kind;
  if (kind == eos_kind::stiffened) o.hydro.eos.p_inf = 2.0;
  if (kind == eos_kind::white_dwarf) o.hydro.eos.electron_pressure = 1e-4, o.hydro.eos.electron_density = 1.0;
  if (kind == eos_kind::radiation) o.hydro.eos.gas_constant = 1.0, o.hydro.eos.radiation_constant = 10.0;
  return o;
}
inline std::string name_of(const gas_options& o) {
  if (o.hydro.scheme == hydro_scheme::full3d) return o.hydro.contact_steepening ? "full3d/steep" : "full3d";
  return std::string(scheme_names[static_cast<int>(o.hydro.reconstruct)]) + "/" +
         solver_names[static_cast<int>(o.hydro.riemann)];
}
inline mesh::domain box_of(int blocks, int n, mesh::boundary side, mesh::limiter rule, int levels) {
  mesh::domain box = cube_of(blocks, n, side, levels);
  box.prolongation = rule;
  return box;
}

/// A row of an operation on a mesh; the case is created again each time.
template <class Item, class Place>
operation_row on_mesh(const gpu::operation<Item>& op, const std::string& shape, const mesh::block_mesh& m,
                      const gas_options& o, Place place, row_use use, double noise = 0.01) {
  const std::string name =
      shape + "/n=" + std::to_string(m.block_size()) + "/" + std::to_string(m.block_count()) + " blocks";
  return row(
      op, name,
      [m, o, place, use, noise](operation_data& d, std::vector<Item>& items) {
        return place(gas_case{m, o, use == row_use::time ? 1e-9 : 1e-4, noise}, d, items);
      },
      use);
}

/// The items of a stage and of gather_tiles on all blocks of a case.
operation_cost place_stage(const gas_case& g, int stage, operation_data& d, std::vector<stage_arguments>& items);
operation_cost place_tiles(const gas_case& g, operation_data& d, std::vector<tiles_arguments>& items);

/// Adds the rows of the operations between steps.
void add_regrid_rows(std::vector<operation_row>& rows);

}  // namespace plx::star::device
