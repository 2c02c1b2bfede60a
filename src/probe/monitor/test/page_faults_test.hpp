// Page faults that a test makes the kernel count.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace plx::testing {

/// `pages` page faults of the calling thread, at least.
inline void fault(std::size_t pages) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, pages * page, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < pages; ++i) static_cast<volatile char*>(memory)[i * page] = 1;
  munmap(memory, pages * page);
}

}  // namespace plx::testing
