#include "mesh/between/coarse_tile.hpp"

#include "mesh/between/prolong.hpp"
#include "mesh/between/sides.hpp"

namespace plx::mesh {

namespace {

grid_view interior_of(double* block, int n, int cells) { return {block, n, n * n, cells}; }

// A view of a tile whose cell (0, 0, 0) is the block's first.
grid_view tile_view(double* tile, int n) {
  const std::ptrdiff_t w = tile_width(n);
  return {tile + ghosts * (1 + w + w * w), w, w * w, w * w * w};
}

void copy_box(const grid_view& from, const grid_view& to, const cell_box& box, int variables) {
  const int length = box.hi[0] - box.lo[0];
  for (int v = 0; v < variables; ++v)
    for (int k = box.lo[2]; k < box.hi[2]; ++k)
      for (int j = box.lo[1]; j < box.hi[1]; ++j) {
        const double* source = from.at(box.lo[0], j, k) + v * from.volume;
        double* target = to.at(box.lo[0], j, k) + v * to.volume;
        for (int i = 0; i < length; ++i) target[i] = source[i];
      }
}

void fill_box(const block_mesh& mesh, const arena& values, slot_id slot, const coarse_box& box, const grid_view& to) {
  const int n = mesh.block_size(), half = n / 2;
  const auto dir = direction_of(box.direction);
  const neighbour& source = mesh.around(slot, box.direction);
  if (source.kind == relation::side) return;  // filled from the other boxes, as in the tile itself
  // Only read: a view has no const form.
  grid_view from = interior_of(const_cast<double*>(values.block(source.slots[0])), n, values.cells());
  const cell_box cells{{box.lo[0], box.lo[1], box.lo[2]}, {box.hi[0], box.hi[1], box.hi[2]}};
  const std::ptrdiff_t step[3] = {1, from.row, from.plane};
  const location& l = mesh.where(slot);
  if (source.kind == relation::coarser) {
    for (int a = 0; a < 3; ++a)  // the half of the coarse block that is in this direction
      from.origin += (((l.x[a] + dir[a]) & 1) * half - dir[a] * half) * step[a];
    copy_box(from, to, cells, values.variable_count());
  } else {
    for (int a = 0; a < 3; ++a) from.origin -= dir[a] * n * step[a];
    restrict_box(from, to, cells, values.variable_count());
  }
}

cell_box ghost_box(const std::array<int, 3>& dir, int n) {
  cell_box box;
  for (int a = 0; a < 3; ++a) {
    box.lo[a] = dir[a] < 0 ? -ghosts : dir[a] > 0 ? n : 0;
    box.hi[a] = dir[a] < 0 ? 0 : dir[a] > 0 ? n + ghosts : n;
  }
  return box;
}

}  // namespace

void prolong_ghosts(const block_mesh& mesh, const arena& values, slot_id slot, const boundary_values& sides,
                    tile_scratch& scratch, std::uint32_t wanted, bool faces_only) {
  const int n = mesh.block_size();
  const grid_view coarse = tile_view(scratch.coarse(), n / 2), fine = tile_view(scratch.tile(), n);
  for (const coarse_box& box : mesh.coarse_boxes(slot, faces_only)) fill_box(mesh, values, slot, box, coarse);
  const std::uint32_t beyond = side_faces(mesh.directions_with(slot, relation::side));
  if (beyond != 0) fill_sides(scratch.coarse(), n / 2, values.variables(), beyond, mesh.box(), sides, false);
  for (int d = 0; d < direction_count; ++d)
    if (wanted >> d & 1)
      prolong_box(coarse, fine, ghost_box(direction_of(d), n), values.variables(), mesh.box().prolongation);
}

}  // namespace plx::mesh
