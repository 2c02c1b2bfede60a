// Numbers of messages, with 64 localities: an end has those of net's simulation; those of a settlement are compared
// with them, because not all localities request it. Losses and leaving are compared with formulas.
#include "job_events.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <optional>

#include "net/action.hpp"
#include "net/collectives.hpp"
#include "net/component.hpp"
#include "net/core/tree_round.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "net/start/termination.hpp"
#include "rt/thread.hpp"
#include "test_platform.hpp"

namespace scale_events {

using namespace plx;

struct cell {
  int calls = 0;
  int call() { return ++calls; }
};

namespace {

using scale::count_messages;
using scale::graph_of;
using scale::job_event;
using scale::message_counts;

constexpr unsigned log_n = 6, n = 1u << log_n;

template <class F>
message_counts count(net::simulation& sim, F f) {
  std::vector<std::uint64_t> before;
  for (locality_id i = 0; i < n; ++i) before.push_back(sim.at(i).port().counts().messages_sent);
  sim.run(f);
  message_counts m;
  for (locality_id i = 0; i < n; ++i) {
    if (!sim.network().alive(i)) continue;
    const std::uint64_t sent = sim.at(i).port().counts().messages_sent - before[i];
    m.all += sent;
    m.most_sent = std::max(m.most_sent, sent);
  }
  return m;
}

TEST(JobEvents, AnEndHasTheMessagesOfTheSimulation) {
  net::simulation sim({.localities = n, .workers = 1, .credits = 64});
  const message_counts real = count(sim, [] { net::node_here().get<net::termination>().wait_for_all(); });
  const message_counts c = count_messages(graph_of(job_event::end, n));
  EXPECT_EQ(c.all, 4 * (n - 1));
  EXPECT_EQ(c.most_sent, 2 * log_n);
  EXPECT_EQ(c.most_received, 2 * log_n);
  EXPECT_EQ(real.all, c.all);
  EXPECT_EQ(real.most_sent, c.most_sent);
}

// The lost locality has created an object, so that a survivor is its directory from then on, and has to decide whether
// it is lost.
TEST(JobEvents, ASettlementHasTheMessagesOfTheSimulation) {
  net::simulation sim({.localities = n, .workers = 1, .credits = 64});
  std::vector<std::optional<communicator>> all(n);
  global<cell> object;
  sim.run([&] { all[find_here()].emplace(); });
  sim.run_root([&] { object = new_<cell>(n - 1).get(); });
  const message_counts real = count(sim, [&] {
    if (find_here() == 0) sim.kill(n - 1);
    while (find_here() != n - 1 && !net::node_here().is_lost(n - 1))
      this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  const message_counts c = count_messages(graph_of(job_event::settle, n));
  const std::uint64_t edges = n - 2;  // of the tree of the survivors
  const message_counts flood = count_messages(graph_of(job_event::loss, n));
  EXPECT_EQ(c.all, flood.all + 4 * edges);
  EXPECT_LE(c.most_sent, 4 * log_n);
  EXPECT_LE(c.most_received, 4 * log_n);
  // In the simulation one directory requests it. Besides, the holder claims its reference at the new directory.
  EXPECT_GE(real.all, flood.all + 3 * edges);
  EXPECT_LE(real.all, flood.all + 3 * edges + log_n + 4);
  EXPECT_GE(real.most_sent, 2 * log_n);
  EXPECT_LE(real.most_sent, c.most_sent + 2);
  sim.run_root([&] { object = {}; });
  sim.run([&] { all[find_here()].reset(); });
}

int doublings(int localities) { return std::bit_width(static_cast<unsigned>(localities - 1)); }

// Each survivor sends a notice to each of its neighbours once: twice as many localities, two more messages each, and a
// hop more for every fourfold.
TEST(JobEvents, ALossTakesLogarithmicallyManyMessagesPerLocality) {
  for (const int m : {3, 5, 16, 48, 64, 512, 4096}) {
    const message_counts c = count_messages(graph_of(job_event::loss, m));
    EXPECT_LE(c.most_sent, 2u * doublings(m)) << m;
    EXPECT_LE(c.most_received, 2u * doublings(m)) << m;
    if (m > 64) continue;
    const double hops = (doublings(m) + 1) / 2 + 1;  // one more for the last notices, which are not new
    EXPECT_LE(scale::test::shared().run(graph_of(job_event::loss, m), {}, {})->time_s,
              hops * scale::test::latency_s + 1e-6)
        << m;
  }
}

// All leave at the same time: a message to each neighbour per hop, with all notices that are new.
TEST(JobEvents, LeavingTakesAMessageOnEachConnectionPerHop) {
  for (const int m : {3, 5, 16, 48, 64, 512}) {
    const std::uint64_t lines = net::power_of_two_neighbours(0, static_cast<unsigned>(m)).size();
    const std::uint64_t hops = (doublings(m) + 1) / 2;
    const message_counts c = count_messages(graph_of(job_event::leave, m));
    EXPECT_LE(c.most_sent, lines * (hops + 1)) << m;
    EXPECT_EQ(c.most_received, c.most_sent) << m;
    EXPECT_EQ(c.all, m * c.most_sent) << m;
  }
}

}  // namespace
}  // namespace scale_events
