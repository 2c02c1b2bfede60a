#include "star/hydro/stage.hpp"

#include "base/assert.hpp"
#include "star/hydro/kernel/kernel.hpp"

namespace plx::star {

std::size_t stage_scratch_bytes(const hydro_parameters& parameters, int n) {
  PLX_ASSERT(is_block_size(n), n);
  return isa_baseline::table.scratch_doubles(parameters, n) * sizeof(double);
}

void advance_block(const hydro_parameters& parameters, const stage_input& in, stage_output& out, void* scratch,
                   isa which) {
  PLX_ASSERT(is_block_size(in.n), in.n);
  PLX_ASSERT(parameters.n_species >= 0 && parameters.n_species <= max_species, parameters.n_species);
  PLX_ASSERT(reinterpret_cast<std::uintptr_t>(scratch) % 64 == 0);
  const kernel_table* kernels = kernels_of(which);
  PLX_ASSERT(kernels != nullptr, static_cast<int>(which));
  kernels->advance(parameters, in, out, static_cast<double*>(scratch));
}

void check_cells(const hydro_parameters& parameters, double* u, int n, const block_place& place, const cell_box& box,
                 stage_output& out) {
  for (int axis = 0; axis < 3; ++axis)
    PLX_ASSERT(0 <= box.lower[axis] && box.upper[axis] <= n, axis, box.lower[axis], box.upper[axis]);
  const kernel_table* kernels = kernels_of(active_isa());
  PLX_ASSERT(kernels != nullptr);
  kernels->check(parameters, u, n, place, box, out);
}

}  // namespace plx::star
