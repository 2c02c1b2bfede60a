// Memory of large buffers, kept for reuse. Fresh memory of 64 MiB costs 45 ms, because the kernel clears each page at
// its first use, or 15 ms with large pages, which are requested where the system has them. A copy into memory that was
// used before takes 7 ms (two cores of an AMD EPYC). Without reuse, page faults dominate large messages.
//
// Blocks of at least kept_from_bytes are kept when they are returned, at most 272 MiB per process; the oldest are freed
// first. Under AddressSanitizer and ThreadSanitizer no block is kept, so that they see each allocation.
//
// Thread safety: everything. Cost: below kept_from_bytes that of operator new; otherwise a lock. Example:
// net/core/test/buffer_memory_test.cpp
#pragma once

#include <cstddef>

namespace plx::net::detail {

inline constexpr std::size_t kept_from_bytes = std::size_t{1} << 20;
/// Four blocks of 64 MiB, with their rounding.
inline constexpr std::size_t most_kept_bytes = std::size_t{272} << 20;
/// Alignment of every block.
inline constexpr std::size_t buffer_alignment = 64;

/// Returns uninitialised memory. Throws std::bad_alloc.
[[nodiscard]] void* get_buffer_memory(std::size_t bytes);
/// Requires: `p` came from get_buffer_memory() with the same number of bytes.
void put_buffer_memory(void* p, std::size_t bytes) noexcept;
/// The number of bytes kept now.
[[nodiscard]] std::size_t kept_buffer_bytes() noexcept;
/// Frees all kept blocks.
void free_kept_buffers() noexcept;

}  // namespace plx::net::detail
