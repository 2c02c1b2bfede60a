#include "parquet/device/operations.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "num/dense/linear_algebra.hpp"
#include "parquet/equations/bethe_salpeter.hpp"
#if defined(PLX_GPU_CUDA)
#include "gpu/cuda/blas.hpp"
#endif

namespace plx::parquet::device {
namespace {

// The bits of doubles that are not negative have their order, with NaN above all.
void raise(std::uint64_t* largest, double x) { *largest = std::max(*largest, std::bit_cast<std::uint64_t>(x)); }

}  // namespace

void weigh_cpu(const weigh_item& a) {
  std::size_t at = 0;
  for (int j = 0; j < a.n; ++j)
    for (int i = 0; i < a.n; ++i, ++at) {
      const complex f = a.gamma[at] + a.phi[at];
      a.f[at] = f * a.weights[i];
    }
}

void multiply_cpu(const multiply_item& a) {
  const std::ptrdiff_t size = static_cast<std::ptrdiff_t>(a.n) * a.n;
  for (int i = 0; i < a.count; ++i)
    plx::multiply(complex(1), {a.a + i * size, a.n, a.n, a.n}, {a.b + i * size, a.n, a.n, a.n}, complex(0),
                  {a.c + i * size, a.n, a.n, a.n});
}

#if defined(PLX_GPU_CUDA)
void multiply_cuda(const gpu::launch& where, const multiply_item* items, unsigned n) {
  for (unsigned i = 0; i < n; ++i) {
    const multiply_item& a = items[i];
    gpu::cuda::multiply(where, a.n, a.a, a.b, a.c, static_cast<std::ptrdiff_t>(a.n) * a.n, a.count);
  }
}
#endif

void symmetrize_slab_cpu(const symmetrize_item& a) {
  raise(a.change, symmetrize(static_cast<channel>(a.channel), a.partners, {a.phi, a.n, a.n, a.n}));
}

void rotate_cpu(const rotate_item& a) {
  const bool hole = a.particle_hole != 0;
  const auto* phi = reinterpret_cast<const number*>(a.phi);
  auto* gamma = reinterpret_cast<number*>(a.gamma);
  const std::ptrdiff_t size = static_cast<std::ptrdiff_t>(a.n) * a.n;
  for (std::ptrdiff_t at = 0; at < size; ++at) {
    const int i = static_cast<int>(at % a.n), j = static_cast<int>(at / a.n);
    const number_pair v = i == a.n - 1 || j == a.n - 1
                              ? outside_element(hole, a.u)
                              : irreducible_element(a.tables, phi, hole, a.momentum, a.m, a.u, i, j);
    gamma[at] = v.a;
    gamma[size + at] = v.b;
  }
}

void subtract_cpu(const subtract_item& a) {
  for (std::uint64_t i = 0; i < a.size; ++i) {
    a.r[i] = a.phi[i] - a.x[i];
    raise(a.largest, std::abs(a.r[i]));
  }
}

void dot_cpu(const dot_item& a) {
  double sum = 0;
  for (std::uint64_t i = 0; i < a.size; ++i) sum += a.a[i].real() * a.b[i].real() + a.a[i].imag() * a.b[i].imag();
  *a.sum = sum;
}

void mix_cpu(const mix_item& a) {
  for (std::uint64_t i = 0; i < a.size; ++i) {
    complex sum = 0;
    for (int s = 0; s < a.count; ++s)
      if (a.c[s] != 0) sum += a.c[s] * (a.x[s][i] + a.damping * a.r[s][i]);
    a.next[i] = sum;
  }
}

}  // namespace plx::parquet::device
