// Memory does not grow with the trace: one of two million records (64 MB before they are coded) is written, and read by
// each tool for traces of any size, in a process that may take 40 MiB. bench/trace.cpp measures it with 10^9 records.
#include "base/sanitizers.hpp"

#if !defined(PLX_ASAN) && !defined(PLX_TSAN)
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/test/memory_limit_test.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "probe/record/trace_ring.hpp"
#include "trace/file/trace_writer.hpp"
#include "trace/tools/perfetto_trace.hpp"
#include "trace/tools/trace_concurrency.hpp"
#include "trace/tools/trace_search.hpp"
#include "trace/tools/trace_stats.hpp"

namespace plx::probe {
namespace {

constexpr std::uint64_t n_records = 2'000'000;

struct TraceSize : testing::Test {
  static const std::string& path() {
    static const std::string p = temporary_path("size.plxt");
    return p;
  }

  /// Slices of 1 us with the task that made them ready, and edges, on two workers.
  static void write(const std::string& to) {
    recorder r(2);
    auto w = *trace_writer::create(to);
    r.stream_to(w.get());
    r.trace(true, 1 << 14);
    const name_id work = register_name("sz work"), other = register_name("sz other");
    ticks now = now_ticks();
    for (std::uint64_t i = 0; r.traced() < n_records; ++i) {
      for (unsigned k = 0; k < 1 << 12; ++k) {
        worker_log& log = r.worker(k % 2);
        const task_id id = log.next_id();
        log.record({.name = k % 3 == 0 ? other : work,
                    .key = i,
                    .begin = now,
                    .end = now + ticks_from(1e-6),
                    .id = id,
                    .cause = id > 8 ? id - 4 : 0,
                    .ready = now - 10});
        log.edge(id, id + 3, now + 1, work);
        now += ticks_from(1e-6);
      }
      r.drain();
    }
    r.trace(false);
    r.stream_to(nullptr);
  }

  static void SetUpTestSuite() { write(path()); }

  /// In a process that may take 40 MiB.
  static void expect_fits(bool (*f)()) {
    const auto run = [f] {
      limit_address_space(std::size_t{40} << 20);
      std::_Exit(f() ? 0 : 1);
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
  }
};

TEST_F(TraceSize, Writing) {
  static const std::string again = temporary_path("size_again.plxt");
  expect_fits([] { return write(again), true; });
}

TEST_F(TraceSize, Statistics) {
  expect_fits([] {
    const auto s = statistics_of_trace({path()});
    return s && s->records >= n_records && s->types.size() == 2 && s->lost == 0;
  });
}

TEST_F(TraceSize, Search) {
  expect_fits([] {
    slice_search search;
    search.rows = 10;
    const auto found = find_slices({path()}, search);
    return found && found->slices.size() == 10 && found->matches > n_records / 3;
  });
}

TEST_F(TraceSize, Concurrency) {
  expect_fits([] {
    std::vector<std::string> warnings;
    const auto c = concurrency_of_trace({path()}, warnings);
    return c && c->names.size() == 2;
  });
}

TEST_F(TraceSize, Perfetto) {
  expect_fits([] {
    const auto written = write_perfetto_trace({path()}, path() + ".pftrace");
    return written && written->slices > n_records / 3;
  });
  std::remove((path() + ".pftrace").c_str());
}

}  // namespace
}  // namespace plx::probe
#endif
