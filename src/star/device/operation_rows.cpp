#include "star/device/operation_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "star/device/gas_cases_test.hpp"
#include "star/device/mesh_tables.hpp"
#include "star/device/operations.hpp"

namespace plx::star::device {
namespace {

using gpu::testing::operation_cost;
using gpu::testing::operation_data;
using gpu::testing::operation_row;
using gpu::testing::row;
using gpu::testing::row_use;

/// A mesh with a state and all that the operations of a step read, on the host.
struct gas_case {
  mesh::block_mesh mesh;
  gas_options o;
  double dt;  // small where the operation runs again and again on the same state
  int n = mesh.block_size(), n_var = variable_count(o.hydro.n_species);
  std::size_t stride = static_cast<std::size_t>(n_var) * n * n * n;
  mesh_tables tables{mesh, n_var, stride};

  [[nodiscard]] int blocks() const { return static_cast<int>(mesh.block_count()); }
  [[nodiscard]] double doubles() const { return static_cast<double>(stride) * blocks(); }

  /// Slots without a block hold NaN.
  [[nodiscard]] std::vector<double> state() const {
    mesh::arena values(mesh_variables(o.hydro.n_species), n);
    values.resize(mesh.slot_count());
    fill_blast(mesh, o, values);
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
  [[nodiscard]] step_control control() const {
    step_control c;
    c.dt = dt, c.t_end = 1e9, c.cfl = 0.4, c.steps = 3;
    return c;
  }
  [[nodiscard]] std::vector<block_report> reports() const {
    std::vector<block_report> all(tables.blocks.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i].input_floors = i;
    return all;
  }

  ghosts_arguments ghosts() const {
    ghosts_arguments a;
    a.n = n, a.n_var = n_var, a.n_items = static_cast<int>(tables.levels.size());
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
};

template <class T>
const T* one(operation_data& d, const T& value) {
  return d.input<T>({&value, 1});
}

operation_cost place_stage(const gas_case& g, int stage, operation_data& d, std::vector<stage_arguments>& items) {
  stage_arguments a;
  const std::vector<double> state = g.state();
  a.hydro = g.o.hydro;
  a.n = g.n, a.n_blocks = g.blocks(), a.stage = stage, a.last = stage + 1 == g.o.scheme.stages;
  a.weight = g.o.scheme.weight[stage];
  a.source = a.u_old = d.input<double>(state);
  std::vector<double> old = state;
  for (double& v : old) v *= 1.001;
  if (stage > 0) a.u_old = d.input<double>(old);
  a.target = d.in_out<double>(std::vector<double>(state.size(), -1.0));
  a.slabs = d.input<double>(g.slabs());
  a.inflow = d.input<double>(g.inflow());
  a.fluxes = d.in_out<double>(std::vector<double>(g.tables.flux_doubles, -1.0));
  a.blocks = d.input<block_item>(g.tables.blocks);
  a.reports = d.in_out<block_report>(g.reports());
  a.control = one(d, g.control());
  items.push_back(a);
  const bool counted = a.hydro.reconstruct == reconstruction::ppm && a.hydro.riemann == riemann_solver::hllc;
  const double cells = g.doubles() / g.n_var;
  return {counted ? 1050.0 * cells : 0.0, 8.0 * ((stage > 0 ? 3.0 : 2.0) * g.doubles() +
                                                 static_cast<double>(g.tables.slab_doubles + g.tables.flux_doubles))};
}

operation_cost place_ghosts(const gas_case& g, operation_data& d, std::vector<ghosts_arguments>& items) {
  ghosts_arguments a = g.ghosts();
  a.source = d.input<double>(g.state());
  a.inflow = d.input<double>(g.inflow());
  a.slabs = d.output<double>(g.tables.slab_doubles);
  a.coarse_tiles = d.scratch<double>(g.tables.coarse_doubles);
  a.blocks = d.input<block_item>(g.tables.blocks);
  a.items = d.input<level_item>(g.tables.levels);
  a.fills = d.input<coarse_fill>(g.tables.fills);
  a.control = one(d, g.control());
  items.push_back(a);
  double doubles = static_cast<double>(g.tables.slab_doubles);  // written; and what is read:
  for (const level_item& l : g.tables.levels)
    for (int f = 0; f < mesh::face_count; ++f)
      if ((l.finer >> f & 1) != 0) doubles += 8.0 * ghost_layers * g.n * g.n * g.n_var;
  for (const coarse_fill& f : g.tables.fills)
    doubles += (f.mean != 0 ? 8.0 : 1.0) * g.n_var * (f.hi[0] - f.lo[0]) * (f.hi[1] - f.lo[1]) * (f.hi[2] - f.lo[2]);
  return {0, 8.0 * doubles};
}

operation_cost place_correction(const gas_case& g, operation_data& d, std::vector<correction_arguments>& items) {
  correction_arguments a;
  a.hydro = g.o.hydro;
  a.n = g.n, a.n_items = static_cast<int>(g.tables.corrections.size()), a.stage = 2, a.last = true;
  a.weight = g.o.scheme.weight[2];
  a.target = d.in_out<double>(g.state());
  a.fluxes = d.input<double>(g.fluxes());
  a.blocks = d.input<block_item>(g.tables.blocks);
  a.items = d.input<correction_item>(g.tables.corrections);
  a.reports = d.in_out<block_report>(g.reports());
  a.control = one(d, g.control());
  items.push_back(a);
  double cells = 0;
  for (const correction_item& c : g.tables.corrections)
    for (int f = 0; f < mesh::face_count; ++f)
      if ((c.finer >> f & 1) != 0) cells += g.n * g.n;
  return {300.0 * cells, 8.0 * (1 + 4 + 2) * g.n_var * cells};  // own flux, finer ones, the cell twice
}

operation_cost place_sides(const gas_case& g, operation_data& d, std::vector<side_arguments>& items) {
  side_arguments a;
  constexpr int steps_kept = 4;
  a.n = g.n, a.n_var = g.n_var, a.n_items = static_cast<int>(g.tables.sides.size());
  a.flux_weight = 0.5, a.steps_kept = steps_kept;
  a.fluxes = d.input<double>(g.fluxes());
  a.items = d.input<side_item>(g.tables.sides);
  a.parts = d.in_out<double>(std::vector<double>(g.tables.sides.size() * g.n_var * steps_kept, 0.25));
  a.control = one(d, g.control());
  items.push_back(a);
  const double values = double(a.n_items) * g.n_var * g.n * g.n;
  return {values, 8.0 * values};
}

/// Records of steps, where the operation keeps them.
template <class Arguments>
void place_records(operation_data& d, Arguments& a) {
  if constexpr (requires { a.records; }) {
    using record = std::remove_pointer_t<decltype(a.records)>;
    a.steps_kept = 4;
    a.records = d.in_out<record>(std::vector<record>(4));
  }
}

operation_cost place_finish(const gas_case& g, operation_data& d, std::vector<finish_arguments>& items) {
  std::vector<block_report> reports = g.reports();
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const double speed = 1.0 + std::sin(static_cast<double>(i));
    std::memcpy(&reports[i].speed_bits, &speed, sizeof speed);
    reports[i].density_floors = i % 3, reports[i].pressure_floors = i % 5;
  }
  finish_arguments a;
  a.n_blocks = g.blocks();
  a.blocks = d.input<block_item>(g.tables.blocks);
  a.reports = d.in_out<block_report>(reports);
  a.signal_rates = d.in_out<double>(std::vector<double>(g.mesh.slot_count(), -1.0));
  const step_control c = g.control();
  a.control = d.in_out<step_control>({&c, 1});
  place_records(d, a);
  items.push_back(a);
  return {0, (2.0 * sizeof(block_report) + 8 + 4 + 8) * a.n_blocks};
}

// ---- shapes

constexpr const char *scheme_names[] = {"ppm", "plm", "mp5"}, *solver_names[] = {"hllc", "hll", "lax"};

gas_options options_of(reconstruction scheme, riemann_solver solver) {
  gas_options o;
  o.hydro.reconstruct = scheme;
  o.hydro.riemann = solver;
  o.hydro.pressure_floor = 1e-3;  // is met
  o.scheme = ssp_rk3;
  for (auto& values : o.sides.inflow) values = {1.1, 0.02, -0.1, 0.03, 1.2, 0.5};
  return o;
}
std::string name_of(const gas_options& o) {
  return std::string(scheme_names[static_cast<int>(o.hydro.reconstruct)]) + "/" +
         solver_names[static_cast<int>(o.hydro.riemann)];
}
mesh::domain box_of(int blocks, int n, mesh::boundary side, mesh::limiter rule, int levels) {
  mesh::domain box = cube_of(blocks, n, side, levels);
  box.prolongation = rule;
  return box;
}

/// A row of an operation on a mesh; the case is made anew each time.
template <class Item, class Place>
operation_row on_mesh(const gpu::operation<Item>& op, const std::string& shape, const mesh::block_mesh& m,
                      const gas_options& o, Place place, row_use use) {
  const std::string name =
      shape + "/n=" + std::to_string(m.block_size()) + "/" + std::to_string(m.block_count()) + " blocks";
  return row(
      op, name,
      [m, o, place, use](operation_data& d, std::vector<Item>& items) {
        return place(gas_case{m, o, use == row_use::time ? 1e-9 : 1e-4}, d, items);
      },
      use);
}

auto stage_of(int stage) {
  return [stage](const gas_case& g, operation_data& d, std::vector<stage_arguments>& items) {
    return place_stage(g, stage, d, items);
  };
}

void add_stages(std::vector<operation_row>& rows) {
  for (const auto scheme : {reconstruction::ppm, reconstruction::plm, reconstruction::mp5})
    for (const auto solver : {riemann_solver::hllc, riemann_solver::hll, riemann_solver::lax_friedrichs}) {
      const gas_options o = options_of(scheme, solver);
      rows.push_back(on_mesh(advance_stage, name_of(o) + "/last",
                             mesh::block_mesh(cube_of(2, 8, mesh::boundary::periodic)), o, stage_of(2),
                             row_use::check));
    }
  const gas_options ppm = options_of(reconstruction::ppm, riemann_solver::hllc);
  const gas_options plm = options_of(reconstruction::plm, riemann_solver::hllc);
  constexpr std::pair<mesh::boundary, const char*> sides[] = {{mesh::boundary::outflow, "outflow"},
                                                              {mesh::boundary::reflecting, "reflecting"},
                                                              {mesh::boundary::inflow, "inflow"}};
  for (const auto& [side, name] : sides)
    rows.push_back(on_mesh(advance_stage, std::string("first/") + name, mesh::block_mesh(cube_of(1, 16, side)), ppm,
                           stage_of(0), row_use::check));
  const mesh::domain box = box_of(2, 8, mesh::boundary::outflow, mesh::limiter::minmod, 2);
  rows.push_back(on_mesh(advance_stage, "refined", refined(box, 1, 7), ppm, stage_of(1), row_use::check));

  const auto cube = [](int blocks, int n) { return mesh::block_mesh(cube_of(blocks, n, mesh::boundary::outflow)); };
  for (const gas_options& o : {ppm, plm, options_of(reconstruction::mp5, riemann_solver::hllc)})
    rows.push_back(on_mesh(advance_stage, name_of(o), cube(8, 8), o, stage_of(1), row_use::time));
  for (const gas_options& o : {ppm, plm})
    rows.push_back(on_mesh(advance_stage, name_of(o), cube(4, 32), o, stage_of(1), row_use::time));
}

void add_levels(std::vector<operation_row>& rows) {
  const gas_options o = options_of(reconstruction::ppm, riemann_solver::hllc);
  constexpr std::pair<mesh::limiter, const char*> rules[] = {{mesh::limiter::minmod, "minmod"},
                                                             {mesh::limiter::central, "central"}};
  for (const auto& [rule, name] : rules)
    for (const auto side : {mesh::boundary::periodic, mesh::boundary::reflecting, mesh::boundary::inflow})
      rows.push_back(on_mesh(make_ghosts, std::string(name) + "/side " + std::to_string(static_cast<int>(side)),
                             refined(box_of(2, 8, side, rule, 3), 2, 7, 0.1), o, place_ghosts, row_use::check));
  const mesh::block_mesh small = refined(box_of(2, 8, mesh::boundary::outflow, mesh::limiter::minmod, 3), 2, 7, 0.1);
  const mesh::block_mesh large = refined(box_of(4, 8, mesh::boundary::outflow, mesh::limiter::minmod, 2), 2, 7);
  rows.push_back(on_mesh(make_ghosts, "minmod", large, o, place_ghosts, row_use::time));
  for (const auto& [m, use] : {std::pair(&small, row_use::check), std::pair(&large, row_use::time)}) {
    rows.push_back(on_mesh(correct_fluxes, "last", *m, o, place_correction, use));
    rows.push_back(on_mesh(sum_sides, "outflow", *m, o, place_sides, use));
    rows.push_back(on_mesh(finish_step, "good", *m, o, place_finish, use));
  }
}

}  // namespace

std::vector<operation_row> operation_rows() {
  std::vector<operation_row> rows;
  add_stages(rows);
  add_levels(rows);
  return rows;
}

}  // namespace plx::star::device
