// Parts of all localities reach the root once each, whichever localities are stopped or lost.
#include "net/observe/tree_gather.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <utility>
#include <vector>

#include "net/action.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "rt/async.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace tree_gather_test {

using namespace plx;
using net::gather_request;

/// The numbers of localities.
struct numbers_part {
  std::vector<locality_id> all;

  static numbers_part make(net::node& n, locality_id, double) { return {{n.here()}}; }
  void add(numbers_part&& other) { all.insert(all.end(), other.all.begin(), other.all.end()); }
  static void request(locality_id to, const gather_request& q);
  static void reply(locality_id to, std::uint64_t round, const std::vector<locality_id>& silent, const numbers_part& p);
};
net::tree_gather<numbers_part>& gather_here() { return net::node_here().get<net::tree_gather<numbers_part>>(); }

void requested(net::sender from, std::uint64_t round, double timeout_s, std::uint8_t direct,
               std::vector<locality_id> without) {
  gather_here().take_request(from.who, {round, timeout_s, direct, std::move(without)});
}
void replied(net::sender from, std::uint64_t round, const std::vector<locality_id>& silent,
             std::vector<locality_id> all) {
  gather_here().take_reply(from.who, round, silent, {std::move(all)});
}
void numbers_part::request(locality_id to, const gather_request& q) {
  post<&requested>(to, net::sender{find_here()}, q.round, q.timeout_s, q.direct, q.without);
}
void numbers_part::reply(locality_id to, std::uint64_t round, const std::vector<locality_id>& silent,
                         const numbers_part& p) {
  post<&replied>(to, net::sender{find_here()}, round, silent, p.all);
}

namespace {

std::vector<locality_id> gather(double timeout_s, const std::vector<bool>& without = {}) {
  std::vector<locality_id> all = gather_here().gather(timeout_s, without).all;
  std::sort(all.begin(), all.end());
  return all;
}
/// 1 to n - 1, but for those.
std::vector<locality_id> others(unsigned n, const std::vector<locality_id>& but = {}) {
  std::vector<locality_id> all;
  for (locality_id i = 1; i < n; ++i)
    if (std::find(but.begin(), but.end(), i) == but.end()) all.push_back(i);
  return all;
}

TEST(TreeGather, EachPartArrivesOnceByLogarithmicallyManyMessages) {
  for (const unsigned n : {1u, 2u, 3u, 7u, 64u, 100u, 512u}) {
    net::simulation sim({.localities = n, .workers = 1, .credits = 64});
    sim.run_root([&] { EXPECT_EQ(gather(10), others(n)); });
    const auto log_n = static_cast<std::uint64_t>(std::bit_width(n - 1));
    std::uint64_t sent = 0;
    for (locality_id i = 0; i < n; ++i) {
      const net::port_counts c = sim.at(i).port().counts();
      sent += c.messages_sent;
      EXPECT_LE(c.messages_sent, log_n) << i << " of " << n;
      EXPECT_LE(c.messages_received, log_n) << i << " of " << n;
    }
    EXPECT_EQ(sent, 2 * (n - 1)) << n;
  }
}

// Locality 4 of 8 has 6, 5 and 7 below it, and 6 has 7.
TEST(TreeGather, AStoppedLocalityDoesNotHideThoseBelowIt) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); seed += 10) {
    net::simulation sim({.localities = 8, .seed = seed, .stalls = {{4, 0, 0, 1000}, {6, 0, 0, 1000}}});
    sim.run_root([&] {
      const double begin = sim.now_s();
      EXPECT_EQ(gather(5), others(8, {4, 6}));
      EXPECT_LT(sim.now_s() - begin, 5.1);
    });
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

TEST(TreeGather, ALocalityThatContinuesInTimeReplies) {
  net::simulation sim({.localities = 8, .stalls = {{4, 0, 0, 3}}});
  sim.run_root([&] {
    EXPECT_EQ(gather(5), others(8));
    EXPECT_LT(sim.now_s(), 3.1);
    EXPECT_EQ(gather(5), others(8)) << "late replies of the first gathering do not count";
  });
}

// At any time: before the request arrives, while it waits for others, or after its reply.
TEST(TreeGather, ALossDoesNotEndTheGathering) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    const double when = 1e-6 * static_cast<double>(seed % 100);
    net::simulation sim({.localities = 8, .seed = seed, .kills = {{4, 0, when}}});
    sim.run_root([&] {
      std::vector<locality_id> all = gather(20);
      std::erase(all, locality_id{4});  // it may have replied before
      EXPECT_EQ(all, others(8, {4}));
      EXPECT_LT(sim.now_s(), 5) << "the loss is reported before the time is over";
    });
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

TEST(TreeGather, ExcludedLocalitiesAreNotRequested) {
  net::simulation sim({.localities = 8});
  std::vector<bool> without(8);
  without[4] = without[1] = true;
  sim.run_root([&] { EXPECT_EQ(gather(5, without), others(8, {1, 4})); });
  EXPECT_EQ(sim.at(4).port().counts().messages_received, 0u);
}

TEST(TreeGather, TheTimesOfALocalityAndItsParentDiffer) {
  const net::living_tree t(512);
  EXPECT_DOUBLE_EQ(net::place_in(t, 0, 8).timeout_s, 8);
  for (locality_id i = 1; i < 512; ++i)
    EXPECT_LE(net::place_in(t, i, 8).timeout_s + 8.0 / 18 - 1e-9, net::place_in(t, t.parent_of(i), 8).timeout_s);
  EXPECT_DOUBLE_EQ(net::place_in(t, 511, 8).timeout_s, 4);
}

// Locality 4 of 8, which has 5, 6 and 7 below it, claims three times that 6 does not reply, and that 1, itself and a
// nonexistent locality do not. It replies without the part of 5.
TEST(TreeGather, SilentLocalitiesAreThoseBelowTheSender) {
  net::simulation sim({.localities = 8, .stalls = {{4, 0, 0, 100}}});
  sim.run_root([] {
    std::vector<locality_id> all;
    auto gathered = async([&all] { all = gather(5); });
    this_thread::sleep_for(std::chrono::milliseconds(1));
    gather_here().take_reply(4, 1, {6, 1, 6, 4, 6, 99}, {{4}});
    gathered.get();
    EXPECT_EQ(all, others(8, {5}));
  });
  EXPECT_EQ(sim.at(0).port().counts().refused, 1u);
}

TEST(TreeGather, ImpossibleMessagesAreRefused) {
  net::simulation sim({.localities = 8});
  const auto refused_by = [&](locality_id who, auto f) {
    const std::uint64_t before = sim.at(who).port().counts().refused;
    sim.run_at(who, f);
    return sim.at(who).port().counts().refused - before;
  };
  const double infinite = std::numeric_limits<double>::infinity();
  for (const gather_request& q : std::vector<gather_request>{
           {1, 1, 0, {3, 2}}, {1, 1, 0, {5}}, {1, 1, 0, {0}}, {1, 1, 0, {99}}, {1, -1, 0, {}}, {1, infinite, 0, {}}})
    EXPECT_EQ(refused_by(5, [&] { gather_here().take_request(4, q); }), 1u);
  EXPECT_EQ(refused_by(5, [] { gather_here().take_request(1, {1, 1, 0, {}}); }), 1u) << "4 is its parent";
  EXPECT_EQ(refused_by(5, [] { gather_here().take_request(4, {1, 1, 1, {}}); }), 1u) << "4 is not the root";
  EXPECT_EQ(refused_by(0, [] { gather_here().take_request(1, {1, 1, 0, {}}); }), 1u);
  EXPECT_EQ(refused_by(0, [] { gather_here().take_reply(1, 1, {}, {{1}}); }), 1u) << "before any request";
  sim.run_root([] { EXPECT_EQ(gather(5), others(8)); });
}

}  // namespace
}  // namespace tree_gather_test
