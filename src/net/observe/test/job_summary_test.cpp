// The summary of a job, compared with numbers computed by hand and with the counters of real localities.
#include "net/observe/job_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.hpp"
#include "net/action.hpp"
#include "net/locality.hpp"
#include "net/test/threads_test.hpp"

using namespace plx;

namespace summary_test {
int twice(int x) { return 2 * x; }
}  // namespace summary_test

namespace {

using net::kinds_of;
using net::locality_summary;
using testing::HasSubstr;

std::vector<locality_summary> by_hand() {
  std::vector<locality_summary> all(4);
  for (locality_id i = 0; i < 4; ++i) all[i].locality = i;
  all[0].kinds = {{"a", 2, 3.0, 1.0, 2.0}, {"b", 1, 0.5, 0.5, 0.5}};
  all[1].kinds = {{"a", 4, 6.0, 0.5, 3.0}};
  all[2].missing = "it is lost: kill -9";
  all[3].kinds = {{"a", 0, 0.25, 0, 0}};  // a task that has not ended
  all[0].exec_s = 3, all[0].idle_s = 1, all[0].polling_s = 1, all[0].sending_s = 0.5;
  return all;
}

TEST(JobSummary, KindsOverLocalities) {
  const auto kinds = kinds_of(by_hand());
  ASSERT_EQ(kinds.size(), 2u);
  const net::kind_of_job& a = kinds[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.calls, 6u);
  EXPECT_DOUBLE_EQ(a.total_s, 9.25);
  EXPECT_DOUBLE_EQ(a.min_s, 0.5);
  EXPECT_DOUBLE_EQ(a.max_s, 3.0);
  EXPECT_DOUBLE_EQ(a.least_s, 0.25);
  EXPECT_DOUBLE_EQ(a.most_s, 6.0);
  EXPECT_EQ(a.most_at, 1u);
  EXPECT_DOUBLE_EQ(a.imbalance, 6.0 / (9.25 / 3));
  const net::kind_of_job& b = kinds[1];
  EXPECT_DOUBLE_EQ(b.least_s, 0) << "two localities have none";
  EXPECT_DOUBLE_EQ(b.imbalance, 3);
  EXPECT_DOUBLE_EQ(by_hand()[0].idle_rate(), 0.25);
  EXPECT_DOUBLE_EQ(by_hand()[0].network_overhead(), 1.5 / 4);
  EXPECT_DOUBLE_EQ(by_hand()[1].idle_rate(), 0);
}

TEST(JobSummary, TablesAndText) {
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("plx_summary_" + std::to_string(::getpid()))).string();
  ASSERT_TRUE(net::write_job_summary(by_hand(), folder));
  EXPECT_EQ(read_file(folder + "/job_profile.csv").value(),
            "name,calls,total_s,mean_s,min_s,max_s,least_locality_s,most_locality_s,most_at,imbalance\n"
            "a,6,9.25,1.54166667,0.5,3,0.25,6,1,1.94595\n"
            "b,1,0.5,0.5,0.5,0.5,0,0.5,0,3\n");
  EXPECT_THAT(read_file(folder + "/localities.csv").value(), HasSubstr("\n0,,0,0,3,1,0,0,0.25,0.375,1,0.5,0,0,0,"));
  EXPECT_THAT(read_file(folder + "/localities.csv").value(), HasSubstr("it is lost: kill -9\n"));
  EXPECT_THAT(read_file(folder + "/job.json").value(), HasSubstr("\"missing\":\"it is lost: kill -9\"}"));
  const std::string text = net::job_summary_text(by_hand());
  EXPECT_THAT(text, HasSubstr("       2 it is lost: kill -9\n"));
  EXPECT_THAT(text, HasSubstr("25.0%"));
  std::filesystem::remove_all(folder);
}

TEST(JobSummary, RealLocalities) {
  net::test::localities all(3, 1);
  all.run(0, [] {
    for (int i = 0; i < 10; ++i) EXPECT_EQ(async<&summary_test::twice>(2, i).get(), 2 * i);
  });
  std::vector<locality_summary> sums;
  all.run(0, [&] { sums = net::summaries_of_all(all.at(0), 300); });
  ASSERT_EQ(sums.size(), 3u);
  for (locality_id i = 0; i < 3; ++i) {
    EXPECT_EQ(sums[i].locality, i);
    EXPECT_EQ(sums[i].missing, "");
    EXPECT_EQ(sums[i].workers, 1u);
    EXPECT_FALSE(sums[i].host.empty());
  }
  EXPECT_EQ(sums[0].parcels_sent, 10u) << "before the summaries were requested";
  EXPECT_GE(sums[2].parcels_received, 10u);
  const auto kinds = kinds_of(sums);
  const auto twice = std::find_if(kinds.begin(), kinds.end(), [](const auto& k) {
    return k.name.find("summary_test::twice") != std::string::npos;
  });
  ASSERT_NE(twice, kinds.end());
  EXPECT_EQ(twice->calls, 10u);
  EXPECT_EQ(twice->most_at, 2u);
  EXPECT_DOUBLE_EQ(twice->imbalance, 3);
  all.lose(1);
  all.settle();
  all.run(0, [&] { sums = net::summaries_of_all(all.at(0), 300); });
  EXPECT_THAT(sums[1].missing, HasSubstr("it is lost"));
}

}  // namespace
