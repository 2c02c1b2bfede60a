// A program with all types of calls, under many seeds, on networks that delay and reorder messages, and with a locality
// that dies: the program ends, every future becomes ready, no call is executed twice, and no call between living
// localities is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

#include "net/action.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "net/start/termination.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace sim_mixed {

using namespace plx;

unsigned n_localities = 4;  // of the current simulation

// Record of the current run; one locality writes at a time.
struct happenings {
  net::seeded_choice choose{1};
  int next_id = 0;
  struct sending {
    locality_id from, to;
  };
  std::map<int, sending> sent;  // by call id
  std::map<int, int> done;      // executions by call id
  std::map<locality_id, int> answered, failed, finished;
};
happenings* now = nullptr;

int begin_call(locality_id to) {
  const int id = now->next_id++;
  now->sent[id] = {find_here(), to};
  return id;
}
void did(int id) { ++now->done[id]; }

int echo(int id) {
  did(id);
  return id;
}
void take_note(int id) { did(id); }
int slow_echo(int id, int us) {
  this_thread::sleep_for(std::chrono::microseconds(us));
  return echo(id);
}
void fail_there(int id) {
  did(id);
  throw std::runtime_error("as it should");
}
std::vector<double> doubled(int id, std::vector<double> values) {
  did(id);
  for (double& v : values) v *= 2;
  return values;
}
// Calls the next locality, which calls the next one, `left` times; also posts a note to the first one.
int around(int id, locality_id first, int left) {
  did(id);
  if (left == 0) return 0;
  const locality_id to = (find_here() + 1) % n_localities;
  const int next = begin_call(to), note = begin_call(first);
  auto rest = async<&around>(to, next, first, left - 1);
  post<&take_note>(first, note);
  return 1 + rest.get();
}

}  // namespace sim_mixed

namespace {

using namespace sim_mixed;

// Checks the outcome of a call; it may fail with locality_lost only if a locality dies.
struct outcome {
  bool someone_dies;

  template <class T, class Check>
  void take(future<T>& f, Check check) const {
    try {
      if constexpr (std::is_void_v<T>)
        f.get(), check();
      else
        check(f.get());
      ++now->answered[find_here()];
    } catch (const locality_lost& e) {
      EXPECT_TRUE(someone_dies) << e.what();
      ++now->failed[find_here()];
    } catch (const remote_error& e) {
      const std::string text = e.what();
      EXPECT_TRUE(text.find("as it should") != std::string::npos ||
                  (someone_dies && text.find("is lost") != std::string::npos))
          << text;
      ++now->answered[find_here()];
    }
  }
};

locality_id any_locality() { return static_cast<locality_id>(now->choose(n_localities)); }

void one_of_all(const outcome& o) {
  const locality_id to = any_locality();
  const int id = begin_call(to);
  switch (now->choose(7)) {
    case 0: {
      auto f = async<&echo>(to, id);
      return o.take(f, [id](int r) { EXPECT_EQ(r, id); });
    }
    case 1:
      return post<&take_note>(to, id);
    case 2: {
      auto f = async<&slow_echo>(to, id, static_cast<int>(now->choose(300)));
      return o.take(f, [id](int r) { EXPECT_EQ(r, id); });
    }
    case 3: {
      if (to == find_here()) return did(id);  // a local exception would keep its type
      auto f = async<&fail_there>(to, id);
      return o.take(f, [] { ADD_FAILURE() << "nothing was thrown"; });
    }
    case 4: {
      const std::vector<double> values(now->choose(2000), id);
      auto f = async<&doubled>(to, id, values);
      return o.take(f,
                    [&](const std::vector<double>& r) { EXPECT_EQ(r, std::vector<double>(values.size(), 2.0 * id)); });
    }
    case 5: {
      const int left = static_cast<int>(now->choose(6));
      auto f = async<&around>(to, id, find_here(), left);
      return o.take(f, [left](int r) { EXPECT_EQ(r, left); });
    }
    default:
      did(id);
      return this_thread::sleep_for(std::chrono::microseconds(now->choose(200)));
  }
}

constexpr int n_tasks = 6, n_each = 3;

void program(const outcome& o, bool waits_for_the_end) {
  std::vector<future<void>> tasks;
  for (int t = 0; t < n_tasks; ++t)
    tasks.push_back(async([&o] {
      for (int i = 0; i < n_each; ++i) one_of_all(o);
    }));
  for (auto& t : tasks) t.get();
  try {
    if (waits_for_the_end) net::node_here().get<net::termination>().wait_for_all();
  } catch (const locality_lost& e) {
    EXPECT_EQ(e.which(), 0u);
  }
  ++now->finished[find_here()];
}

void check(net::simulation& sim) {
  for (const auto& [id, s] : now->sent) {
    const int times = now->done.count(id) != 0 ? now->done[id] : 0;
    const bool both_live = sim.network().alive(s.from) && sim.network().alive(s.to);
    EXPECT_TRUE(times == 1 || (times == 0 && !both_live))
        << "call " << id << " from " << s.from << " to " << s.to << " was done " << times << " times";
  }
  for (locality_id i = 0; i < n_localities; ++i) {
    EXPECT_EQ(now->finished[i], 1) << "locality " << i;  // the dead locality's calls fail as well
    EXPECT_EQ(sim.at(i).replies().size(), 0u) << "locality " << i;
    EXPECT_EQ(sim.at(i).port().counts().refused, 0u);
    EXPECT_EQ(sim.runtime_at(i).explain_waits(), "");
  }
  EXPECT_EQ(sim.network().under_way(), 0u);
}

void play(net::sim_options options, std::uint64_t seeds = plx::testing::seed_count()) {
  std::uint64_t answered = 0, failed = 0;
  n_localities = options.localities;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    happenings mine;
    mine.choose = net::seeded_choice(seed + 1'000'000);
    now = &mine;
    options.seed = seed;
    net::simulation sim(options);
    const outcome o{!options.kills.empty()};
    ASSERT_NO_THROW(sim.run([&] { program(o, seed % 2 == 0); }));
    check(sim);
    for (const auto& [where, n] : mine.answered) answered += static_cast<unsigned>(n);
    for (const auto& [where, n] : mine.failed) failed += static_cast<unsigned>(n);
    now = nullptr;
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
  EXPECT_GT(answered, seeds * (n_localities - options.kills.size()) * 5);
  EXPECT_EQ(failed != 0, !options.kills.empty());
}

// Fewer than others, which take long enough.
std::uint64_t seeds_with_stalls() { return std::max<std::uint64_t>(plx::testing::seed_count() / 5, 1); }

constexpr unsigned four = 4, sixteen = 16;

// One locality is stopped for a minute, one is cut off for two seconds, and the network is slow: nothing is lost.
net::sim_options stalls_and_partitions(unsigned localities) {
  return {.localities = localities,
          .stalls = {{1, 0, 300e-6, 60}, {3, 0, 500e-6, 1e-3}},
          .partitions = {{{2}, 0, 300e-6, 2}, {{0, 1}, 0, 1e-3, 1e-3}},
          .window_bytes = 3000,
          .receive_bytes_per_s = 20e6};
}

TEST(SimMixed, EveryCallOnce) { play({.localities = four}); }
TEST(SimMixed, ADeathFailsWaitingCalls) {
  play({.localities = four, .detection_min_s = 1e-4, .kills = {{2, 0, 600e-6}}});
}
TEST(SimMixed, ADeathOfTheRootFailsWaitingCalls) { play({.localities = four, .kills = {{0, 0, 2e-3}}}); }
TEST(SimMixed, StallsAndPartitionsLoseNothing) { play(stalls_and_partitions(four), seeds_with_stalls()); }
TEST(SimMixed, StallsAndPartitionsOfSixteen) { play(stalls_and_partitions(sixteen), seeds_with_stalls()); }
TEST(SimMixed, KillsAmongStallsAndPartitions) {
  net::sim_options options = stalls_and_partitions(four);
  options.kills = {{2, 0, 600e-6}, {3, 0, 5e-3}};
  play(options, seeds_with_stalls());
}
TEST(SimMixed, KillsAmongStallsAndPartitionsOfSixteen) {
  net::sim_options options = stalls_and_partitions(sixteen);
  options.kills = {{2, 0, 600e-6}, {7, 0, 1e-3}, {8, 0, 5e-3}};
  play(options, seeds_with_stalls());
}

}  // namespace
