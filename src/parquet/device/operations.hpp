// The operations of an iteration of the parquet equations on a device, each on matrices of a slab.
//
// All matrices are column-major and contiguous. The CPU functions are the reference; they call the functions that runs
// without a device call, or repeat their arithmetic in the same order, so both give the same bits. On devices the
// kernels round each addition and multiplication as the CPU does; only the product (cuBLAS), the sums of `dot`, which
// are made by many threads in a fixed order, and absolute values differ, by rounding.
// Thread safety: constants. Cost: multiply 8 n^3 flops per matrix, the others that of the memory they read and write.
// Example: parquet/device/test/operations_test.cpp
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "gpu/operation.hpp"
#include "parquet/device/rotation_tables.hpp"

namespace plx::parquet::device {

using complex = std::complex<double>;

/// f(i, j) = (gamma(i, j) + phi(i, j)) weights(i): the right factor of the Bethe-Salpeter equation. Shapes: gamma, phi,
/// f [n][n], weights [n].
struct weigh_item {
  const complex* gamma;
  const complex* phi;
  const complex* weights;
  complex* f;
  std::int32_t n;
};
PLX_GPU_OPERATION_WITHOUT_SYCL(weigh, weigh_item);

/// c_i = a_i b_i for i < count. Shapes: [count][n][n] each.
struct multiply_item {
  const complex* a;
  const complex* b;
  complex* c;
  std::int32_t n, count;
};
void multiply_cpu(const multiply_item&);
void multiply_cuda(const gpu::launch&, const multiply_item*, unsigned);  // cuBLAS
#if defined(PLX_GPU_CUDA)
inline constexpr auto multiply_launch = gpu::detail::launch_of<multiply_item, multiply_cuda>;
#else
inline constexpr gpu::launch_function multiply_launch = nullptr;
#endif
/// Backends cpu and cuda only.
inline constexpr gpu::operation<multiply_item> multiply{
    {"parquet.multiply", sizeof(multiply_item), alignof(multiply_item),
     gpu::detail::cpu_of<multiply_item, multiply_cpu>, multiply_launch, nullptr, nullptr}};

/// parquet::symmetrize() of a matrix. Raises *change to the largest change, as the bits of a double.
struct symmetrize_item {
  complex* phi;
  const std::int32_t* partners;  // [n], by slab_partners()
  std::uint64_t* change;
  std::int32_t n;
  std::int32_t channel;  // a parquet::channel
};
PLX_GPU_OPERATION_WITHOUT_SYCL(symmetrize_slab, symmetrize_item);

/// irreducible_slab() of two channels: the rotations. Shapes: phi: all slabs, as vertex_grid lays them out; gamma
/// [2][n][n] with n = rows(m).
struct rotate_item {
  const complex* phi;
  complex* gamma;
  rotation_tables tables;
  std::int32_t particle_hole, momentum, m, n;
  double u;
};
PLX_GPU_OPERATION_WITHOUT_SYCL(rotate, rotate_item);

/// r = phi - x for `size` values. Raises *largest to the largest |r|, as the bits of a double; NaN is above all.
struct subtract_item {
  const complex* phi;
  const complex* x;
  complex* r;
  std::uint64_t* largest;
  std::uint64_t size;
};
PLX_GPU_OPERATION_WITHOUT_SYCL(subtract, subtract_item);

/// *sum = the sum of re a re b + im a im b over `size` values.
struct dot_item {
  const complex* a;
  const complex* b;
  double* sum;
  std::uint64_t size;
};
PLX_GPU_OPERATION_WITHOUT_SYCL(dot, dot_item);

/// next = sum_s c_s (x_s + damping r_s) for `size` values, without the terms in which c_s = 0.
struct mix_item {
  static constexpr int most = 65;
  const complex* x[most];
  const complex* r[most];
  double c[most];
  double damping;
  complex* next;
  std::uint64_t size;
  std::int32_t count;
};
PLX_GPU_OPERATION_WITHOUT_SYCL(mix, mix_item);

}  // namespace plx::parquet::device
