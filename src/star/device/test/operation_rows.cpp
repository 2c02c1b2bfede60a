#include "star/device/test/operation_rows.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "star/device/test/operation_case_detail.hpp"

namespace plx::star::device {

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
  a.added = {added_sums(g, d), 0.25};
  const double cells = g.doubles() / g.n_var;
  const std::size_t boxes = static_cast<std::size_t>(cells) / 512;
  if (g.has_tiles) a.tiles = d.input<double>(g.tile_values());
  if (g.o.hydro.n_species > 0 || g.o.hydro.spin) a.kept = d.in_out<double>(g.kept_values());
  if (g.full) {
    const std::size_t part_doubles = boxes * full3d_part_doubles;
    a.parts = d.scratch<double>(part_doubles);
    items.push_back(a);
    // A sum is written twice and read twice, a difference written and read.
    return {13000.0 * cells, 8.0 * ((stage > 0 ? 3.0 : 2.0) * g.doubles() + static_cast<double>(g.tile_doubles()) +
                                    4.0 * static_cast<double>(part_doubles) + 2.0 * 3.0 * g.doubles())};
  }
  items.push_back(a);
  const bool counted = a.hydro.reconstruct == reconstruction::ppm && a.hydro.riemann == riemann_solver::hllc;
  return {counted ? 1050.0 * cells : 0.0, 8.0 * ((stage > 0 ? 3.0 : 2.0) * g.doubles() +
                                                 static_cast<double>(g.tables.slab_doubles + g.tables.flux_doubles))};
}

operation_cost place_tiles(const gas_case& g, operation_data& d, std::vector<tiles_arguments>& items) {
  tiles_arguments a = g.tiles();
  a.source = d.input<double>(g.state());
  a.inflow = d.input<double>(g.inflow());
  a.tiles = d.in_out<double>(std::vector<double>(g.tile_doubles()));  // cells that are not filled stay the same
  a.coarse_tiles = d.scratch<double>(g.tables.coarse_doubles);
  a.items = d.input<tile_item>(g.tables.tiles);
  a.blocks = d.input<block_item>(g.tables.blocks);
  a.fills = d.input<coarse_fill>(g.tables.fills);
  a.reports = d.in_out<block_report>(g.reports());
  a.control = one(d, g.control());
  items.push_back(a);
  // Per cell: read and written, then again, and its energy once more. Means and coarse tiles are not counted.
  const double cells = static_cast<double>(g.tile_doubles()) / tile_variables(g.o.hydro);
  return {40.0 * cells, 8.0 * (4 * g.n_var + 1) * cells};
}

namespace {

/// After a stage of the gas, whose new state is the old one.
operation_cost place_species(const gas_case& g, operation_data& d, std::vector<stage_arguments>& items) {
  place_stage(g, 1, d, items);
  stage_arguments& a = items.back();
  a.target = d.in_out<double>(g.state());
  const double cells = g.doubles() / g.n_var, species = g.o.hydro.n_species;
  return {150.0 * species * cells, 8.0 * cells * (3.0 + species * (2.0 + 3.0 * 4.0))};
}

operation_cost place_spin(const gas_case& g, operation_data& d, std::vector<stage_arguments>& items) {
  place_stage(g, 1, d, items);
  const double cells = g.doubles() / g.n_var;
  return {400.0 * cells, 8.0 * cells * (3.0 * 3.0 + 12.0 + 3.0 * 10.0)};
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
  double doubles = static_cast<double>(g.tables.slab_doubles);  // written; plus the doubles that are read:
  for (const level_item& l : g.tables.levels)
    for (int f = 0; f < mesh::face_count; ++f)
      if ((l.finer >> f & 1) != 0) doubles += 8.0 * ghost_layers * g.n * g.n * g.n_var;
  for (const coarse_fill& f : g.tables.fills)
    doubles += (f.mean != 0 ? 8.0 : 1.0) * g.n_var * (f.hi[0] - f.lo[0]) * (f.hi[1] - f.lo[1]) * (f.hi[2] - f.lo[2]);
  return {0, 8.0 * doubles};
}

// Blocks one by one, as items of a launch, in reverse order.
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
  a.added.sums = added_sums(g, d);
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

operation_cost place_finish(const gas_case& g, operation_data& d, std::vector<finish_arguments>& items) {
  std::vector<block_report> reports = g.reports();
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const double speed = 1.0 + std::sin(static_cast<double>(i));
    std::memcpy(&reports[i].speed_bits, &speed, sizeof speed);
    reports[i].density_floors = i % 3, reports[i].pressure_floors = i % 5, reports[i].added_terms = i % 2;
  }
  finish_arguments a;
  a.n_blocks = g.blocks();
  a.blocks = d.input<block_item>(g.tables.blocks);
  a.reports = d.in_out<block_report>(reports);
  a.signal_rates = d.in_out<double>(std::vector<double>(g.mesh.slot_count(), -1.0));
  const step_control c = g.control();
  a.control = d.in_out<step_control>({&c, 1});
  a.steps_kept = 4;
  a.records = d.in_out<step_record>(std::vector<step_record>(4));
  a.n_var = g.n_var;
  std::vector<exact_limbs> added(static_cast<std::size_t>(added_copies) * g.n_var);
  for (std::size_t i = 0; i < added.size(); ++i) added[i].limb[i % exact_limbs::count] = static_cast<std::int64_t>(i);
  a.added = d.in_out<exact_limbs>(added);
  a.added_of_steps = d.in_out<exact_limbs>(std::vector<exact_limbs>(4 * static_cast<std::size_t>(g.n_var)));
  items.push_back(a);
  return {0, (2.0 * sizeof(block_report) + 8 + 4 + 8) * a.n_blocks};
}

// ---- shapes

auto stage_of(int stage) {
  return [stage](const gas_case& g, operation_data& d, std::vector<stage_arguments>& items) {
    return place_stage(g, stage, d, items);
  };
}

void add_stages(std::vector<operation_row>& rows) {
  for (const auto scheme : {reconstruction::ppm, reconstruction::plm, reconstruction::mp5})
    for (const auto solver :
         {riemann_solver::hllc, riemann_solver::hllc_lm, riemann_solver::hll, riemann_solver::lax_friedrichs}) {
      const gas_options o = options_of(scheme, solver);
      rows.push_back(on_mesh(advance_stage, name_of(o) + "/last",
                             mesh::block_mesh(cube_of(2, 8, mesh::boundary::periodic)), o, stage_of(2),
                             row_use::check));
    }
  const gas_options ppm = options_of(reconstruction::ppm, riemann_solver::hllc);
  const gas_options plm = options_of(reconstruction::plm, riemann_solver::hllc);
  constexpr std::pair<mesh::boundary, const char*> sides[] = {{mesh::boundary::outflow, "outflow"},
                                                              {mesh::boundary::reflecting, "reflecting"},
                                                              {mesh::boundary::inflow, "inflow"},
                                                              {mesh::boundary::zero_gradient, "zero_gradient"}};
  for (const auto& [side, name] : sides)
    rows.push_back(on_mesh(advance_stage, std::string("first/") + name, mesh::block_mesh(cube_of(1, 16, side)), ppm,
                           stage_of(0), row_use::check));
  const mesh::domain box = box_of(2, 8, mesh::boundary::outflow, mesh::limiter::minmod, 2);
  rows.push_back(on_mesh(advance_stage, "refined", refined(box, 1, 7), ppm, stage_of(1), row_use::check));

  for (const bool steepening : {false, true})
    rows.push_back(on_mesh(advance_stage, name_of(full3d_options(steepening)) + "/refined", refined(box, 1, 7),
                           full3d_options(steepening), stage_of(2), row_use::check));

  const gas_options mp5 = options_of(reconstruction::mp5, riemann_solver::hllc_lm);
  for (const auto kind : {eos_kind::stiffened, eos_kind::white_dwarf, eos_kind::radiation})
    for (const gas_options& o : {ppm, mp5, full3d_options(true)})
      rows.push_back(on_mesh(advance_stage, std::string(name_of(kind)) + "/" + name_of(o), refined(box, 1, 7),
                             with_kind(o, kind), stage_of(2), row_use::check));

  for (const gas_options& base : {ppm, plm, options_of(reconstruction::mp5, riemann_solver::hllc), full3d_options()}) {
    const gas_options o = with_species(base, 3);
    const std::string name = name_of(o) + "/species";
    rows.push_back(on_mesh(advance_stage, name, refined(box, 1, 7), o, stage_of(1), row_use::check));
    rows.push_back(on_mesh(advance_species, name, refined(box, 1, 7), o, place_species, row_use::check));
  }

  for (const gas_options& base : {ppm, with_species(plm, 2)}) {
    const gas_options o = with_spin(base);
    const std::string name = name_of(o) + "/spin";
    rows.push_back(on_mesh(advance_stage, name, refined(box, 1, 7), o, stage_of(1), row_use::check));
    rows.push_back(on_mesh(advance_spin, name, refined(box, 1, 7), o, place_spin, row_use::check));
  }

  const auto cube = [](int blocks, int n) { return mesh::block_mesh(cube_of(blocks, n, mesh::boundary::outflow)); };
  for (const gas_options& o : {ppm, plm, options_of(reconstruction::mp5, riemann_solver::hllc)})
    rows.push_back(on_mesh(advance_stage, name_of(o), cube(8, 8), o, stage_of(1), row_use::time));
  for (const gas_options& o : {ppm, plm})
    rows.push_back(on_mesh(advance_stage, name_of(o), cube(4, 32), o, stage_of(1), row_use::time));
  rows.push_back(on_mesh(advance_stage, "full3d", cube(8, 8), full3d_options(), stage_of(1), row_use::time));
  rows.push_back(on_mesh(advance_species, "species", cube(8, 8), with_species(ppm, 2), place_species, row_use::time));
}

void add_tiles(std::vector<operation_row>& rows) {
  for (const auto rule : {mesh::limiter::minmod, mesh::limiter::central})
    for (const auto side :
         {mesh::boundary::periodic, mesh::boundary::reflecting, mesh::boundary::inflow, mesh::boundary::zero_gradient})
      rows.push_back(on_mesh(
          gather_tiles,
          (rule == mesh::limiter::minmod ? "minmod/side " : "central/side ") + std::to_string(static_cast<int>(side)),
          refined(box_of(2, 8, side, rule, 3), 2, 7, 0.1), full3d_options(), place_tiles, row_use::check));
  rows.push_back(on_mesh(gather_tiles, "central/supersonic",
                         refined(box_of(2, 8, mesh::boundary::outflow, mesh::limiter::central, 3), 2, 7, 0.1),
                         full3d_options(), place_tiles, row_use::check, 0.5));
  for (const gas_options& base : {options_of(reconstruction::ppm, riemann_solver::hllc), full3d_options()})
    for (const auto rule : {mesh::limiter::minmod, mesh::limiter::central})
      rows.push_back(on_mesh(gather_tiles,
                             name_of(base) + (rule == mesh::limiter::minmod ? "/species/minmod" : "/species/central"),
                             refined(box_of(2, 8, mesh::boundary::inflow, rule, 3), 2, 7, 0.1), with_species(base, 3),
                             place_tiles, row_use::check));
  for (const auto side : {mesh::boundary::inflow, mesh::boundary::reflecting})
    rows.push_back(on_mesh(gather_tiles, "spin/side " + std::to_string(static_cast<int>(side)),
                           refined(box_of(2, 8, side, mesh::limiter::minmod, 3), 2, 7, 0.1),
                           with_spin(options_of(reconstruction::ppm, riemann_solver::hllc)), place_tiles,
                           row_use::check));
  rows.push_back(on_mesh(gather_tiles, "white_dwarf",
                         refined(box_of(2, 8, mesh::boundary::outflow, mesh::limiter::minmod, 3), 2, 7, 0.1),
                         with_kind(full3d_options(), eos_kind::white_dwarf), place_tiles, row_use::check));
  const mesh::block_mesh large(cube_of(8, 8, mesh::boundary::outflow));
  rows.push_back(on_mesh(gather_tiles, "uniform", large, full3d_options(), place_tiles, row_use::time));
}

void add_levels(std::vector<operation_row>& rows) {
  const gas_options o = options_of(reconstruction::ppm, riemann_solver::hllc);
  constexpr std::pair<mesh::limiter, const char*> rules[] = {{mesh::limiter::minmod, "minmod"},
                                                             {mesh::limiter::central, "central"}};
  for (const auto& [rule, name] : rules)
    for (const auto side :
         {mesh::boundary::periodic, mesh::boundary::reflecting, mesh::boundary::inflow, mesh::boundary::zero_gradient})
      rows.push_back(on_mesh(make_ghosts, std::string(name) + "/side " + std::to_string(static_cast<int>(side)),
                             refined(box_of(2, 8, side, rule, 3), 2, 7, 0.1), o, place_ghosts, row_use::check));
  const mesh::block_mesh small = refined(box_of(2, 8, mesh::boundary::outflow, mesh::limiter::minmod, 3), 2, 7, 0.1);
  rows.push_back(on_mesh(make_ghosts, "minmod/supersonic", small, o, place_ghosts, row_use::check, 0.5));
  const mesh::block_mesh large = refined(box_of(4, 8, mesh::boundary::outflow, mesh::limiter::minmod, 2), 2, 7);
  rows.push_back(on_mesh(make_ghosts, "minmod", large, o, place_ghosts, row_use::time));
  rows.push_back(on_mesh(make_ghosts, "minmod/species", small, with_species(o, 3), place_ghosts, row_use::check, 0.5));
  for (const auto kind : {eos_kind::stiffened, eos_kind::white_dwarf, eos_kind::radiation})
    rows.push_back(on_mesh(correct_fluxes, std::string(name_of(kind)), small, with_kind(o, kind), place_correction,
                           row_use::check));
  rows.push_back(on_mesh(correct_fluxes, "species", small, with_species(o, 3), place_correction, row_use::check));
  rows.push_back(on_mesh(sum_sides, "species", small, with_species(o, 3), place_sides, row_use::check));
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
  add_tiles(rows);
  add_levels(rows);
  add_regrid_rows(rows);
  return rows;
}

}  // namespace plx::star::device
