#include "trace/tools/what_if.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "probe/record/test/trace_builder_test.hpp"
#include "trace/file/trace_reader.hpp"
#include "trace/test/json_reader_test.hpp"

namespace plx::probe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// "wi main" creates 8 tasks of 50 us of "wi work", recorded on two workers, the last 30 us of each under a lock. The
/// ticks of its machine are nanoseconds.
loaded_trace locked_run() {
  trace_builder b(2);
  b.piece(0, 1, "wi main", 0, 1000, false);
  ticks now[2] = {1000, 1000}, free = 0;
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned w = i % 2;
    const ticks begin = now[w], taken = std::max(begin + 20'000, free);
    const task_id id = 2 + i;
    const bool waits = taken > begin + 20'000;
    b.piece(w, id, "wi work", begin, begin + 20'000, false).ready(1000).edge(1, id, 1000);
    b.piece(w, id, "wi work", taken, taken + 30'000, true, true);
    if (waits) b.ready(taken).edge(1 + i, id, taken);
    b.data.locks.push_back({.task = id,
                            .taken = taken,
                            .released = taken + 30'000,
                            .object = 9,
                            .name = register_name("wi lock"),
                            .waits = waits ? 1u : 0u});
    now[w] = free = taken + 30'000;
    b.edge(id, join_bit | 1, now[w]);
  }
  b.piece(0, 1, "wi main", free, free + 1000, true, true).ready(free).edge(join_bit | 1, 1, free);
  loaded_trace s;
  s.trace.data = b.data;
  s.ticks_per_second = 1e9;
  return s;
}

const prediction& answer(const what_if_report& r, std::string_view change) {
  const auto at =
      std::find_if(r.predictions.begin(), r.predictions.end(), [&](const prediction& p) { return p.change == change; });
  EXPECT_NE(at, r.predictions.end()) << change << ": " << r.refusal;
  static const prediction none;
  return at == r.predictions.end() ? none : *at;
}

void expect_short_lines(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    EXPECT_LE(end - at, 110u) << text.substr(at, end - at);
    at = end + 1;
  }
}

TEST(WhatIfReport, ShowsItsErrorBoundsAndTheUsualQuestions) {
  const auto r = predict_changes(locked_run(), {});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->refusal, "");
  EXPECT_EQ(r->workers, 2u);
  EXPECT_EQ(r->tasks, 9u);
  EXPECT_NEAR(r->recorded_s, 262e-6, 1e-9);
  EXPECT_NEAR(r->error(), 0, 0.02);
  EXPECT_NEAR(answer(*r, "no waits for the lock \"wi lock\"").time_s, 202e-6, 5e-6) << "four times 50 us each";
  EXPECT_NEAR(answer(*r, "half the time of \"wi work\"").time_s, 132e-6, 3e-6);
  EXPECT_NEAR(answer(*r, "4 workers").time_s, 262e-6, 5e-6) << "the lock limits it";
  EXPECT_NEAR(answer(*r, "half the time of \"wi main\"").time_s, 261e-6, 5e-6);
  EXPECT_TRUE(std::is_sorted(r->predictions.begin(), r->predictions.end(),
                             [](const prediction& a, const prediction& b) { return a.time_s < b.time_s; }));
  for (const prediction& p : r->predictions) {
    EXPECT_GE(p.time_s, 0.98 * p.lower_s) << p.change;
    EXPECT_LE(p.time_s, 1.02 * p.upper_s) << p.change;
  }
}

TEST(WhatIfReport, AnswersEachQuestionAndAllTogether) {
  const auto r = predict_changes(locked_run(), {.workers = 8, .scales = {{"wi w*", 0.5}}, .locks = {"*"}});
  ASSERT_TRUE(r);
  std::vector<std::string> changes;
  for (const prediction& p : r->predictions) changes.push_back(p.change);
  EXPECT_THAT(changes, ElementsAre("8 workers", "half the time of \"wi w*\"", "no waits for locks", "all of these"));
  EXPECT_NEAR(answer(*r, "all of these").time_s, 27e-6, 1e-6);
}

TEST(WhatIfReport, AnUnknownNameIsALineWithTheNearest) {
  const auto error_of = [](const what_if_request& q) { return predict_changes(locked_run(), q).error().message; };
  EXPECT_EQ(error_of({.scales = {{"wi wrok", 0.5}}}), "the run has no task type 'wi wrok'; did you mean 'wi work'?");
  EXPECT_EQ(error_of({.scales = {{"nothing like it", 0.5}}}),
            "the run has no task type 'nothing like it'; expected one of wi main, wi work");
  EXPECT_EQ(error_of({.locks = {"wi loc"}}), "the run has no lock 'wi loc'; did you mean 'wi lock'?");
  EXPECT_THAT(error_of({.scales = {{"wi work", -1}}}), HasSubstr("expected a factor above 0"));
  EXPECT_THAT(error_of({.priorities = {{"wi work", "hihg"}}}), HasSubstr("expected a priority of high, normal, low"));
  EXPECT_THAT(error_of({.no_messages = true}), HasSubstr("no messages"));
}

TEST(WhatIfReport, ReplaysThatAreFarOffGiveNoPredictions) {
  loaded_trace s = locked_run();
  auto& slices = s.trace.data.workers[0];  // it began long after it was ready, for no reason that the trace has
  for (trace_slice& t : slices)
    if (t.id == 1 && t.resumed) t.begin += 100'000, t.end += 100'000;
  const auto r = predict_changes(s, {});
  ASSERT_TRUE(r);
  EXPECT_THAT(r->refusal, HasSubstr("off by more than 15 %"));
  EXPECT_TRUE(r->predictions.empty());
  expect_short_lines(what_if_text(*r));
  EXPECT_THAT(what_if_text(*r), HasSubstr("no predictions: the replay is off"));
  EXPECT_THAT(what_if_text(*r), HasSubstr("bounds")) << "they hold for any schedule";
}

TEST(WhatIfReport, IncompleteTracesGiveNoPredictions) {
  loaded_trace s = locked_run();
  s.trace.data.records = 100, s.trace.data.lost = 50;
  EXPECT_THAT(predict_changes(s, {})->refusal, HasSubstr("50 of 150 trace records were dropped"));
  s = locked_run();
  s.trace.data.share = 0.1;
  EXPECT_THAT(predict_changes(s, {})->refusal, HasSubstr("trace-budget"));
  s = locked_run();
  for (auto& w : s.trace.data.workers)
    for (trace_slice& t : w) t.id = 0;
  EXPECT_THAT(predict_changes(s, {})->refusal, HasSubstr("no dependencies between tasks"));
  EXPECT_THAT(predict_changes(loaded_trace{}, {})->refusal, HasSubstr("no tasks"));
}

TEST(WhatIfReport, IsATableOrJson) {
  const auto r = predict_changes(locked_run(), {.workers = 4});
  ASSERT_TRUE(r);
  const std::string text = what_if_text(*r);
  expect_short_lines(text);
  EXPECT_THAT(text, HasSubstr("replayed without a change: "));
  EXPECT_THAT(text, Not(HasSubstr("no predictions")));
  const json j = json_reader::read(what_if_json(*r));
  EXPECT_EQ(j["workers"].number, 2);
  ASSERT_EQ(j["predictions"].list.size(), 1u);
  EXPECT_EQ(j["predictions"].list[0]["change"].text, "4 workers");
  EXPECT_NEAR(j["predictions"].list[0]["time_s"].number, r->predictions[0].time_s, 1e-9);
}

}  // namespace
}  // namespace plx::probe
