#include "net/parcels/adaptive/coalescing_follower.hpp"

#include <gtest/gtest.h>

#include <random>

#include "net/parcels/collector.hpp"
#include "net/test/sending_program_test.hpp"

namespace coalescing_follower_test {

using namespace plx;
using namespace plx::net;
using test::program_phase;
using test::sending_program;

constexpr double look_s = 0.01;  // shorter than the policy's, to keep the test short
constexpr int looks_of_a_second = 40;

struct named_phase {
  const char* name;
  program_phase phase;
  bool begins = false;  // used as a starting phase in FollowsFromPhaseToPhase
};

const std::vector<named_phase>& phases() {
  static const std::vector<named_phase> all = {
      {"dense", {}},
      {"dense, TCP", {.message_s = 3.3e-6}, true},
      {"computing 3 us between parcels", {.compute_s = 3e-6}},
      {"computing 3 us between parcels, TCP", {.compute_s = 3e-6, .message_s = 3.3e-6}, true},
      {"computing 20 us between parcels, TCP", {.compute_s = 20e-6, .message_s = 3.3e-6}},
      {"windows of 1000", {.burst = 1000, .waits = true}, true},
      {"windows of 1000, TCP", {.burst = 1000, .waits = true, .message_s = 3.3e-6, .answer_s = 30e-6}},
      {"one call after the other", {.waits = true}},
      {"sparse, waiting", {.idle_pause_s = 200e-6, .waits = true}, true},
      {"sparse, computing", {.compute_s = 100e-6}},
      {"very rare", {.idle_pause_s = 5e-3, .waits = true}},
      {"bursts of 48 between computing", {.burst = 48, .busy_pause_s = 100e-6}},
      {"bursts of 48 between computing, TCP", {.burst = 48, .busy_pause_s = 100e-6, .message_s = 3.3e-6}, true},
      {"bursts of 32 that are waited for", {.burst = 32, .idle_pause_s = 300e-6, .waits = true}},
      {"bursts of 32 that are waited for, TCP",
       {.burst = 32, .idle_pause_s = 50e-6, .waits = true, .message_s = 3.3e-6, .answer_s = 30e-6}},
      {"dense, 1 KiB each, TCP", {.parcel_s = 0.5e-6, .message_s = 3.3e-6, .parcel_bytes = 1024}, true},
  };
  return all;
}

/// The setting after a number of samples, and how often it changed in the last of them.
struct followed {
  coalescing how;
  int moves_at_the_end = 0;
};

followed follow(coalescing_follower& f, sending_program& program, int looks, int the_end, double noise = 0,
                std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  followed result;
  for (int i = 0; i < looks; ++i) {
    program.set(f.setting());
    traffic t = program.run(look_s);
    const double factor = std::exp(noise * normal(random));  // varying interference by other programs
    t.parcels *= factor, t.messages *= factor, t.bytes *= factor;
    for (double& n : t.gaps) n *= factor;
    const coalescing before = f.setting();
    f.look(t);
    if (i >= looks - the_end) result.moves_at_the_end += f.setting() != before;
  }
  result.how = f.setting();
  return result;
}

TEST(CoalescingFollower, MatchesTheBestStaticSetting) {
  for (const auto& [name, phase, begins] : phases()) {
    coalescing_follower f;
    sending_program program(phase);
    const followed found = follow(f, program, looks_of_a_second, looks_of_a_second / 4);
    EXPECT_EQ(found.moves_at_the_end, 0) << name;
    EXPECT_FALSE(f.comparing()) << name;
    const double ours = test::seconds_per_parcel(phase, found.how), best = test::best_static_seconds(phase);
    EXPECT_LT(ours, 1.05 * best) << name << ": " << describe(found.how) << ", " << f.why();
    const followed later = follow(f, program, 4 * looks_of_a_second, 4 * looks_of_a_second);
    EXPECT_EQ(later.how, found.how) << name;
    EXPECT_EQ(later.moves_at_the_end, 0) << name;
  }
}

/// From several phases to every phase, within a second of the change.
TEST(CoalescingFollower, FollowsFromPhaseToPhase) {
  for (const auto& [name, phase, begins] : phases()) {
    const double best = test::best_static_seconds(phase);
    for (const auto& [before, phase_before, begins_here] : phases()) {
      if (!begins_here) continue;
      coalescing_follower f;
      sending_program program(phase_before);
      follow(f, program, looks_of_a_second / 2, 0);
      program.change(phase);
      const followed found = follow(f, program, looks_of_a_second, looks_of_a_second / 4);
      const double ours = test::seconds_per_parcel(phase, found.how, 0.02);
      EXPECT_LT(ours, 1.05 * best) << "from '" << before << "' to '" << name << "': " << describe(found.how) << ", "
                                   << f.why();
      EXPECT_EQ(found.moves_at_the_end, 0) << "from '" << before << "' to '" << name << "': " << f.why();
    }
  }
}

/// If parcels become rare while workers are idle, they wait for an interval for at most one sample.
TEST(CoalescingFollower, LeavesTheFixedFormWhenParcelsBecomeRare) {
  unsigned left = 0;
  for (const auto& [name, phase, begins] : phases()) {
    coalescing_follower f;
    sending_program program(phase);
    if (follow(f, program, looks_of_a_second, 0).how.way != coalescing_way::fixed) continue;
    program.change({.idle_pause_s = 5e-3, .waits = true});
    follow(f, program, 1, 0);
    EXPECT_EQ(f.setting(), self_clocking) << name << ": " << f.why();
    ++left;
  }
  EXPECT_GE(left, 2u);
}

/// All trials after the first second cost at most 2 % of the parcels. Without the measured slack, it tries settings
/// that cannot be good.
TEST(CoalescingFollower, TrialsCostLittle) {
  for (const bool sees_slack : {true, false})
    for (const auto& [name, phase, begins] : phases()) {
      coalescing_follower f;
      sending_program program(phase);
      double parcels = 0, span_s = 0;
      for (int i = 0; i < 10 * looks_of_a_second; ++i) {
        program.set(f.setting());
        traffic t = program.run(look_s);
        if (!sees_slack) t.slack = 0;
        f.look(t);
        if (i < looks_of_a_second) continue;
        parcels += t.parcels;
        span_s += t.span_s;
      }
      EXPECT_FALSE(f.comparing()) << name;
      EXPECT_LT(span_s / parcels, 1.02 * test::seconds_per_parcel(phase, f.setting(), 0.05)) << name << ": " << f.why();
    }
}

/// If spinning workers look busy, the rate still shows that tasks wait.
TEST(CoalescingFollower, UndoesHarmfulTrials) {
  int undone = 0;
  for (const auto& [name, which, begins] : phases()) {
    if (!which.waits) continue;
    program_phase phase = which;
    phase.spins = true;
    coalescing_follower f;
    sending_program program(phase);
    for (int i = 0; i < 2 * looks_of_a_second; ++i) {
      program.set(f.setting());
      const traffic t = program.run(look_s);
      undone += f.look(t) == coalescing_move::undone;
    }
    EXPECT_LT(test::seconds_per_parcel(phase, f.setting()), 1.05 * test::best_static_seconds(phase)) << name << f.why();
  }
  EXPECT_GE(undone, 2);
}

/// Calls that each wait for the previous one and follow it after 50 us: the model sees gaps that an interval would
/// bridge, but the rate does not depend on the form, because a fixed one is flushed when its worker is idle.
traffic lone_calls(double parcels_per_message) {
  constexpr double parcels = 400;
  traffic t{.span_s = 0.025, .parcels = parcels, .messages = parcels / parcels_per_message, .bytes = parcels * 32};
  t.slack = 0.9, t.overhead = 0.05, t.message_s = 2e-6, t.most_bytes = 8192;
  t.gaps[16] = parcels;  // 33 to 66 us
  return t;
}

/// In how many of `looks` samples of lone calls a setting is on trial, given the parcels per message of the fixed form.
int looks_on_trial(coalescing_follower& f, int looks, double parcels_in_fixed) {
  int tried = 0;
  for (int i = 0; i < looks; ++i) {
    const bool fixed = f.setting().way == coalescing_way::fixed;
    tried += f.comparing() && fixed;
    f.look(lone_calls(fixed ? parcels_in_fixed : 1));
  }
  return tried;
}

TEST(CoalescingFollower, FixedFormMustSaveMessages) {
  coalescing_follower f;
  EXPECT_GT(looks_on_trial(f, 40, 1.05), 0) << "nothing was tried: the test is void";
  EXPECT_EQ(f.setting(), self_clocking) << f.why();
  EXPECT_FALSE(f.comparing());
  EXPECT_NE(f.why().find("in messages of 1.05 parcels instead of 1.00"), std::string::npos) << f.why();
  const coalescing_follower_options o;
  EXPECT_EQ(looks_on_trial(f, static_cast<int>(o.useless * o.rest) - 80, 1.05), 0)
      << "it must wait longer than after noise";
  EXPECT_GT(looks_on_trial(f, 160, 1.05), 0) << "it must try again eventually";
}

/// Full messages whose number does not decrease when they may be larger.
TEST(CoalescingFollower, LargerMessagesMustSaveMessages) {
  coalescing_follower f;
  int tried = 0;
  for (int i = 0; i < 40; ++i) {
    tried += f.setting().bytes > 8192;
    traffic t{.span_s = 0.025, .parcels = 1e5, .messages = 1e3, .bytes = 7e6};
    t.overhead = 0.3, t.message_s = 5e-6, t.most_bytes = 8192;
    f.look(t);
  }
  EXPECT_GT(tried, 0) << "nothing was tried: the test is void";
  EXPECT_EQ(f.setting(), self_clocking) << f.why();
  EXPECT_NE(f.why().find("instead of"), std::string::npos) << f.why();
}

/// With a size of messages from the start: that is what it returns to.
TEST(CoalescingFollower, BeginsWithTheGivenBytes) {
  const coalescing usual{.bytes = 65536, .way = coalescing_way::self_clocking};
  coalescing_follower f({}, usual.bytes);
  EXPECT_EQ(f.setting(), usual);
  for (int i = 0; i < 40; ++i) f.look(lone_calls(f.setting().way == coalescing_way::fixed ? 40 : 1));
  ASSERT_EQ(f.setting().way, coalescing_way::fixed) << f.why();
  for (int i = 0; i < 4; ++i) f.look(lone_calls(1.05));
  EXPECT_EQ(f.setting(), usual) << "no gain: " << f.why();
  coalescing_follower other({}, usual.bytes);
  for (int i = 0; i < 40; ++i) other.look(lone_calls(other.setting().way == coalescing_way::fixed ? 40 : 1));
  ASSERT_EQ(other.setting().way, coalescing_way::fixed) << other.why();
  for (int i = 0; i < 4; ++i) other.look({.span_s = 0.025});
  EXPECT_EQ(other.setting(), usual) << "parcels became rare: " << other.why();
}

TEST(CoalescingFollower, UselessFixedFormIsGivenUp) {
  coalescing_follower f;
  for (int i = 0; i < 40; ++i) f.look(lone_calls(f.setting().way == coalescing_way::fixed ? 40 : 1));
  ASSERT_EQ(f.setting().way, coalescing_way::fixed) << f.why();
  for (int i = 0; i < 4; ++i) f.look(lone_calls(1.05));
  EXPECT_EQ(f.setting(), self_clocking) << f.why();
  EXPECT_EQ(looks_on_trial(f, 200, 1.05), 0) << "tried again too early: " << f.why();
}

TEST(CoalescingFollower, IsRobustAgainstNoise) {
  for (const auto& [name, phase, begins] : phases()) {
    int wrong = 0, moves = 0;
    const double best = test::best_static_seconds(phase);
    constexpr int runs = 5;
    for (int run = 0; run < runs; ++run) {
      coalescing_follower f;
      sending_program program(phase);
      follow(f, program, looks_of_a_second, 0, 0.1, static_cast<std::uint64_t>(run));
      const followed found =
          follow(f, program, 2 * looks_of_a_second, 2 * looks_of_a_second, 0.1, 1000 + static_cast<std::uint64_t>(run));
      moves += found.moves_at_the_end;
      wrong += test::seconds_per_parcel(phase, found.how, 0.02) > 1.05 * best;
    }
    EXPECT_LE(wrong, 1) << name;
    EXPECT_LE(moves, runs * 12) << name;
  }
}

}  // namespace coalescing_follower_test
