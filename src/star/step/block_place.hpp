// The place of a block of a mesh for the kernels.
//
// Thread safety: pure. Cost: a few operations. Example: star/runners/stepper.cpp
#pragma once

#include "mesh/tree/block_mesh.hpp"
#include "star/hydro/parameters.hpp"

namespace plx::star {

inline block_place place_of(const mesh::block_mesh& mesh, mesh::slot_id slot) {
  block_place p(mesh.cell_width(slot));
  for (std::size_t a = 0; a < 3; ++a) {
    p.lower[a] = mesh.box().lower[a];
    p.first[a] = static_cast<double>(mesh.where(slot).x[a]) * mesh.block_size();
  }
  return p;
}

}  // namespace plx::star
