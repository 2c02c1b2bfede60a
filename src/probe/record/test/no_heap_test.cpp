// Recording must not allocate once names and keys are known: counts every operator new of this program. Disabled under
// sanitizers, which replace operator new.
#include "base/sanitizers.hpp"

#if !defined(PLX_ASAN) && !defined(PLX_TSAN)
#include <gtest/gtest.h>

#include "probe/live/timeline_json.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/test/allocations_test.hpp"

namespace {

using namespace plx::probe;

void record_all(worker_log& log) {
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const std::uint64_t key = i % 2 == 0 ? i % 500 : (i % 500) << 40;
    log.record({.name = static_cast<name_id>(i % 200), .key = key, .begin = 0, .end = i, .finished = i % 3 != 0});
    log.idle(0, 1);
  }
}

TEST(NoHeap, KnownNamesAndKeysAreRecordedWithoutAllocation) {
  recorder r(1);
  r.trace(true, 1024);  // overflows: lost records do not allocate either
  record_all(r.worker(0));
  const long before = allocations;
  record_all(r.worker(0));
  EXPECT_EQ(allocations - before, 0);
  EXPECT_GT(r.trace_lost(), 0u);
}

/// The answer has some hundred bins per worker, however many slices the rings hold: here 48 MiB of them.
TEST(NoHeap, ATimelineTakesMemoryForItsBinsOnly) {
  constexpr unsigned workers = 16, slices = 1u << 16;
  recorder r(workers);
  r.flight(slices, 0);
  const plx::ticks length = plx::ticks_from(1.5e-6), end = plx::now_ticks();
  for (unsigned w = 0; w < workers; ++w)
    for (unsigned i = 0; i < slices; ++i) {
      const plx::ticks begin = end - (slices - i) * length;
      r.worker(w).record({.name = i % 7, .key = i, .begin = begin, .end = begin + length * 9 / 10});
    }
  const long before = allocated_bytes;
  EXPECT_GT(timeline_json(r, {}, {.end = end, .length = plx::ticks_from(2)}).size(), 1000u);
  EXPECT_LT(allocated_bytes - before, 8 << 20);
}

TEST(NoHeap, TheFirstUseAllocatesAChunk) {
  recorder r(1);
  const long before = allocations;
  for (name_id id = 0; id < 128; ++id) r.worker(0).record({.name = id, .begin = 0, .end = 1});
  EXPECT_EQ(allocations - before, 1);
}

}  // namespace
#endif
