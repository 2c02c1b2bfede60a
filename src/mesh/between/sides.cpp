#include "mesh/between/sides.hpp"

#include <cmath>
#include <cstddef>

#include "base/assert.hpp"
#include "mesh/between/tile.hpp"
#include "mesh/tree/location.hpp"

namespace plx::mesh {

namespace {

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

void fill_face(const face_strip& s, boundary kind, const variable& v, int axis, bool upper, double fixed) {
  if (kind == boundary::inflow) {
    for_ghosts(s, [&](double, double) { return fixed; });
  } else if (kind == boundary::reflecting) {
    if (v.changes_sign_at(axis))
      for_ghosts(s, [](double, double mirrored) { return -mirrored; });
    else
      for_ghosts(s, [](double, double mirrored) { return mirrored; });
  } else if (v.vector_axis != axis || v.axial || kind == boundary::zero_gradient || kind == boundary::problem) {
    for_ghosts(s, [](double edge, double) { return edge; });
  } else if (upper) {
    for_ghosts(s, [](double edge, double) { return std::fabs(edge); });
  } else {
    for_ghosts(s, [](double edge, double) { return -std::fabs(edge); });
  }
}

}  // namespace

std::uint32_t side_faces(std::uint32_t side_directions) {
  std::uint32_t mask = 0;
  for (int f = 0; f < face_count; ++f)
    if (side_directions >> face_direction(f) & 1) mask |= 1u << f;
  return mask;
}

void fill_sides(double* tile, int n, const std::vector<variable>& variables, std::uint32_t face_mask, const domain& d,
                const boundary_values& values, bool faces_only) {
  const std::ptrdiff_t w = tile_width(n);
  const std::ptrdiff_t stride[3] = {1, w, w * w};
  const std::ptrdiff_t first = faces_only ? ghosts : 0, width = faces_only ? n : w;  // along both tangential axes
  for (int f = 0; f < face_count; ++f) {
    if (!(face_mask >> f & 1)) continue;
    const int axis = face_axis(f), a = axis == 0 ? 1 : 0, b = axis == 2 ? 1 : 2;
    const bool upper = face_is_upper(f);
    const bool fixed = d.sides[f] == boundary::inflow;
    PLX_ASSERT(!fixed || values.inflow[f].size() >= variables.size(), f, values.inflow[f].size());
    for (std::size_t v = 0; v < variables.size(); ++v) {
      double* start = tile + static_cast<std::ptrdiff_t>(v) * w * w * w;
      const std::ptrdiff_t at_side = upper ? ghosts + n - 1 : ghosts;
      const face_strip strip{start + stride[axis] * at_side + first * (stride[a] + stride[b]),
                             upper ? stride[axis] : -stride[axis], stride[a], stride[b], static_cast<int>(width)};
      fill_face(strip, d.sides[f], variables[v], axis, upper, fixed ? values.inflow[f][v] : 0.0);
    }
  }
}

void fill_outside(double* tile, const block_mesh& mesh, slot_id slot, const std::vector<variable>& variables,
                  std::uint32_t face_mask, const boundary_values& values, double time, bool faces_only) {
  const int n = mesh.block_size();
  const std::ptrdiff_t w = tile_width(n), volume = w * w * w;
  std::vector<double> state(variables.size());
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
          for (std::size_t v = 0; v < state.size(); ++v)
            to[v * volume] = variables[v].changes_sign_at(axis) ? -mirrored[v * volume] : mirrored[v * volume];
        }
  }
}

}  // namespace plx::mesh
