#include "control/speedup_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "control/progress.hpp"

namespace plx::probe {
namespace {

/// A program whose period is known: of its 10 ms, `share` of a type can be saved.
struct known_program {
  std::map<name_id, double> shares;
  double noise;
  detail::tuning_random random{1};
  double drift = 0;

  double period(speedup_plan::experiment e) {
    drift += 1e-4;
    const double gain = e.percent == 0 ? 0 : shares.at(e.type) * 0.01 * e.percent;
    const double outlier = random.below(20) == 0 ? 1.5 : 1;
    return 10 * (1 - gain) * (1 + drift) * (1 + noise * (2 * random.uniform() - 1)) * outlier;
  }
};

TEST(speedup_plan, finds_known_gains_despite_drift_and_outliers) {
  known_program program{{{11, 0.6}, {12, 0.0}, {13, 0.2}}, 0.02};
  speedup_plan plan;
  for (const name_id type : {11u, 12u, 13u}) plan.add(type);
  int experiments = 0;
  for (; !plan.done() && experiments < 2000; ++experiments) plan.measured(program.period(plan.next()));
  EXPECT_TRUE(plan.done()) << plan.rounds() << " rounds";
  const auto gains = plan.gains();
  ASSERT_EQ(gains.size(), 9u);
  for (const speedup_gain& g : gains) {
    EXPECT_NEAR(g.gain, program.shares.at(g.type) * 0.01 * g.percent, 0.015) << g.type << ' ' << g.percent;
    EXPECT_LE(g.low, g.gain);
    EXPECT_GE(g.high, g.gain);
    EXPECT_TRUE(g.settled);
  }
}

TEST(speedup_plan, every_second_experiment_changes_nothing) {
  speedup_plan plan;
  plan.add(3);
  std::set<unsigned> percents;
  for (int i = 0; i < 12; ++i) {
    const auto e = plan.next();
    EXPECT_EQ(e.percent == 0, i % 2 == 0) << i;
    percents.insert(e.percent);
    plan.measured(1);
  }
  EXPECT_EQ(percents, (std::set<unsigned>{0, 25, 50, 75}));
  EXPECT_EQ(plan.rounds(), 1u);
}

TEST(speedup_plan, a_type_that_is_added_later_joins_the_next_round) {
  speedup_plan plan;
  plan.add(3);
  while (plan.rounds() < 2) plan.measured(1);
  plan.add(4);
  plan.add(4);
  while (plan.rounds() < 4) plan.measured(1);
  const auto gains = plan.gains();
  ASSERT_EQ(gains.size(), 6u);
  EXPECT_EQ(gains[0].rounds, 4u);
  EXPECT_EQ(gains[3].rounds, 2u);
  EXPECT_NE(plan.next().percent, 0u);
  plan.add(5);
  while (plan.rounds() < 6) plan.measured(1);
  EXPECT_EQ(plan.gains()[6].rounds, 1u) << "round 5 had begun";
}

TEST(speedup_plan, the_first_round_has_all_types) {
  speedup_plan plan;
  for (const name_id type : {3u, 4u, 5u}) plan.add(type);
  while (plan.rounds() < 1) {
    const bool changes = plan.next().percent != 0;
    plan.measured(changes ? 1 : 2);
  }
  for (const speedup_gain& g : plan.gains()) EXPECT_EQ(g.rounds, 1u) << g.type;
}

TEST(speedup_plan, intervals_of_thousands_of_rounds_are_narrow) {
  known_program program{{{11, 0.6}}, 0.2};
  speedup_plan plan({.percents = {50}, .indifference = 0});
  plan.add(11);
  while (plan.rounds() < 2000) plan.measured(program.period(plan.next()));
  EXPECT_FALSE(plan.done());
  const speedup_gain g = plan.gains().at(0);
  EXPECT_LT(g.high - g.low, 0.03);
  EXPECT_GT(g.high - g.low, 0.001);
  EXPECT_NEAR(g.gain, 0.3, 0.02);
}

TEST(speedup_plan, useless_periods_are_measured_again) {
  speedup_plan plan;
  plan.add(3);
  for (const double useless : {0.0, -1.0, std::nan(""), HUGE_VAL}) plan.measured(useless);
  EXPECT_TRUE(std::isnan(plan.period()));
  plan.measured(1);
  const auto e = plan.next();
  plan.measured(0);
  EXPECT_EQ(plan.next().percent, e.percent);
}

TEST(speedup_plan, without_types_it_only_measures_the_program) {
  speedup_plan plan;
  for (int i = 0; i < 5; ++i) {
    plan.measured(2);
    EXPECT_EQ(plan.next().percent, 0u);
  }
  EXPECT_FALSE(plan.done());
  EXPECT_EQ(plan.period(), 2);
}

TEST(speedup_plan, tables_begin_with_the_largest_gain) {
  speedup_report r{.point = "step", .period_s = 0.01, .time_s = 3, .inserted_s = 0.5, .experiments = 12};
  const name_id small = register_name("small"), large = register_name("large, with a very long name of a task");
  r.gains = {{small, 50, 3, 0.01, -HUGE_VAL, HUGE_VAL, false}, {large, 50, 20, 0.31, 0.305, 0.315, true}};
  const std::string text = speedup_text(r);
  EXPECT_THAT(text, ::testing::HasSubstr("\"step\" (10 ms)"));
  EXPECT_LT(text.find("large, with a very long..."), text.find("small"));
  EXPECT_THAT(text, ::testing::HasSubstr("31.0 % (30.5 to 31.5)"));
  EXPECT_THAT(text, ::testing::HasSubstr("1.0 % (few rounds)"));
  r.period_s = std::nan("");
  EXPECT_THAT(speedup_text(r), ::testing::HasSubstr("\"step\" (-) shrinks"));
  EXPECT_EQ(speedup_csv(r),
            "type,percent,rounds,gain,gain_low,gain_high,state\n"
            "small,50,3,0.010000,,,open\n"
            "\"large, with a very long name of a task\",50,20,0.310000,0.305000,0.315000,settled\n");
}

struct counting final : progress_listener {
  int n = 0;
  void passed(std::string_view name) noexcept override { n += name == "step"; }
};

TEST(progress, goes_to_the_one_listener) {
  progress("step");
  counting a, b;
  ASSERT_TRUE(listen_to_progress(a));
  EXPECT_FALSE(listen_to_progress(b));
  progress("step");
  progress("other");
  ignore_progress(b);
  progress("step");
  ignore_progress(a);
  progress("step");
  EXPECT_EQ(a.n, 2);
  EXPECT_EQ(b.n, 0);
}

}  // namespace
}  // namespace plx::probe
