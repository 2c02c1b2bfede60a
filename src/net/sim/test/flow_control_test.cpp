// Flow control: senders that are faster than their receiver wait, calls never wait for each other in a circle, and a
// death ends the wait. Under many seeds, with few credits.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "net/action.hpp"
#include "net/archive.hpp"
#include "net/component.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "net/test/threads_test.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace flow_control {

using namespace plx;

// Counts of the current run; one locality of a simulation runs at a time.
struct run_counts {
  int posted = 0, begun = 0, most_waiting = 0;
  std::uint64_t most_held_bytes = 0;
};
run_counts* of_run = nullptr;

void take(int) { ++of_run->begun; }
void send_to(locality_id to, int n) {
  for (int i = 0; i < n; ++i) {
    post<&take>(to, i);
    ++of_run->posted;
    of_run->most_waiting = std::max(of_run->most_waiting, of_run->posted - of_run->begun);
  }
}
// Each call makes two on the neighbours, and waits for both.
int fan_out(int depth) {
  ++of_run->begun;
  if (depth == 0) return 1;
  const unsigned n = locality_count();
  auto left = async<&fan_out>((find_here() + 1) % n, depth - 1);
  auto right = async<&fan_out>((find_here() + n - 1) % n, depth - 1);
  return 1 + left.get() + right.get();
}
std::size_t size_of(const std::vector<double>& values) {
  ++of_run->begun;
  return values.size();
}

struct tally {
  int n = 0;
  void add() { ++n; }
  int value() { return n; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(n);
  }
};

std::atomic<int> spun{0};
void spin_1us() {
  for (const ticks begin = now_ticks(), span = ticks_from(1e-6); now_ticks() - begin < span;) {
  }
  ++spun;
}

}  // namespace flow_control

namespace {

using namespace flow_control;

template <class F>
void with_seeds(net::sim_options options, F f) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run_counts mine;
    of_run = &mine;
    options.seed = seed;
    net::simulation sim(options);
    f(sim);
    of_run = nullptr;
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(FlowControl, AFloodIsBounded) {
  constexpr unsigned senders = 4, credits = 16;
  constexpr int each = 200;
  with_seeds({.localities = senders + 1, .credits = credits}, [&](net::simulation& sim) {
    sim.run([&] {
      if (find_here() != 0) send_to(0, each);
    });
    EXPECT_EQ(of_run->begun, static_cast<int>(senders) * each);
    EXPECT_LE(of_run->most_waiting, static_cast<int>(senders * (credits + 1)));
    for (locality_id i = 1; i <= senders; ++i) EXPECT_LT(sim.at(i).port().credits_out(0), credits / 4);
  });
}

TEST(FlowControl, NestedCallsDoNotDeadlock) {
  with_seeds({.localities = 3, .credits = 2}, [&](net::simulation& sim) {
    sim.run([&] {
      std::vector<future<int>> all;
      for (int i = 0; i < 3; ++i) all.push_back(async<&fan_out>((find_here() + 1) % 3, 3));
      for (auto& f : all) EXPECT_EQ(f.get(), 15);
    });
    EXPECT_EQ(of_run->begun, 3 * 3 * 15);
  });
}

TEST(FlowControl, LargeDataOfAnySizeAreSent) {
  with_seeds({.localities = 2, .credits = 4}, [&](net::simulation& sim) {
    sim.run_root([&] {
      std::vector<future<std::size_t>> all;
      for (std::size_t i = 0; i < 4; ++i) all.push_back(async<&size_of>(1, std::vector<double>(i * 10'000 + 1)));
      for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(all[i].get(), i * 10'000 + 1);
    });
    EXPECT_EQ(sim.at(0).port().credits_out(1), 0u);
  });
}

TEST(FlowControl, CallsOfAnObjectThatMoves) {
  with_seeds({.localities = 3, .credits = 2}, [&](net::simulation& sim) {
    sim.run_root([&] {
      const auto c = new_<tally>(1).get();
      std::vector<future<void>> all;
      for (int i = 0; i < 10; ++i) all.push_back(async<&tally::add>(c));
      all.push_back(migrate(c, 2));
      for (int i = 0; i < 10; ++i) all.push_back(async<&tally::add>(c));
      for (auto& f : all) f.get();
      EXPECT_EQ(async<&tally::value>(c).get(), 20);
    });
  });
}

// Each post is either sent, for which there are credits, or counted as dropped; also one that waits for credits.
TEST(FlowControl, ADeathEndsTheWait) {
  constexpr std::uint64_t credits = 4, each = 200;
  bool any_dropped = false;
  with_seeds({.localities = 3, .kills = {{0, 0, 300e-6}}, .credits = credits}, [&](net::simulation& sim) {
    sim.run([&] {
      if (find_here() != 0) send_to(0, each);
    });
    EXPECT_EQ(of_run->posted, 2 * static_cast<int>(each));
    std::uint64_t sent = 0;
    for (locality_id i = 1; i < 3; ++i) {
      auto& port = sim.at(i).port();
      sent += port.counts_of(0).parcels;
      EXPECT_EQ(port.counts_of(0).parcels + port.counts().dropped, each);
      any_dropped |= port.counts().dropped != 0;
    }
    EXPECT_LE(sent, static_cast<std::uint64_t>(of_run->begun) + 2 * credits);
  });
  EXPECT_TRUE(any_dropped) << "posts to a lost locality are counted";
}

// Four senders, each of which may have more data under way than the receiver takes from all.
TEST(FlowControl, TheDataOfAllSendersAreBounded) {
  constexpr std::uint64_t page = 4096, budget = 25 * page, few = 5000, many = 20'000;
  with_seeds({.localities = 5, .credits = 64}, [&](net::simulation& sim) {
    sim.at(0).bound_received(budget);
    const auto note = [&sim] { of_run->most_held_bytes = std::max(of_run->most_held_bytes, sim.at(0).held_bytes()); };
    sim.run([&] {
      if (find_here() == 0) return;
      std::vector<future<std::size_t>> all;
      for (int i = 0; i < 8; ++i) {
        all.push_back(async<&size_of>(0, std::vector<double>(few)));
        note();
      }
      for (auto& f : all) {
        EXPECT_EQ(f.get(), few);
        note();
      }
    });
    EXPECT_EQ(of_run->begun, 4 * 8);
    EXPECT_LE(of_run->most_held_bytes, budget);
    EXPECT_EQ(sim.at(0).held_bytes(), 0u);
    sim.run([&] {  // each alone exceeds the budget
      if (find_here() == 0) return;
      EXPECT_EQ(async<&size_of>(0, std::vector<double>(many)).get(), many);
    });
    EXPECT_EQ(sim.at(0).held_bytes(), 0u);
  });
}

TEST(FlowControl, ADeathGivesItsPartOfTheBudgetBack) {
  with_seeds({.localities = 4, .kills = {{3, 0, 200e-6}}, .credits = 64}, [&](net::simulation& sim) {
    sim.at(0).bound_received(50'000);
    sim.run([&] {
      if (find_here() == 0) return;
      try {
        for (int i = 0; i < 8; ++i) EXPECT_EQ(async<&size_of>(0, std::vector<double>(5000)).get(), 5000u);
      } catch (const locality_lost&) {
        EXPECT_EQ(find_here(), 3u);
      }
    });
    EXPECT_EQ(sim.at(0).held_bytes(), 0u);
  });
}

TEST(FlowControl, BoundsTheBacklogOfRealThreads) {
  net::test::localities all(2);
  spun = 0;
  constexpr int n = 100'000;
  int most = 0;
  all.run(0, [&] {
    for (int i = 0; i < n; ++i) {
      post<&spin_1us>(1);
      most = std::max(most, i + 1 - spun.load());
    }
  });
  EXPECT_EQ(spun, n);
  EXPECT_LE(most, static_cast<int>(all.at(0).port().credits()) + 3);  // and the running tasks
}

TEST(FlowControl, ReportsMayOvertakeEachOther) {
  net::simulation sim({.localities = 2, .credits = 100});
  auto& port = sim.at(0).port();
  port.take_credits(1, 60);
  EXPECT_FALSE(port.return_credits(1, 61));
  EXPECT_TRUE(port.return_credits(1, 50));
  EXPECT_TRUE(port.return_credits(1, 20));
  EXPECT_EQ(port.credits_out(1), 10u);
  EXPECT_EQ(port.credits_for(0), 1u);
  EXPECT_EQ(port.credits_for(std::uint64_t{1} << 40), 50u);
}

}  // namespace
