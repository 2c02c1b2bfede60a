// The summary of a job, compared with numbers computed by hand and with the counters of real localities.
#include "net/observe/job_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "net/action.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "net/test/threads_test.hpp"

using namespace plx;

namespace summary_test {
int twice(int x) { return 2 * x; }
}  // namespace summary_test

namespace {

using net::job_summary;
using net::kind_of_job;
using net::locality_summary;
using testing::HasSubstr;

/// The summaries of four localities, each by itself.
std::vector<job_summary> parts_by_hand() {
  std::vector<locality_summary> rows(4);
  for (locality_id i = 0; i < 4; ++i) rows[i].locality = i;
  rows[0].exec_s = 3, rows[0].idle_s = 1, rows[0].polling_s = 1, rows[0].sending_s = 0.5;
  rows[2].missing = "it is lost: kill -9";
  return {summary_of(rows[0], {{"b", 1, 0.5, 0.5, 0.5}, {"a", 2, 3.0, 1.0, 2.0}}),
          summary_of(rows[1], {{"a", 4, 6.0, 0.5, 3.0}}), summary_of(rows[2], {}),
          summary_of(rows[3], {{"a", 0, 0.25, 0, 0}})};  // a task that has not ended
}

/// As a tree adds them: 3 to 2, then both to 0.
job_summary by_hand() {
  auto parts = parts_by_hand();
  parts[2].add(std::move(parts[3]));
  parts[0].add(std::move(parts[1]));
  parts[0].add(std::move(parts[2]));
  return parts[0];
}

TEST(JobSummary, KindsOverLocalities) {
  const job_summary job = by_hand();
  EXPECT_EQ(job.present(), 3u);
  const auto kinds = job.kinds_by_total();
  ASSERT_EQ(kinds.size(), 2u);
  const kind_of_job& a = kinds[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.calls, 6u);
  EXPECT_EQ(a.localities, 3u);
  EXPECT_DOUBLE_EQ(a.total_s, 9.25);
  EXPECT_DOUBLE_EQ(a.min_s, 0.5);
  EXPECT_DOUBLE_EQ(a.max_s, 3.0);
  EXPECT_DOUBLE_EQ(job.least_s(a), 0.25);
  EXPECT_DOUBLE_EQ(a.most_s, 6.0);
  EXPECT_EQ(a.most_at, 1u);
  EXPECT_DOUBLE_EQ(job.imbalance(a), 6.0 / (9.25 / 3));
  const kind_of_job& b = kinds[1];
  EXPECT_DOUBLE_EQ(job.least_s(b), 0) << "two localities have none";
  EXPECT_DOUBLE_EQ(job.imbalance(b), 3);
  EXPECT_DOUBLE_EQ(job.localities[0].idle_rate(), 0.25);
  EXPECT_DOUBLE_EQ(job.localities[0].network_overhead(), 1.5 / 4);
  EXPECT_DOUBLE_EQ(job.localities[1].idle_rate(), 0);
}

// Types of any localities, added in any order and grouping, compared with sums over all.
TEST(JobSummary, TheOrderOfTheSumsDoesNotMatter) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    std::mt19937 random(seed);
    std::vector<job_summary> parts;
    std::map<std::string, std::vector<std::pair<double, locality_id>>> totals;
    std::map<std::string, std::uint64_t> calls;
    const unsigned n = 1 + random() % 20;
    for (locality_id i = 0; i < n; ++i) {
      std::vector<net::kind_summary> kinds;
      for (const char* name : {"d", "a", "c", "b"}) {
        if (random() % 3 == 0) continue;
        const std::uint64_t k = random() % 4;
        const double total = random() % 8;
        kinds.push_back({name, k, total, k == 0 ? 0 : total / 4, k == 0 ? 0 : total});
        totals[name].emplace_back(total, i), calls[name] += k;
      }
      locality_summary row;
      row.locality = i;
      parts.push_back(summary_of(row, kinds));
    }
    while (parts.size() > 1) {
      std::shuffle(parts.begin(), parts.end(), random);
      job_summary last = std::move(parts.back());
      parts.pop_back();
      parts.back().add(std::move(last));
    }
    const job_summary& job = parts[0];
    ASSERT_EQ(job.kinds.size(), totals.size()) << seed;
    for (const kind_of_job& k : job.kinds) {
      double sum = 0, most = -1, least = 1e9;
      locality_id at = 0;
      for (const auto& [total, where] : totals[k.name]) {
        sum += total, least = std::min(least, total);
        if (total > most) most = total, at = where;
      }
      EXPECT_DOUBLE_EQ(k.total_s, sum) << seed;
      EXPECT_DOUBLE_EQ(k.most_s, most) << seed;
      EXPECT_EQ(k.most_at, at) << seed;
      EXPECT_EQ(k.calls, calls[k.name]) << seed;
      EXPECT_DOUBLE_EQ(job.least_s(k), totals[k.name].size() < n ? 0 : least) << seed;
    }
  }
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
  job_summary job;
  all.run(0, [&] { job = net::summary_of_all(all.at(0), 300); });
  ASSERT_EQ(job.localities.size(), 3u);
  for (locality_id i = 0; i < 3; ++i) {
    EXPECT_EQ(job.localities[i].locality, i);
    EXPECT_EQ(job.localities[i].missing, "");
    EXPECT_EQ(job.localities[i].workers, 1u);
    EXPECT_FALSE(job.localities[i].host.empty());
  }
  EXPECT_EQ(job.localities[0].parcels_sent, 10u) << "before the summaries were requested";
  EXPECT_GE(job.localities[2].parcels_received, 10u);
  const auto twice = std::find_if(job.kinds.begin(), job.kinds.end(), [](const auto& k) {
    return k.name.find("summary_test::twice") != std::string::npos;
  });
  ASSERT_NE(twice, job.kinds.end());
  EXPECT_EQ(twice->calls, 10u);
  EXPECT_EQ(twice->most_at, 2u);
  EXPECT_DOUBLE_EQ(job.imbalance(*twice), 3);
  all.lose(1);
  all.settle();
  all.run(0, [&] { job = net::summary_of_all(all.at(0), 300); });
  EXPECT_THAT(job.localities[1].missing, HasSubstr("it is lost"));
  EXPECT_EQ(job.localities[2].missing, "");
}

// Locality 2 is above 3 in the tree.
TEST(JobSummary, AStoppedLocalityIsMissing) {
  net::simulation sim({.localities = 5, .stalls = {{2, 0, 0, 1000}}});
  sim.run_root([&] {
    const job_summary job = net::summary_of_all(sim.at(0), 5);
    for (locality_id i = 0; i < 5; ++i) EXPECT_EQ(job.localities[i].missing, i == 2 ? "it did not answer" : "") << i;
    EXPECT_EQ(job.present(), 4u);
    EXPECT_LT(sim.now_s(), 5.1);
  });
}

TEST(JobSummary, MessagesOf512Localities) {
  constexpr unsigned log_n = 9, n = 1u << log_n;
  net::simulation sim({.localities = n, .workers = 1, .credits = 64});
  sim.run_root([&] { EXPECT_EQ(net::summary_of_all(sim.at(0), 20).present(), n); });
  std::uint64_t sent = 0;
  for (locality_id i = 0; i < n; ++i) {
    const net::port_counts c = sim.at(i).port().counts();
    sent += c.messages_sent;
    EXPECT_LE(c.messages_sent, log_n) << i;
    EXPECT_LE(c.messages_received, log_n) << i;
  }
  EXPECT_EQ(sent, 2 * (n - 1));
}

}  // namespace
