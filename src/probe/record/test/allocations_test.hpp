// A program that includes this header counts its calls of operator new in `allocations`, and their sizes in
// `allocated_bytes`; in a thread it can make them fail. Include it once per program, never under sanitizers, which
// replace operator new themselves.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> allocations{0}, allocated_bytes{0};
/// The number of allocations of this thread that still succeed; negative: all.
[[maybe_unused]] thread_local long allocations_left = -1;

void* counted(std::size_t size, std::size_t alignment) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  allocations.fetch_add(1, std::memory_order_relaxed);
  allocated_bytes.fetch_add(static_cast<long>(size), std::memory_order_relaxed);
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* p = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
}  // namespace

// Not inlined: if the compiler saw malloc and free behind new and delete, it would report a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) { return counted(size, alignof(std::max_align_t)); }
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t a) {
  return counted(size, static_cast<std::size_t>(a));
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
