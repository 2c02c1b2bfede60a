// For the .cu sources of operations, compiled by nvcc and hipcc: how items reach a kernel. See gpu/operation.hpp.
//
// Items are kernel parameters if they fit, so that a launch needs no memory and no copy: up to 4 KiB, or up to 32 KiB
// if the toolkit allows. Otherwise they go through recycled pinned memory, which the kernel reads in place; a block
// should then read its item once. Cost: with parameters, that of a launch plus the copy of their bytes.
// Requires: kernels are defined in an unnamed namespace. Both compilers emit a symbol with the kernel's name, and in a
// program with both backends the linker would keep only one of the two.
#pragma once

#if defined(__HIPCC__) || defined(__HIP__)
#include "gpu/hip/cuda_names.hpp"
#define PLX_GPU_LAUNCHER(name) name##_hip
#else
#include <cuda_runtime.h>
#define PLX_GPU_LAUNCHER(name) name##_cuda
#endif

#include <cstddef>
#include <cstring>

#include "gpu/operation.hpp"

namespace plx::gpu {

/// The stream to launch the kernel in.
inline cudaStream_t stream_of(const launch& where) { return reinterpret_cast<cudaStream_t>(where.stream); }

/// Lets thread blocks of a kernel have that much dynamic shared memory. False, with an error for cudaGetLastError(), if
/// the device has less.
template <class... Parameters>
bool allow_shared_memory([[maybe_unused]] void (*kernel)(Parameters...), [[maybe_unused]] std::size_t bytes) {
#if defined(__HIPCC__)  // there a group may use all shared memory of the device without a request
  return true;
#else
  return bytes <= std::size_t{48} << 10 || cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                                static_cast<int>(bytes)) == cudaSuccess;
#endif
}

namespace detail {

template <class Item, unsigned capacity>
struct near_items {
  Item item[capacity];
  __host__ __device__ const Item& operator[](unsigned i) const { return item[i]; }
};
template <class Item>
struct far_items {
  const Item* item;
  __host__ __device__ const Item& operator[](unsigned i) const { return item[i]; }
};

template <unsigned bytes, class Item, class F>
bool with_near_items(const Item* items, unsigned n, F&& f) {
  constexpr unsigned capacity = bytes / sizeof(Item);
  if constexpr (capacity > 0) {
    if (n <= capacity) {
      union {  // no constructor runs: the items are bytes
        near_items<Item, capacity> list;
      };
      std::memcpy(static_cast<void*>(list.item), items, n * sizeof(Item));
      f(list);
      return true;
    }
  }
  return false;
}

#if !defined(__HIPCC__) && defined(CUDART_VERSION) && CUDART_VERSION >= 12010
inline constexpr unsigned most_parameter_bytes = 32000;  // of 32764; Volta and newer
#else
inline constexpr unsigned most_parameter_bytes = 4000;  // of 4096
#endif

}  // namespace detail

/// Calls `f(list)` once, where list[i] is item i in the kernel. `list` is passed to the kernel by value; the kernel is
/// a template that declares it as `const __grid_constant__ Items`. The template has three or four instantiations: for
/// few, more and many items as parameters, and for items in memory.
template <class Item, class F>
void with_items(const launch& where, const Item* items, unsigned n, F&& f) {
  if (detail::with_near_items<256>(items, n, f)) return;
  if (detail::with_near_items<4000>(items, n, f)) return;
  if constexpr (detail::most_parameter_bytes > 4000)
    if (detail::with_near_items<detail::most_parameter_bytes>(items, n, f)) return;
  const void* far = where.stage(where, items, std::size_t{n} * sizeof(Item));
  if (far != nullptr) f(detail::far_items<Item>{static_cast<const Item*>(far)});
}

}  // namespace plx::gpu
