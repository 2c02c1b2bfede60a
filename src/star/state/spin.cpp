#include "star/state/spin.hpp"

#include <algorithm>
#include <cstddef>

#include "mesh/between/gather.hpp"
#include "mesh/field/symmetric.hpp"
#include "rt/for_loop.hpp"

namespace plx::star {

using mesh::slot_id;

namespace {

/// The axes along a face, the faster one first.
struct face_axes {
  int normal, a, b;
  explicit face_axes(int face) : normal(mesh::face_axis(face)), a(normal == 0 ? 1 : 0), b(normal == 2 ? 1 : 2) {}
};

/// Replaces the flux G of the spin by share * G + arm(a, b) cross F, with the flux F of momentum, in each cell (a, b).
template <class Arm>
void add_moment(double* flux, int spin, int n, double share, Arm&& arm) {
  const int area = n * n;
  for (int c = 0; c < area; ++c) {
    double r[3];
    arm(c % n, c / n, r);
    for (int x = 0; x < 3; ++x) {
      const int y = (x + 1) % 3, z = (x + 2) % 3;
      double& to = flux[(spin + x) * area + c];
      to = share * to + (r[y] * flux[(i_momentum + z) * area + c] - r[z] * flux[(i_momentum + y) * area + c]);
    }
  }
}

/// The eight cells of a family of a block, and the moment of their momenta about their common centre, per dx of theirs.
struct cell_family {
  const double* first;  // the lowest of them, variable 0
  std::ptrdiff_t j, k, variable;

  double sum(int v, int axis_of_sign) const {
    double x[8];
    for (int c = 0; c < 8; ++c) {
      const double value = first[v * variable + (c & 1) + (c >> 1 & 1) * j + (c >> 2) * k];
      x[c] = axis_of_sign < 0 || (c >> axis_of_sign & 1) != 0 ? value : -value;
    }
    return mesh::sum8(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]);
  }
  double mean(int v) const { return 0.125 * sum(v, -1); }
  double moment(int axis) const {  // offsets are +-1/2
    const int y = (axis + 1) % 3, z = (axis + 2) % 3;
    return 0.0625 * (sum(i_momentum + z, y) - sum(i_momentum + y, z));
  }
};

template <class F>
void for_families(double* u, int n, F&& f) {
  for (int k = 0; k < n; k += 2)
    for (int j = 0; j < n; j += 2)
      for (int i = 0; i < n; i += 2)
        f(cell_family{u + (k * n + j) * n + i, n, n * n, std::ptrdiff_t{n} * n * n}, i, j, k);
}

}  // namespace

void complete_spin_flux(const mesh::block_mesh& mesh, slot_id slot, int face, int spin, double* flux) {
  const face_axes axes(face);
  const int n = mesh.block_size();
  const double dx = mesh.cell_width(slot), outward = mesh::face_is_upper(face) ? 1.0 : -1.0;
  switch (mesh.across(slot, face).kind) {
    case mesh::relation::finer:
      return add_moment(flux, spin, n, 1.0, [&](int, int, double(&r)[3]) {
        r[axes.normal] = outward * (6.0 / dx), r[axes.a] = r[axes.b] = 0.0;
      });
    case mesh::relation::coarser:
      return add_moment(flux, spin, n, 0.25, [&](int a, int b, double(&r)[3]) {
        r[axes.normal] = -outward * (3.0 / dx);
        r[axes.a] = (a % 2 == 0 ? -1.5 : 1.5) / dx, r[axes.b] = (b % 2 == 0 ? -1.5 : 1.5) / dx;
      });
    case mesh::relation::side: {
      const int end = mesh::face_is_upper(face) ? n - 1 : 0;
      return add_moment(flux, spin, n, dx * dx / 12.0, [&](int a, int b, double(&r)[3]) {
        r[axes.normal] = mesh.centre(slot, axes.normal, end) + outward * (0.5 * dx);
        r[axes.a] = mesh.centre(slot, axes.a, a), r[axes.b] = mesh.centre(slot, axes.b, b);
      });
    }
    default:
      return;
  }
}

// The eight fine cells of a coarse cell with the spin l have, with the moment M of their momenta, the mean l - M.
void refine_spin(gas& g, const mesh::family& made) {
  if (g.spin < 0) return;
  const int n = g.mesh.block_size();
  const double dx = 0.5 * g.mesh.cell_width(made.parent);
  for (const slot_id child : made.children)
    for_families(g.now.block(child), n, [&](const cell_family& cells, int, int, int) {
      for (int a = 0; a < 3; ++a) {
        const int v = g.spin + a;
        const double change = 3.0 * cells.mean(v) - (12.0 / dx) * cells.moment(a);
        double* first = const_cast<double*>(cells.first) + v * cells.variable;
        for (int c = 0; c < 8; ++c) first[(c & 1) + (c >> 1 & 1) * cells.j + (c >> 2) * cells.k] += change;
      }
    });
}

void merge_spin(gas& g, const mesh::family& made) {
  if (g.spin < 0) return;
  const int n = g.mesh.block_size(), half = n / 2;
  const double dx = g.mesh.cell_width(made.children[0]);
  double* parent = g.now.block(made.parent);
  for (int child = 0; child < 8; ++child)
    for_families(g.now.block(made.children[static_cast<std::size_t>(child)]), n,
                 [&](const cell_family& cells, int i, int j, int k) {
                   const int x = i / 2 + (child & 1) * half, y = j / 2 + (child >> 1 & 1) * half,
                             z = k / 2 + (child >> 2) * half;
                   for (int a = 0; a < 3; ++a)
                     parent[(g.spin + a) * g.now.cells() + (z * n + y) * n + x] =
                         0.25 * cells.mean(g.spin + a) + (3.0 / dx) * cells.moment(a);
                 });
}

void start_spin(gas& g, worker_scratch& scratch) {
  const auto blocks = g.own();
  const int n = g.mesh.block_size(), cells = g.now.cells();
  const task_info info{probe::register_name("star.start_spin"), probe::no_key};
  const std::ptrdiff_t w = mesh::tile_width(n), stride[3] = {1, w, w * w};
  for_loop(info, std::size_t{0}, blocks.size(), [&](std::size_t p) {  // not in place: other blocks read the values
    const double* tile = mesh::gather_tile(g.mesh, g.now, blocks[p], g.sides, scratch.mine().tile, mesh::reach::faces);
    const double central = 0.5 / g.mesh.cell_width(blocks[p]);
    for (int a = 0; a < 3; ++a) {
      const int y = (a + 1) % 3, z = (a + 2) % 3;
      const double *in_y = tile + (i_momentum + y) * w * w * w, *in_z = tile + (i_momentum + z) * w * w * w;
      double* to = g.stage_a.block(blocks[p]) + (g.spin + a) * cells;
      for (int c = 0; c < cells; ++c) {
        const std::ptrdiff_t at =
            mesh::ghosts * (1 + w + w * w) + c % n + c / n % n * stride[1] + c / (n * n) * stride[2];
        to[c] = central * (in_z[at + stride[y]] - in_z[at - stride[y]]) -
                central * (in_y[at + stride[z]] - in_y[at - stride[z]]);
      }
    }
  });
  for_loop(info, std::size_t{0}, blocks.size(), [&](std::size_t p) {
    std::copy_n(g.stage_a.block(blocks[p]) + g.spin * cells, spin_variables * cells,
                g.now.block(blocks[p]) + g.spin * cells);
  });
}

std::vector<double> angular_momentum(const gas& g, slot_id slot, int component) {
  const int n = g.mesh.block_size(), cells = g.now.cells(), y = (component + 1) % 3, z = (component + 2) % 3;
  const double dx = g.mesh.cell_width(slot), per_spin = dx * dx / 12.0;
  const double *u = g.now.block(slot), *spin = u + (g.spin + component) * cells;
  const double *in_y = u + (i_momentum + y) * cells, *in_z = u + (i_momentum + z) * cells;
  std::vector<double> all(static_cast<std::size_t>(cells));
  for (int c = 0; c < cells; ++c) {
    const int at[3] = {c % n, c / n % n, c / (n * n)};
    all[static_cast<std::size_t>(c)] =
        (g.mesh.centre(slot, y, at[y]) * in_z[c] - g.mesh.centre(slot, z, at[z]) * in_y[c]) + per_spin * spin[c];
  }
  return all;
}

}  // namespace plx::star
