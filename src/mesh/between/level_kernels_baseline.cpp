// The version for every machine of the architecture, and the selection of an instruction set.
#define PLX_MESH_ISA baseline
#include "mesh/between/level_kernels_body.hpp"

namespace plx::mesh {

#ifdef PLX_MESH_X86
bool machine_has_avx2() { return __builtin_cpu_supports("avx2") != 0; }

const level_kernels& fastest_kernels() {
  static const level_kernels& fastest = machine_has_avx2() ? avx2::kernels : baseline::kernels;
  return fastest;
}
#else
const level_kernels& fastest_kernels() { return baseline::kernels; }
#endif

}  // namespace plx::mesh
