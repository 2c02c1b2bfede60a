// Views of recycled memory: unmanaged Views of Kokkos over blocks of the pools of gpu/buffer.hpp.
//
//   plx::kokkos::instance<Kokkos::Cuda> i = card.take();
//   plx::kokkos::recycled_view<double**, Kokkos::Cuda> x(i, 100, 3);         // in memory of the device
//   plx::kokkos::pinned_view<double**, Kokkos::Cuda> h(i, 100, 3);           // of the host, copied without a wait
//
//   auto f = async_deep_copy(i, x.view(), h.view());
//
// The memory goes back when the object ends: of an instance, behind what was put in that instance before; of a space,
// at once, so what uses it must be done. Views made from it do not keep it. Contents are not set.
// In spaces of the host both kinds are ordinary memory. Requires: the space outlives it.
// Thread safety: as any container's. Cost: gpu/buffer.hpp's, some 20 ns when there is a block to spare; Kokkos' own
//   allocation asks the device and waits for it. Errors: gpu::error when there is no memory.
// Example: gpu/kokkos/view_test.cpp
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

/// Data is Kokkos': double*, double**[3]. The layout is the space's.
template <class Data, class Space, gpu::memory_kind kind = gpu::memory_kind::device>
class recycled_view {
 public:
  using view_type = Kokkos::View<Data, typename Space::array_layout,
                                 typename detail::memory_space_of<Space, kind>::type, Kokkos::MemoryUnmanaged>;
  static_assert(std::is_trivially_copyable_v<typename view_type::value_type>, "recycled memory is not constructed");

  /// With the extents that Data leaves open.
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

/// In memory of the host that the space's device reaches: for results, and copies that nobody waits for.
template <class Data, class Space>
using pinned_view = recycled_view<Data, Space, gpu::memory_kind::pinned>;

}  // namespace plx::kokkos
