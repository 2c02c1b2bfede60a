#include "star/gas.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "rt/runtime.hpp"

namespace plx::star {

namespace {

std::vector<mesh::variable> mesh_variables(int n_species) {
  std::vector<mesh::variable> all;
  for (const variable_info& v : conserved_variables(n_species)) all.push_back({v.name, v.vector_axis, v.share_limiter});
  return all;
}

}  // namespace

gas::gas(const setup& s)
    : mesh(s.domain),
      now(mesh_variables(s.hydro.n_species), s.domain.block_size),
      stage_a(mesh_variables(s.hydro.n_species), s.domain.block_size),
      stage_b(mesh_variables(s.hydro.n_species), s.domain.block_size),
      sides(s.sides) {
  adopt(mesh::block_mesh(s.domain));
}

void gas::adopt(mesh::block_mesh next) {
  mesh = std::move(next);
  for (mesh::arena* a : {&now, &stage_a, &stage_b}) a->resize(mesh.slot_count());
  signal_rate.resize(mesh.slot_count(), 0.0);
}

double gas::largest_signal_rate() const {
  double largest = 0.0;
  for (const mesh::slot_id slot : mesh.blocks()) largest = std::max(largest, signal_rate[slot]);
  return largest;
}

void fill_from_problem(const problem& p, const mesh::block_mesh& mesh, mesh::slot_id slot, double t, double* values) {
  const int n = mesh.block_size();
  std::array<std::vector<double>, 3> centre;
  block_cells cells{n, mesh.cell_width(slot), {}};
  for (int axis = 0; axis < 3; ++axis) {
    for (int i = 0; i < n; ++i) centre[axis].push_back(mesh.centre(slot, axis, i));
    cells.centre[axis] = centre[axis].data();
  }
  fill_block(p, cells, t, values);
}

worker_scratch::worker_scratch(unsigned workers, const hydro_parameters& parameters, int block_size) : all_(workers) {
  const int n_var = variable_count(parameters.n_species);
  const auto rounded = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
  const std::size_t face_bytes = rounded(sizeof(double) * n_var * block_size * block_size);
  const std::size_t kernel_bytes = rounded(stage_scratch_bytes(parameters, block_size));
  for (one& w : all_) {
    w.tile.reserve(n_var, block_size);
    w.memory = std::make_unique<std::byte[]>(kernel_bytes + mesh::face_count * face_bytes + 64);
    std::byte* p = w.memory.get();
    p += (64 - reinterpret_cast<std::uintptr_t>(p) % 64) % 64;
    w.kernel = p;
    p += kernel_bytes;
    for (double*& f : w.face) {
      f = reinterpret_cast<double*>(p);
      p += face_bytes;
    }
  }
}

worker_scratch::one& worker_scratch::mine() {
  const std::optional<unsigned> index = worker_index();
  PLX_ASSERT(index && *index < all_.size());
  return all_[*index];
}

}  // namespace plx::star
