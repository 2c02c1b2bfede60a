// Operations: the functions that a device runs. An operation consists of a name, the type of its *items*, and one
// function per backend. An item is an argument block: a trivially copyable struct that describes one call. Many items
// may run as one launch (gpu/aggregating_executor.hpp), so an operation is always written for an array of items.
//
//   // add.hpp
//   struct add_item { const double* x; const double* y; double* z; std::uint32_t n; };
//   PLX_GPU_OPERATION(add, add_item);
//
//   // add.cpp: the reference, one item at a time
//   void add_cpu(const add_item& a) { for (std::uint32_t i = 0; i < a.n; ++i) a.z[i] = a.x[i] + a.y[i]; }
//
//   // add.cu: compiled by nvcc as add_cuda, by hipcc as add_hip (gpu/cuda/kernel.hpp)
//   template <class Items>
//   __global__ void add_kernel(const __grid_constant__ Items items) {
//     const add_item& a = items[blockIdx.y];
//     for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += gridDim.x * blockDim.x)
//       a.z[i] = a.x[i] + a.y[i];
//   }
//   void PLX_GPU_LAUNCHER(add)(const plx::gpu::launch& where, const add_item* items, unsigned n) {
//     plx::gpu::with_items(where, items, n, [&](const auto& list) {
//       add_kernel<<<dim3(8, n), 256, 0, plx::gpu::stream_of(where)>>>(list);
//     });
//   }
//
// A grid has at most 65535 blocks along y and z; an operation that may be launched on more items maps them to x.
// Operations are not registered: an operation is a constant that refers to its functions, so they are linked from a
// static library as usual. In CMake: plx_gpu_sources(TARGET add.cu), cmake/gpu.cmake.
// Thread safety: constants; the functions are called by several threads concurrently. Example: gpu/testing/
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace plx::gpu {

struct native_stream_t;
/// A stream as its backend knows it: cudaStream_t, hipStream_t, sycl::queue*, or the queue of the cpu backend.
using native_stream = native_stream_t*;

/// The arguments of a launch function besides its items.
struct launch {
  native_stream stream = nullptr;
  /// Copies the items to memory that the device can read until this launch has ended. Used by kernel.hpp.
  const void* (*stage)(const launch& where, const void* items, std::size_t bytes) = nullptr;
  void* owner = nullptr;
};

/// On the cpu backend: computes one item, after the launch has returned, on a thread of the backend. An exception
/// becomes the error of that item.
using cpu_function = void (*)(const void* item);
/// On the other backends: launches all items in `where.stream` and does not wait. The items are valid only during the
/// call.
using launch_function = void (*)(const launch& where, const void* items, unsigned count);

/// An operation without its item type.
struct any_operation {
  const char* name = "";         // used in errors, counters and traces
  std::uint32_t item_bytes = 0;  // size of one item
  std::uint32_t item_alignment = 1;
  cpu_function cpu = nullptr;
  launch_function cuda = nullptr, hip = nullptr, sycl = nullptr;  // null: not built, or not implemented
};

/// An operation on items of one type. Operations are identified by address.
template <class Item>
struct operation : any_operation {
  static_assert(std::is_trivially_copyable_v<Item>, "items are copied to the device as bytes");
  static_assert(alignof(Item) <= 16, "items are collected in memory with the alignment of operator new");
  using item = Item;
};

namespace detail {

template <class Item, void (*f)(const Item&)>
inline constexpr cpu_function cpu_of = [](const void* item) { f(*static_cast<const Item*>(item)); };
template <class Item, void (*f)(const launch&, const Item*, unsigned)>
inline constexpr launch_function launch_of =
    [](const launch& where, const void* items, unsigned count) { f(where, static_cast<const Item*>(items), count); };

}  // namespace detail

/// An operation for the cpu backend only: for tests, and for work that needs no device.
template <class Item, void (*cpu)(const Item&)>
constexpr operation<Item> cpu_operation(const char* name) {
  return {{name, sizeof(Item), alignof(Item), detail::cpu_of<Item, cpu>, nullptr, nullptr, nullptr}};
}

}  // namespace plx::gpu

// Backends built into this tree; defined for all users of the gpu library (cmake/gpu.cmake).
#if defined(PLX_GPU_CUDA)
#define PLX_DETAIL_GPU_CUDA(name, item) ::plx::gpu::detail::launch_of<item, name##_cuda>
#else
#define PLX_DETAIL_GPU_CUDA(name, item) nullptr
#endif
#if defined(PLX_GPU_HIP)
#define PLX_DETAIL_GPU_HIP(name, item) ::plx::gpu::detail::launch_of<item, name##_hip>
#else
#define PLX_DETAIL_GPU_HIP(name, item) nullptr
#endif
#if defined(PLX_GPU_SYCL)
#define PLX_DETAIL_GPU_SYCL(name, item) ::plx::gpu::detail::launch_of<item, name##_sycl>
#else
#define PLX_DETAIL_GPU_SYCL(name, item) nullptr
#endif

#define PLX_DETAIL_GPU_OPERATION(name, item, sycl)                                        \
  void name##_cpu(const item&);                                                           \
  void name##_cuda(const ::plx::gpu::launch&, const item*, unsigned);                     \
  void name##_hip(const ::plx::gpu::launch&, const item*, unsigned);                      \
  void name##_sycl(const ::plx::gpu::launch&, const item*, unsigned);                     \
  inline constexpr ::plx::gpu::operation<item> name {                                     \
    {                                                                                     \
#name, sizeof(item), alignof(item), ::plx::gpu::detail::cpu_of < item, name##_cpu>, \
          PLX_DETAIL_GPU_CUDA(name, item), PLX_DETAIL_GPU_HIP(name, item), sycl           \
    }                                                                                     \
  }

/// Declares the operation `name` on items of type `item` in the current namespace, and its functions. Define name_cpu
/// always, and name_cuda, name_hip, name_sycl for the backends that are built.
#define PLX_GPU_OPERATION(name, item) PLX_DETAIL_GPU_OPERATION(name, item, PLX_DETAIL_GPU_SYCL(name, item))
/// Declares an operation without a SYCL function: a launch on that backend fails with an error that states this.
#define PLX_GPU_OPERATION_WITHOUT_SYCL(name, item) PLX_DETAIL_GPU_OPERATION(name, item, nullptr)
