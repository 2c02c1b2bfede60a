#include "trace/critical_path.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "probe/record/test/trace_builder_test.hpp"
#include "trace/test/json_reader_test.hpp"

namespace plx::probe {
namespace {

using testing::HasSubstr;
using testing::Not;

critical_path_report report_of(const trace_data& d) { return report_critical_path(trace_graph(d), d); }

trace_data chain() {
  trace_builder b(2);
  b.task(0, 1, "cf \"first\"", 0, 1'000'000)
      .task(0, 2, "cf second", 1'100'000, 4'100'000)
      .task(1, 3, "cf, aside", 0, 500);
  b.edge(1, 2, 1'000'000);
  b.data.lost = 2;
  return b.data;
}

TEST(CriticalPathFiles, JsonContainsAllResults) {
  const std::string path = temporary_path("critical.json");
  const critical_path_report r = report_of(chain());
  ASSERT_TRUE(write_critical_path_json(r, path));
  const json j = json_reader::read(read_file(path).value());
  const double tick = 1 / ticks_per_second();
  EXPECT_NEAR(j["span_s"].number, 4e6 * tick, 1e-9);
  EXPECT_NEAR(j["wall_s"].number, 4.1e6 * tick, 1e-9);
  EXPECT_EQ(j["workers"].number, 2);
  EXPECT_EQ(j["missing"]["records"].number, 2);
  ASSERT_EQ(j["kinds"].list.size(), 3u);
  const json& second = j["kinds"].list[0];
  EXPECT_EQ(second["name"].text, "cf second");
  EXPECT_NEAR(second["path_share"].number, 0.75, 1e-6);
  EXPECT_NEAR(second["if_half"]["span_s"].number, 2.5e6 * tick, 1e-9);
  EXPECT_NEAR(second["if_half"]["wall_s"].number, 4.1e6 * 2.5 / 4 * tick, 1e-9);
  EXPECT_FALSE(j["kinds"].list[2].has("if_half")) << "not on the path: not evaluated";
  EXPECT_FALSE(write_critical_path_json(r, "/dev/full"));
}

TEST(CriticalPathFiles, CsvHasARowPerTaskType) {
  const std::string path = temporary_path("critical.csv");
  ASSERT_TRUE(write_critical_path_csv(report_of(chain()), path));
  const std::string text = read_file(path).value();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  EXPECT_THAT(text, HasSubstr("\"cf, aside\",1,"));
  EXPECT_THAT(text, HasSubstr(",,\n"));
}

TEST(CriticalPathFiles, TextIsReadable) {
  const std::string text = critical_path_text(report_of(chain()));
  EXPECT_THAT(text, HasSubstr("(97.6 %), 2 slices"));
  EXPECT_THAT(text, HasSubstr("75.0 %"));
  EXPECT_THAT(text, HasSubstr("-37.5 %, -37.5 %"));
  EXPECT_THAT(text, HasSubstr("the graph is incomplete (2 records dropped"));
  EXPECT_THAT(text, HasSubstr("and 1 task type with"));
  const std::string nothing = critical_path_text(report_of(trace_data{}));
  EXPECT_THAT(nothing, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace plx::probe
