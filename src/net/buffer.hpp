// A shared array with uninitialised elements, for sending large data: they are sent from the memory in which they were
// produced and received into memory of their own, without intermediate copies.
//
// Thread safety: copies of one buffer may be used by several threads; access to the elements is not synchronized. Cost:
// one allocation (large blocks are reused: net/core/buffer_memory.hpp); a copy is an atomic increment. Example:
// net/core/test/wire_test.cpp
#pragma once

#include <atomic>
#include <cstddef>
#include <limits>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "net/bitwise.hpp"
#include "net/core/buffer_memory.hpp"

namespace plx {

/// Requires: is_bitwise<T>.
template <class T>
class buffer {
  static_assert(is_bitwise<T>, "a buffer needs a bitwise element type: see net/bitwise.hpp");

 public:
  using value_type = T;

  buffer() noexcept = default;
  /// `size` elements, not initialised. Throws std::bad_alloc.
  explicit buffer(std::size_t size) {
    if (size == 0) return;
    if (size > (std::numeric_limits<std::size_t>::max() - header_bytes) / sizeof(T)) throw std::bad_alloc();
    block_ = ::new (net::detail::get_buffer_memory(header_bytes + size * sizeof(T))) block{{1}, size};
  }
  buffer(const buffer& o) noexcept : block_(o.block_) {
    if (block_ != nullptr) block_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  buffer(buffer&& o) noexcept : block_(std::exchange(o.block_, nullptr)) {}
  buffer& operator=(const buffer& o) noexcept { return *this = buffer(o); }
  buffer& operator=(buffer&& o) noexcept {
    buffer taken(std::move(o));
    std::swap(block_, taken.block_);
    return *this;
  }
  ~buffer() {
    // acq_rel: other owners' accesses to the elements happen before the memory is freed.
    if (block_ != nullptr && block_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
      net::detail::put_buffer_memory(block_, header_bytes + block_->size * sizeof(T));
  }

  /// The number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return block_ == nullptr ? 0 : block_->size; }
  /// Whether the size is 0.
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  /// The first element, aligned to a cache line; null if the buffer is empty.
  [[nodiscard]] T* data() const noexcept {
    return block_ == nullptr ? nullptr : reinterpret_cast<T*>(reinterpret_cast<std::byte*>(block_) + header_bytes);
  }
  T& operator[](std::size_t i) const noexcept { return data()[i]; }
  /// For range-for, as end().
  T* begin() const noexcept { return data(); }
  /// One past the last element.
  T* end() const noexcept { return data() + size(); }
  operator std::span<T>() const noexcept { return {data(), size()}; }  // NOLINT: implicit on purpose

 private:
  struct block {
    std::atomic<std::size_t> owners;
    std::size_t size;
  };
  static constexpr std::size_t header_bytes = net::detail::buffer_alignment;  // the elements begin at a cache line

  block* block_ = nullptr;
};

}  // namespace plx
