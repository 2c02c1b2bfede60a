// The operations of operations.hpp on devices, but for the product. Compiled without contraction to fused multiply-adds
// (plx_gpu_sources(... EXACT)), so that sums and products round as on the CPU.
#include "gpu/cuda/kernel.hpp"
#include "parquet/device/operations.hpp"

namespace plx::parquet::device {
namespace {

constexpr unsigned threads = 256;

__device__ const number* of(const complex* x) { return reinterpret_cast<const number*>(x); }
__device__ number* of(complex* x) { return reinterpret_cast<number*>(x); }

__device__ void raise(std::uint64_t* largest, double x) {
  atomicMax(reinterpret_cast<unsigned long long*>(largest),
            static_cast<unsigned long long>(__double_as_longlong(x)));
}

// The largest value of a group of `threads`, in its first thread; NaN is above all.
__device__ double largest_of_group(double x) {
  __shared__ unsigned long long all[threads];
  all[threadIdx.x] = static_cast<unsigned long long>(__double_as_longlong(x));
  for (unsigned step = threads / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step && all[threadIdx.x + step] > all[threadIdx.x]) all[threadIdx.x] = all[threadIdx.x + step];
  }
  __syncthreads();
  return __longlong_as_double(static_cast<long long>(all[0]));
}

// Groups for `size` values of each of `n` items.
dim3 groups_for(std::uint64_t size, unsigned n) {
  const std::uint64_t needed = (size + threads - 1) / threads;
  return dim3(static_cast<unsigned>(needed < 4096 ? (needed > 0 ? needed : 1) : 4096), n);
}

template <class Items>
__global__ void weigh_kernel(const __grid_constant__ Items items) {
  const weigh_item& a = items[blockIdx.y];
  const std::uint64_t size = static_cast<std::uint64_t>(a.n) * a.n;
  for (std::uint64_t at = blockIdx.x * threads + threadIdx.x; at < size; at += gridDim.x * threads) {
    const number f = of(a.gamma)[at] + of(a.phi)[at], w = of(a.weights)[at % a.n];
    of(a.f)[at] = {f.re * w.re - f.im * w.im, f.re * w.im + f.im * w.re};
  }
}

constexpr int tile = 16;  // threads = tile * tile

// The element that visits its orbit writes all of it, as parquet::symmetrize() does.
template <class Items>
__global__ void symmetrize_kernel(const __grid_constant__ Items items) {
  const symmetrize_item& a = items[blockIdx.y];
  const int n = a.n, tiles = (n + tile - 1) / tile;
  double change = 0;
  for (int t = static_cast<int>(blockIdx.x); t < tiles * tiles; t += static_cast<int>(gridDim.x)) {
    const int i = t % tiles * tile + static_cast<int>(threadIdx.x) % tile,
              j = t / tiles * tile + static_cast<int>(threadIdx.x) / tile;
    if (i >= n || j >= n) continue;
    const int p = a.partners[i], q = a.partners[j];
    const auto before = [&](int r, int s) { return s < j || (s == j && r < i); };
    const auto phi = [&](int r, int s) -> number& { return of(a.phi)[r + static_cast<std::int64_t>(s) * n]; };
    if (before(j, i) || before(p, q) || before(q, p)) continue;
    number mean;
    const number own = phi(i, j);
    if (a.channel < 2) {  // particle-hole
      mean = 0.25 * (own + phi(j, i) + conjugate(phi(p, q)) + conjugate(phi(q, p)));
      phi(i, j) = phi(j, i) = mean;
      phi(p, q) = phi(q, p) = conjugate(mean);
    } else {
      if (before(p, j) || before(j, p) || before(i, q) || before(q, i)) continue;
      const double odd = a.channel == 3 ? -1 : 1;
      mean = 0.125 * (own + phi(j, i) + phi(p, q) + phi(q, p) + odd * (phi(p, j) + phi(j, p) + phi(i, q) + phi(q, i)));
      phi(i, j) = phi(j, i) = phi(p, q) = phi(q, p) = mean;
      phi(p, j) = phi(j, p) = phi(i, q) = phi(q, i) = odd * mean;
    }
    const double d = hypot(mean.re - own.re, mean.im - own.im);
    if (d > change) change = d;
  }
  change = largest_of_group(change);
  if (threadIdx.x == 0) raise(a.change, change);
}

template <class Items>
__global__ void rotate_kernel(const __grid_constant__ Items items) {
  const rotate_item& a = items[blockIdx.y];
  const bool hole = a.particle_hole != 0;
  const std::int64_t size = static_cast<std::int64_t>(a.n) * a.n;
  for (std::int64_t at = blockIdx.x * threads + threadIdx.x; at < size; at += gridDim.x * threads) {
    const int i = static_cast<int>(at % a.n), j = static_cast<int>(at / a.n);
    const number_pair v = i == a.n - 1 || j == a.n - 1
                              ? outside_element(hole, a.u)
                              : irreducible_element(a.tables, of(a.phi), hole, a.momentum, a.m, a.u, i, j);
    of(a.gamma)[at] = v.a;
    of(a.gamma)[size + at] = v.b;
  }
}

template <class Items>
__global__ void subtract_kernel(const __grid_constant__ Items items) {
  const subtract_item& a = items[blockIdx.y];
  double largest = 0;
  for (std::uint64_t at = blockIdx.x * threads + threadIdx.x; at < a.size; at += gridDim.x * threads) {
    const number r = of(a.phi)[at] - of(a.x)[at];
    of(a.r)[at] = r;
    const double size = hypot(r.re, r.im);
    if (size > largest || isnan(size)) largest = size;
  }
  largest = largest_of_group(largest);
  if (threadIdx.x == 0) raise(a.largest, largest);
}

constexpr unsigned dot_threads = 1024;

template <class Items>
__global__ void __launch_bounds__(dot_threads) dot_kernel(const __grid_constant__ Items items) {
  const dot_item& a = items[blockIdx.x];
  __shared__ double all[dot_threads];
  double sum = 0;
  for (std::uint64_t at = threadIdx.x; at < a.size; at += dot_threads) {
    const number x = of(a.a)[at], y = of(a.b)[at];
    sum += x.re * y.re + x.im * y.im;
  }
  all[threadIdx.x] = sum;
  for (unsigned step = dot_threads / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) all[threadIdx.x] += all[threadIdx.x + step];
  }
  if (threadIdx.x == 0) *a.sum = all[0];
}

template <class Items>
__global__ void mix_kernel(const __grid_constant__ Items items) {
  const mix_item& a = items[blockIdx.y];
  for (std::uint64_t at = blockIdx.x * threads + threadIdx.x; at < a.size; at += gridDim.x * threads) {
    number sum{0, 0};
    for (int s = 0; s < a.count; ++s)
      if (a.c[s] != 0) sum = sum + a.c[s] * (of(a.x[s])[at] + a.damping * of(a.r[s])[at]);
    of(a.next)[at] = sum;
  }
}

template <class Item>
std::uint64_t largest_size(const Item* items, unsigned n) {
  std::uint64_t most = 0;
  for (unsigned i = 0; i < n; ++i) {
    std::uint64_t size = 0;
    if constexpr (requires { items[i].size; })
      size = items[i].size;
    else
      size = static_cast<std::uint64_t>(items[i].n) * items[i].n;
    most = size > most ? size : most;
  }
  return most;
}

}  // namespace

void PLX_GPU_LAUNCHER(weigh)(const gpu::launch& where, const weigh_item* items, unsigned n) {
  gpu::with_items(where, items, n, [&](const auto& list) {
    weigh_kernel<<<groups_for(largest_size(items, n), n), threads, 0, gpu::stream_of(where)>>>(list);
  });
}

void PLX_GPU_LAUNCHER(symmetrize_slab)(const gpu::launch& where, const symmetrize_item* items, unsigned n) {
  gpu::with_items(where, items, n, [&](const auto& list) {
    symmetrize_kernel<<<groups_for(largest_size(items, n), n), threads, 0, gpu::stream_of(where)>>>(list);
  });
}

void PLX_GPU_LAUNCHER(rotate)(const gpu::launch& where, const rotate_item* items, unsigned n) {
  gpu::with_items(where, items, n, [&](const auto& list) {
    rotate_kernel<<<groups_for(largest_size(items, n), n), threads, 0, gpu::stream_of(where)>>>(list);
  });
}

void PLX_GPU_LAUNCHER(subtract)(const gpu::launch& where, const subtract_item* items, unsigned n) {
  gpu::with_items(where, items, n, [&](const auto& list) {
    subtract_kernel<<<groups_for(largest_size(items, n), n), threads, 0, gpu::stream_of(where)>>>(list);
  });
}

void PLX_GPU_LAUNCHER(dot)(const gpu::launch& where, const dot_item* items, unsigned n) {
  gpu::with_items(where, items, n, [&](const auto& list) {
    dot_kernel<<<n, dot_threads, 0, gpu::stream_of(where)>>>(list);
  });
}

void PLX_GPU_LAUNCHER(mix)(const gpu::launch& where, const mix_item* items, unsigned n) {
  gpu::with_items(where, items, n, [&](const auto& list) {
    mix_kernel<<<groups_for(largest_size(items, n), n), threads, 0, gpu::stream_of(where)>>>(list);
  });
}

}  // namespace plx::parquet::device
