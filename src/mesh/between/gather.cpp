#include "mesh/between/gather.hpp"

#include <cstring>

#include "base/assert.hpp"
#include "mesh/between/coarse_tile.hpp"
#include "mesh/between/prolong.hpp"
#include "mesh/between/sides.hpp"

namespace plx::mesh {

namespace {

// The region of a direction in a tile: its begin, its length, and its begin in a neighbour of the same level.
struct span_of {
  int to, length, from;
  explicit span_of(int dir, int n)
      : to(dir < 0   ? 0
           : dir > 0 ? n + ghosts
                     : ghosts),
        length(dir == 0 ? n : ghosts),
        from(dir < 0 ? n - ghosts : 0) {}
};

// N is the block size, or 0 if it is known at run time only. With a known length each row's copy is a few moves.
template <int N>
class gatherer {
 public:
  gatherer(const block_mesh& mesh, const arena& values, slot_id slot, double* tile)
      : mesh_(mesh), values_(values), slot_(slot), tile_(tile), n_(N > 0 ? N : mesh.block_size()) {}

  // All directions of the rows y, z are of the same level: copies whole rows of the tile.
  void copy_rows(int dy, int dz) {
    const int d = direction_index(0, dy, dz);
    const double* left = source(d - 1);
    const double* middle = source(d);
    const double* right = source(d + 1);
    for_rows(dy, dz, [&](double* to, std::ptrdiff_t from) {
      std::memcpy(to, left + from + n() - ghosts, ghosts * sizeof(double));
      std::memcpy(to + ghosts, middle + from, n() * sizeof(double));
      std::memcpy(to + ghosts + n(), right + from, ghosts * sizeof(double));
    });
  }

  void copy_region(int direction) {
    const auto dir = direction_of(direction);
    const double* block = source(direction);
    if (dir[0] == 0)
      for_rows(dir[1], dir[2],
               [&](double* to, std::ptrdiff_t from) { std::memcpy(to + ghosts, block + from, n() * sizeof(double)); });
    else if (dir[0] < 0)
      for_rows(dir[1], dir[2], [&](double* to, std::ptrdiff_t from) {
        std::memcpy(to, block + from + n() - ghosts, ghosts * sizeof(double));
      });
    else
      for_rows(dir[1], dir[2], [&](double* to, std::ptrdiff_t from) {
        std::memcpy(to + ghosts + n(), block + from, ghosts * sizeof(double));
      });
  }

  // Each finer block fills its part: half of the region along tangential axes.
  void restrict_region(int direction) {
    const auto dir = direction_of(direction);
    const neighbour& around = mesh_.around(slot_, direction);
    const std::ptrdiff_t w = width();
    const grid_view to{tile_ + ghosts * (1 + w + w * w), w, w * w, w * w * w};
    for (int c = 0; c < around.count; ++c) {
      grid_view from{const_cast<double*>(values_.block(around.slots[c])), n(), n() * n(), n() * n() * n()};
      const std::ptrdiff_t step[3] = {1, n(), n() * n()};
      cell_box box;
      for (int a = 0, bit = 0; a < 3; ++a) {
        const int half = dir[a] == 0 ? (c >> bit++ & 1) : 0;
        box.lo[a] = dir[a] < 0 ? -ghosts : dir[a] > 0 ? n() : half * n() / 2;
        box.hi[a] = box.lo[a] + (dir[a] == 0 ? n() / 2 : ghosts);
        // Coarse cell box.lo is fine cell 0 of the child, or its last but 2 * ghosts.
        from.origin -= (2 * box.lo[a] - (dir[a] < 0 ? n() - 2 * ghosts : 0)) * step[a];
      }
      restrict_box(from, to, box, values_.variable_count());
    }
  }

 private:
  int n() const { return N > 0 ? N : n_; }
  std::ptrdiff_t width() const { return n() + 2 * ghosts; }
  const double* source(int direction) const { return values_.block(mesh_.around(slot_, direction).slots[0]); }

  // copy(start of the tile's row, offset of the row in the source) for each row of the regions (*, dy, dz).
  template <class F>
  void for_rows(int dy, int dz, F&& copy) {
    const span_of y(dy, n()), z(dz, n());
    const std::ptrdiff_t w = width();
    for (int v = 0; v < values_.variable_count(); ++v)
      for (int k = 0; k < z.length; ++k) {
        double* to = tile_ + ((v * w + z.to + k) * w + y.to) * w;
        std::ptrdiff_t from = ((static_cast<std::ptrdiff_t>(v) * n() + z.from + k) * n() + y.from) * n();
        for (int j = 0; j < y.length; ++j, to += w, from += n()) copy(to, from);
      }
  }

  const block_mesh& mesh_;
  const arena& values_;
  slot_id slot_;
  double* tile_;
  int n_;
};

template <int N>
void gather(const block_mesh& mesh, const arena& values, slot_id slot, double* tile, std::uint32_t wanted) {
  gatherer<N> g(mesh, values, slot, tile);
  const std::uint32_t same = mesh.directions_with(slot, relation::same) & wanted;
  for (int dz = -1; dz <= 1; ++dz)
    for (int dy = -1; dy <= 1; ++dy) {
      const int d = direction_index(-1, dy, dz);
      if ((same >> d & 7) == 7) {
        g.copy_rows(dy, dz);
        continue;
      }
      for (int x = 0; x < 3; ++x)
        if (same >> (d + x) & 1) g.copy_region(d + x);
    }
  const std::uint32_t finer = mesh.directions_with(slot, relation::finer) & wanted;
  for (int d = 0; finer >> d != 0; ++d)
    if (finer >> d & 1) g.restrict_region(d);
}

}  // namespace

double* gather_tile(const block_mesh& mesh, const arena& values, slot_id slot, const boundary_values& sides,
                    tile_scratch& scratch, reach reach_wanted, std::optional<double> time) {
  PLX_ASSERT(mesh.is_live(slot) && static_cast<std::size_t>(slot) < values.slots(), slot, values.slots());
  const int n = mesh.block_size();
  PLX_ASSERT_EQ(values.block_size(), n);
  scratch.reserve(values.variable_count(), n);
  double* tile = scratch.tile();
  const std::uint32_t wanted =
      reach_wanted == reach::full ? (1u << direction_count) - 1 : face_directions() | 1u << self_direction;
  switch (n) {
    case 8:
      gather<8>(mesh, values, slot, tile, wanted);
      break;
    case 16:
      gather<16>(mesh, values, slot, tile, wanted);
      break;
    case 32:
      gather<32>(mesh, values, slot, tile, wanted);
      break;
    default:
      gather<0>(mesh, values, slot, tile, wanted);
  }
  const std::uint32_t coarser = mesh.directions_with(slot, relation::coarser) & wanted;
  if (coarser != 0) prolong_ghosts(mesh, values, slot, sides, scratch, coarser, reach_wanted == reach::faces);
  const std::uint32_t beyond = side_faces(mesh.directions_with(slot, relation::side));
  if (beyond != 0) fill_sides(tile, n, values.variables(), beyond, mesh.box(), sides, reach_wanted == reach::faces);
  if (beyond != 0 && time)
    fill_outside(tile, mesh, slot, values.variables(), beyond, sides, *time, reach_wanted == reach::faces);
  return tile;
}

}  // namespace plx::mesh
