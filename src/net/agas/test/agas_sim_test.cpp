// Creates, calls, passes on, moves and drops objects at random, under many seeds, on networks that delay and reorder
// messages, and with a locality that dies: no call between survivors is lost or runs twice, every future becomes ready,
// and at the end no reference and no object is left.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "net/archive.hpp"
#include "net/collectives.hpp"
#include "net/component.hpp"
#include "net/distributed.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace agas_sim {

using namespace plx;

constexpr unsigned n_localities = 4;

struct cell {
  int calls = 0;
  global<cell> friend_of;
  int call(int) { return ++calls; }
  void befriend(const global<cell>& other) { friend_of = other; }
  global<cell> introduce() { return friend_of; }
  int busy(const global<cell>& self, int depth) {
    this_thread::sleep_for(std::chrono::microseconds(100));
    return depth == 0 ? ++calls : async<&cell::busy>(self, self, depth - 1).get();
  }
  int rest(int us) {
    this_thread::sleep_for(std::chrono::microseconds(us));
    return ++calls;
  }
  int call_friend(int n) { return friend_of ? async<&cell::call>(friend_of, n).get() : 0; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(calls, friend_of);
  }
};

// One locality of a simulation runs at a time.
struct happenings {
  net::seeded_choice choose{1};
  std::vector<global<cell>> held[n_localities];
  int answered = 0, lost = 0;
  int other = 0;  // errors other than losses, except on dead localities
  std::set<locality_id> dead;
};
happenings* now = nullptr;

void migrate_from_there(const global<cell>& c, locality_id to) { migrate(c, to).get(); }
void give(const global<cell>& c) { now->held[find_here()].push_back(c); }

template <class T>
bool ended(future<T> f) {
  try {
    f.get();
    return ++now->answered, true;
  } catch (const locality_lost&) {
    return ++now->lost, false;
  } catch (const std::exception&) {
    return now->other += !now->dead.contains(find_here()), false;
  }
}

void live(int steps) {
  auto& choose = now->choose;
  for (int i = 0; i < steps; ++i) {
    auto& mine = now->held[find_here()];
    const auto to = static_cast<locality_id>(choose(n_localities));
    if (mine.empty() || choose(6) == 0) {
      try {
        auto made = new_<cell>(to).get();
        now->held[find_here()].push_back(made);
      } catch (const locality_lost&) {
        ++now->lost;
      } catch (const std::exception&) {
        now->other += !now->dead.contains(find_here());
      }
      continue;
    }
    const global<cell> c = mine[choose(mine.size())], d = mine[choose(mine.size())];
    switch (choose(9)) {
      case 0:
        static_cast<void>(ended(async<&give>(to, c)));
        break;
      case 1:
        post<&give>(to, c);
        break;
      case 2:
        if (d.id() < c.id())
          static_cast<void>(ended(async<&cell::befriend>(c, d)));  // no cycles: those would never be destroyed
        break;
      case 3:
        static_cast<void>(migrate(c, to));
        break;
      case 4:
        static_cast<void>(ended(migrate(c, to)));
        break;
      case 5:
        static_cast<void>(ended(async<&cell::introduce>(c)));
        break;
      case 6:
        post<&cell::call>(c, 1);
        break;
      default:
        static_cast<void>(ended(async<&cell::call>(c, 1)));
    }
    auto& left = now->held[find_here()];
    if (!left.empty() && choose(3) == 0) left.erase(left.begin() + static_cast<std::ptrdiff_t>(choose(left.size())));
  }
}

void forget() { const auto gone = std::move(now->held[find_here()]); }

}  // namespace agas_sim

namespace {

using namespace agas_sim;

net::agas_counts sums_of(net::simulation& sim, const std::set<locality_id>& dead) {
  net::agas_counts sum;
  for (locality_id i = 0; i < n_localities; ++i) {
    if (dead.contains(i)) continue;
    const auto c = sim.at(i).get<net::agas>().counts();
    sum.objects += c.objects, sum.references += c.references, sum.entries += c.entries, sum.holders += c.holders;
    sum.migrations += c.migrations, sum.claims += c.claims, sum.releases += c.releases;
    sum.created += c.created, sum.destroyed += c.destroyed, sum.lost += c.lost;
  }
  return sum;
}

void check(const net::sim_options& options, const std::set<locality_id>& dead) {
  net::simulation sim(options);
  happenings h;
  h.choose = net::seeded_choice(options.seed + 77);
  h.dead = dead;
  now = &h;
  sim.run([] { live(25); });
  for (const locality_id i : dead) sim.kill(i);
  sim.run([] { this_thread::sleep_for(std::chrono::seconds(1)); });
  for (const locality_id i : dead) h.held[i].clear();
  sim.run(forget);
  for (auto& held : h.held) EXPECT_TRUE(held.empty());
  const auto sum = sums_of(sim, dead);
  EXPECT_EQ(sum.objects, 0u);
  EXPECT_EQ(sum.entries, 0u);
  EXPECT_EQ(sum.holders, 0u);
  EXPECT_EQ(sum.references, 0u);
  EXPECT_EQ(sum.lost, 0u);
  EXPECT_GT(h.answered, 5);
  EXPECT_EQ(h.other, 0);
  if (dead.empty()) {
    EXPECT_EQ(h.lost, 0);
    EXPECT_EQ(sum.claims, sum.releases);
    EXPECT_EQ(sum.created, sum.destroyed);
  }
  now = nullptr;
}

// Fewer than others, which take long enough.
std::uint64_t some_seeds() { return std::max<std::uint64_t>(plx::testing::seed_count() / 5, 1); }

template <class Options>
void with_seeds(Options options_of, const std::set<locality_id>& dead = {},
                std::uint64_t seeds = plx::testing::seed_count()) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    check(options_of(seed), dead);
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

TEST(AgasSim, NothingIsLeftUnderAnyOrder) {
  with_seeds([](std::uint64_t seed) { return net::sim_options{.localities = n_localities, .seed = seed}; });
}

TEST(AgasSim, NothingIsLeftAfterALoss) {
  with_seeds(
      [](std::uint64_t seed) {
        return net::sim_options{
            .localities = n_localities, .seed = seed, .kills = {{.locality = 3, .earliest_s = 1e-4, .latest_s = 3e-3}}};
      },
      {3});
}

// Locality 0 is the root of the settlement; with 2, the root of the tree without it loses a child.
TEST(AgasSim, NothingIsLeftAfterTheLossOfTheRoot) {
  for (const std::set<locality_id>& dead : {std::set<locality_id>{0}, std::set<locality_id>{0, 2}}) {
    const auto options_of = [&dead](std::uint64_t seed) {
      net::sim_options options{.localities = n_localities, .seed = seed};
      for (const locality_id l : dead) options.kills.push_back({.locality = l, .earliest_s = 1e-4, .latest_s = 3e-3});
      return options;
    };
    with_seeds(options_of, dead);
    ASSERT_FALSE(HasFailure()) << dead.size() << " died";
  }
}

// One locality is stopped for a minute, one is cut off for two seconds, and the network is slow.
net::sim_options stalls_and_partitions(std::uint64_t seed) {
  return {.localities = n_localities,
          .seed = seed,
          .stalls = {{1, 0, 2e-3, 60}},
          .partitions = {{{2}, 0, 2e-3, 2}},
          .window_bytes = 3000,
          .receive_bytes_per_s = 20e6};
}
TEST(AgasSim, NothingIsLeftAfterStallsAndPartitions) { with_seeds(stalls_and_partitions, {}, some_seeds()); }

TEST(AgasSim, NothingIsLeftAfterALossAmongStallsAndPartitions) {
  with_seeds(
      [](std::uint64_t seed) {
        net::sim_options options = stalls_and_partitions(seed);
        options.kills = {{.locality = 3, .earliest_s = 1e-4, .latest_s = 3e-3}};
        return options;
      },
      {3}, some_seeds());
}

// The other side is lost to each side, and to this test as well.
TEST(AgasSim, NothingIsLeftAfterAPartitionForEver) {
  with_seeds(
      [](std::uint64_t seed) {
        return net::sim_options{.localities = n_localities,
                                .seed = seed,
                                .partitions = {{{0, 3}, 1e-4, 3e-3, std::numeric_limits<double>::infinity()}}};
      },
      {0, 3}, some_seeds());
}

TEST(AgasSim, CallsRunExactlyOnceWhileObjectsMove) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    net::simulation sim({.localities = n_localities, .seed = seed});
    happenings h;
    now = &h;
    sim.run_root([] {
      auto c = new_<cell>(1).get();
      for (locality_id i = 0; i < n_localities; ++i) async<&give>(i, c).get();
    });
    sim.run([] {
      const auto c = now->held[find_here()][0];
      std::vector<future<int>> calls;
      std::vector<future<void>> moves;
      for (unsigned i = 0; i < 20; ++i) {
        calls.push_back(async<&cell::call>(c, 1));
        post<&cell::call>(c, 1);
        if (i % 5 == find_here()) moves.push_back(migrate(c, (find_here() + i) % n_localities));
      }
      for (auto& f : calls) f.get();
      for (auto& f : moves) f.get();
    });
    const int sum = sim.run_root([] { return async<&cell::call>(now->held[0][0], 1).get() - 1; });
    EXPECT_EQ(sum, static_cast<int>(n_localities) * 40);
    sim.run([] { now->held[find_here()].clear(); });
    EXPECT_EQ(sums_of(sim, {}).objects, 0u);
    EXPECT_GT(sums_of(sim, {}).migrations, 4u);
    now = nullptr;
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

// The creator of some objects dies, and with some seeds the next directory of some of them as well, while they are
// moved, called and passed on: those that lived elsewhere are called by all survivors afterwards, and nothing is left.
TEST(AgasSim, TheDeathOfADirectoryDestroysNothing) {
  int moved_in_all = 0, called = 0;
  for (std::uint64_t seed = 1; seed <= some_seeds(); ++seed) {
    const bool two = seed % 3 == 0;
    std::vector<net::sim_kill> kills{{.locality = 3, .earliest_s = 1e-4, .latest_s = 3e-3}};
    if (two) kills.push_back({.locality = 2, .earliest_s = 1e-4, .latest_s = 12e-3});
    net::simulation sim({.localities = n_localities, .seed = seed, .kills = kills});
    happenings h;
    h.dead = {3};
    if (two) h.dead.insert(2);
    now = &h;
    std::set<gid> moved;
    sim.run([&] {
      if (h.dead.contains(find_here())) return;
      const auto next = static_cast<locality_id>((find_here() + 1) % (two ? 2 : 3));
      for (int i = 0; i < 6; ++i) {
        try {
          const auto c = new_<cell>(3).get();
          migrate(c, i % 2 == 0 ? find_here() : next).get();
          post<&give>(next, c);
          async<&cell::call>(c, 1).get();
          post<&give>(find_here(), c);
          moved.insert(c.id());
        } catch (const locality_lost&) {
          ++h.lost;
        }
      }
    });
    for (const locality_id i : h.dead) sim.kill(i);
    sim.run([] { this_thread::sleep_for(std::chrono::milliseconds(50)); });
    moved_in_all += static_cast<int>(moved.size());
    sim.run([&] {
      if (h.dead.contains(find_here())) return;
      for (const auto& c : h.held[find_here()])
        if (moved.contains(c.id())) {
          EXPECT_GT(async<&cell::call>(c, 1).get(), 0);
          ++called;
        }
      for (const auto& c : h.held[find_here()])
        if (moved.contains(c.id())) {
          EXPECT_NO_THROW(migrate(c, find_here()).get());
        }
    });
    for (const locality_id i : h.dead) h.held[i].clear();
    sim.run(forget);
    const auto sum = sums_of(sim, h.dead);
    EXPECT_EQ(sum.objects, 0u);
    EXPECT_EQ(sum.references, 0u);
    EXPECT_EQ(sum.entries, 0u);
    EXPECT_EQ(sum.holders, 0u);
    EXPECT_EQ(sum.lost, 0u);
    now = nullptr;
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
  EXPECT_GT(moved_in_all, static_cast<int>(some_seeds()));
  EXPECT_GT(called, moved_in_all);
}

// A call is forwarded by a locality that neither has the object nor made the call, and that dies while it runs.
TEST(AgasSim, TheDeathOfALocalityThatForwardedACallDoesNotConcernIt) {
  for (std::uint64_t seed = 1; seed <= some_seeds(); ++seed) {
    net::simulation sim({.localities = n_localities, .seed = seed});
    std::uint64_t forwards = 0;
    sim.run_root([&] {
      const auto c = new_<cell>(1).get();
      async<&migrate_from_there>(3, c, seed % 2 == 0 ? 2 : 3).get();  // this locality does not learn it, and calls 1
      auto call = async<&cell::rest>(c, 30'000);
      this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_FALSE(call.is_ready());
      forwards = sim.at(1).get<net::agas>().counts().forwards;
      sim.kill(1);
      EXPECT_EQ(call.get(), 1);
      EXPECT_EQ(async<&cell::call>(c, 1).get(), 2);
    });
    EXPECT_GE(forwards, 1u);
    for (const locality_id i : {0u, 2u, 3u}) EXPECT_EQ(sim.at(i).replies().size(), 0u);
    const auto sum = sums_of(sim, {1});
    EXPECT_EQ(sum.objects + sum.references + sum.entries + sum.lost, 0u);
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

// The locality that a call was forwarded to dies: the caller, which called another one, gets the error.
TEST(AgasSim, ACallThatWasForwardedToALostLocalityFails) {
  for (std::uint64_t seed = 1; seed <= some_seeds(); ++seed) {
    net::simulation sim({.localities = n_localities, .seed = seed, .kills = {{2, 0, 1e-3}}});
    int answered = 0, lost = 0;
    sim.run_root([&] {
      try {
        const auto c = new_<cell>(1).get();
        async<&migrate_from_there>(3, c, 2).get();
        for (int i = 0; i < 100; ++i) async<&cell::rest>(c, 50).get(), ++answered;
      } catch (const locality_lost& e) {
        EXPECT_EQ(e.which(), 2u);
        ++lost;
      }
    });
    EXPECT_LE(lost, 1);
    EXPECT_GE(answered + lost, 1);
    EXPECT_EQ(sim.at(0).replies().size(), 0u);
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

// Callers on all localities keep the object in use, and some calls call their object: these end, and the object moves.
TEST(AgasSim, ABusyObjectMoves) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    net::simulation sim({.localities = n_localities, .seed = seed});
    int calls = 0;
    bool moved = false;
    sim.run([&] {
      const communicator all;
      const auto c = all.broadcast(find_here() == 0 ? new_<cell>(1).get() : global<cell>()).get();
      std::vector<future<void>> callers;
      for (int i = 0; i < 2; ++i)
        callers.push_back(async([&, c] {
          while (!moved) async<&cell::busy>(c, c, 0).get(), ++calls;
        }));
      callers.push_back(async([&, c] {
        for (int i = 0; i < 10; ++i) async<&cell::busy>(c, c, 2).get();
      }));
      if (find_here() == 0) {
        this_thread::sleep_for(std::chrono::milliseconds(1));
        migrate(c, 2).get();
        moved = true;
        EXPECT_EQ(locate(c).get(), 2u);
      }
      for (auto& f : callers) f.get();
    });
    EXPECT_TRUE(moved);
    EXPECT_GT(calls, 10);
    EXPECT_EQ(sums_of(sim, {}).objects, 0u);
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

void expect_alive(const global<cell>& c) { EXPECT_GT(async<&cell::call>(c, 1).get(), 0); }
void expect_alive(const std::vector<global<cell>>& all) {
  for (const auto& c : all) expect_alive(c);
}

// The value that is sent is destroyed before the reply arrives: only the handles in transit keep the object.
TEST(AgasSim, HandlesInMessagesKeepTheirObjects) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    net::simulation sim({.localities = n_localities, .seed = seed});
    const auto root = static_cast<unsigned>(seed % n_localities);
    sim.run([&] {
      const communicator all;
      const distributed::channel<global<cell>> cells("cells", 2);
      const locality_id here = find_here();
      const auto made = [here] { return new_<cell>((here + 1) % n_localities).get(); };
      const auto some = [&made](std::size_t n) {
        std::vector<global<cell>> v;
        while (v.size() < n) v.push_back(made());
        return v;
      };
      const auto both = [](std::vector<global<cell>> a, const std::vector<global<cell>>& b) {
        a.insert(a.end(), b.begin(), b.end());
        return a;
      };
      auto spread = all.broadcast(here == root ? some(3) : some(0), root);
      auto one_each = all.all_gather(made());
      auto at_root = all.gather(made(), root);
      auto dealt = all.scatter(here == root ? some(n_localities) : some(0), root);
      auto exchanged = all.all_to_all(some(n_localities));
      auto joined = all.all_reduce(some(2), both);
      auto up_to = all.inclusive_scan(some(1), both);
      auto sent = cells.send(made());
      expect_alive(spread.get());
      expect_alive(one_each.get());
      expect_alive(at_root.get());
      expect_alive(dealt.get());
      expect_alive(exchanged.get());
      const auto sum = joined.get();
      EXPECT_EQ(sum.size(), 2 * n_localities);
      expect_alive(sum);
      const auto before = up_to.get();
      EXPECT_EQ(before.size(), here + 1);
      expect_alive(before);
      sent.get();
      expect_alive(*cells.receive().get());
    });
    const auto sum = sums_of(sim, {});
    EXPECT_EQ(sum.objects, 0u);
    EXPECT_EQ(sum.references, 0u);
    EXPECT_EQ(sum.entries, 0u);
    EXPECT_EQ(sum.holders, 0u);
    EXPECT_EQ(sum.claims, sum.releases);
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

}  // namespace
