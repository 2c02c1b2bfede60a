// The place of a block of a mesh for the kernels.
//
// Thread safety: pure. Cost: a few operations. Example: star/runners/stepper.cpp
#pragma once

#include "mesh/tree/block_mesh.hpp"
#include "star/hydro/parameters.hpp"

namespace plx::star {

inline block_place place_of(const mesh::domain& box, const mesh::location& where) {
  block_place p(box.cell_width(where.level));
  for (int a = 0; a < 2; ++a) {
    p.lower[a] = box.lower[static_cast<std::size_t>(a)];
    p.first[a] = static_cast<double>(where.x[static_cast<std::size_t>(a)]) * box.block_size;
  }
  return p;
}
inline block_place place_of(const mesh::block_mesh& mesh, mesh::slot_id slot) {
  return place_of(mesh.box(), mesh.where(slot));
}

}  // namespace plx::star
