// Small blocks of memory for tasks and futures' states, recycled per thread.
//
// Thread-safe; a block may be freed by another thread than the one that allocated it. Cost: about 3 ns when the
// thread's own list serves. Blocks over `largest_bytes` go to operator new. Under AddressSanitizer and ThreadSanitizer
// all blocks do, so that each use after free is detected.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace plx::detail {

inline constexpr std::size_t largest_pooled_bytes = 512;
inline constexpr std::size_t pooled_alignment = 64;  // of every block; enough for the widest vectors

[[nodiscard]] void* pool_get(std::size_t bytes);
void pool_put(void* p, std::size_t bytes) noexcept;

/// Creates a T in a block of the pool. If the constructor throws, the block is freed.
template <class T, class... A>
T* pool_new(A&&... a) {
  static_assert(alignof(T) <= pooled_alignment, "a task or result may be aligned to 64 bytes at most");
  void* memory = pool_get(sizeof(T));
  try {
    return ::new (memory) T(std::forward<A>(a)...);
  } catch (...) {
    pool_put(memory, sizeof(T));
    throw;
  }
}

}  // namespace plx::detail
