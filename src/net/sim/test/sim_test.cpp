// The simulation itself: the seed determines the order of all events, time is virtual, each death is reported once, and
// a deadlock is reported.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>

#include "net/action.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "rt/latch.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

using namespace plx;

namespace sim_test {

int twice(int x) { return 2 * x; }
locality_id where() { return find_here(); }
int there_and_back(locality_id back, int depth) {
  if (depth == 0) return 0;
  return 1 + async<&there_and_back>(back, find_here(), depth - 1).get();
}
double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum;
}
void waits_for_ever() {
  promise<void> never;
  never.get_future().get();
}

}  // namespace sim_test

namespace {

using namespace sim_test;

// Every locality calls every other one.
void chatter() {
  std::vector<future<int>> answers;
  for (int i = 0; i < 20; ++i)
    for (const locality_id to : find_remote_localities()) answers.push_back(async<&twice>(to, i));
  int sum = 0;
  for (auto& a : answers) sum += a.get();
  EXPECT_EQ(sum, 2 * 190 * static_cast<int>(answers.size()) / 20);
}

std::vector<std::string> log_of(std::uint64_t seed) {
  net::simulation sim({.localities = 3, .seed = seed, .keep_log = true});
  sim.run(chatter);
  return sim.network().log();
}

TEST(Sim, TheSeedDeterminesTheOrder) {
  const auto first = log_of(1);
  EXPECT_GT(first.size(), 20u);
  int different = 0;
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const auto once = log_of(seed);
    EXPECT_EQ(once, log_of(seed)) << "seed " << seed;
    different += once != first;
  }
  EXPECT_EQ(different, 18);
}

TEST(Sim, ActionsRunOnTheirLocality) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    net::simulation sim({.localities = 3, .seed = seed});
    EXPECT_EQ(sim.size(), 3u);
    sim.run_root([] {
      EXPECT_EQ(find_here(), 0u);
      EXPECT_EQ(async<&where>(2).get(), 2u);
      EXPECT_EQ(there_and_back(1, 6), 6);
      EXPECT_EQ(async<&sum_of>(1, std::vector<double>(3000, 0.5)).get(), 1500.0);
    });
    EXPECT_EQ(sim.run_at(1, where), 1u);
    sim.run(chatter);
    EXPECT_EQ(sim.network().under_way(), 0u);
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

TEST(Sim, TimeIsVirtual) {
  net::simulation sim({.localities = 2});
  sim.run([] { this_thread::sleep_for(std::chrono::hours(find_here())); });
  EXPECT_GE(sim.now_s(), 3600);
  EXPECT_LT(sim.now_s(), 3601);
}

TEST(Sim, ADeathIsReportedOnceToEach) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    net::simulation sim({.localities = 3, .seed = seed, .keep_log = true});
    sim.run_root([&] {
      auto pending = async<&waits_for_ever>(1);
      EXPECT_EQ(async<&where>(2).get(), 2u);
      sim.kill(1);
      try {
        pending.get();
        ADD_FAILURE() << "a dead locality has answered";
      } catch (const locality_lost& e) {
        EXPECT_EQ(e.which(), 1u);
      }
      EXPECT_THROW(async<&where>(1).get(), locality_lost);
      EXPECT_EQ(async<&where>(2).get(), 2u);
      EXPECT_EQ(find_all_localities(), (std::vector<locality_id>{0, 2}));
    });
    int reports = 0;
    for (const auto& line : sim.network().log()) reports += line.find("peer-lost") != std::string::npos;
    EXPECT_EQ(reports, 4);  // 0 and 2 detect the loss of 1; 1 that of 0 and 2
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

// Fewer than others, which take long enough.
std::uint64_t few_seeds() { return std::max<std::uint64_t>(plx::testing::seed_count() / 5, 1); }

TEST(Sim, AWindowBoundsWhatIsInFlight) {
  constexpr std::size_t window = 2000, largest = 4000 * sizeof(double);
  for (std::uint64_t seed = 1; seed <= few_seeds(); ++seed) {
    net::simulation sim({.localities = 3, .seed = seed, .window_bytes = window});
    sim.run([] {
      chatter();
      for (const locality_id to : find_remote_localities()) {
        auto large = async<&sum_of>(to, std::vector<double>(3000, 0.5));
        EXPECT_EQ(async<&where>(to).get(), to);
        EXPECT_EQ(large.get(), 1500.0);
      }
    });
    EXPECT_EQ(sim.network().under_way(), 0u);
    EXPECT_LT(sim.network().counts().most_in_flight_bytes, largest);
    net::simulation small({.localities = 2, .seed = seed, .window_bytes = window});
    small.run([] {
      std::vector<future<double>> all;
      for (int i = 0; i < 100; ++i) all.push_back(async<&sum_of>((find_here() + 1) % 2, std::vector<double>(100, 1.0)));
      for (auto& f : all) EXPECT_EQ(f.get(), 100.0);
    });
    EXPECT_LE(small.network().counts().most_in_flight_bytes, std::max<std::size_t>(window, 8192));
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

TEST(Sim, AReceiverHasARate) {
  net::simulation sim({.localities = 3, .receive_bytes_per_s = 1e6});
  sim.run([] {
    if (find_here() == 0) return;
    EXPECT_EQ(async<&sum_of>(0, std::vector<double>(12'500, 0.0)).get(), 0);
  });
  EXPECT_GE(sim.now_s(), 0.2);  // 200 KB
  EXPECT_LT(sim.now_s(), 0.25);
}

TEST(Sim, AStalledLocalityContinues) {
  for (std::uint64_t seed = 1; seed <= few_seeds(); ++seed) {
    net::simulation sim({.localities = 3, .seed = seed, .stalls = {{1, 10e-6, 20e-6, 60}}});
    double others = 0;
    sim.run([&] {
      this_thread::sleep_for(std::chrono::microseconds(30));
      if (find_here() != 0) return;
      auto stalled = async<&where>(1);
      EXPECT_EQ(async<&there_and_back>(2, 0, 6).get(), 6);
      others = sim.now_s();
      EXPECT_FALSE(stalled.is_ready());
      EXPECT_EQ(stalled.get(), 1u);
    });
    EXPECT_LT(others, 1);
    EXPECT_GE(sim.now_s(), 60);
    EXPECT_LT(sim.now_s(), 61);
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

TEST(Sim, APartitionDelaysMessages) {
  for (std::uint64_t seed = 1; seed <= few_seeds(); ++seed) {
    net::simulation sim({.localities = 4, .seed = seed, .partitions = {{{0, 2}, 10e-6, 20e-6, 1}}});
    sim.run([&] {
      this_thread::sleep_for(std::chrono::microseconds(30));
      EXPECT_EQ(async<&where>((find_here() + 2) % 4).get(), (find_here() + 2) % 4);
      EXPECT_LT(sim.now_s(), 1);
      EXPECT_EQ(async<&where>((find_here() + 1) % 4).get(), (find_here() + 1) % 4);
      EXPECT_GE(sim.now_s(), 1);
    });
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

TEST(Sim, EachSideOfAPartitionForEverLosesTheOther) {
  for (std::uint64_t seed = 1; seed <= few_seeds(); ++seed) {
    constexpr double for_ever = std::numeric_limits<double>::infinity();
    net::simulation sim(
        {.localities = 4, .seed = seed, .partitions = {{{0, 2}, 0, 100e-6, for_ever}}, .keep_log = true});
    sim.run([&] {
      const locality_id here = find_here(), near = (here + 2) % 4;
      try {
        while (true) EXPECT_EQ(async<&where>((here + 1) % 4).get(), (here + 1) % 4);
      } catch (const locality_lost& e) {
        EXPECT_EQ(e.which(), (here + 1) % 4);
      }
      this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(async<&where>(near).get(), near);
      EXPECT_EQ(find_all_localities(), (std::vector<locality_id>{std::min(here, near), std::max(here, near)}));
    });
    int reports = 0;
    for (const auto& line : sim.network().log()) reports += line.find("peer-lost") != std::string::npos;
    EXPECT_EQ(reports, 8);
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

TEST(Sim, ADeadlockIsReported) {
  net::simulation sim({.localities = 3, .seed = 42});
  try {
    sim.run([] {
      if (find_here() == 1) waits_for_ever();
    });
    FAIL() << "no deadlock was reported";
  } catch (const deadlock_error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("seed 42, locality 1"), std::string::npos) << text;
    EXPECT_EQ(text.find("locality 0"), std::string::npos) << text;
    EXPECT_NE(text.find("waits on future"), std::string::npos) << text;
  }
}

TEST(Sim, ExceptionsTakePrecedenceOverDeadlocks) {
  net::simulation sim({.localities = 3});
  EXPECT_THROW(sim.run([] {
    if (find_here() == 1) throw std::out_of_range("mine");
    if (find_here() == 2) waits_for_ever();
  }),
               std::out_of_range);
}

TEST(Sim, AnEndlessRunIsEnded) {
  net::simulation sim({.localities = 2, .time_limit_s = 1});
  EXPECT_THROW(sim.run([] {
    for (;;) this_thread::sleep_for(std::chrono::milliseconds(1));
  }),
               deadlock_error);
  net::simulation busy({.localities = 2, .time_limit_s = 1e-3});
  EXPECT_THROW(busy.run([] {
    for (;;) this_thread::yield();
  }),
               deadlock_error);
}

}  // namespace
