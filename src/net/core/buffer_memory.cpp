#include "net/core/buffer_memory.hpp"

#include <bit>
#include <limits>
#include <new>
#include <vector>

#include "rt/core/spinlock.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace plx::net::detail {

namespace {

constexpr auto aligned = std::align_val_t{buffer_alignment};

#if defined(PLX_ASAN) || defined(PLX_TSAN)
constexpr bool keeps = false;
#else
constexpr bool keeps = true;
#endif

struct kept_block {
  void* memory;
  std::size_t bytes;
};
struct kept_blocks {
  plx::detail::spinlock lock;
  std::vector<kept_block> all;  // the oldest first
  std::size_t bytes = 0;
};
// Never destroyed: buffers may live in static objects.
kept_blocks& kept() {
  static auto* blocks = [] {
    auto* k = new kept_blocks;
    k->all.reserve(most_kept_bytes / kept_from_bytes + 1);  // so that returning a block allocates nothing
    return k;
  }();
  return *blocks;
}

// The size of the block that serves a request for `bytes`: up to a sixteenth larger, so that requests of similar size
// share blocks.
std::size_t capacity_of(std::size_t bytes) {
  const std::size_t step = std::bit_floor(bytes) / 16;
  return bytes > std::numeric_limits<std::size_t>::max() - step ? bytes : (bytes + step - 1) / step * step;
}

bool is_kept(std::size_t bytes) { return keeps && bytes >= kept_from_bytes && bytes <= most_kept_bytes; }

void ask_for_large_pages([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::size_t page = std::size_t{1} << 21;
  const auto begin = (reinterpret_cast<std::size_t>(p) + page - 1) & ~(page - 1);
  const auto end = (reinterpret_cast<std::size_t>(p) + bytes) & ~(page - 1);
  // If the kernel has no large pages, the request has no effect.
  if (begin < end) static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
#endif
}

void* take_kept(std::size_t capacity) noexcept {
  kept_blocks& k = kept();
  plx::detail::spin_guard guard(k.lock);
  for (std::size_t i = k.all.size(); i-- > 0;)
    if (k.all[i].bytes == capacity) {
      void* p = k.all[i].memory;
      k.all.erase(k.all.begin() + static_cast<std::ptrdiff_t>(i));
      k.bytes -= capacity;
      return p;
    }
  return nullptr;
}

}  // namespace

void* get_buffer_memory(std::size_t bytes) {
  if (!is_kept(bytes)) return ::operator new(bytes, aligned);
  const std::size_t capacity = capacity_of(bytes);
  if (void* p = take_kept(capacity)) return p;
  void* p = ::operator new(capacity, aligned);
  ask_for_large_pages(p, capacity);
  return p;
}

void put_buffer_memory(void* p, std::size_t bytes) noexcept {
  const std::size_t capacity = is_kept(bytes) ? capacity_of(bytes) : 0;
  if (capacity == 0 || capacity > most_kept_bytes) return ::operator delete(p, aligned);
  kept_blocks& k = kept();
  for (;;) {
    void* oldest = nullptr;  // freed after the lock is released
    {
      plx::detail::spin_guard guard(k.lock);
      if (k.bytes + capacity <= most_kept_bytes) {
        k.all.push_back({p, capacity});
        k.bytes += capacity;
        return;
      }
      oldest = k.all.front().memory;
      k.bytes -= k.all.front().bytes;
      k.all.erase(k.all.begin());
    }
    ::operator delete(oldest, aligned);
  }
}

std::size_t kept_buffer_bytes() noexcept {
  kept_blocks& k = kept();
  plx::detail::spin_guard guard(k.lock);
  return k.bytes;
}

void free_kept_buffers() noexcept {
  kept_blocks& k = kept();
  for (;;) {
    kept_block b{};  // freed after the lock is released
    {
      plx::detail::spin_guard guard(k.lock);
      if (k.all.empty()) return;
      b = k.all.back();
      k.all.pop_back();
      k.bytes -= b.bytes;
    }
    ::operator delete(b.memory, aligned);
  }
}

}  // namespace plx::net::detail
