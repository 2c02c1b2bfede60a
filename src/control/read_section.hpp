// Reading what others replace, without a lock: a reader marks the time in which it reads; who has replaced something
// waits until all who may still read the old one are done.
//
// Thread safety: everything. Cost: a section is an exchange and a store on a cache line of the thread's own; waiting
// looks at every thread that ever read, and lasts as long as their sections. A section must not wait for another task.
// Example: control/test/read_section_test.cpp
#pragma once

#include <atomic>
#include <cstdint>

namespace plx::probe {

/// Where a thread says that it reads. Odd: within a section.
struct alignas(64) reader_slot {
  std::atomic<std::uint64_t> sequence{0};
  std::atomic<bool> taken{true};
  reader_slot* next = nullptr;
};

class read_section {
 public:
  /// Requires: the thread is in no section.
  read_section() noexcept;
  ~read_section();
  read_section(const read_section&) = delete;
  read_section& operator=(const read_section&) = delete;

 private:
  reader_slot& slot_;
};

/// Whether the calling thread is in a section.
bool in_read_section() noexcept;

/// Returns when all sections that were open have ended. Requires: the caller is in none.
void wait_for_readers() noexcept;

}  // namespace plx::probe
