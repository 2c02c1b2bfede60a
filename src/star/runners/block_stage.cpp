#include "star/runners/block_stage.hpp"

#include "mesh/between/gather.hpp"

namespace plx::star {

stage_input stage_input_of(const gas& g, const mesh::arena& from, mesh::slot_id slot, double dt,
                           const integrator& scheme, int stage, worker_scratch::one& mine) {
  stage_input in;
  in.tile = mesh::gather_tile(g.mesh, from, slot, g.sides, mine.tile, g.reach, g.stage_time[stage]);
  in.u_old = g.now.block(slot);
  in.n = g.mesh.block_size();
  in.dx = g.mesh.cell_width(slot);
  in.dt = dt;
  in.weight = scheme.weight[stage];
  return in;
}

stage_output stage_output_to(mesh::arena& to, mesh::slot_id slot, std::uint32_t faces, worker_scratch::one& mine) {
  stage_output out;
  out.u_new = to.block(slot);
  for (int f = 0; f < mesh::face_count; ++f)
    if ((faces >> f & 1) != 0) out.face_flux[f] = mine.face[f];
  return out;
}

cell_box cells_along(int face, int n) {
  cell_box box{{0, 0, 0}, {n, n, n}};
  const int axis = mesh::face_axis(face);
  (mesh::face_is_upper(face) ? box.lower[axis] = n - 1 : box.upper[axis] = 1);
  return box;
}

}  // namespace plx::star
