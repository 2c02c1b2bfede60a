// Clocks with arbitrary offsets, rates and drift in the simulated network: the error of the measured maps is within
// their bound, and no effect precedes its cause.
#include "net/observe/clock_offsets.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <deque>
#include <vector>

#include "net/action.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "net/test/threads_test.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

using namespace plx;

namespace clock_test {

/// A clock with any start and rate, derived from the simulation's time.
struct wrong_clock {
  const net::simulation* sim = nullptr;
  double start = 0, per_s = 1e9;
  [[nodiscard]] ticks at(double s) const { return static_cast<ticks>(std::llround(start + per_s * s)); }
  static ticks read(void* self) {
    const auto& c = *static_cast<const wrong_clock*>(self);
    return c.at(c.sim->now_s());
  }
};

struct message_times {
  locality_id from, to;
  ticks sent, received;
};
std::vector<message_times>* messages = nullptr;

void message_came(locality_id from, ticks sent) {
  messages->push_back({from, find_here(), sent, net::node_here().get<net::clock_offsets>().now()});
}
void send_messages(int n) {
  for (int i = 0; i < n; ++i)
    for (const locality_id to : find_remote_localities())
      post<&message_came>(to, find_here(), net::node_here().get<net::clock_offsets>().now());
}

}  // namespace clock_test

namespace {

using namespace clock_test;
using net::clock_map;
using net::clock_offsets;
using net::clock_point;

/// Clocks whose rates differ from their nominal rates by up to 20 ppm.
std::deque<wrong_clock> make_clocks(net::simulation& sim, std::uint64_t seed) {
  net::seeded_choice choose(seed);
  std::deque<wrong_clock> clocks;
  for (locality_id l = 0; l < sim.size(); ++l) {
    const auto ppm = [&](std::uint64_t most) {
      return 1e-6 * (static_cast<double>(choose(2 * most + 1)) - double(most));
    };
    const double claimed = 1e9 * (1 + static_cast<double>(choose(3)));
    clocks.push_back({&sim, 1e12 + 1e9 * static_cast<double>(choose(1'000'000)), claimed * (1 + ppm(20))});
    sim.at(l).get<clock_offsets>().read_with(wrong_clock::read, &clocks.back(), claimed);
  }
  return clocks;
}

/// The number of localities between l and the root, and l.
unsigned hops_of(locality_id l) { return static_cast<unsigned>(std::popcount(l)); }

/// Measures three times, with 40 s between; checks all conversions meanwhile.
void check_maps(net::simulation& sim, std::uint64_t seed) {
  const unsigned n = sim.size();
  const auto clocks = make_clocks(sim, seed);
  std::vector<message_times> came;
  messages = &came;
  sim.run_root([&] { sim.at(0).get<clock_offsets>().measure(); });
  const double first = sim.now_s();
  for (int part = 0; part < 3; ++part) {
    sim.run([] {
      send_messages(5);
      this_thread::sleep_for(std::chrono::seconds(20));
    });
    if (part == 1) sim.run_root([&] { sim.at(0).get<clock_offsets>().measure(); });
  }
  const double last = sim.now_s();
  sim.run_root([&] { sim.at(0).get<clock_offsets>().measure(); });
  std::vector<clock_map> maps;
  std::vector<double> bound_ticks{1};
  for (locality_id l = 0; l < n; ++l) maps.push_back(sim.at(0).get<clock_offsets>().of(l));
  EXPECT_FALSE(maps[0].known());
  for (locality_id l = 1; l < n; ++l) {
    ASSERT_EQ(maps[l].points().size(), 3u);
    // Delays are 1 to 200 us each way; the drift between two measurements of one round adds some nanoseconds.
    EXPECT_LE(maps[l].uncertainty_s(), hops_of(l) * 201e-6 + 5e-6) << "locality " << l;
    EXPECT_GE(maps[l].uncertainty_s(), hops_of(l) * 1e-6) << "locality " << l;
    bound_ticks.push_back(maps[l].uncertainty_s() * clocks[0].per_s + 8);  // rounding of the clocks
    ticks before = 0;
    for (int i = 0; i <= 100; ++i) {
      const double at = first + (last - first) * i / 100.0;
      const ticks mapped = maps[l](clocks[l].at(at));
      EXPECT_LE(std::abs(double(mapped) - double(clocks[0].at(at))), bound_ticks[l]) << "locality " << l;
      EXPECT_GT(mapped, before);
      before = mapped;
    }
  }
  EXPECT_EQ(came.size(), n * (n - 1) * 5 * 3);
  for (const message_times& l : came) {
    const double sent = double(maps[l.from](l.sent)), received = double(maps[l.to](l.received));
    EXPECT_GE(received, sent - bound_ticks[l.from] - bound_ticks[l.to]);
  }
  messages = nullptr;
}

// Localities 7 and 11 are three hops from the root.
TEST(ClockOffsets, AreWithinTheirUncertainty) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    const unsigned n = seed % 4 == 0 ? 12 : 3;
    net::simulation sim({.localities = n, .seed = seed, .delay_min_s = 1e-6, .delay_max_s = 200e-6});
    check_maps(sim, seed);
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

// The first measurement has only nominal rates, and a locality measures its parent long after that has measured its
// own: the error of the rates counts.
TEST(ClockOffsets, TheBoundIncludesTheDriftWithinAMeasurement) {
  net::simulation sim({.localities = 4, .delay_min_s = 1e-6, .delay_max_s = 2e-6, .stalls = {{3, 0, 0, 1.8}}});
  const wrong_clock fast[] = {
      {&sim, 1e12, 1e9 * (1 - 20e-6)}, {&sim, 2e12, 1e9}, {&sim, 3e12, 1e9 * (1 + 20e-6)}, {&sim, 4e12, 1e9}};
  for (locality_id l = 0; l < 4; ++l)
    sim.at(l).get<clock_offsets>().read_with(wrong_clock::read, const_cast<wrong_clock*>(&fast[l]), 1e9);
  sim.run_root([&] { sim.at(0).get<clock_offsets>().measure(5); });
  const clock_map m = sim.at(0).get<clock_offsets>().of(3);
  ASSERT_TRUE(m.known());
  const clock_point& p = m.points()[0];
  const double at = (static_cast<double>(p.there) - fast[3].start) / fast[3].per_s;
  ASSERT_GT(at, 1.7) << "it was measured before";
  const double error_s = std::abs(static_cast<double>(p.here) - static_cast<double>(fast[0].at(at))) / 1e9;
  EXPECT_GT(error_s, 20e-6) << "no drift";
  EXPECT_LE(error_s, m.uncertainty_s() + 1e-8);
  EXPECT_LT(m.uncertainty_s(), 200e-6);
}

TEST(ClockOffsets, MessagesOf512Localities) {
  constexpr unsigned log_n = 9, n = 1u << log_n, each = clock_offsets::exchanges + 1;
  net::simulation sim({.localities = n, .workers = 1, .credits = 64});
  sim.run_root([&] { sim.at(0).get<clock_offsets>().measure(20); });
  std::uint64_t sent = 0;
  for (locality_id i = 0; i < n; ++i) {
    const net::port_counts c = sim.at(i).port().counts();
    sent += c.messages_sent;
    EXPECT_LE(c.messages_sent, each * log_n) << i;
    EXPECT_LE(c.messages_received, each * log_n) << i;
    EXPECT_EQ(sim.at(0).get<clock_offsets>().of(i).known(), i != 0);
  }
  EXPECT_LE(sent, 2 * each * (n - 1));
  EXPECT_GE(sent, each * (n - 1));
}

TEST(ClockOffsets, ALostLocalityGetsNoPoint) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    net::simulation sim({.localities = 3, .seed = seed, .kills = {{1, 0, 500e-6}}});
    sim.run_root([&] {
      auto& offsets = sim.at(0).get<clock_offsets>();
      offsets.measure();
      this_thread::sleep_for(std::chrono::seconds(1));
      const std::size_t before = offsets.of(1).points().size();
      EXPECT_LE(before, 1u);
      offsets.measure();
      EXPECT_EQ(offsets.of(1).points().size(), before);
      EXPECT_EQ(offsets.of(2).points().size(), 2u);
    });
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

// Two of five have stopped, one of them above another one in the tree: the others are measured within the same time.
TEST(ClockOffsets, StoppedLocalitiesShareOneDeadline) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); seed += 20) {
    net::simulation sim({.localities = 5, .seed = seed, .stalls = {{1, 0, 0, 1000}, {2, 0, 0, 1000}}});
    sim.run_root([&] {
      auto& offsets = sim.at(0).get<clock_offsets>();
      const double begin = sim.now_s();
      offsets.measure(5);
      EXPECT_LT(sim.now_s() - begin, 5.5);
      EXPECT_GT(sim.now_s() - begin, 4.5) << "they have not stopped";
      for (locality_id l = 1; l < 5; ++l) EXPECT_EQ(offsets.of(l).known(), l > 2) << "locality " << l;
    });
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

// It answers after the time of the first round, but before the end.
TEST(ClockOffsets, ALateLocalityIsMeasuredInTheRestOfTheTime) {
  net::simulation sim({.localities = 4, .stalls = {{1, 0, 0, 3}}});
  sim.run_root([&] {
    sim.at(0).get<clock_offsets>().measure(5);
    for (locality_id l = 1; l < 4; ++l) EXPECT_TRUE(sim.at(0).get<clock_offsets>().of(l).known()) << "locality " << l;
    EXPECT_LT(sim.now_s(), 3.5);
  });
}

TEST(ClockOffsets, TheEndOfThePeriodicMeasurementWaitsForOneMeasurementAtMost) {
  net::simulation sim({.localities = 5, .stalls = {{1, 0, 0, 1000}, {2, 0, 0, 1000}, {3, 0, 0, 1000}}});
  sim.run_root([&] {
    auto& offsets = sim.at(0).get<clock_offsets>();
    offsets.begin(1);
    this_thread::sleep_for(std::chrono::milliseconds(1500));  // the first is being measured
    const double begin = sim.now_s();
    offsets.end();
    EXPECT_LT(sim.now_s() - begin, clock_offsets::deadline_s);
  });
}

TEST(ClockOffsets, WithRealThreadsAndOneClock) {
  net::test::localities job(3, 1);
  for (int times = 0; times < 2; ++times) job.run(0, [&] { job.at(0).get<clock_offsets>().measure(300); });
  for (locality_id l = 1; l < 3; ++l) {
    const clock_map m = job.at(0).get<clock_offsets>().of(l);
    ASSERT_EQ(m.points().size(), 2u);
    for (const auto& p : m.points())
      EXPECT_LE(p.here > p.there ? p.here - p.there : p.there - p.here, p.uncertainty) << "it is the same clock";
  }
}

}  // namespace
