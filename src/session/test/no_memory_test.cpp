// Measuring without memory: it records less, reports that, and does not end the program. Each case is a process of its
// own, whose address space is limited; sanitizers reserve address space and report failed allocations as errors.
#include "base/sanitizers.hpp"

#if !defined(PLX_ASAN) && !defined(PLX_TSAN)
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/test/memory_limit_test.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "session/session.hpp"

namespace plx::probe {
namespace {

/// Takes all memory but `left_bytes`.
void use_up_memory(std::size_t left_bytes) {
  void* volatile left = std::malloc(left_bytes);  // volatile: otherwise the compiler omits both calls
  limit_address_space(0);
  for (std::size_t size = std::size_t{1} << 24; size >= 16; size /= 2)
    while (void* volatile p = std::malloc(size)) (void)p;
  std::free(left);
}

void record(worker_log& log, int n) {
  static const name_id work = register_name("work");
  for (int i = 0; i < n; ++i) log.record({.name = work, .begin = now_ticks(), .end = now_ticks(), .id = log.next_id()});
}

TEST(NoMemory, RingsThatDoNotFitAreOmitted) {
  const auto run = [] {
    log_to_stderr(log_level::warning);
    recorder r(2);
    counter_registry counters;
    limit_address_space(64u << 20);
    {
      session s(r, counters, {.output = temporary_path("no_rings"), .trace = true, .trace_records = 1 << 30});
      r.flight(std::size_t{1} << 30);
      record(r.worker(0), 10);
    }
    std::_Exit(r.tasks().at(0).calls == 10 ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "no trace is recorded: no memory for 1073741824 records per worker");
}

TEST(NoMemory, DrainedRecordsThatDoNotFitAreDroppedAndCounted) {
  const auto run = [] {
    recorder r(1);
    r.trace(true, 1 << 12);
    use_up_memory(8u << 20);
    for (int i = 0; i < 256; ++i) record(r.worker(0), 1 << 11), r.drain();
    const std::uint64_t kept = r.traced(), lost = r.trace_lost();
    std::_Exit(kept > 0 && lost > 0 && kept + lost >= 256u << 11 ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST(NoMemory, ATraceIsWrittenWithoutMemoryForItsBuffers) {
  const std::string folder = temporary_path("no_memory");
  std::filesystem::remove_all(folder);
  const auto run = [&] {
    recorder r(1);
    counter_registry counters;
    session s(r, counters, {.output = folder, .profile = "csv", .trace = true});
    r.drain();
    use_up_memory(1u << 20);
    for (int i = 0; i < 64; ++i) record(r.worker(0), 1 << 12), r.drain();
    const bool written = r.traced() + r.trace_lost() >= 64u << 12;
    std::_Exit(s.finish() && written ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
  EXPECT_TRUE(std::filesystem::exists(folder + "/profile.csv"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/trace.plxt"));
}

TEST(NoMemory, NewNamesAndKeysAreNotCounted) {
  const auto run = [] {
    recorder r(1);
    worker_log& log = r.worker(0);
    log.record({.name = 1, .begin = 0, .end = 1});
    use_up_memory(1);
    for (std::uint64_t i = 0; i < 5000; ++i)
      log.record({.name = static_cast<name_id>(i % 1000), .key = i % 2 == 0 ? i : i << 40, .begin = 0, .end = 1});
    log.record({.name = 1, .begin = 0, .end = 1});
    const detail::name_cell* one = log.name(1);
    std::_Exit(one != nullptr && one->calls == 7 && log.name(500) == nullptr && log.lost_costs() == 5000 ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace plx::probe
#endif
