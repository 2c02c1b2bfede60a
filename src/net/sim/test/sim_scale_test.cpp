// How many messages events take, in all and by a single locality: with 64 localities, and with 512 if many seeds are
// asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "net/action.hpp"
#include "net/archive.hpp"
#include "net/collectives.hpp"
#include "net/component.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "net/start/termination.hpp"
#include "rt/test/every_schedule_test.hpp"

namespace sim_scale {

using namespace plx;

struct cell {
  int calls = 0;
  int call() { return ++calls; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(calls);
  }
};

namespace {

const unsigned log_n = plx::testing::seed_count() < 1000 ? 6 : 9, n = 1u << log_n;

struct messages {
  std::uint64_t all = 0, most = 0;  // sent by all localities, and by the one that sent most
};

/// Messages of one run of f on all localities.
template <class F>
messages count(net::simulation& sim, F f) {
  std::vector<std::uint64_t> before;
  for (locality_id i = 0; i < n; ++i) before.push_back(sim.at(i).port().counts().messages_sent);
  sim.run(f);
  messages m;
  for (locality_id i = 0; i < n; ++i) {
    const std::uint64_t sent = sim.at(i).port().counts().messages_sent - before[i];
    m.all += sent;
    m.most = std::max(m.most, sent);
  }
  return m;
}

// Each number is what the algorithm needs; the bounds leave room for credits and flushes.
TEST(SimScale, MessagesOfEvents) {
  net::simulation sim({.localities = n, .workers = 1, .credits = 64});
  std::vector<std::optional<communicator>> all(n);
  sim.run([&] { all[find_here()].emplace(); });
  const messages first = count(sim, [&] { all[find_here()]->barrier().get(); });
  EXPECT_LE(first.all, n * log_n);
  EXPECT_LE(first.most, log_n);

  const messages reduction =
      count(sim, [&] { EXPECT_EQ(all[find_here()]->all_reduce(1, std::plus<>()).get(), static_cast<int>(n)); });
  EXPECT_LE(reduction.all, n * log_n);
  EXPECT_LE(reduction.most, log_n + 1);

  const messages broadcast = count(sim, [&] { EXPECT_EQ(all[find_here()]->broadcast(7).get(), 7); });
  EXPECT_EQ(broadcast.all, n - 1);
  EXPECT_LE(broadcast.most, log_n);

  // The end of a run: two requests and answers of each locality.
  const messages end = count(sim, [] { net::node_here().get<net::termination>().wait_for_all(); });
  EXPECT_LE(end.all, 8 * n);

  // An object: its creation, a call, and its destruction concern two localities.
  const messages object = count(sim, [] {
    if (find_here() % 2 != 0) return;
    EXPECT_EQ(async<&cell::call>(new_<cell>(find_here() + 1).get()).get(), 1);
  });
  EXPECT_LE(object.all, n / 2 * 8);
  EXPECT_LE(object.most, 5u);
  sim.run([&] { all[find_here()].reset(); });
}

}  // namespace
}  // namespace sim_scale
