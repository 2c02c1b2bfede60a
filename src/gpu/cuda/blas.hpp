// Products of matrices by cuBLAS, for the cuda function of an operation (gpu/operation.hpp): they run in the stream of
// the launch, behind what was submitted to it before, and the stream's futures report their end.
//
//   void multiply_cuda(const gpu::launch& where, const multiply_item* items, unsigned n) {
//     for (unsigned i = 0; i < n; ++i) gpu::cuda::multiply(where, items[i].n, items[i].a, items[i].b, ...);
//   }
//
// cuBLAS is opened at run time, by the first product or blas_missing(), so that programs start without it. Each stream
// has its own handle of the library, as cuBLAS requires for results that have the same bits in every run. Defined where
// the backend cuda is built (PLX_GPU_CUDA). Thread safety: all functions; products in one stream as for its other
// launches. Cost: a call some 10 us; the first one in a stream creates the handle, up to a second.
// Example: parquet/device/operations.cpp
#pragma once

#include <complex>
#include <cstddef>
#include <string>

#include "gpu/operation.hpp"

namespace plx::gpu::cuda {

/// c_i = a_i b_i for each i < count. Shapes: a_i, b_i, c_i [n][n], column-major and contiguous; matrix i + 1 begins
/// `stride` elements behind matrix i. Requires: device memory; c overlaps neither a nor b; n > 0.
/// Errors: throws gpu::error: cuBLAS is not found, or refuses the call. Cost: 8 count n^3 flops.
void multiply(const launch& where, int n, const std::complex<double>* a, const std::complex<double>* b,
              std::complex<double>* c, std::ptrdiff_t stride, int count);

/// "", or one line that says why products fail: the library is not found, or this program was built without its
/// headers.
std::string blas_missing();

}  // namespace plx::gpu::cuda
