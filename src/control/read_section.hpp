// Lock-free reading of objects that others replace: a reader marks its read section, and a writer that has replaced an
// object waits until all sections that may still read the old one have ended.
//
// Thread safety: all functions. Cost: a section is an exchange and a store on the thread's own cache line; waiting
// visits every thread that ever read, and lasts as long as their sections. A section must not wait for another task.
// Example: control/test/read_section_test.cpp
#pragma once

#include <atomic>
#include <cstdint>

namespace plx::probe {

/// Where a thread marks its sections. Odd: within a section.
struct alignas(64) reader_slot {
  std::atomic<std::uint64_t> sequence{0};
  std::atomic<bool> taken{true};
  reader_slot* next = nullptr;
};

class read_section {
 public:
  /// Requires: the thread is not in a section.
  read_section() noexcept;
  ~read_section();
  read_section(const read_section&) = delete;
  read_section& operator=(const read_section&) = delete;

 private:
  reader_slot& slot_;
};

/// True if the calling thread is in a section.
bool in_read_section() noexcept;

/// Returns once all currently open sections have ended. Requires: the caller is not in a section.
void wait_for_readers() noexcept;

}  // namespace plx::probe
