#include "probe/record/trace_budget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "session/session.hpp"
#include "trace/file/trace_reader.hpp"

namespace plx::probe {
namespace {

using testing::HasSubstr;

/// Records slices of nominal length `s`, together longer than a check requires.
void record_some(recorder& r, double s) {
  static ticks now = now_ticks();
  const ticks length = ticks_from(s);
  const auto n = static_cast<int>(2 * trace_budget::least_span_s / s) + 1;
  for (int i = 0; i < n; ++i, now += length) {
    worker_log& w = r.worker(0);
    w.record({.name = register_name("budget"), .begin = now, .end = now + length, .id = w.next_id()});
  }
}

/// 50 ns of work cannot be measured for a millionth of that on any machine; a second can for a thousandth.
TEST(TraceBudget, StepsDownOncePerCheckUntilNothingIsTraced) {
  recorder r(1);
  r.trace(true, 1024);
  trace_budget budget(r, 1e-6);
  const std::uint32_t whole = r.worker(0).mode();
  testing::internal::CaptureStderr();
  for (unsigned step = 0; step < 3; ++step) {
    EXPECT_EQ(budget.step(), step);
    EXPECT_EQ(r.worker(0).mode(), whole);
    r.drain();
    record_some(r, 50e-9);
    budget.look();
  }
  EXPECT_EQ(budget.step(), 3u);
  EXPECT_EQ(r.worker(0).mode(), whole & ~std::uint32_t{worker_log::tracing});
  budget.look();
  const std::string message = testing::internal::GetCapturedStderr();
  EXPECT_THAT(message,
              HasSubstr("trace-budget allows 0.0001 %: from now on one slice of 'budget' in 10 is traced, without "
                        "its dependencies\n"));
  EXPECT_THAT(message, HasSubstr("from now on one slice of 'budget' in 100 is traced\n"));
  EXPECT_THAT(message, HasSubstr("from now on no task is traced any more\n"));
  const trace_data t = r.collect_trace();
  ASSERT_EQ(t.marks.size(), 3u);
  EXPECT_EQ(t.marks[0].category, "measurement");
  EXPECT_THAT(message, HasSubstr(t.marks[2].text));
  EXPECT_EQ(t.share, 0.01);
}

/// A check after the end of a recording neither restarts it nor prints anything.
TEST(TraceBudget, AnEndedRecordingIsNotRestarted) {
  recorder r(1);
  r.trace(true, 1024);
  trace_budget budget(r, 1e-6);
  record_some(r, 50e-9);
  r.trace(false);
  const std::uint32_t ended = r.worker(0).mode();
  testing::internal::CaptureStderr();
  budget.look();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(budget.step(), 0u);
  EXPECT_EQ(r.worker(0).mode(), ended);
  EXPECT_EQ(r.collect_trace().share, 1);
}

TEST(TraceBudget, ASampledTraceHasThatShareOfTheSlices) {
  recorder r(1);
  r.trace(true, std::size_t{1} << 16);
  trace_budget budget(r, 1e-6);
  testing::internal::CaptureStderr();
  record_some(r, 50e-9);
  budget.look();
  (void)testing::internal::GetCapturedStderr();
  ASSERT_EQ(budget.step(), 1u);
  r.forget_trace();
  ticks now = now_ticks();
  for (int i = 0; i < 1000; ++i, now += 10)
    r.worker(0).record({.name = register_name("budget"), .begin = now, .end = now + 10});
  const trace_data t = r.collect_trace();
  ASSERT_EQ(t.workers[0].size(), 100u);
  EXPECT_EQ(t.workers[0][0].every, 10u);
}

/// A rare task type is still traced, with edges and task numbers, beside one that costs too much.
TEST(TraceBudget, StepsDownTheMostExpensiveTaskTypes) {
  static const name_id many = register_name("budget of many"), few = register_name("budget of few");
  recorder r(1);
  r.trace(true, std::size_t{1} << 16);
  worker_log& w = r.worker(0);
  ticks now = now_ticks();
  const auto record = [&](name_id name, ticks length) {
    const task_id id = w.next_id();
    w.edge(id, id + 1, now, name);
    w.record({.name = name, .begin = now, .end = now + length, .id = id});
    now += length;
  };
  const auto some = [&] {
    for (int i = 0; i < 4000; ++i) record(i % 1000 == 0 ? few : many, ticks_from(10e-6));
    record(many, ticks_from(0.1));
  };
  // The budget allows a fifth of the current cost: the rare type alone costs far less.
  some();
  const double cost = r.measurement_cost();
  ASSERT_GT(cost, 0);
  r.drain();
  trace_budget budget(r, cost / 5);
  some();
  testing::internal::CaptureStderr();
  budget.look();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("one slice of 'budget of many' in 10 is traced"));
  EXPECT_EQ(budget.step(), 1u);
  r.forget_trace();
  some();
  const trace_data t = r.collect_trace();
  unsigned of_few = 0, of_many = 0;
  for (const trace_slice& s : t.workers[0]) {
    EXPECT_EQ(s.every, s.name == few ? 1u : 10u);
    EXPECT_NE(s.id, 0u);
    ++(s.name == few ? of_few : of_many);
  }
  EXPECT_EQ(of_few, 4u);
  EXPECT_NEAR(of_many, 400, 1);
  EXPECT_EQ(t.edges.size(), 4u);
  EXPECT_NE(wanted.load() % wants_events, 0u) << "the rare type still records its origins";
  r.trace_kind(few, 0);
  EXPECT_EQ(wanted.load() % wants_events, 0u) << "no task type does";
  r.forget_trace();
  some();
  const trace_data without = r.collect_trace();
  EXPECT_FALSE(without.workers[0].empty());
  for (const trace_slice& s : without.workers[0]) EXPECT_NE(s.name, few);
}

TEST(TraceBudget, WithinTheBudgetNothingChanges) {
  recorder r(1);
  r.trace(true, 1024);
  trace_budget budget(r, 1e-3);
  testing::internal::CaptureStderr();
  for (int turn = 0; turn < 3; ++turn) {
    record_some(r, 1);
    budget.look();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(budget.step(), 0u);
  EXPECT_TRUE(r.collect_trace().marks.empty());
}

/// A period too short for a decision is joined to the next one.
TEST(TraceBudget, ShortPeriodsAreJoined) {
  recorder r(1);
  r.trace(true, 1024);
  trace_budget budget(r, 1e-6);
  testing::internal::CaptureStderr();
  ticks now = now_ticks();
  const ticks length = ticks_from(trace_budget::least_span_s / 1.5);
  for (int i = 0; i < 2; ++i, now += length) {
    for (int k = 0; k < 1000; ++k) r.worker(0).record({.begin = now, .end = now});
    r.worker(0).record({.begin = now, .end = now + length});
    budget.look();
    EXPECT_EQ(budget.step(), static_cast<unsigned>(i));
  }
  (void)testing::internal::GetCapturedStderr();
}

TEST(TraceBudget, OfASession) {
  const std::string folder = temporary_path("budget");
  recorder r(1);
  counter_registry counters;
  testing::internal::CaptureStderr();
  {
    session s(r, counters, {.output = folder, .trace = true, .trace_budget = 1e-6});
    for (int i = 0; i < 1000 && (r.worker(0).mode() & worker_log::tracing) != 0; ++i) record_some(r, 50e-9);
    EXPECT_EQ(r.worker(0).mode() & worker_log::tracing, 0u);
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("no task is traced any more"));
  EXPECT_EQ(load_trace({folder + "/trace.plxt"}).value().trace.data.share, 0.01);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace plx::probe
