#include "net/parcels/network_time.hpp"

#include <gtest/gtest.h>

#include <map>

#include "net/action.hpp"
#include "net/coalescing.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "net/test/threads_test.hpp"
#include "probe/counters/counter_registry.hpp"
#include "rt/thread.hpp"

namespace port_counters_test {

using namespace plx;

int counted(int x) { return x + 1; }
void posted(int) {}

double value(probe::counter_registry& r, const std::string& name) {
  const auto v = r.query(name);
  EXPECT_TRUE(v) << v.error().message;
  return v && v->size() == 1 ? v->at(0).value : -1;
}
std::string problem(probe::counter_registry& r, const std::string& name) {
  const auto v = r.query(name);
  return v ? "" : v.error().message;
}

/// In virtual time all counts are exact: localities, messages, gaps.
TEST(PortCounters, CountExactly) {
  net::simulation sim({.localities = 2, .seed = 3});
  sim.run_root([&sim] {
    coalesce<&posted>({.parcels = 4, .interval_us = 1000});
    auto& r = sim.runtime_at(0).counters();
    EXPECT_EQ(value(r, "/coalescing/count/parcels@*posted"), 0);
    EXPECT_EQ(r.query("/coalescing/time/parcel-arrival-histogram@posted,0,100,4").value().size(), 6u);
    for (int i = 0; i < 9; ++i) {
      post<&posted>(1, i);
      if (i == 3) this_thread::sleep_for(std::chrono::microseconds(80));
      if (i == 6) this_thread::sleep_for(std::chrono::microseconds(200));
    }
    auto call = async<&counted>(1, 1);
    const double begun_s = value(r, "/calls/time/unanswered");
    EXPECT_EQ(call.get(), 2);
    const double waited_s = value(r, "/calls/time/unanswered");
    EXPECT_GT(waited_s, begun_s);
    EXPECT_EQ(value(r, "/calls/time/unanswered"), waited_s);
    this_thread::sleep_for(std::chrono::milliseconds(3));
    EXPECT_EQ(value(r, "/coalescing/count/parcels@*posted"), 9);
    EXPECT_EQ(value(r, "/coalescing/count/messages@*posted"), 3);  // 1, 4, 4
    EXPECT_EQ(value(r, "/coalescing/count/average-parcels-per-message@*posted"), 3);
    EXPECT_NEAR(value(r, "/coalescing/time/average-parcel-arrival@*posted"), 280e-6 / 8, 1e-6);
    EXPECT_EQ(value(r, "/coalescing/count/parcels@*counted"), 1);
    EXPECT_EQ(value(r, "/coalescing/count/parcels"), 10);
    EXPECT_EQ(value(r, "/coalescing/count/messages"), 4);
    std::map<std::string, double> gaps;
    for (const auto& v : r.query("/coalescing/time/parcel-arrival-histogram@posted,0,100,4").value())
      gaps[v.name.substr(v.name.rfind(',') + 1)] = v.value;
    EXPECT_EQ(gaps,
              (std::map<std::string, double>{{"below", 0}, {"0", 6}, {"1", 0}, {"2", 0}, {"3", 1}, {"above", 1}}));
    EXPECT_GE(value(r, "/parcels/count/sent"), 10);
    EXPECT_EQ(value(r, "/messages/count/refused"), 0);
    // Ratios count from their reset.
    ASSERT_TRUE(r.reset("/coalescing/count/average-parcels-per-message@*posted"));
    EXPECT_EQ(value(r, "/coalescing/count/average-parcels-per-message@*posted"), 0);
    post<&posted>(1, 1);
    EXPECT_EQ(value(r, "/coalescing/count/average-parcels-per-message@*posted"), 1);
  });
  // Replies are parcels of the action on the locality that replies.
  EXPECT_EQ(value(sim.runtime_at(1).counters(), "/coalescing/count/parcels@*counted"), 1);
}

TEST(PortCounters, InvalidQueriesAreReportedInOneLine) {
  net::test::localities all(2);
  auto& r = all.at(0).home().counters();
  const std::string usage =
      "parcel-arrival-histogram: expected @ACTION,MIN,MAX,BUCKETS with microseconds and at most 10000 buckets, as in "
      "@f,0,100,20; found '";
  for (const char* wrong : {"posted,0,100", "posted,100,0,5", "posted,0,1,0", "posted,0,1,20000", "posted,a,1,2"})
    EXPECT_EQ(problem(r, std::string("/coalescing/time/parcel-arrival-histogram@") + wrong), usage + wrong + "'");
  EXPECT_EQ(problem(r, "/coalescing/time/parcel-arrival-histogram"), usage + "'");
  EXPECT_EQ(problem(r, "/coalescing/time/parcel-arrival-histogram@postet,0,1,2"),
            "there is no action 'postet'; did you mean 'posted'?");
}

/// With real threads: the sums agree with what was sent, and times are recorded.
TEST(PortCounters, AgreeWithWhatWasSent) {
  net::test::localities all(2);
  constexpr int calls = 2000;
  all.run_all([] {
    std::vector<future<int>> results;
    for (int i = 0; i < calls; ++i) results.push_back(async<&counted>(1 - find_here(), i));
    for (auto& f : results) f.get();
  });
  double sent = 0, received = 0;
  for (locality_id i = 0; i < 2; ++i) {
    auto& r = all.at(i).home().counters();
    EXPECT_EQ(value(r, "/coalescing/count/parcels@*counted"), 2 * calls);
    EXPECT_EQ(value(r, "/data/under-way"), 0);
    sent += value(r, "/parcels/count/sent"), received += value(r, "/parcels/count/received");
    EXPECT_GT(value(r, "/network/time/polling"), 0);
    EXPECT_GT(value(r, "/network/overhead"), 0);
    EXPECT_LT(value(r, "/network/overhead"), 1);
    EXPECT_GE(r.query("/coalescing/count/parcels@*").value().size(), 2u);
  }
  EXPECT_EQ(sent, received);
}

/// 3 s in tasks, 1 s in polls and 0.5 s of tasks on messages; then as much again.
TEST(PortCounters, OverheadIsTheShareOfMessagesInAllWork) {
  const auto once = net::network_time_of(3, 1, 0.5), twice = net::network_time_of(6, 2, 1);
  EXPECT_DOUBLE_EQ(once.messages_s, 1.5);
  EXPECT_DOUBLE_EQ(once.busy_s, 4);
  EXPECT_DOUBLE_EQ(once.share(), 0.375);
  EXPECT_DOUBLE_EQ((twice - once).share(), 0.375);
  EXPECT_EQ((once - once).share(), 0);
}

}  // namespace port_counters_test
