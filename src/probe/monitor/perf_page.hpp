// The count of an event of the calling thread without a system call, by the page that the kernel shares with its owner
// (linux/perf_event.h, "struct perf_event_mmap_page").
//
// The kernel changes `lock` before and after it changes the page, on the processor of the thread: a reader that sees
// it unchanged has read one state. Reading needs a counter of the processor (index 0: none at present, or an event of
// the kernel) and the permission `cap_user_rdpmc`. Example: probe/monitor/test/perf_group_test.cpp
#pragma once

#if defined(__linux__)
#include <linux/perf_event.h>

#include <atomic>
#include <cstdint>
#include <optional>

namespace plx::probe::detail {

/// `read_counter(i)` reads counter i of the processor, as rdpmc does. Null: use read().
template <class ReadCounter>
std::optional<std::uint64_t> read_perf_page(const volatile perf_event_mmap_page& page, ReadCounter read_counter) {
  for (;;) {
    const std::uint32_t lock = page.lock;
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the writer is on this processor
    const std::uint32_t index = page.index;
    if (!page.cap_user_rdpmc || index == 0) return std::nullopt;
    auto count = static_cast<std::uint64_t>(page.offset);
    // The counter has pmc_width bits, and its highest one is a sign: the kernel starts it below zero.
    const unsigned unused = 64u - page.pmc_width;
    count += static_cast<std::uint64_t>(static_cast<std::int64_t>(read_counter(index - 1) << unused) >> unused);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (page.lock == lock) return count;
  }
}

}  // namespace plx::probe::detail
#endif
