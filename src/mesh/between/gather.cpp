#include "mesh/between/gather.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/assert.hpp"
#include "mesh/between/prolong.hpp"

namespace plx::mesh {

void tile_scratch::release::operator()(double* p) const { std::free(p); }

std::unique_ptr<double[], tile_scratch::release> tile_scratch::allocate(std::size_t doubles) {
  const std::size_t bytes = (doubles * sizeof(double) + 63) / 64 * 64;
  auto* memory = static_cast<double*>(std::aligned_alloc(64, bytes));
  if (memory == nullptr) throw std::bad_alloc();
  std::fill_n(memory, doubles, 0.0);
  return std::unique_ptr<double[], release>(memory);
}

void tile_scratch::reserve(int variables, int block_size) {
  const std::size_t doubles = static_cast<std::size_t>(variables) * tile_cells(block_size);
  if (doubles <= doubles_) return;
  tile_ = allocate(doubles + 2 * margin);
  coarse_ = allocate(static_cast<std::size_t>(variables) * tile_cells(block_size / 2) + 2 * margin);
  doubles_ = doubles;
}

namespace {

// ---- outside the domain, computed from cells of the same tile

// Ghost cells of one face and variable: `stride` along the normal, `sa` and `sb` along the other two axes.
struct face_strip {
  double* first;  // the first interior cell at the face, at the start of both tangential axes
  std::ptrdiff_t outward, sa, sb;
  int width;  // cells along each tangential axis
};

// Sets ghost values to f(ghost layer 1..3, cell at the boundary, mirrored cell).
template <class F>
void for_ghosts(const face_strip& s, F&& f) {
  for (int b = 0; b < s.width; ++b)
    for (int layer = 1; layer <= ghosts; ++layer)
      for (int a = 0; a < s.width; ++a) {
        double* edge = s.first + b * s.sb + a * s.sa;
        edge[layer * s.outward] = f(edge[0], edge[(1 - layer) * s.outward]);
      }
}

void fill_face(const face_strip& s, boundary kind, const field_table& fields, int v, int axis, bool upper,
               double fixed) {
  if (kind == boundary::inflow) {
    for_ghosts(s, [&](double, double) { return fixed; });
  } else if (kind == boundary::reflecting) {
    if (fields.changes_sign_at(v, axis))
      for_ghosts(s, [](double, double mirrored) { return -mirrored; });
    else
      for_ghosts(s, [](double, double mirrored) { return mirrored; });
  } else if (!fields.is_normal_to(v, axis) || kind == boundary::zero_gradient || kind == boundary::problem) {
    for_ghosts(s, [](double edge, double) { return edge; });
  } else if (upper) {
    for_ghosts(s, [](double edge, double) { return std::fabs(edge); });
  } else {
    for_ghosts(s, [](double edge, double) { return -std::fabs(edge); });
  }
}

// The faces of a block on the boundary of the domain (bit f), from the directions outside it (bits 0..26).
std::uint32_t side_faces(std::uint32_t side_directions) {
  std::uint32_t mask = 0;
  for (int f = 0; f < face_count; ++f)
    if (side_directions >> face_direction(f) & 1) mask |= 1u << f;
  return mask;
}

// Fills the ghost cells of a tile outside the faces in the mask: x first, then y over the result of x, then z.
// `faces_only` omits those at edges and corners of the block.
// Outflow: the cell at the boundary; the normal component of a vector is turned outward (v becomes -|v| at a lower
// boundary), which acts as a wall against inflow and keeps the other variables consistent with it.
void fill_sides(double* tile, int n, const field_table& fields, std::uint32_t face_mask, const domain& d,
                const boundary_values& values, bool faces_only) {
  const std::ptrdiff_t w = tile_width(n);
  const std::ptrdiff_t stride[3] = {1, w, w * w};
  const std::ptrdiff_t first = faces_only ? ghosts : 0, width = faces_only ? n : w;  // along both tangential axes
  for (int f = 0; f < face_count; ++f) {
    if (!(face_mask >> f & 1)) continue;
    const int axis = face_axis(f), a = axis == 0 ? 1 : 0, b = axis == 2 ? 1 : 2;
    const bool upper = face_is_upper(f);
    const bool fixed = d.sides[f] == boundary::inflow;
    PLX_ASSERT(!fixed || values.inflow[f].size() >= static_cast<std::size_t>(fields.count), f, values.inflow[f].size());
    for (int v = 0; v < fields.count; ++v) {
      double* start = tile + v * w * w * w;
      const std::ptrdiff_t at_side = upper ? ghosts + n - 1 : ghosts;
      const face_strip strip{start + stride[axis] * at_side + first * (stride[a] + stride[b]),
                             upper ? stride[axis] : -stride[axis], stride[a], stride[b], static_cast<int>(width)};
      fill_face(strip, d.sides[f], fields, v, axis, upper, fixed ? values.inflow[f][static_cast<std::size_t>(v)] : 0.0);
    }
  }
}

// Fills those outside faces of the kind `problem` with values.outside at the centres of the cells, or by reflection
// where it gives none: after fill_sides(), which leaves zero gradients there.
void fill_outside(double* tile, const block_mesh& mesh, slot_id slot, const field_table& fields,
                  std::uint32_t face_mask, const boundary_values& values, double time, bool faces_only) {
  const int n = mesh.block_size();
  const std::ptrdiff_t w = tile_width(n), volume = w * w * w;
  std::vector<double> state(static_cast<std::size_t>(fields.count));
  for (int f = 0; f < face_count; ++f) {
    if (!(face_mask >> f & 1) || mesh.box().sides[f] != boundary::problem) continue;
    PLX_ASSERT(values.outside != nullptr, f);
    const int axis = face_axis(f);
    int lo[3], hi[3];
    for (int a = 0; a < 3; ++a) {
      lo[a] = a == axis ? (face_is_upper(f) ? n : -ghosts) : faces_only ? 0 : -ghosts;
      hi[a] = a == axis ? lo[a] + ghosts : faces_only ? n : n + ghosts;
    }
    const auto cell = [&](int i, int j, int k) { return tile + ((k + ghosts) * w + j + ghosts) * w + i + ghosts; };
    for (int k = lo[2]; k < hi[2]; ++k)
      for (int j = lo[1]; j < hi[1]; ++j)
        for (int i = lo[0]; i < hi[0]; ++i) {
          double* to = cell(i, j, k);
          if (values.outside->at(f, {mesh.centre(slot, 0, i), mesh.centre(slot, 1, j), mesh.centre(slot, 2, k)}, time,
                                 state.data())) {
            for (std::size_t v = 0; v < state.size(); ++v) to[v * volume] = state[v];
            continue;
          }
          int from[3] = {i, j, k};
          from[axis] = face_is_upper(f) ? 2 * n - 1 - from[axis] : -1 - from[axis];
          const double* mirrored = cell(from[0], from[1], from[2]);
          for (int v = 0; v < fields.count; ++v)
            to[v * volume] = fields.changes_sign_at(v, axis) ? -mirrored[v * volume] : mirrored[v * volume];
        }
  }
}

// ---- in coarser blocks: a tile of half the resolution, then prolongation
//
// The coarse tile covers the block's own footprint and three coarse cells around it. Where the neighbours are coarser
// it is a copy, elsewhere (needed for slopes only) the mean of eight cells. By the 2:1 balance one level is enough.

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

// Fills the ghost cells in `wanted` (bits by direction, all of relation coarser) of scratch.tile(). `faces_only`: all
// of them are directions across faces.
void prolong_ghosts(const block_mesh& mesh, const arena& values, slot_id slot, const boundary_values& sides,
                    tile_scratch& scratch, std::uint32_t wanted, bool faces_only) {
  const int n = mesh.block_size();
  const grid_view coarse = tile_view(scratch.coarse(), n / 2), fine = tile_view(scratch.tile(), n);
  for (const coarse_box& box : mesh.coarse_boxes(slot, faces_only)) fill_box(mesh, values, slot, box, coarse);
  const std::uint32_t beyond = side_faces(mesh.directions_with(slot, relation::side));
  if (beyond != 0) fill_sides(scratch.coarse(), n / 2, values.table(), beyond, mesh.box(), sides, false);
  for (int d = 0; d < direction_count; ++d)
    if (wanted >> d & 1)
      prolong_box(coarse, fine, ghost_box(direction_of(d), n), values.table(), mesh.box().prolongation);
}

// ---- in blocks of the same level and finer ones

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
    const grid_view to = tile_view(tile_, n());
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
  if (beyond != 0) fill_sides(tile, n, values.table(), beyond, mesh.box(), sides, reach_wanted == reach::faces);
  if (beyond != 0 && time)
    fill_outside(tile, mesh, slot, values.table(), beyond, sides, *time, reach_wanted == reach::faces);
  return tile;
}

}  // namespace plx::mesh
