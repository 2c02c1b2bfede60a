// What the runtime needs to know about the compiler and the processor: sanitizers, cache lines, the pause instruction.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_THREAD__)
#define PLX_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PLX_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define PLX_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PLX_ASAN 1
#endif
#endif

namespace plx::detail {

/// Twice the usual line: adjacent-line prefetchers make pairs of lines share their fate.
inline constexpr std::size_t cache_line_bytes = 128;

inline void cpu_relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace plx::detail
