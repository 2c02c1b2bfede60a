// Views on recycled memory: unmanaged Kokkos Views of blocks from the pools of gpu/buffer.hpp.
//
//   plx::kokkos::instance<Kokkos::Cuda> i = card.take();
//   plx::kokkos::recycled_view<double**, Kokkos::Cuda> x(i, 100, 3);         // in device memory
//   plx::kokkos::pinned_view<double**, Kokkos::Cuda> h(i, 100, 3);           // on the host; copies do not block
//
//   auto f = async_deep_copy(i, x.view(), h.view());
//
// The memory is released when the object is destroyed: for an instance, after the work already submitted to it; for a
// space, at once, so all uses must be done. Views made from it do not keep it alive. Contents are uninitialized. In
// host spaces both kinds are ordinary memory. Requires: the space outlives it.
// Thread safety: as for containers. Cost: that of gpu/buffer.hpp, some 20 ns if a block is free; Kokkos' own allocation
//   calls the device library and waits for it. Errors: gpu::error if memory runs out.
// Example: gpu/kokkos/test/view_test.cpp
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "gpu/buffer.hpp"
#include "gpu/kokkos/space.hpp"

namespace plx::kokkos {
namespace detail {

template <class Space, gpu::memory_kind kind>
struct memory_space_of {
  using type = Kokkos::HostSpace;
};
template <on_device Space>
struct memory_space_of<Space, gpu::memory_kind::device> {
  using type = typename Space::memory_space;
};
template <on_device Space>
struct memory_space_of<Space, gpu::memory_kind::pinned> {
  using type = typename device_traits<Space>::pinned_space;
};

}  // namespace detail

/// Data as in Kokkos: double*, double**[3]. The layout is that of the space.
template <class Data, class Space, gpu::memory_kind kind = gpu::memory_kind::device>
class recycled_view {
 public:
  using view_type = Kokkos::View<Data, typename Space::array_layout,
                                 typename detail::memory_space_of<Space, kind>::type, Kokkos::MemoryUnmanaged>;
  static_assert(std::is_trivially_copyable_v<typename view_type::value_type>,
                "elements in recycled memory are not constructed");

  /// Takes the run-time extents of Data.
  template <class... N>
  explicit recycled_view(instance<Space>& in, N... extents)
      : recycled_view(in.memory(), &in.core(), static_cast<std::size_t>(extents)...) {}
  template <class... N>
  explicit recycled_view(space<Space>& in, N... extents)
      : recycled_view(in.memory(), nullptr, static_cast<std::size_t>(extents)...) {}
  recycled_view(recycled_view&& o) noexcept
      : memory_(std::move(o.memory_)), behind_(std::exchange(o.behind_, nullptr)), view_(std::exchange(o.view_, {})) {}
  recycled_view& operator=(recycled_view&& o) noexcept {
    std::swap(memory_, o.memory_);
    std::swap(behind_, o.behind_);
    std::swap(view_, o.view_);
    return *this;
  }
  ~recycled_view() {
    if (behind_ != nullptr) behind_->drop(std::move(memory_));
  }

  [[nodiscard]] const view_type& view() const noexcept { return view_; }
  operator const view_type&() const noexcept { return view_; }

 private:
  template <class... N>
  recycled_view(gpu::stream& s, detail::instance_core<Space>* behind, N... extents)
      : memory_(s, view_type::required_allocation_size(extents...), kind),
        behind_(behind),
        view_(reinterpret_cast<typename view_type::pointer_type>(memory_.data()), extents...) {}

  gpu::buffer<std::byte> memory_;
  detail::instance_core<Space>* behind_;
  view_type view_;
};

/// In host memory that the space's device can access: for results, and for copies that do not block.
template <class Data, class Space>
using pinned_view = recycled_view<Data, Space, gpu::memory_kind::pinned>;

}  // namespace plx::kokkos
