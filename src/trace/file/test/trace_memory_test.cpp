// A trace that does not fit into memory is refused with a part that does.
#include "trace/file/trace_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <numeric>

#include "base/clock.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "trace/file/trace_writer.hpp"

namespace plx::probe {
namespace {

using testing::HasSubstr;

constexpr unsigned n_slices = 1 << 19;

/// Slices of 1 us, one after another, alternating between two workers.
std::string recorded() {
  const std::string path = temporary_path("memory.plxt");
  recorder r(2);
  auto w = *trace_writer::create(path);
  r.stream_to(w.get());
  r.trace(true, 1 << 16);
  const name_id work = register_name("tm work");
  ticks now = now_ticks();
  for (unsigned i = 0; i < n_slices; ++i) {
    worker_log& log = r.worker(i % 2);
    log.record({.name = work, .begin = now, .end = now + ticks_from(1e-6), .id = log.next_id()});
    now += ticks_from(1e-6);
    if (i % (1 << 15) == 0) r.drain();
  }
  r.trace(false);
  r.stream_to(nullptr);
  return path;
}

TEST(TraceMemory, ExtentsCountEveryRecord) {
  const std::string path = recorded();
  const auto all = extents_of_trace(path);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(std::accumulate(all->begin(), all->end(), std::uint64_t{0},
                            [](std::uint64_t n, const trace_extent& e) { return n + e.records; }),
            n_slices);
  for (const trace_extent& e : *all) EXPECT_LT(e.first, e.last);
}

TEST(TraceMemory, APartThatFitsIsNamed) {
  const std::string path = recorded();
  const double whole = n_slices * loaded_bytes_per_record;
  EXPECT_TRUE(check_trace_fits({path}, {}, trace_advice::select_a_part, whole));
  const auto refused = check_trace_fits({path}, {}, trace_advice::select_a_part, whole / 4);
  ASSERT_FALSE(refused);
  const std::string& line = refused.error().message;
  EXPECT_THAT(line, HasSubstr("its 524,288 records take 0.105 GB of memory here, and 0.0262 GB are available"));
  time_range part;
  ASSERT_EQ(std::sscanf(line.c_str() + line.find("--from"), "--from %lf --to %lf", &part.from_s, &part.to_s), 2)
      << line;
  EXPECT_TRUE(check_trace_fits({path}, part, trace_advice::select_a_part, whole / 4));
  const auto loaded = load_trace({path}, ~std::uint64_t{0}, part);
  ASSERT_TRUE(loaded);
  EXPECT_GT(loaded->trace.data.workers[0].size() + loaded->trace.data.workers[1].size(), n_slices / 8);
  for (const auto& whole_only : {check_trace_fits({path}, {}, trace_advice::none, whole / 4),
                                 check_trace_fits({path}, {}, trace_advice::select_a_part, 1)}) {  // no part fits
    EXPECT_THAT(whole_only.error().message, testing::Not(HasSubstr("--from")));
    EXPECT_THAT(whole_only.error().message, testing::EndsWith("; use a machine with more memory"));
  }
}

TEST(TraceMemory, SmallTracesAreNotChecked) {
  const std::string path = recorded();
  EXPECT_TRUE(check_trace_fits({path}, {.from_s = 0, .to_s = 1e-3}, trace_advice::select_a_part, 0));
  EXPECT_GT(memory_for_traces(), 0);
}

}  // namespace
}  // namespace plx::probe
