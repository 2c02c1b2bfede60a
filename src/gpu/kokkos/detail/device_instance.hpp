// An instance of a device space: a gpu::stream, and Kokkos' object around it.
#pragma once

#include <Kokkos_Core.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>

#include "gpu/buffer.hpp"
#include "gpu/core/device_core.hpp"
#include "gpu/kokkos/guard.hpp"
#include "gpu/stream.hpp"

namespace plx::kokkos::detail {

/// The backend of a device space in gpu/backend.hpp, and its pinned memory space.
template <class Space>
struct device_traits {
  static constexpr const char* backend = nullptr;
};
#if defined(KOKKOS_ENABLE_CUDA)
template <>
struct device_traits<Kokkos::Cuda> {
  static constexpr const char* backend = "cuda";
  using pinned_space = Kokkos::CudaHostPinnedSpace;
  static Kokkos::Cuda make(gpu::native_stream s) { return Kokkos::Cuda(reinterpret_cast<cudaStream_t>(s)); }
};
#endif
#if defined(KOKKOS_ENABLE_HIP)
template <>
struct device_traits<Kokkos::HIP> {
  static constexpr const char* backend = "hip";
  using pinned_space = Kokkos::HIPHostPinnedSpace;
  static Kokkos::HIP make(gpu::native_stream s) { return Kokkos::HIP(reinterpret_cast<hipStream_t>(s)); }
};
#endif
#if defined(KOKKOS_ENABLE_SYCL)
template <>
struct device_traits<Kokkos::SYCL> {
  static constexpr const char* backend = "sycl";
  using pinned_space = Kokkos::SYCLHostUSMSpace;
  static Kokkos::SYCL make(gpu::native_stream s) { return Kokkos::SYCL(*reinterpret_cast<sycl::queue*>(s)); }
};
#endif

template <class Space>
concept on_device = device_traits<Space>::backend != nullptr;

template <on_device Space>
class device_instance {
 public:
  explicit device_instance(gpu::device& d) : stream_(d), space_(device_traits<Space>::make(stream_.native())) {}
  ~device_instance() {
    try {
      stream_.wait();
    } catch (...) {  // held by the futures of its work
    }
  }

  [[nodiscard]] const Space& get() const noexcept { return space_; }
  [[nodiscard]] gpu::stream& memory() noexcept { return stream_; }
  [[nodiscard]] std::size_t pending() const noexcept { return stream_.core().queued.load(std::memory_order_relaxed); }
  [[nodiscard]] plx::future<void> future() { return stream_.future(); }

  /// Calls `f(space)` in the calling thread: it launches and does not wait.
  template <class F>
  plx::future<void> put(std::string_view name, F&& f) {
    const std::lock_guard guard(turn_);
    return gpu::async_put(stream_, gpu::named_operation(name), [&] { f(space_); });
  }
  /// As put(), for a result that the device writes: f(space, view of a T in pinned memory).
  template <class T, class F>
  plx::future<T> put_for(std::string_view name, F&& f) {
    using view = Kokkos::View<T, typename device_traits<Space>::pinned_space, Kokkos::MemoryUnmanaged>;
    try {
      gpu::buffer<T> at(stream_, 1, gpu::memory_kind::pinned);
      plx::future<void> done = put(name, [&](const Space& s) { f(s, view(at.data())); });
      return done.then(plx::launch::sync, [at = std::move(at)](plx::future<void> d) {
        d.get();
        return *at.data();
      });
    } catch (...) {
      return plx::make_exceptional_future<T>(std::current_exception());
    }
  }
  /// Destroys `kept`: its memory is released in stream order.
  template <class Kept>
  void drop(Kept kept) {
    static_cast<void>(kept);
  }

 private:
  gpu::stream stream_;
  Space space_;
  // Kokkos may wait for the device: other submitters sleep here instead of spinning on the stream's lock.
  std::mutex turn_;
};

template <on_device Space>
class device_home {
 public:
  explicit device_home(gpu::device& d) : device_(d) {
    if (d.get_backend().name != device_traits<Space>::backend)
      throw gpu::error({gpu::failure::wrong_use, 0, "kokkos::space", "",
                        std::string("the space ") + Space::name() + " of Kokkos needs a device of backend " +
                            device_traits<Space>::backend + ", found one of " + std::string(d.get_backend().name) +
                            ": open plx::gpu::device(rt, plx::gpu::find_backend(\"" + device_traits<Space>::backend +
                            "\"))"});
    space_begins(Space::name());
  }
  ~device_home() { space_ends(); }
  device_home(const device_home&) = delete;
  device_home& operator=(const device_home&) = delete;
  std::unique_ptr<device_instance<Space>> make() { return std::make_unique<device_instance<Space>>(device_); }

 private:
  gpu::device& device_;
};

}  // namespace plx::kokkos::detail
