#include "cells.hpp"

#include <utility>

namespace plx::star::validation {

void for_cells(const gas& g,
               const std::function<void(const double* u, double x, double y, double z, double width)>& f) {
  const int n = g.mesh.block_size();
  for (const mesh::slot_id slot : g.own())
    for (int c = 0; c < g.now.cells(); ++c)
      f(g.now.block(slot) + c, g.mesh.centre(slot, 0, c % n), g.mesh.centre(slot, 1, c / n % n),
        g.mesh.centre(slot, 2, c / n / n), g.mesh.cell_width(slot));
}

bool symmetric_about_diagonal(const gas& g) {
  const std::ptrdiff_t cells = g.now.cells();
  const int n = g.mesh.block_size();
  for (const mesh::slot_id slot : g.own()) {
    mesh::location l = g.mesh.where(slot);
    std::swap(l.x[0], l.x[1]);
    const mesh::slot_id other = g.mesh.find(l);
    const double *u = g.now.block(slot), *w = g.now.block(other);
    for (int v = 0; v < g.now.variable_count(); ++v) {
      const int across = v == i_momentum ? i_momentum + 1 : v == i_momentum + 1 ? i_momentum : v;
      for (int k = 0; k < n; ++k)
        for (int j = 0; j < n; ++j)
          for (int i = 0; i < n; ++i)
            if (u[v * cells + (k * n + j) * n + i] != w[across * cells + (k * n + i) * n + j]) return false;
    }
  }
  return true;
}

}  // namespace plx::star::validation
