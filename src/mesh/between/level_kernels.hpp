// The inner loops between levels: means of eight cells, limited prolongation. One source (level_kernels_body.hpp),
// compiled for the baseline and, on x86-64, for x86-64-v3 with AVX2 (plx_kernels in cmake/plx_library.cmake); the
// version is selected once, at run time. Private to mesh.
//
// All versions give the same results to the last bit: no reassociation, no fused multiply-add.
//
// Thread safety: pure. Cost: means 16, prolongation about 60 vector instructions per 4 cells.
// Example: mesh/between/test/level_kernels_test.cpp
#pragma once

#include <cstddef>

#include "mesh/between/prolong.hpp"

namespace plx::mesh {

struct level_kernels {
  /// As restrict_box().
  void (*restrict_box)(const grid_view& fine, const grid_view& coarse, const cell_box& coarse_box, int variables);
  /// As prolong_box() for a single variable.
  void (*prolong_box)(const grid_view& coarse, const grid_view& fine, const cell_box& fine_box, limiter rule);
};

namespace isa_baseline {
extern const level_kernels kernels;
}
#ifdef __x86_64__
namespace isa_avx2 {
extern const level_kernels kernels;
}
/// Does this machine support the instructions of x86-64-v3?
bool machine_has_avx2();
#endif

/// The fastest version that this machine supports.
const level_kernels& fastest_kernels();

}  // namespace plx::mesh
