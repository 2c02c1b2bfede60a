// Rows of the operations between steps.
#include <cstdint>
#include <string>
#include <vector>

#include "star/device/test/operation_case_detail.hpp"

namespace plx::star::device {
namespace {

operation_cost place_marks(const gas_case& g, operation_data& d, std::vector<marks_arguments>& items) {
  marks_arguments a;
  // Levels 0 to 3, rows as level_limit. Around the blast the density is about 1, c^2 / density about 1.4e-3.
  const double none = std::numeric_limits<double>::infinity();
  const std::vector<double> limits = {1.002,   1.005,   1.008,   none,                                       //
                                      none,    1.002,   1.005,   1.008,   none,    1.001,   1.004,   1.007,  //
                                      1.36e-3, 1.37e-3, 1.38e-3, 0.0,                                        //
                                      0.0,     1.36e-3, 1.37e-3, 1.38e-3, 1.39e-3, 1.40e-3, 1.41e-3, 1.0};
  a.hydro = g.o.hydro;
  a.n = g.n, a.n_blocks = g.blocks();
  a.gradient_of = 0b11111, a.curvature_of = 0b10001;
  a.gradient_refine = 0.9, a.gradient_coarsen = 0.02, a.curvature_refine = 0.8, a.curvature_coarsen = 0.1;
  a.buffer = 2;
  a.of_sound = true;
  a.n_levels = static_cast<int>(limits.size()) / level_limit_count;
  a.limits = d.input<double>(limits);
  a.n_ranges = g.o.hydro.n_species > 0 ? 2 : 0;
  a.ranges = d.input<double>(std::vector<double>{0.0, 0.97, 1.0, 1.0, 0.6, 0.61});
  a.source = d.input<double>(g.state());
  a.slabs = d.input<double>(g.slabs());
  a.inflow = d.input<double>(g.inflow());
  a.blocks = d.input<block_item>(g.tables.blocks);
  a.marks = d.in_out<std::uint32_t>(std::vector<std::uint32_t>(2 * g.tables.blocks.size(), 0));
  a.turn = 5;
  a.changed = d.in_out<std::uint64_t>(std::vector<std::uint64_t>{4});
  items.push_back(a);
  return {400.0 * g.doubles() / g.n_var, 8.0 * g.doubles() + 8.0 * g.blocks()};
}

/// Splits the first blocks and merges the following groups of eight; new blocks are stored after the old ones.
operation_cost place_move(const gas_case& g, operation_data& d, std::vector<move_arguments>& items) {
  const int families = g.blocks() / 16;
  std::vector<double> values = g.state();
  std::vector<child_item> children;
  std::vector<merged_item> merged;
  const auto next = [&] {
    const auto at = static_cast<std::int64_t>(values.size());
    values.resize(values.size() + g.stride, -1.0);
    return at;
  };
  for (int f = 0; f < families; ++f) {
    for (int c = 0; c < 8; ++c) children.push_back({f, c, next(), 0.1});
    merged_item m{next(), {}, 0.2};
    for (int c = 0; c < 8; ++c) m.from[c] = g.tables.blocks[static_cast<std::size_t>(families + 8 * f + c)].values;
    merged.push_back(m);
  }
  move_arguments a;
  a.fields = mesh::table_of(fields_of(g.o.hydro));
  a.n = g.n, a.spin = spin_variable(g.o.hydro);
  a.n_children = static_cast<int>(children.size()), a.n_merged = static_cast<int>(merged.size());
  a.central = g.mesh.box().prolongation == mesh::limiter::central;
  a.source = d.in_out<double>(values);
  a.slabs = d.input<double>(g.slabs());
  a.inflow = d.input<double>(g.inflow());
  a.blocks = d.input<block_item>(g.tables.blocks);
  a.children = d.input<child_item>(children);
  a.merged = d.input<merged_item>(merged);
  items.push_back(a);
  // A family of children: one block read, eight written; a merged one: eight read, one written.
  return {0, 8.0 * 2 * 9 * families * static_cast<double>(g.stride)};
}

operation_cost place_check(const gas_case& g, operation_data& d, std::vector<check_arguments>& items) {
  std::vector<std::int64_t> places;
  for (const block_item& b : g.tables.blocks) places.push_back(b.values);
  check_arguments a;
  a.hydro = g.o.hydro;
  a.n = g.n, a.n_items = g.blocks();
  a.source = d.in_out<double>(g.state());
  a.items = d.input<std::int64_t>(places);
  a.reports = d.in_out<block_report>(std::vector<block_report>(places.size()));
  a.added.sums = added_sums(g, d);
  items.push_back(a);
  return {0, 16.0 * g.doubles()};
}

auto totals_of(int steps_kept) {
  return [steps_kept](const gas_case& g, operation_data& d, std::vector<totals_arguments>& items) {
    totals_arguments a;
    a.n = g.n, a.n_var = g.n_var, a.n_blocks = g.blocks(), a.steps_kept = steps_kept;
    a.spin = spin_variable(g.o.hydro);
    a.source = d.input<double>(g.state());
    a.blocks = d.input<block_item>(g.tables.blocks);
    const auto sums = static_cast<std::size_t>(g.n_var * std::max(steps_kept, 1));
    a.sums = d.in_out<exact_limbs>(std::vector<exact_limbs>(sums));
    a.control = one(d, g.control());
    items.push_back(a);
    return operation_cost{4.0 * g.doubles(), 8.0 * g.doubles()};
  };
}

/// Three layers at the upper end of each axis of every block, as a part sends or receives them.
auto copies(bool out) {
  return [out](const gas_case& g, operation_data& d, std::vector<copy_arguments>& items) {
    std::vector<copy_item> boxes;
    std::int64_t at = 0;
    for (const block_item& b : g.tables.blocks)
      for (int axis = 0; axis < 3; ++axis) {
        const std::int64_t step = axis == 0 ? 1 : axis == 1 ? g.n : std::int64_t{g.n} * g.n;
        copy_item box{b.values + (g.n - 3) * step, at, {g.n, g.n, g.n}, 0};
        box.cells[axis] = 3;
        boxes.push_back(box);
        at += std::int64_t{3} * g.n * g.n * g.n_var;
      }
    std::vector<double> message(static_cast<std::size_t>(at));
    if (!out)  // cells in two boxes get the same value
      for (double& x : message) x = 0.25;
    copy_arguments a;
    a.n = g.n, a.n_var = g.n_var, a.n_items = static_cast<int>(boxes.size());
    a.out = out;
    a.variable = std::int64_t{g.n} * g.n * g.n;
    a.values = d.in_out<double>(g.state());
    a.message = d.in_out<double>(message);
    a.items = d.input<copy_item>(boxes);
    items.push_back(a);
    return operation_cost{0, 16.0 * static_cast<double>(at)};
  };
}

}  // namespace

void add_regrid_rows(std::vector<operation_row>& rows) {
  const gas_options o = options_of(reconstruction::ppm, riemann_solver::hllc);
  for (const auto rule : {mesh::limiter::minmod, mesh::limiter::central})
    for (const auto side :
         {mesh::boundary::outflow, mesh::boundary::reflecting, mesh::boundary::inflow, mesh::boundary::zero_gradient}) {
      const mesh::block_mesh m = refined(box_of(2, 8, side, rule, 3), 2, 7, 0.1);
      const std::string shape = "side " + std::to_string(static_cast<int>(side));
      if (rule == mesh::limiter::minmod) rows.push_back(on_mesh(mark_cells, shape, m, o, place_marks, row_use::check));
      rows.push_back(on_mesh(move_values, (rule == mesh::limiter::central ? "central/" : "minmod/") + shape, m, o,
                             place_move, row_use::check));
    }
  const mesh::block_mesh small = refined(box_of(2, 8, mesh::boundary::outflow, mesh::limiter::minmod, 3), 2, 7, 0.1);
  const mesh::block_mesh large = refined(box_of(4, 8, mesh::boundary::outflow, mesh::limiter::minmod, 2), 2, 7);
  for (const auto kind : {eos_kind::stiffened, eos_kind::white_dwarf, eos_kind::radiation}) {
    const std::string name(name_of(kind));
    rows.push_back(on_mesh(mark_cells, name, small, with_kind(o, kind), place_marks, row_use::check));
    rows.push_back(on_mesh(check_blocks, name, small, with_kind(o, kind), place_check, row_use::check));
  }
  const gas_options three = with_species(o, 3);
  rows.push_back(on_mesh(mark_cells, "species", small, three, place_marks, row_use::check));
  rows.push_back(on_mesh(check_blocks, "species", small, three, place_check, row_use::check));
  rows.push_back(on_mesh(move_values, "minmod/species", small, three, place_move, row_use::check, 0.5));
  const mesh::block_mesh walls = refined(box_of(2, 8, mesh::boundary::reflecting, mesh::limiter::minmod, 3), 2, 7, 0.1);
  rows.push_back(on_mesh(move_values, "minmod/spin", walls, with_spin(three), place_move, row_use::check));
  rows.push_back(on_mesh(sum_totals, "spin", small, with_spin(o), totals_of(0), row_use::check));
  rows.push_back(on_mesh(move_values, "minmod/supersonic", small, o, place_move, row_use::check, 0.5));
  rows.push_back(on_mesh(sum_totals, "at once", small, o, totals_of(0), row_use::check));
  rows.push_back(on_mesh(mark_cells, "outflow", large, o, place_marks, row_use::time));
  rows.push_back(on_mesh(move_values, "minmod", large, o, place_move, row_use::time));
  for (const auto& [m, use] : {std::pair(&small, row_use::check), std::pair(&large, row_use::time)}) {
    rows.push_back(on_mesh(check_blocks, "all", *m, o, place_check, use));
    rows.push_back(on_mesh(copy_boxes, "out", *m, o, copies(true), use));
    rows.push_back(on_mesh(copy_boxes, "in", *m, o, copies(false), use));
    rows.push_back(on_mesh(sum_totals, "of a step", *m, o, totals_of(4), use));
  }
}

}  // namespace plx::star::device
