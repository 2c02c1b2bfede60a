#include "trace/trace_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "probe/record/test/trace_builder_test.hpp"

namespace plx::probe {
namespace {

using testing::HasSubstr;

trace_builder two_workers() {
  trace_builder b(2);
  b.data.origin = 900;
  b.piece(0, (1ull << 40) + 1, "tf a", 1000, 1100, false).piece(0, (1ull << 40) + 1, "tf a", 1300, 1400, true, true);
  b.ready(1290);
  b.task(1, (2ull << 40) + 1, "tf b", 950, 1290).ready(0);
  b.edge((1ull << 40) + 1, (2ull << 40) + 1, 940).edge((2ull << 40) + 1, join_bit | 3, 1290);
  b.data.locks = {{.task = (2ull << 40) + 1,
                   .taken = 960,
                   .released = 970,
                   .object = 0x7ffe12345678,
                   .name = register_name("tf lock"),
                   .waits = 2}};
  b.data.placements = {{.task = (2ull << 40) + 1, .worker = 2, .priority = 1}};
  b.data.lost = 3;
  return b;
}

TEST(TraceFile, IsReadAsItWasWritten) {
  const trace_data d = two_workers().data;
  const std::string path = temporary_path("what_if.trace");
  ASSERT_TRUE(write_what_if_trace(d, path));
  const auto r = read_what_if_trace(path);
  ASSERT_TRUE(r) << r.error().message;
  const trace_data& back = r->trace.data;
  EXPECT_EQ(r->ticks_per_second, ticks_per_second());
  EXPECT_TRUE(r->trace.job.localities.empty());
  EXPECT_EQ(back.lost, 3u);
  ASSERT_EQ(back.workers.size(), 2u);
  for (unsigned w = 0; w < 2; ++w) {
    ASSERT_EQ(back.workers[w].size(), d.workers[w].size());
    for (std::size_t i = 0; i < d.workers[w].size(); ++i) {
      const trace_slice &a = d.workers[w][i], &b = back.workers[w][i];
      EXPECT_EQ(std::tie(a.begin, a.end, a.id, a.ready, a.name, a.finished, a.resumed),
                std::tie(b.begin, b.end, b.id, b.ready, b.name, b.finished, b.resumed));
    }
  }
  ASSERT_EQ(back.edges.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(std::tie(d.edges[i].from, d.edges[i].to, d.edges[i].when),
              std::tie(back.edges[i].from, back.edges[i].to, back.edges[i].when));
  ASSERT_EQ(back.locks.size(), 1u);
  EXPECT_EQ(back.locks[0].object, 0x7ffe12345678u);
  EXPECT_EQ(back.locks[0].released, 970u);
  EXPECT_EQ(back.locks[0].waits, 2u);
  EXPECT_EQ(name_of(back.locks[0].name), "tf lock");
  ASSERT_EQ(back.placements.size(), 1u);
  EXPECT_EQ(back.placements[0].worker, 2u);
  EXPECT_EQ(back.placements[0].priority, 1u);
}

TEST(TraceFile, KeepsTheLocalitiesOfAJob) {
  trace_job job;
  job.localities.resize(2);
  for (unsigned l = 0; l < 2; ++l) job.localities[l].first_worker = l, job.localities[l].workers = 1;
  const std::string path = temporary_path("job_what_if.trace");
  ASSERT_TRUE(write_what_if_trace(two_workers().data, path, &job));
  const auto r = read_what_if_trace(path);
  ASSERT_TRUE(r);
  ASSERT_EQ(r->trace.job.localities.size(), 2u);
  EXPECT_EQ(r->trace.job.locality_of(1), 1u);
}

TEST(TraceFile, ADamagedFileIsAnErrorOfOneLine) {
  const std::string path = temporary_path("damaged.trace");
  ASSERT_TRUE(write_what_if_trace(two_workers().data, path));
  const std::string whole = *read_file(path);
  const auto error_of = [&](const std::string& text) {
    EXPECT_TRUE(write_file(path, text));
    const auto r = read_what_if_trace(path);
    return r ? std::string() : r.error().message;
  };
  EXPECT_THAT(error_of("{\"traceEvents\":[]}"), HasSubstr("PLX_TRACE=what-if"));
  for (std::size_t n = whole.find('\n') + 1; n < whole.size(); ++n)
    EXPECT_THAT(error_of(whole.substr(0, n)), HasSubstr("is damaged"));
  EXPECT_THAT(error_of(whole + "x"), HasSubstr("is damaged"));
  for (std::size_t i = whole.find('\n') + 1; i < whole.size(); ++i) {  // each byte: an error or other numbers
    std::string changed = whole;
    changed[i] = static_cast<char>(~changed[i]);
    (void)error_of(changed);
  }
  EXPECT_THAT(read_what_if_trace(path + ".missing").error().message, HasSubstr(".missing"));
}

}  // namespace
}  // namespace plx::probe
