#include "trace/tools/trace_concurrency.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "probe/record/recorder.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "trace/file/trace_writer.hpp"

namespace plx::probe {
namespace {

/// Slices of some lengths and names on two workers.
std::string recorded() {
  const std::string path = temporary_path("concurrency.plxt");
  recorder r(2);
  auto w = *trace_writer::create(path);
  r.stream_to(w.get());
  r.trace(true, 1 << 16);
  std::mt19937 random(1);
  const ticks from = now_ticks();
  for (unsigned worker = 0; worker < 2; ++worker) {
    ticks now = from;
    for (unsigned i = 0; i < 20'000; ++i) {
      const ticks begin = now + random() % 1000, end = begin + random() % (worker == 0 ? 5000 : 3000);
      worker_log& log = r.worker(worker);
      log.record({.name = register_name("cf " + std::to_string(random() % 30)),
                  .begin = begin,
                  .end = end,
                  .finished = i % 4 != 0,
                  .id = log.next_id()});
      now = end;
    }
  }
  r.trace(false);
  r.stream_to(nullptr);
  return path;
}

void expect_equal(const concurrency& a, const concurrency& b) {
  EXPECT_EQ(a.names, b.names);
  EXPECT_EQ(a.running, b.running);
  EXPECT_EQ(a.other, b.other);
  EXPECT_DOUBLE_EQ(a.begin_s, b.begin_s);
  EXPECT_DOUBLE_EQ(a.cell_s, b.cell_s);
}

TEST(TraceConcurrency, IsThatOfTheLoadedTrace) {
  const std::string path = recorded();
  std::vector<std::string> warnings;
  const auto found = concurrency_of_trace({path}, warnings, {}, 100, 20);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_THAT(warnings, testing::IsEmpty());
  EXPECT_EQ(found->names.size(), 20u);
  expect_equal(*found, concurrency_over_time(load_trace({path})->trace.data, 100, 20));
}

TEST(TraceConcurrency, OfAPartIsThatOfThePart) {
  const std::string path = recorded();
  std::vector<std::string> warnings;
  const auto whole = concurrency_of_trace({path}, warnings);
  ASSERT_TRUE(whole);
  const time_range part{.from_s = whole->begin_s + 300 * whole->cell_s, .to_s = whole->begin_s + 500 * whole->cell_s};
  const auto found = concurrency_of_trace({path}, warnings, part, 50);
  ASSERT_TRUE(found);
  expect_equal(*found, concurrency_over_time(load_trace({path}, ~std::uint64_t{0}, part)->trace.data, 50));
  EXPECT_LT(50 * found->cell_s, 210 * whole->cell_s);
}

TEST(TraceConcurrency, AFileThatIsNoTraceIsAnError) {
  std::vector<std::string> warnings;
  EXPECT_FALSE(concurrency_of_trace({"/dev/null"}, warnings));
}

}  // namespace
}  // namespace plx::probe
