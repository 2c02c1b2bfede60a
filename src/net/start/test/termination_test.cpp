#include "net/start/termination.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "net/action.hpp"
#include "net/core/tree_round.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "net/test/threads_test.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;
using namespace std::chrono_literals;

std::atomic<int> ended{0};

// Each call makes the next one on its neighbour, still after the program that made the first one has returned.
void hop(int left) {
  this_thread::sleep_for(std::chrono::microseconds(200));
  if (left > 0) post<&hop>((find_here() + 1) % locality_count(), left - 1);
  if (left == 0) ++ended;
}

TEST(Termination, WaitsForEveryParcelInFlight) {
  for (int turn = 0; turn < 5; ++turn) {
    net::test::localities all(3);
    ended = 0;
    all.run_all([] {
      if (find_here() == 1)
        for (int i = 0; i < 4; ++i) post<&hop>(2, 20);
      net::node_here().get<net::termination>().wait_for_all();
      EXPECT_EQ(ended, 4);
      net::node_here().get<net::termination>().wait_for_all();  // a second time
    });
  }
}

TEST(Termination, DoesNotWaitForALostLocality) {
  net::test::localities all(3);
  std::atomic<int> out{0};
  all.run_all([&] {
    if (find_here() == 2) return;  // never calls wait_for_all()
    if (find_here() == 0) all.lose(2);
    net::node_here().get<net::termination>().wait_for_all();
    ++out;
  });
  EXPECT_EQ(out, 2);
}

std::atomic<bool> may_finish{false};
std::atomic<int> worked{0};
void works() {
  EXPECT_TRUE(comes_true([] { return may_finish.load(); }, [] { this_thread::sleep_for(1ms); }));
  ++worked;
  if (find_here() == 1) post<&works>(3);
}

TEST(Termination, WaitsForTheOthersParcelsAfterALoss) {
  net::test::localities all(4);
  may_finish = false;
  worked = 0;
  std::atomic<bool> too_early{false};
  all.run_all([&] {
    if (find_here() == 2) return;  // never calls wait_for_all()
    if (find_here() == 0) {
      post<&works>(1);
      all.lose(2);
      post([] {
        this_thread::sleep_for(50ms);  // many rounds of counting, none of which may detect the end
        may_finish = true;
      });
    }
    net::node_here().get<net::termination>().wait_for_all();
    if (worked != 2) too_early = true;
  });
  EXPECT_FALSE(too_early);
  EXPECT_EQ(worked, 2);
}

// Parcels cause further parcels on all localities, while some of them die. One locality runs at a time.
struct travels {
  struct one {
    locality_id from = 0, to = 0;
    int turn = 0;
    bool started = false, done = false;
  };
  net::seeded_choice choose{1};
  std::vector<one> all;
  std::vector<int> arrived;  // by locality: the ends that it has waited for, or waits for
};
travels* now = nullptr;

void travel(int id, int left);
void begin_travel(int turn, int left) {
  const unsigned n = locality_count();
  const auto to = static_cast<locality_id>((find_here() + 1 + now->choose(n - 1)) % n);
  now->all.push_back({find_here(), to, turn});
  post<&travel>(to, static_cast<int>(now->all.size()) - 1, left);
}
void travel(int id, int left) {
  const auto at = static_cast<std::size_t>(id);
  now->all[at].started = true;
  this_thread::sleep_for(std::chrono::microseconds(now->choose(500)));
  for (std::size_t i = left == 0 ? 2 : now->choose(2); i < 2; ++i) begin_travel(now->all[at].turn, left - 1);
  now->all[at].done = true;
}

// Nothing that could be done before this end is left, on this locality or another one.
void check_end(net::simulation& sim, int turn) {
  for (locality_id i = 0; i < sim.size(); ++i) {
    if (sim.network().alive(i)) {
      EXPECT_GE(now->arrived[i], turn) << "locality " << i;
    }
  }
  for (const travels::one& t : now->all)
    if (t.turn <= turn && sim.network().alive(t.to) && (sim.network().alive(t.from) || t.started)) {
      EXPECT_TRUE(t.done) << "from " << t.from << " to " << t.to;
    }
}

constexpr int n_turns = 3;

// Returns the number of travels that the loss of a locality cut off.
unsigned travel_and_end(net::sim_options options, std::uint64_t seeds) {
  unsigned cut_off = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    travels mine;
    mine.choose = net::seeded_choice(seed + 1'000'000);
    mine.arrived.resize(options.localities);
    now = &mine;
    options.seed = seed;
    net::simulation sim(options);
    EXPECT_NO_THROW(sim.run([&] {
      for (int turn = 1; turn <= n_turns; ++turn) {
        if (now->choose(2) == 0) begin_travel(turn, 3);
        now->arrived[find_here()] = turn;
        try {
          net::node_here().get<net::termination>().wait_for_all();
        } catch (const locality_lost&) {
          EXPECT_FALSE(sim.network().alive(find_here()));
          return;
        }
        if (!sim.network().alive(find_here())) return;
        check_end(sim, turn);
      }
    }));
    for (locality_id i = 0; i < sim.size(); ++i) {
      if (sim.network().alive(i)) {
        EXPECT_EQ(mine.arrived[i], n_turns) << "locality " << i;
      }
      EXPECT_EQ(sim.at(i).port().counts().refused, 0u) << "locality " << i;
    }
    for (const travels::one& t : mine.all) cut_off += !t.done;
    now = nullptr;
    if (::testing::Test::HasFailure()) break;
  }
  return cut_off;
}

// The victims: the root of the tree of four, a locality below it that has a child, and that child.
TEST(Termination, IsExactWhileALocalityDies) {
  for (const locality_id victim : {0u, 2u, 3u}) {
    SCOPED_TRACE("locality " + std::to_string(victim) + " dies");
    const net::sim_options options{.localities = 4,
                                   .detection_min_s = 1e-4,
                                   .detection_max_s = 3e-3,
                                   .kills = {{victim, 0, 4e-3}},
                                   .time_limit_s = 10};
    EXPECT_GT(travel_and_end(options, plx::testing::seed_count()), 0u);  // it died while parcels were in flight
    ASSERT_FALSE(HasFailure());
  }
}

TEST(Termination, IsExactWhileSeveralOfManyDie) {
  const net::sim_options options{.localities = 16,
                                 .detection_min_s = 1e-4,
                                 .detection_max_s = 3e-3,
                                 .kills = {{0, 0, 4e-3}, {1, 1e-3, 5e-3}, {8, 0, 5e-3}, {12, 2e-3, 6e-3}},
                                 .stalls = {{4, 0, 2e-3, 60}, {3, 0, 3e-3, 1e-3}},
                                 .partitions = {{{2, 6}, 0, 3e-3, 2e-3}},
                                 .window_bytes = 2000,
                                 .receive_bytes_per_s = 20e6,
                                 .time_limit_s = 200};
  EXPECT_GT(travel_and_end(options, std::max<std::uint64_t>(plx::testing::seed_count() / 5, 1)), 0u);
}

// A locality dies as soon as another one knows of the end, whose report to those below it is then lost.
TEST(Termination, TheEndReachesAllAlthoughALocalityDiesMeanwhile) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed)
    for (const locality_id victim : {0u, 2u, 4u}) {
      SCOPED_TRACE("locality " + std::to_string(victim) + " dies, seed " + std::to_string(seed));
      net::simulation sim({.localities = 8, .seed = seed, .time_limit_s = 10});
      bool killed = false;
      unsigned ends = 0;
      ASSERT_NO_THROW(sim.run([&] {
        try {
          net::node_here().get<net::termination>().wait_for_all();
        } catch (const locality_lost&) {
          EXPECT_FALSE(sim.network().alive(find_here()));
        }
        if (find_here() == victim) return;
        ++ends;
        if (!std::exchange(killed, true)) sim.kill(victim);
      }));
      ASSERT_EQ(ends, 7u);
    }
}

// The root and others die as soon as one locality knows of an end, or up to 100 us later: the next root may not know of
// that end, and begins rounds for it, one per loss, which those that know of it take part in.
TEST(Termination, TheEndReachesAllAlthoughSeveralDieMeanwhile) {
  struct deaths {
    unsigned localities;
    std::vector<locality_id> victims;
    double detection_s;
  };
  const deaths cases[] = {{4, {0, 3}, 20e-6},    {4, {0, 3}, 3e-3},         {8, {0, 4}, 20e-6},    {8, {0, 7}, 200e-6},
                          {8, {0, 1, 2}, 20e-6}, {8, {2, 0, 3, 1}, 200e-6}, {16, {0, 1, 8}, 50e-6}};
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed)
    for (const deaths& d : cases) {
      SCOPED_TRACE("case " + std::to_string(&d - cases) + ", seed " + std::to_string(seed));
      net::simulation sim({.localities = d.localities,
                           .seed = seed,
                           .detection_min_s = 10e-6,
                           .detection_max_s = 10e-6 + d.detection_s,
                           .time_limit_s = 5});
      net::seeded_choice choose(seed);
      const int first = static_cast<int>(choose(n_turns));  // the end after which they die
      bool killed = false;
      std::vector<int> ends(d.localities);
      EXPECT_NO_THROW(sim.run([&] {
        for (int turn = 0; turn < n_turns; ++turn) {
          try {
            net::node_here().get<net::termination>().wait_for_all();
          } catch (const locality_lost&) {
            return;
          }
          if (!sim.network().alive(find_here())) return;
          ++ends[find_here()];
          if (turn < first || std::exchange(killed, true)) continue;
          for (const locality_id victim : d.victims) {
            sim.kill(victim);
            if (seed % 2 == 0) this_thread::sleep_for(std::chrono::microseconds(choose(100)));
          }
        }
      }));
      for (locality_id i = 0; i < d.localities; ++i) {
        if (sim.network().alive(i)) {
          EXPECT_EQ(ends[i], n_turns) << "locality " << i;
        }
        EXPECT_EQ(sim.at(i).port().counts().refused, 0u) << "locality " << i;
      }
      ASSERT_FALSE(HasFailure());
    }
}

// The network falls apart for ever: each side ends with its own localities.
TEST(Termination, EachSideOfAPartitionEnds) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    net::simulation sim(
        {.localities = 5, .seed = seed, .partitions = {{{0, 3}, 0, 300e-6, std::numeric_limits<double>::infinity()}}});
    std::vector<int> ends(5);
    ASSERT_NO_THROW(sim.run([&] {
      for (int turn = 0; turn < 5; ++turn) net::node_here().get<net::termination>().wait_for_all();
      ++ends[find_here()];
    }));
    EXPECT_EQ(ends, (std::vector<int>{1, 1, 1, 1, 1}));
    ASSERT_FALSE(HasFailure());
  }
}

TEST(Termination, AFailedLocalityIsLostForThatReason) {
  net::test::localities all(2);
  all.run_all([] {
    auto& end = net::node_here().get<net::termination>();
    if (find_here() == 0) return end.fail(std::make_exception_ptr(std::runtime_error("no such file")));
    try {
      end.wait_for_all();
      ADD_FAILURE();
    } catch (const locality_lost& e) {
      EXPECT_STREQ(e.what(), "locality 0 is lost: it failed: no such file");
    }
  });
}

// A locality fails and dies 0.4 ms later. The transport's notices of the death arrive at once, in any order, and must
// not hide the reason of the failure, on neighbours and on others.
TEST(Termination, TheReasonOfAFailureArrivesBeforeTheNoticesOfTheLoss) {
  constexpr unsigned n = 16;
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto victim = static_cast<locality_id>(seed % n);
    net::simulation sim({.localities = n,
                         .seed = seed,
                         .detection_min_s = 1e-6,
                         .detection_max_s = 0.1e-3,
                         .credits = 64,
                         .time_limit_s = 10});
    std::vector<std::string> reasons(n);
    sim.run([&] {
      net::node& here = net::node_here();
      if (here.here() == victim) {
        here.get<net::termination>().fail(std::make_exception_ptr(std::runtime_error("no such file")));
        this_thread::sleep_for(400us);
        return sim.kill(victim);
      }
      while (!here.is_lost(victim)) this_thread::sleep_for(100us);
      reasons[here.here()] = here.why_lost(victim);
    });
    for (locality_id i = 0; i < n; ++i) {
      if (i != victim) {
        EXPECT_EQ(reasons[i], "it failed: no such file") << "locality " << i;
      }
      // Each forwards it once.
      EXPECT_LE(sim.at(i).port().counts().messages_sent, net::power_of_two_neighbours(i, n).size());
    }
    ASSERT_FALSE(HasFailure());
  }
}

// As above, but the others are stopped meanwhile, so the report and the notice of the loss have both arrived when they
// poll: the report must take effect in the poll that reads it, not in a task that may run after the next poll. The loss
// is a partition, because messages to a stopped locality may be lost with their sender.
TEST(Termination, TheReasonOfAFailureIsReadBeforeTheNoticeOfTheLoss) {
  constexpr unsigned n = 4;
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto victim = static_cast<locality_id>(seed % n);
    net::sim_options options{.localities = n,
                             .seed = seed,
                             .detection_min_s = 1e-6,
                             .detection_max_s = 0.1e-3,
                             .partitions = {{{victim}, 0.5e-3, 0.5e-3, std::numeric_limits<double>::infinity()}},
                             .credits = 64,
                             .time_limit_s = 10};
    for (locality_id i = 0; i < n; ++i)
      if (i != victim) options.stalls.push_back({i, 0, 0, 2e-3});
    net::simulation sim(options);
    std::vector<std::string> reasons(n);
    sim.run([&] {
      net::node& here = net::node_here();
      if (here.here() == victim) {
        this_thread::sleep_for(100us);
        return here.get<net::termination>().fail(std::make_exception_ptr(std::runtime_error("no such file")));
      }
      while (!here.is_lost(victim)) this_thread::sleep_for(100us);
      reasons[here.here()] = here.why_lost(victim);
    });
    for (locality_id i = 0; i < n; ++i) {
      if (i != victim) {
        EXPECT_EQ(reasons[i], "it failed: no such file") << "locality " << i;
      }
    }
    ASSERT_FALSE(HasFailure());
  }
}

TEST(Termination, ReturnsAtOnceOnASingleLocality) {
  net::test::localities all(1);
  all.run(0, [] { net::node_here().get<net::termination>().wait_for_all(); });
}

}  // namespace
