// A vector for arrays of many MB that are read in no particular order: it begins on a huge page and requests more of
// them, because with pages of 4 KiB such a read costs a search of the page tables.
//
// Thread safety: as std::vector. Cost: an allocation of 2 MiB or more is rounded up to whole huge pages; the system
// treats the request as a hint. Example: parquet/solver/mixing.hpp
#pragma once

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

namespace plx {

/// Memory of at least 2 MiB is aligned to huge pages, which are requested. Throws std::bad_alloc.
template <class T>
struct large_allocator {
  using value_type = T;
  large_allocator() noexcept = default;
  template <class U>
  large_allocator(const large_allocator<U>&) noexcept {}  // NOLINT: as the standard's allocators

  /// Not initialized; n elements.
  T* allocate(std::size_t n) {
    constexpr std::size_t huge_page = std::size_t{2} << 20;
    if (n > std::size_t(-1) / 2 / sizeof(T)) throw std::bad_alloc();
    const std::size_t alignment = n * sizeof(T) >= huge_page ? huge_page : alignof(std::max_align_t);
    const std::size_t bytes = (n * sizeof(T) + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, bytes);
    if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (alignment == huge_page) madvise(memory, bytes, MADV_HUGEPAGE);  // a hint; refusal only costs speed
#endif
    return static_cast<T*>(memory);
  }
  /// Requires: from allocate().
  void deallocate(T* memory, std::size_t) noexcept { std::free(memory); }
  template <class U>
  bool operator==(const large_allocator<U>&) const noexcept {
    return true;
  }
};

/// A vector whose memory is on huge pages, if it is large and the system has them.
template <class T>
using large_vector = std::vector<T, large_allocator<T>>;

}  // namespace plx
