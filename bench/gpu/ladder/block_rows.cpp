#include "block_rows.hpp"

#include "block_operations.hpp"
#include "star/device/test/operation_case_detail.hpp"

namespace plx::star::device {
namespace {

operation_cost place_gathered(const gas_case& g, operation_data& d, std::vector<gather_item>& items) {
  std::vector<tiles_arguments> all;
  const operation_cost cost = place_tiles(g, d, all);
  const tiles_arguments* there = d.addresses<tiles_arguments>(all);
  const std::ptrdiff_t tile = static_cast<std::ptrdiff_t>(g.tile_doubles()) / g.blocks();
  for (int p = g.blocks() - 1; p >= 0; --p) items.push_back({there, all[0].tiles + p * tile, nullptr, p, 1, false});
  return cost;
}

operation_cost place_advanced(const gas_case& g, operation_data& d, std::vector<advance_item>& items) {
  std::vector<stage_arguments> all;
  const operation_cost cost = place_stage(g, 1, d, all);
  const stage_arguments* there = d.addresses<stage_arguments>(all);
  const std::ptrdiff_t tile = static_cast<std::ptrdiff_t>(g.tile_doubles()) / g.blocks();
  const int boxes = (g.n / 8) * (g.n / 8) * (g.n / 8);
  for (int p = g.blocks() - 1; p >= 0; --p)
    items.push_back({there, const_cast<double*>(all[0].tiles) + p * tile,
                     all[0].parts + static_cast<std::ptrdiff_t>(p) * boxes * full3d_part_doubles, p, boxes,
                     g.o.hydro.contact_steepening});
  return cost;
}

}  // namespace

std::vector<operation_row> block_rows() {
  std::vector<operation_row> rows;
  const mesh::block_mesh small = refined(box_of(1, 8, mesh::boundary::outflow, mesh::limiter::minmod, 2), 1, 7, 1.0);
  const mesh::block_mesh large(cube_of(8, 8, mesh::boundary::outflow)),
      of_boxes(cube_of(1, 16, mesh::boundary::outflow));
  rows.push_back(on_mesh(gather_block, "uniform", small, full3d_options(), place_gathered, row_use::check));
  rows.push_back(on_mesh(gather_block, "uniform", large, full3d_options(), place_gathered, row_use::time));
  for (const bool steepening : {false, true})
    rows.push_back(on_mesh(advance_block_stage, name_of(full3d_options(steepening)), small, full3d_options(steepening),
                           place_advanced, row_use::check));
  rows.push_back(on_mesh(advance_block_stage, "full3d", of_boxes, full3d_options(), place_advanced, row_use::check));
  rows.push_back(on_mesh(advance_block_stage, "full3d", large, full3d_options(), place_advanced, row_use::time));
  return rows;
}

}  // namespace plx::star::device
