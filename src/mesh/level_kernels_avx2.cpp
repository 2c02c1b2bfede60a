#define PLX_MESH_ISA avx2
#include "mesh/level_kernels_body.hpp"
