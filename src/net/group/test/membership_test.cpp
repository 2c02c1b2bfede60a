// Spares, and the members that agree on taking them, while localities die at any time.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "net/action.hpp"
#include "net/collectives.hpp"
#include "net/distributed.hpp"
#include "net/error.hpp"
#include "net/group/membership.hpp"
#include "net/group/test/replaced_slabs_test.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;
using replaced_test::run_slabs;
using locality_list = std::vector<locality_id>;

constexpr int n_steps = 10;

// A quarter of those of other tests, but for the test of any losses.
std::uint64_t seed_count() { return std::max<std::uint64_t>(plx::testing::seed_count() / 4, 1); }

locality_id number_of_this() { return find_here(); }

TEST(Spares, UnusedSparesServeAndDoNotRunTheFunction) {
  for (std::uint64_t seed = 1; seed <= seed_count(); ++seed) {
    net::simulation sim({.localities = 5, .spares = 2, .seed = seed, .kills = {{4, 0, 1e-4}}});
    std::set<locality_id> called;
    for (int run = 0; run < 2; ++run)
      sim.run([&] {
        called.insert(find_here());
        EXPECT_EQ(find_all_localities(), (locality_list{0, 1, 2}));
        EXPECT_EQ(find_remote_localities().size(), 2u);
        EXPECT_EQ(locality_count(), 5u);
        EXPECT_FALSE(joined());
        const communicator all;
        EXPECT_EQ(all.members(), (locality_list{0, 1, 2}));
        EXPECT_EQ(all.all_reduce(find_here(), std::plus<>()).get(), 3u);
        EXPECT_EQ(async<&number_of_this>(3).get(), 3u);
        for (const char* name : {"a", "b", "c", "d", "e", "f"})  // none is on a spare
          distributed::latch(name + std::to_string(run), 3).arrive_and_wait();
        const auto spares = find_spare_localities();
        EXPECT_TRUE(spares == (locality_list{3, 4}) || spares == locality_list{3});
      });
    EXPECT_EQ(called, (std::set<locality_id>{0, 1, 2}));
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

TEST(Spares, ASpareHasNoCommunicatorOfTheStart) {
  net::simulation sim({.localities = 2, .spares = 1});
  sim.run_at(1, [] {
    EXPECT_FALSE(joined());
    EXPECT_THROW(communicator(), std::logic_error);
    EXPECT_THROW(static_cast<void>(replace_lost()), std::logic_error);
    EXPECT_EQ(find_all_localities(), locality_list{0});
    EXPECT_EQ(find_spare_localities(), locality_list{1});
  });
}

// Without a loss: the job grows, as often as it is called, until there are no spares.
TEST(Spares, AreTakenOnceAndInOrder) {
  for (std::uint64_t seed = 1; seed <= seed_count(); ++seed) {
    net::simulation sim({.localities = 6, .spares = 4, .seed = seed});
    std::map<locality_id, int> calls;
    sim.run([&] {
      ++calls[find_here()];
      std::optional<communicator> all = joined();
      if (!all) {
        all = replace_lost();
        ASSERT_TRUE(all);
        EXPECT_EQ(all->members(), (locality_list{0, 1}));
        all = replace_lost(3);
        ASSERT_TRUE(all);
        EXPECT_EQ(all->members(), (locality_list{0, 1, 2}));
      }
      if (all->size() == 3) {
        EXPECT_EQ(all->all_reduce(1u, std::plus<>()).get(), 3u);
        all = replace_lost(9);
        ASSERT_TRUE(all);
      }
      EXPECT_EQ(all->members(), (locality_list{0, 1, 2, 3, 4, 5}));
      EXPECT_EQ(all->members(), find_all_localities());
      EXPECT_EQ(all->all_reduce(1u, std::plus<>()).get(), 6u);
    });
    EXPECT_EQ(calls, (std::map<locality_id, int>{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}}));
    // Taken ones are members in later runs, as all others.
    sim.run([&] {
      ++calls[find_here()];
      EXPECT_FALSE(joined());
      EXPECT_EQ(find_all_localities().size(), 6u);
      const auto all = replace_lost();
      ASSERT_TRUE(all);
      EXPECT_EQ(all->all_reduce(1u, std::plus<>()).get(), 6u);
    });
    EXPECT_EQ(calls[5], 2);
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

TEST(Spares, MembersThatHaveReturnedAreNotWaitedFor) {
  for (std::uint64_t seed = 1; seed <= seed_count(); ++seed) {
    net::simulation sim({.localities = 4, .spares = 1, .seed = seed});
    std::set<locality_id> called;
    for (int run = 0; run < 2; ++run)
      sim.run([&] {
        called.insert(find_here());
        if (find_here() == seed % 3) return;
        EXPECT_FALSE(replace_lost(4));
        EXPECT_FALSE(replace_lost(4));
      });
    EXPECT_EQ(called, (std::set<locality_id>{0, 1, 2}));
    sim.run([&] {  // in a later run all take part again
      if (!joined()) {
        auto all = replace_lost(4);
        ASSERT_TRUE(all);
        EXPECT_EQ(all->size(), 4u);
      }
      called.insert(find_here());
    });
    EXPECT_TRUE(called.contains(3));
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

// A request of a coordinator that is lost may arrive after the next one has asked.
bool refuses_an_earlier_coordinator() {
  auto& members = net::node_here().get<net::membership>();
  members.take_question(1, 1);
  members.take_request(0, 1, 4);
  return !members.is_member(find_here());
}

TEST(Spares, RefuseRequestsOfEarlierCoordinators) {
  net::simulation sim({.localities = 4, .spares = 1});
  sim.run([] {
    if (find_here() != 2) return;
    EXPECT_TRUE(async<&refuses_an_earlier_coordinator>(3).get());
  });
}

// Runs of other localities are at most one ahead.
void send_impossible_runs() {
  auto& members = net::node_here().get<net::membership>();
  for (const std::uint64_t run : {std::uint64_t{7}, ~std::uint64_t{0}}) {
    members.take_question(0, run);
    members.take_state(0, run, true, true);
    members.take_request(0, run, 4);
    EXPECT_THROW(static_cast<void>(members.take_join(0, run, 4)), std::logic_error);
  }
}

TEST(Spares, RefuseImpossibleRuns) {
  net::simulation sim({.localities = 4, .spares = 1});
  sim.run([] {
    if (find_here() != 0) return;
    async<&send_impossible_runs>(3).get();
    EXPECT_FALSE(net::node_here().get<net::membership>().is_member(3));
  });
  EXPECT_EQ(sim.at(3).port().counts().refused, 6u);
}

TEST(Spares, AnExceptionOnATakenSpareIsThatOfARun) {
  net::simulation sim({.localities = 3, .spares = 1});
  EXPECT_THROW(sim.run([] {
    if (joined()) throw std::domain_error("on the spare");
    static_cast<void>(replace_lost(3));
  }),
               std::domain_error);
}

// ------------------------------------------------------------------------------- programs that continue after losses

struct outcome {
  std::map<locality_id, replaced_test::result> results;  // of the living localities
  std::map<locality_id, int> calls;
  std::set<std::string> problems;
};

outcome play(std::uint64_t seed, unsigned members, unsigned spares, const std::vector<net::sim_kill>& kills) {
  net::simulation sim({.localities = members + spares,
                       .spares = spares,
                       .seed = seed,
                       .detection_min_s = 1e-4,
                       .detection_max_s = 5e-4,
                       .kills = kills});
  outcome o;
  sim.run([&] {
    const locality_id here = find_here();
    ++o.calls[here];
    replaced_test::result r;
    std::string problem;
    try {
      run_slabs(r, n_steps, [](int) {});
    } catch (const checkpoint_error& e) {
      problem = e.what();
    }
    if (!sim.network().alive(here)) return;
    if (problem.empty() && !r.is_complete) problem = "others have ended";  // which throw a checkpoint_error
    if (problem.empty())
      o.results[here] = r;
    else
      o.problems.insert(problem);
  });
  for (const auto& k : kills)
    if (!sim.network().alive(k.locality)) o.results.erase(k.locality);
  return o;
}

double undisturbed() {
  static const double sum = play(1, 3, 0, {}).results.at(0).sum;
  return sum;
}

// Counts what has been covered over all seeds.
struct coverage {
  int taken = 0, replaced = 0, pairs_lost = 0, smaller = 0;
  unsigned most_slabs = 0;  // restored on one member
};

void check(const outcome& o, std::uint64_t seed, unsigned members, unsigned spares, coverage& c) {
  for (const auto& [l, n] : o.calls) EXPECT_EQ(n, 1) << "on locality " << l;
  for (const auto& [l, r] : o.results) {
    EXPECT_EQ(r.sum, undisturbed()) << "on locality " << l;
    EXPECT_LE(r.members.size(), members);
    c.replaced += r.replacements != 0;
    c.smaller += r.members.size() < members;
    c.taken += l >= members;
    c.most_slabs = std::max(c.most_slabs, r.most_slabs_restored);
  }
  const auto is_of_pair = [](const std::string& p) { return p.find("and its partner") != std::string::npos; };
  EXPECT_TRUE(o.problems.empty() || std::any_of(o.problems.begin(), o.problems.end(), is_of_pair));
  EXPECT_TRUE(o.problems.empty() || o.results.empty());
  EXPECT_LE(o.calls.size(), members + spares);
  c.pairs_lost += !o.problems.empty();
  if (::testing::Test::HasFailure()) ADD_FAILURE() << "seed " << seed;
}

coverage play_all(unsigned members, unsigned spares, std::vector<net::sim_kill> (*kills)(std::uint64_t seed),
                  std::uint64_t seeds = seed_count()) {
  coverage c;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    check(play(seed, members, spares, kills(seed)), seed, members, spares, c);
    if (::testing::Test::HasFailure()) break;
  }
  return c;
}
bool many() { return seed_count() >= 20; }

constexpr double all_of_it = 5e-3;  // longer than the program takes without losses

TEST(Replacement, ASpareTakesThePlaceOfALostMember) {
  const coverage c = play_all(3, 1, [](std::uint64_t seed) {
    return std::vector<net::sim_kill>{{static_cast<locality_id>(seed % 3), 0, all_of_it}};
  });
  EXPECT_EQ(c.pairs_lost, 0);
  EXPECT_EQ(c.smaller, 0);
  EXPECT_LE(c.most_slabs, 3u) << "none has those of two members";
  EXPECT_TRUE(!many() || (c.taken > 0 && c.replaced > c.taken)) << c.taken << " " << c.replaced;
}

TEST(Replacement, TwoLossesTwoSpares) {
  const coverage c = play_all(4, 2, [](std::uint64_t seed) {
    const auto first = static_cast<locality_id>(seed % 4);
    return std::vector<net::sim_kill>{{first, 0, all_of_it}, {(first + 2) % 4, 0, all_of_it}};
  });
  EXPECT_EQ(c.smaller, 0);
  EXPECT_TRUE(!many() || c.taken > 0);
}

TEST(Replacement, MoreLossesThanSpares) {
  const coverage c = play_all(4, 1, [](std::uint64_t seed) {
    const auto first = static_cast<locality_id>(seed % 4);
    return std::vector<net::sim_kill>{{first, 0, all_of_it}, {(first + 2) % 4, 0, all_of_it}};
  });
  EXPECT_TRUE(!many() || (c.taken > 0 && c.smaller > 0)) << c.taken << " " << c.smaller;
}

TEST(Replacement, WithoutSparesTheSurvivorsContinue) {
  const coverage c = play_all(3, 0, [](std::uint64_t seed) {
    return std::vector<net::sim_kill>{{static_cast<locality_id>(seed % 3), 0, all_of_it}};
  });
  EXPECT_EQ(c.pairs_lost, 0);
  EXPECT_TRUE(!many() || c.smaller > 0);
}

// The members of a later run are those of the replacement.
TEST(Replacement, ALaterRunContinuesWithTheMembers) {
  for (std::uint64_t seed = 1; seed <= seed_count(); ++seed) {
    net::simulation sim({.localities = 4, .spares = 1, .seed = seed, .detection_min_s = 1e-4, .detection_max_s = 5e-4});
    for (int run = 0; run < 3; ++run) {
      std::map<locality_id, replaced_test::result> results;
      sim.run([&] {
        const locality_id here = find_here();
        replaced_test::result r;
        run_slabs(r, n_steps, [&](int step) {
          if (run == 1 && step == 5 && here == 1) sim.kill(1);
        });
        if (sim.network().alive(here)) results[here] = r;
      });
      const locality_list members = run == 0 ? locality_list{0, 1, 2} : locality_list{0, 2, 3};
      EXPECT_EQ(results.size(), members.size());
      for (const auto& [l, r] : results) {
        EXPECT_EQ(r.members, members) << "on locality " << l;
        EXPECT_EQ(r.sum, undisturbed()) << "on locality " << l;
      }
    }
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

// A second loss after restore(), and before the next store().
TEST(Replacement, RestoredObjectsStayWhereTheyAre) {
  for (std::uint64_t seed = 1; seed <= seed_count(); ++seed) {
    net::simulation sim({.localities = 5, .spares = 1, .seed = seed, .detection_min_s = 1e-4, .detection_max_s = 5e-4});
    std::map<locality_id, std::vector<std::string>> keys;
    sim.run([&] {
      const locality_id here = find_here();
      memory_checkpoint copies("slabs");
      auto all = joined();
      if (!all) {
        all.emplace();
        try {
          replaced_test::store(copies, *all, replaced_test::slabs_of_start(*all));
        } catch (const locality_lost&) {  // locality 1 has returned from store(), so all copies are kept
        }
        if (here == 1) return sim.kill(1);
        all = replace_lost();
      }
      ASSERT_TRUE(all);
      EXPECT_EQ(all->members(), (locality_list{0, 2, 3, 4}));
      EXPECT_EQ(copies.restore<replaced_test::slab>(*all).local<replaced_test::slab>().size(), here == 3 ? 1u : 2u);
      try {
        all->barrier().get();
      } catch (const locality_lost&) {
      }
      if (here == 3) return sim.kill(3);
      all = replace_lost();
      ASSERT_TRUE(all);
      for (const auto& [key, s] : copies.restore<replaced_test::slab>(*all).local<replaced_test::slab>())
        keys[here].push_back(key);
    });
    for (auto& [l, of_member] : keys) std::sort(of_member.begin(), of_member.end());
    const std::map<locality_id, std::vector<std::string>> expected{
        {0, {"0", "3", "4"}}, {2, {"2", "6"}}, {4, {"1", "5"}}};
    EXPECT_EQ(keys, expected);
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

// The spare dies before it is taken, while it is, or later.
TEST(Replacement, ASpareIsLost) {
  const coverage c = play_all(3, 2, [](std::uint64_t seed) {
    return std::vector<net::sim_kill>{{static_cast<locality_id>(seed % 3), 0, 1e-3}, {3, 0, all_of_it}};
  });
  EXPECT_TRUE(!many() || c.taken > 0);
}

// The second loss is close to the first one, and may be of the coordinator that takes spares.
TEST(Replacement, TheCoordinatorIsLostWhileItTakesSpares) {
  const coverage c = play_all(4, 3, [](std::uint64_t) {
    return std::vector<net::sim_kill>{{2, 5e-4, 1e-3}, {0, 5e-4, 2.5e-3}};
  });
  EXPECT_EQ(c.pairs_lost, 0);
  EXPECT_EQ(c.smaller, 0);
  EXPECT_TRUE(!many() || c.taken > 0);
}

TEST(Replacement, AnyLocalitiesAreLost) {
  const coverage c = play_all(
      4, 3,
      [](std::uint64_t seed) {
        std::mt19937_64 random(seed);
        std::vector<net::sim_kill> kills;
        for (locality_id l = 0; l < 7 && kills.size() < 5; ++l)
          if (random() % 2 == 0) kills.push_back({l, 0, random() % 2 == 0 ? 1e-3 : all_of_it});
        return kills;
      },
      plx::testing::seed_count());
  EXPECT_TRUE(!many() || (c.taken > 0 && c.pairs_lost > 0));
}

}  // namespace
