#include "star/state/spin.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "mesh/between/gather.hpp"
#include "rt/for_loop.hpp"
#include "star/device/data/spin_rule.hpp"
#include "star/step/block_place.hpp"

namespace plx::star {

using mesh::slot_id;

namespace {

template <class F>
void for_families(double* u, int n, F&& f) {
  for (int k = 0; k < n; k += 2)
    for (int j = 0; j < n; j += 2)
      for (int i = 0; i < n; i += 2) f(u + (k * n + j) * n + i, i, j, k);
}

std::optional<device::face_to> face_to(mesh::relation across) {
  switch (across) {
    case mesh::relation::finer:
      return device::face_to::finer;
    case mesh::relation::coarser:
      return device::face_to::coarser;
    case mesh::relation::side:
      return device::face_to::side;
    default:
      return std::nullopt;
  }
}

}  // namespace

void complete_spin_flux(const mesh::block_mesh& mesh, slot_id slot, int face, int spin, double* flux) {
  const auto to = face_to(mesh.across(slot, face).kind);
  if (!to) return;
  const int n = mesh.block_size(), area = n * n;
  const block_place place = place_of(mesh, slot);
  for (int c = 0; c < area; ++c) {
    double momentum[3], g[3];
    for (int a = 0; a < 3; ++a) momentum[a] = flux[(i_momentum + a) * area + c], g[a] = flux[(spin + a) * area + c];
    device::arm_of_flux(*to, face, n, place, c % n, c / n).complete(momentum, g);
    for (int a = 0; a < 3; ++a) flux[(spin + a) * area + c] = g[a];
  }
}

void refine_spin(gas& g, const mesh::family& made) {
  if (g.spin < 0) return;
  const int n = g.mesh.block_size();
  const double dx = 0.5 * g.mesh.cell_width(made.parent);
  for (const slot_id child : made.children)
    for_families(g.now.block(child), n,
                 [&](double* first, int, int, int) { device::change_family(first, n, g.spin, dx); });
}

void merge_spin(gas& g, const mesh::family& made) {
  if (g.spin < 0) return;
  const int n = g.mesh.block_size(), half = n / 2;
  const double dx = g.mesh.cell_width(made.children[0]);
  double* parent = g.now.block(made.parent);
  for (int child = 0; child < 8; ++child)
    for_families(g.now.block(made.children[static_cast<std::size_t>(child)]), n,
                 [&](const double* first, int i, int j, int k) {
                   const device::cell_family cells{first, n, n * n, g.now.cells()};
                   const int x = i / 2 + (child & 1) * half, y = j / 2 + (child >> 1 & 1) * half,
                             z = k / 2 + (child >> 2) * half;
                   for (int a = 0; a < 3; ++a)
                     parent[(g.spin + a) * g.now.cells() + (z * n + y) * n + x] = cells.merged(g.spin, a, dx);
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
  const block_place place = place_of(g.mesh, slot);
  std::vector<double> all(static_cast<std::size_t>(g.now.cells()));
  for (std::size_t c = 0; c < all.size(); ++c)
    all[c] = device::angular_momentum_of(place, g.mesh.block_size(), g.now.block(slot), g.spin, component,
                                         static_cast<int>(c));
  return all;
}

}  // namespace plx::star
