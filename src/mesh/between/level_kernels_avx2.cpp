#define PLX_MESH_ISA avx2
#include "mesh/between/level_kernels_body.hpp"
