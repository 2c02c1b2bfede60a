// Operations: what a device computes. An operation is a name, the type of its *items*, and one function per backend. An
// item is an argument block: a trivially copyable struct that says what one call works on. Many items may run as one
// launch (gpu/aggregating_executor.hpp), so an operation is always written for an array of them.
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
// A grid has 65535 blocks along y and z at most: an operation that may be launched on more items puts them along x.
// Nothing registers itself: the operation is a constant that names its functions, so the linker takes them out of a
// static library as it takes any function. In CMake: plx_gpu_sources(TARGET add.cu), cmake/gpu.cmake.
// Thread safety: constants; the functions are called by several threads at a time. Example: gpu/testing/
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace plx::gpu {

struct native_stream_t;
/// A stream as its backend knows it: cudaStream_t, hipStream_t, sycl::queue*, or the cpu backend's queue.
using native_stream = native_stream_t*;

/// What a launch function is told beside its items.
struct launch {
  native_stream stream = nullptr;
  /// A copy of the items that the device can read until this launch has ended. For kernel.hpp.
  const void* (*stage)(const launch& where, const void* items, std::size_t bytes) = nullptr;
  void* owner = nullptr;
};

/// On the cpu: computes one item, some time later than the launch, on a thread of the backend. What it throws is the
/// error of that item.
using cpu_function = void (*)(const void* item);
/// Elsewhere: launches all items in `where.stream` and does not wait. The items are gone when it returns.
using launch_function = void (*)(const launch& where, const void* items, unsigned count);

/// An operation without the type of its items.
struct any_operation {
  const char* name = "";         // what errors, counters and traces call it
  std::uint32_t item_bytes = 0;  // of one item
  std::uint32_t item_alignment = 1;
  cpu_function cpu = nullptr;
  launch_function cuda = nullptr, hip = nullptr, sycl = nullptr;  // null: not built, or not written
};

/// An operation on items of one type. Compare and keep it by its address.
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

/// An operation that only the cpu backend can run: for tests, and for what needs no device.
template <class Item, void (*cpu)(const Item&)>
constexpr operation<Item> cpu_operation(const char* name) {
  return {{name, sizeof(Item), alignof(Item), detail::cpu_of<Item, cpu>, nullptr, nullptr, nullptr}};
}

}  // namespace plx::gpu

// Which backends this tree was built with: set for everybody who uses the library gpu (cmake/gpu.cmake).
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

/// Declares the operation `name` on items of type `item`, in the namespace where it stands, and the functions that it
/// is made of. To be defined: name_cpu always, and name_cuda, name_hip, name_sycl for those backends that are built.
#define PLX_GPU_OPERATION(name, item) PLX_DETAIL_GPU_OPERATION(name, item, PLX_DETAIL_GPU_SYCL(name, item))
/// The same of an operation that was not written for sycl: a launch there is an error that says so.
#define PLX_GPU_OPERATION_WITHOUT_SYCL(name, item) PLX_DETAIL_GPU_OPERATION(name, item, nullptr)
