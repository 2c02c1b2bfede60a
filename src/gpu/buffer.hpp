// Device memory and pinned host memory from recycling pools.
//
//   plx::gpu::buffer<double> x(s, n);                                 // on the device of stream s
//   plx::gpu::buffer<double> h(s, n, plx::gpu::memory_kind::pinned);  // on the host; copies do not block
//   s.copy(x.data(), h.data(), x.bytes());
//
// A buffer belongs to the stream that it was created for: its memory returns to the pool in the order of that stream,
// so the buffer may be destroyed while work already submitted there still uses it. Uses in other streams must be
// ordered (stream::wait_for, futures) before its destruction. Contents are uninitialized.
// Thread safety: as for containers; different buffers in any threads. Requires: the device outlives it.
// Cost: creation and destruction together some 20 ns if the worker has a free block (docs/gpu.md); an allocation from
// the device takes 100 us. Errors: gpu::error; if memory runs out, the pools are trimmed once and the allocation is
// retried.
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

/// A block of a pool, returned on destruction.
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
  /// n elements; 0 gives an empty buffer. Errors: throws gpu::error.
  buffer(stream& s, std::size_t n, memory_kind kind = memory_kind::device)
      : block_(n != 0 ? detail::block_ref(s, bytes_of(n), kind) : detail::block_ref()), n_(n) {}
  buffer(buffer&& o) noexcept : block_(std::move(o.block_)), n_(std::exchange(o.n_, 0)) {}
  buffer& operator=(buffer&& o) noexcept {
    block_ = std::move(o.block_);
    std::swap(n_, o.n_);
    return *this;
  }

  /// For device memory, an address for kernels and copies, which the host can read only on the cpu backend.
  [[nodiscard]] T* data() const noexcept { return static_cast<T*>(block_.at()); }
  [[nodiscard]] std::size_t size() const noexcept { return n_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return n_ * sizeof(T); }
  [[nodiscard]] bool empty() const noexcept { return n_ == 0; }
  [[nodiscard]] memory_kind kind() const noexcept { return block_.kind(); }
  /// The elements, readable by the host. Requires: pinned memory.
  [[nodiscard]] std::span<T> span() const noexcept { return {data(), n_}; }
  /// Moves ownership to `s`: work submitted to `s` from now on runs after the work now in the previous stream.
  void move_to(stream& s) { block_.move_to(s); }

 private:
  // An overflowing size saturates, so that the allocation fails.
  static constexpr std::size_t bytes_of(std::size_t n) noexcept {
    return n <= ~std::size_t{0} / sizeof(T) ? n * sizeof(T) : ~std::size_t{0};
  }
  detail::block_ref block_;
  std::size_t n_ = 0;
};

/// Statistics of the device's pools.
detail::memory_counts memory_counts_of(device& d, memory_kind kind);
/// Returns all free memory of the pools to the device. Waits for work that may still use it.
void trim(device& d);

}  // namespace plx::gpu
