// How many messages events take, in all and by a single locality: start, end and losses with 512 localities; other
// events with 64, and with 512 if many seeds are asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

#include "net/action.hpp"
#include "net/agas/agas.hpp"
#include "net/archive.hpp"
#include "net/collectives.hpp"
#include "net/component.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "net/start/termination.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

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
  std::uint64_t most_received = 0;
};

/// Messages of one run of f on all localities.
template <class F>
messages count(net::simulation& sim, F f) {
  std::vector<net::port_counts> before;
  for (locality_id i = 0; i < sim.size(); ++i) before.push_back(sim.at(i).port().counts());
  sim.run(f);
  messages m;
  for (locality_id i = 0; i < sim.size(); ++i) {
    if (!sim.network().alive(i)) continue;
    const net::port_counts now = sim.at(i).port().counts();
    const std::uint64_t sent = now.messages_sent - before[i].messages_sent;
    m.all += sent;
    m.most = std::max(m.most, sent);
    m.most_received = std::max(m.most_received, now.messages_received - before[i].messages_received);
  }
  return m;
}

void wait_for_end() { net::node_here().get<net::termination>().wait_for_all(); }

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

  const messages gathering =
      count(sim, [&] { EXPECT_EQ(all[find_here()]->gather(find_here()).get().size(), find_here() == 0 ? n : 0); });
  EXPECT_EQ(gathering.all, n - 1);
  EXPECT_EQ(gathering.most, 1u);
  EXPECT_LE(gathering.most_received, log_n);

  const messages scattering = count(sim, [&] {
    const std::vector<unsigned> values(find_here() == 0 ? n : 0, 7);
    EXPECT_EQ(all[find_here()]->scatter(values).get(), 7u);
  });
  EXPECT_EQ(scattering.all, n - 1);
  EXPECT_LE(scattering.most, log_n);
  EXPECT_EQ(scattering.most_received, 1u);

  const messages spreading = count(sim, [&] { EXPECT_EQ(all[find_here()]->all_gather(find_here()).get().size(), n); });
  EXPECT_LE(spreading.all, n * log_n);
  EXPECT_LE(spreading.most, log_n + 1);

  const messages exchange =
      count(sim, [&] { EXPECT_EQ(all[find_here()]->all_to_all(std::vector<unsigned>(n, 7)).get().size(), n); });
  EXPECT_LE(exchange.all, n * (n - 1));
  EXPECT_LE(exchange.most, n - 1);

  // The end of a run: counts and a request, counts and the end, over each edge of the tree.
  const messages end = count(sim, wait_for_end);
  EXPECT_EQ(end.all, 4 * (n - 1));
  EXPECT_EQ(end.most, 2 * log_n);
  EXPECT_EQ(end.most_received, 2 * log_n);

  // An object: its creation, a call, and its destruction concern two localities.
  const messages object = count(sim, [] {
    if (find_here() % 2 != 0) return;
    EXPECT_EQ(async<&cell::call>(new_<cell>(find_here() + 1).get()).get(), 1);
  });
  EXPECT_LE(object.all, n / 2 * 8);
  EXPECT_LE(object.most, 5u);
  sim.run([&] { all[find_here()].reset(); });
}

// The other members send at most 8 payloads ahead of those they receive, so most of theirs follow those of the late
// member.
TEST(SimScale, AnExchangeSendsFewMessagesToALateMember) {
  net::simulation sim({.localities = n, .workers = 1, .credits = 64});
  std::vector<std::optional<communicator>> all(n);
  std::vector<future<std::vector<unsigned>>> results(n);
  const auto begin = [&] {
    std::vector<unsigned> values;
    for (unsigned i = 0; i < n; ++i) values.push_back(find_here() * n + i);
    results[find_here()] = all[find_here()]->all_to_all(values);
  };
  const auto received = [&] { return sim.at(0).port().counts().messages_received; };
  sim.run([&] { all[find_here()].emplace(); });
  const std::uint64_t before = received();
  sim.run([&] {
    if (find_here() != 0) begin();
  });
  EXPECT_LT(received() - before, n / 2);
  sim.run([&] {
    if (find_here() == 0) begin();
    const std::vector<unsigned> values = results[find_here()].get();
    for (unsigned i = 0; i < n; ++i) EXPECT_EQ(values.at(i), i * n + find_here());
  });
  EXPECT_GE(received() - before, n - 1);
  sim.run([&] { all[find_here()].reset(); });
}

TEST(SimScale, MessagesOfAnEndOfAnyNumberOfLocalities) {
  for (const unsigned localities : {2u, 3u, 5u, 100u}) {
    net::simulation sim({.localities = localities, .workers = 1, .credits = 64});
    const messages end = count(sim, wait_for_end);
    EXPECT_EQ(end.all, 4 * (localities - 1));
    EXPECT_EQ(end.most, 2 * static_cast<unsigned>(std::bit_width(localities - 1)));
    EXPECT_EQ(end.most_received, end.most);
  }
}

/// Locality 5 fails. Each locality sends the report to all its neighbours but that one.
messages count_failure(net::simulation& sim) {
  return count(sim, [] {
    if (find_here() == 5)
      return net::node_here().get<net::termination>().fail(std::make_exception_ptr(std::runtime_error("no such file")));
    while (!net::node_here().is_lost(5)) this_thread::sleep_for(std::chrono::milliseconds(1));
  });
}

TEST(SimScale, MessagesOfStartEndAndLossOf512Localities) {
  constexpr unsigned log_512 = 9, many = 1u << log_512;
  net::simulation sim({.localities = many, .workers = 1, .credits = 64});
  const messages end = count(sim, wait_for_end);
  EXPECT_EQ(end.all, 4 * (many - 1));
  EXPECT_EQ(end.most, 2 * log_512);
  EXPECT_EQ(end.most_received, 2 * log_512);
  std::uint64_t since_start = 0;
  for (locality_id i = 0; i < many; ++i) since_start += sim.at(i).port().counts().messages_sent;
  EXPECT_EQ(since_start, end.all) << "the start takes none";

  const messages loss = count_failure(sim);
  EXPECT_EQ(loss.all, (many - 1) * (2 * log_512 - 1));
  EXPECT_EQ(loss.most, 2 * log_512 - 1);
  EXPECT_EQ(loss.most_received, 2 * log_512 - 1);

  // Also a second request, because the tree changes.
  const messages later = count(sim, [] {
    if (find_here() != 5) wait_for_end();
  });
  EXPECT_LE(later.all, 6 * (many - 2));
  EXPECT_LE(later.most, 3 * log_512);
  EXPECT_LE(later.most_received, 3 * log_512);
}

// The report takes several hops.
TEST(SimScale, MessagesOfAFailure) {
  net::simulation sim({.localities = n, .workers = 1, .credits = 64});
  const messages report = count_failure(sim);
  EXPECT_EQ(report.all, (n - 1) * (2 * log_n - 1));
  EXPECT_EQ(report.most, 2 * log_n - 1);
  EXPECT_EQ(report.most_received, 2 * log_n - 1);
  for (locality_id i = 0; i < n; ++i)
    if (i != 5) {
      EXPECT_EQ(sim.at(i).why_lost(5), "it failed: no such file") << "locality " << i;
    }
}

// The loss of a locality that is the directory of objects all over the job, and a member of a communicator.
TEST(SimScale, MessagesOfASettlement) {
  net::simulation sim({.localities = n, .workers = 1, .credits = 64});
  std::vector<std::optional<communicator>> all(n);
  std::vector<global<cell>> objects(n);  // each held by the locality of its index
  sim.run([&] {
    all[find_here()].emplace();
    if (find_here() != n - 1) objects[find_here()] = new_<cell>(n - 1).get();
  });
  const messages settling = count(sim, [&] {
    if (find_here() == 0) sim.kill(n - 1);
    if (find_here() == n - 1) return;
    EXPECT_THROW(all[find_here()]->barrier().get(), locality_lost);
    while (!net::node_here().is_lost(n - 1)) this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  // Each locality takes part in a barrier, claims its reference at the next directory of the object, which answers,
  // and in the settlement; directories of several objects answer more.
  EXPECT_LE(settling.most, 4 * log_n + 12);
  EXPECT_LE(settling.most_received, 4 * log_n + 12);
  std::uint64_t lost = 0;
  for (locality_id i = 0; i + 1 < n; ++i) lost += sim.at(i).get<net::agas>().counts().lost;
  EXPECT_EQ(lost, n - 1);
  sim.run([&] {
    objects[find_here()] = {};
    all[find_here()].reset();
  });
}

// A call that fails on one member ends the communicator on all.
TEST(SimScale, MessagesOfTheEndOfACommunicator) {
  net::simulation sim({.localities = n, .workers = 1, .credits = 64});
  std::vector<std::optional<communicator>> all(n);
  sim.run([&] { all[find_here()].emplace(); });
  const messages end = count(sim, [&] {
    if (find_here() == 5) {
      EXPECT_THROW(all[find_here()]->broadcast(7).get(), std::logic_error);
    } else {
      EXPECT_THROW(all[find_here()]->barrier().get(), std::exception);
    }
  });
  EXPECT_LE(end.most, 3 * log_n);  // of the barrier as well
  EXPECT_LE(end.most_received, 3 * log_n);
  sim.run([&] { all[find_here()].reset(); });
}

}  // namespace
}  // namespace sim_scale
