#include "replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <random>

#include "test_platform.hpp"
#include "work_graph.hpp"

namespace plx::scale {
namespace {

using test::latency_s;
using test::replay;

constexpr double tiny = 1e-12;

TEST(Replay, AChainTakesTheSumOfItsTasks) {
  work_graph g;
  node_id last = g.add_task(0, 1e-4);
  for (int i = 0; i < 9; ++i) {
    const node_id next = g.add_task(0, 1e-4);
    g.edge(last, next);
    last = next;
  }
  const replayed r = replay(g, {.workers = 3});
  EXPECT_NEAR(r.time_s, 1e-3, tiny);
  EXPECT_NEAR(r.use.work, 1e-3, tiny);
  EXPECT_NEAR(r.use.local, 2e-3, tiny);  // two workers are idle
  EXPECT_EQ(r.tasks, 10u);
}

TEST(Replay, AMessageTakesLatencyAndBytesOverBandwidth) {
  work_graph g;
  const node_id a = g.add_task(0, 3e-4), m = g.add_message(0, 1, 500'000), b = g.add_task(1, 2e-4);
  g.edge(a, m);
  g.edge(m, b);
  const replayed r = replay(g);
  const double flight = latency_s + 500'000 / 1e9;
  EXPECT_NEAR(r.time_s, 3e-4 + flight + 2e-4, tiny);
  EXPECT_NEAR(r.use.late, 3e-4, tiny);
  EXPECT_NEAR(r.use.network, flight, tiny);
  EXPECT_NEAR(r.use.imbalance, flight + 2e-4, tiny);
  EXPECT_EQ(r.messages, 1u);
  EXPECT_EQ(r.bytes, 500'000);
}

TEST(Replay, ARingTakesAllItsTasksAndFlights) {
  constexpr int n = 8;
  work_graph g;
  node_id last = g.add_task(0, 1e-4);
  for (int l = 1; l <= n; ++l) {
    const node_id m = g.add_message(l - 1, l % n, 1000), next = g.add_task(l % n, 1e-4);
    g.edge(last, m);
    g.edge(m, next);
    last = next;
  }
  EXPECT_NEAR(replay(g).time_s, (n + 1) * 1e-4 + n * (latency_s + 1e-6), n * tiny);
}

// The second of two consecutive messages is sent when the first has left, not when it has arrived.
TEST(Replay, TheLatencyOfAMessageDoesNotHoldUpTheNext) {
  work_graph g;
  const node_id a = g.add_task(0, 0.0);
  for (int i = 0; i < 10; ++i) {
    const node_id m = g.add_message(0, 1, 1000);
    g.edge(a, m);
    g.edge(m, g.add_task(1, 0.0));
  }
  EXPECT_NEAR(replay(g).time_s, latency_s + 10 * 1e-6, 10 * tiny);
}

TEST(Replay, TwoSendersShareTheWayIn) {
  work_graph g;
  for (int from : {1, 2}) {
    const node_id a = g.add_task(from, 0.0), m = g.add_message(from, 0, 1'000'000), b = g.add_task(0, 0.0);
    g.edge(a, m);
    g.edge(m, b);
  }
  EXPECT_NEAR(replay(g).time_s, latency_s + 2e-3, 1e-9);
}

TEST(Replay, CostsOfMessagesArePaidByBothSides) {
  work_graph g;
  const node_id a = g.add_task(0, 1e-4), m = g.add_message(0, 1, 1000, 3), b = g.add_task(1, 1e-4);
  g.copies(a, 500);
  g.edge(a, m);
  g.edge(m, b);
  costs c;
  c.send_s = 1e-6, c.receive_s = 2e-6, c.send_s_per_byte = 1e-9, c.receive_s_per_byte = 2e-9, c.task_s = 5e-6;
  const replayed r = replay(g, {}, c);
  const double sender = 3 * 1e-6 + 500e-9, receiver = 3 * 2e-6 + 2000e-9, tasks = 2 * 5e-6;
  EXPECT_NEAR(r.use.overhead, sender + receiver + tasks, tiny);
  EXPECT_NEAR(r.time_s, 2e-4 + sender + receiver + tasks + latency_s + 1e-6, tiny);
  EXPECT_EQ(r.messages, 3u);
}

TEST(Replay, ASlowHostTakesLonger) {
  work_graph g;
  g.add_task(test::slow_host, 1e-3);
  const replayed r = replay(g);
  EXPECT_NEAR(r.time_s, 4e-3, tiny);  // a quarter of the reference speed
}

// Four localities of two workers on the four cores of one host: half of the workers wait for cores at any time.
TEST(Replay, LocalitiesOfAHostShareItsCores) {
  work_graph g;
  for (int l = 0; l < 4; ++l)
    for (int i = 0; i < 10; ++i) g.add_task(l, 1e-4);
  const replayed r = replay(g, {.workers = 2, .per_host = 4});
  EXPECT_NEAR(r.time_s, 1e-3, 1e-9);
  EXPECT_NEAR(r.use.work, 4e-3, tiny);
  EXPECT_GT(r.use.core, 3e-3);
}

// log2 flights; if some localities go through a neighbour, one more to it, and one back unless that overlaps the
// others.
TEST(Replay, PairsTakeAFlightPerDistance) {
  constexpr std::array<int, 10> flights{0, 0, 1, 2, 2, 3, 3, 4, 3, 4};
  for (int n = 1; n < 10; ++n) {
    work_graph g;
    const reduction all = add_pairwise(g, n, 1);
    for (int l = 0; l < n; ++l) {
      g.edge(g.add_task(l, 1e-4), all.in[l]);
      g.edge(all.out[l], g.add_task(l, 0.0));
    }
    EXPECT_NEAR(replay(g).time_s, 1e-4 + flights[n] * latency_s, 1e-7) << n;
  }
}

TEST(Replay, AGatherTakesAFlightPerDistanceAndCarriesEverythingToAll) {
  for (int n = 1; n <= 9; ++n) {
    work_graph g;
    const reduction all = add_gather(g, n, 1000, 0);
    for (int l = 0; l < n; ++l) g.edge(all.out[l], g.add_task(l, 0.0));
    const replayed r = replay(g);
    const int flights = std::bit_width(static_cast<unsigned>(n - 1));
    EXPECT_EQ(r.bytes, 1000.0 * n * (n - 1)) << n;
    EXPECT_NEAR(r.time_s, flights * latency_s + (n - 1) * 1e-6, 1e-9) << n;
  }
}

// On one host, costs by size: between 1000 and 3000 bytes linear.
TEST(Replay, MessagesInsideAHostTakeWhatTheirSizeWasMeasuredToTake) {
  work_graph g;
  const node_id a = g.add_task(0, 1e-4), m = g.add_message(0, 1, 2000), b = g.add_task(1, 1e-4);
  g.edge(a, m);
  g.edge(m, b);
  costs c;
  c.by_size = {{1000, 1e-6, 4e-6, 7e-6}, {3000, 3e-6, 8e-6, 7e-6}};
  const replayed r = replay(g, {.workers = 1, .per_host = 2}, c);
  EXPECT_NEAR(r.time_s, 2e-4 + 2e-6 + 6e-6 + 7e-6, tiny);
  EXPECT_NEAR(r.use.overhead, 2e-6 + 6e-6, tiny);
  EXPECT_NEAR(c.of(5000).receive_s, 12e-6, tiny);
  EXPECT_NEAR(c.of(10).send_s, 1e-6, tiny);
}

TEST(Replay, AllToAllTakesOneFlightOfAllMessages) {
  constexpr int n = 6;
  work_graph g;
  const reduction all = add_all_to_all(g, n, 1000);
  for (int l = 0; l < n; ++l) g.edge(all.out[l], g.add_task(l, 1e-4));
  const replayed r = replay(g);
  EXPECT_EQ(r.messages, n * (n - 1u));
  EXPECT_NEAR(r.time_s, (n - 1) * 1e-6 + latency_s + 1e-4, 1e-9);  // each to a different one at any time
}

work_graph random_graph(std::uint64_t seed, int localities, double bytes) {
  std::mt19937_64 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  work_graph g;
  std::vector<node_id> tasks;
  for (int i = 0; i < 400; ++i) {
    const node_id t = g.add_task(below(localities), 1e-5 * (1 + below(20)));
    for (int e = 0; e < 3 && i > 0; ++e) {
      const node_id before = tasks[below(i)];
      if (g[before].where == g[t].where) {
        g.edge(before, t);
        continue;
      }
      const node_id m = g.add_message(g[before].where, g[t].where, bytes * (1 + below(10)), 1 + below(3));
      g.edge(before, m);
      g.edge(m, t);
    }
    tasks.push_back(t);
  }
  return g;
}

double sum_of_work(const work_graph& g) {
  double sum = 0.0;
  for (node_id n = 0; n < g.size(); ++n) sum += g[n].work_s;
  return sum;
}

TEST(Replay, AllWorkIsDoneOnceAndAllTimeIsAccounted) {
  costs c;
  c.send_s = c.receive_s = 1e-6, c.send_s_per_byte = c.receive_s_per_byte = 1e-10, c.task_s = 1e-7;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const int workers : {1, 3}) {
      work_graph g = random_graph(seed, 8, 10'000);
      const replayed r = replay(g, {.workers = workers, .per_host = 1 + static_cast<int>(seed % 3)}, c);
      EXPECT_NEAR(r.use.work, sum_of_work(g), 1e-9);
      EXPECT_EQ(r.tasks, 400u);
      EXPECT_NEAR(r.use.sum(), 8 * workers * r.time_s, 1e-9);
      for (const double part : {r.use.core, r.use.local, r.use.late, r.use.network, r.use.imbalance, r.use.reduction})
        EXPECT_GE(part, 0.0);
    }
}

// The longest path through a graph whose tasks never wait for a worker: computed backwards here, compared with the
// replay.
TEST(Replay, WithWorkersEnoughItIsTheLongestPath) {
  for (std::uint64_t seed = 100; seed < 110; ++seed) {
    work_graph g = random_graph(seed, 1, 0);
    g.finish();
    std::vector<double> rest(g.size(), 0.0);
    for (node_id n = static_cast<node_id>(g.size()); n-- > 0;) {
      for (const node_id next : g.after(n)) rest[n] = std::max(rest[n], rest[next]);
      rest[n] += g[n].work_s;
    }
    const replayed r = *test::shared().run(g, {.workers = 4, .per_host = 1}, {});
    work_graph again = random_graph(seed, 1, 0);
    const replayed wide = replay(again, {.workers = 400, .per_host = 1}, {}, test::wide_host);
    EXPECT_NEAR(wide.time_s, *std::max_element(rest.begin(), rest.end()), 1e-9);
    EXPECT_GE(r.time_s, wide.time_s - 1e-9);
  }
}

TEST(Replay, RefusesMoreLocalitiesThanHosts) {
  work_graph g;
  g.add_task(1000, 1.0);
  g.finish();
  const auto r = test::shared().run(g, {}, {});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().message.find("1001 localities, 1 to a host: expected 1001 hosts"), 0u);
}

TEST(Platform, AFileThatIsNotThereIsOneLine) {
  const auto r = platform::load("/nowhere/cluster.xml");
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().message.find('\n'), std::string::npos);
  EXPECT_EQ(r.error().message.find("/nowhere/cluster.xml: "), 0u);
}

}  // namespace
}  // namespace plx::scale
