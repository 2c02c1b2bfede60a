// For operations in SYCL: how items reach a kernel; the counterpart of gpu/cuda/kernel.hpp. See gpu/operation.hpp.
//
//   void add_sycl(const plx::gpu::launch& where, const add_item* items, unsigned n) {
//     plx::gpu::sycl::with_items(where, items, n, [&](const auto& list) {
//       plx::gpu::sycl::queue_of(where).parallel_for(::sycl::range<1>(n), [=](::sycl::id<1> at) { ... list[at] ... });
//     });
//   }
//
// Thread safety: functions. Cost: few items are kernel arguments, more are copied to pinned memory.
// Example: gpu/testing/operations_sycl.cpp
#pragma once

#include <cstring>
#include <sycl/sycl.hpp>

#include "gpu/operation.hpp"

namespace plx::gpu::sycl {

/// The queue to submit the kernel to.
inline ::sycl::queue& queue_of(const launch& where) { return *reinterpret_cast<::sycl::queue*>(where.stream); }

namespace detail {

template <class Item, unsigned capacity>
struct near_items {
  Item item[capacity];
  const Item& operator[](std::size_t i) const { return item[i]; }
};
template <class Item>
struct far_items {
  const Item* item;
  const Item& operator[](std::size_t i) const { return item[i]; }
};

inline constexpr unsigned parameter_bytes = 960;  // of 1024, which every device supports

}  // namespace detail

/// Calls `f(list)` once, where list[i] is item i in a kernel that captures `list` by value.
template <class Item, class F>
void with_items(const launch& where, const Item* items, unsigned n, F&& f) {
  constexpr unsigned capacity = detail::parameter_bytes / sizeof(Item);
  if constexpr (capacity > 0) {
    if (n <= capacity) {
      union {  // no constructor runs: the items are bytes
        unsigned char bytes[sizeof(detail::near_items<Item, capacity>)] = {};
        detail::near_items<Item, capacity> list;
      };
      std::memcpy(bytes, items, n * sizeof(Item));
      return f(list);
    }
  }
  const void* far = where.stage(where, items, std::size_t{n} * sizeof(Item));
  if (far != nullptr) f(detail::far_items<Item>{static_cast<const Item*>(far)});
}

}  // namespace plx::gpu::sycl
