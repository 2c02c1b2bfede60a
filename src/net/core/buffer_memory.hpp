// Memory of large buffers, kept for the next ones. Fresh memory of 64 MiB costs 45 ms, for the system clears it page by
// page when it is first touched; in large pages 15 ms, which are asked for where the system has them; a copy into
// memory that was used before takes 7 ms (two cores of an AMD EPYC). So messages of large data would wait for pages.
//
// Blocks from kept_from_bytes on are kept when they are given back, 272 MiB of them at most for the process; the oldest
// go first. AddressSanitizer and ThreadSanitizer see each block come and go.
//
// Thread safety: everything. Cost: below kept_from_bytes that of operator new; else a lock. Example:
// net/core/test/buffer_memory_test.cpp
#pragma once

#include <cstddef>

namespace plx::net::detail {

inline constexpr std::size_t kept_from_bytes = std::size_t{1} << 20;
/// Four of 64 MiB, with what they are rounded up by.
inline constexpr std::size_t most_kept_bytes = std::size_t{272} << 20;
/// Of every block.
inline constexpr std::size_t buffer_alignment = 64;

/// Not initialised. Throws std::bad_alloc.
[[nodiscard]] void* get_buffer_memory(std::size_t bytes);
/// Requires: got with the same number of bytes.
void put_buffer_memory(void* p, std::size_t bytes) noexcept;
/// How much is kept now.
[[nodiscard]] std::size_t kept_buffer_bytes() noexcept;
/// Gives back what is kept.
void free_kept_buffers() noexcept;

}  // namespace plx::net::detail
