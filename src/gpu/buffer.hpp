// Memory of a device, and pinned memory of the host, recycled.
//
//   plx::gpu::buffer<double> x(s, n);                                 // on the device of stream s
//   plx::gpu::buffer<double> h(s, n, plx::gpu::memory_kind::pinned);  // the host's, which copies without waiting
//   s.copy(x.data(), h.data(), x.bytes());
//
// A buffer belongs to the stream that it was made for: it goes back to the pool in the order of that stream, so it may
// be destroyed while work that was put there still uses it. Who uses it in other streams too orders them
// (stream::wait_for, futures) before it is destroyed. Contents are not set.
// Thread safety: as any container's; different buffers in any threads. Requires: the device outlives it.
// Cost: some 20 ns to make and to destroy together, on a worker that has one to spare (docs/gpu.md); the first ones ask
//   the device, which takes 100 us. Errors: gpu::error; without memory the pools are trimmed first, once.
// Example: gpu/core/test/buffer_test.cpp
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "gpu/stream.hpp"

namespace plx::gpu {

namespace detail {

struct memory_block;
struct memory_counts;

/// A block of a pool, and where it goes back.
class block_ref {
 public:
  block_ref() noexcept = default;
  block_ref(stream& s, std::size_t bytes, memory_kind kind);
  block_ref(block_ref&& o) noexcept
      : block_(std::exchange(o.block_, nullptr)),
        stream_(o.stream_),
        at_(std::exchange(o.at_, nullptr)),
        kind_(o.kind_) {}
  block_ref& operator=(block_ref&& o) noexcept {
    std::swap(block_, o.block_);
    std::swap(stream_, o.stream_);
    std::swap(at_, o.at_);
    std::swap(kind_, o.kind_);
    return *this;
  }
  ~block_ref() {
    if (block_ != nullptr) give_back();
  }
  [[nodiscard]] void* at() const noexcept { return at_; }
  [[nodiscard]] memory_kind kind() const noexcept { return kind_; }
  void move_to(stream& s);

 private:
  void give_back() noexcept;
  memory_block* block_ = nullptr;
  stream_core* stream_ = nullptr;
  void* at_ = nullptr;
  memory_kind kind_ = memory_kind::device;
};

}  // namespace detail

template <class T>
class buffer {
  static_assert(std::is_trivially_copyable_v<T>, "devices copy bytes");

 public:
  buffer() noexcept = default;
  /// n elements; 0 gives an empty one. Errors: throws gpu::error.
  buffer(stream& s, std::size_t n, memory_kind kind = memory_kind::device)
      : block_(n != 0 ? detail::block_ref(s, bytes_of(n), kind) : detail::block_ref()), n_(n) {}
  buffer(buffer&& o) noexcept : block_(std::move(o.block_)), n_(std::exchange(o.n_, 0)) {}
  buffer& operator=(buffer&& o) noexcept {
    block_ = std::move(o.block_);
    std::swap(n_, o.n_);
    return *this;
  }

  /// In device memory: an address for kernels and copies, which the host must not read (the cpu backend's it may).
  [[nodiscard]] T* data() const noexcept { return static_cast<T*>(block_.at()); }
  [[nodiscard]] std::size_t size() const noexcept { return n_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return n_ * sizeof(T); }
  [[nodiscard]] bool empty() const noexcept { return n_ == 0; }
  [[nodiscard]] memory_kind kind() const noexcept { return block_.kind(); }
  /// Of pinned memory: what the host sees.
  [[nodiscard]] std::span<T> span() const noexcept { return {data(), n_}; }
  /// From now on it belongs to `s`, and what is put there comes after what is in its stream so far.
  void move_to(stream& s) { block_.move_to(s); }

 private:
  // More than there can be stays more than there can be.
  static constexpr std::size_t bytes_of(std::size_t n) noexcept {
    return n <= ~std::size_t{0} / sizeof(T) ? n * sizeof(T) : ~std::size_t{0};
  }
  detail::block_ref block_;
  std::size_t n_ = 0;
};

/// What the pools of a device have done so far.
detail::memory_counts memory_counts_of(device& d, memory_kind kind);
/// Gives all free memory of the pools back to the device. Waits for what may still use it.
void trim(device& d);

}  // namespace plx::gpu
