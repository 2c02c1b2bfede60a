// Every strategy finds known optima within its budget.
#include "control/tuning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "control/tuning_search.hpp"

namespace plx::probe {
namespace {

using ::testing::HasSubstr;

// Standard test functions, with the minimum 0 at a place that is neither the start nor a grid point.
double sphere(const tuning_point& p) { return std::pow(p.real("x") - 0.37, 2) + std::pow(p.real("y") + 0.81, 2); }
double rosenbrock(const tuning_point& p) {
  const double x = p.real("x"), y = p.real("y");
  return 100 * std::pow(y - x * x, 2) + std::pow(1 - x, 2);
}
double rastrigin(const tuning_point& p) {  // many local minima
  double sum = 20;
  for (const double v : {p.real("x") - 0.37, p.real("y") + 0.81})
    sum += v * v - 10 * std::cos(2 * 3.14159265358979323846 * v);
  return sum;
}
parameters plane() { return {parameter::real("x", -2, 2, -1.5), parameter::real("y", -2, 2, 1.5)}; }

/// Integers and a word: minimum 0 at edge 24, depth 3, fast.
double mixed(const tuning_point& p) {
  const double word = p.word("how") == "fast" ? 0 : p.word("how") == "small" ? 3 : 5;
  return std::abs(static_cast<double>(p.integer("edge")) - 24) / 8 +
         std::abs(static_cast<double>(p.integer("depth")) - 3) + word;
}
parameters mixture() {
  return {parameter::integer("edge", 4, 64, 8, 4), parameter::integer("depth", 0, 7, 7),
          parameter::choice("how", {"small", "odd", "fast"})};
}

template <class F>
double least_found(tuning_options o, F f) {
  auto s = tuning_session::begin(std::move(o)).value();
  while (const auto p = s.next()) s.report(f(*p));
  EXPECT_TRUE(s.done());
  EXPECT_LE(s.evaluations(), s.options().budget);
  EXPECT_EQ(s.best_value(), f(s.best()));
  return s.best_value();
}

struct goal_of {
  strategy how;
  std::int64_t budget;
  double sphere, rosenbrock, rastrigin, mixed;  // required bound; infinity: not required
};
constexpr double never = std::numeric_limits<double>::infinity();

struct tuning_strategies : ::testing::TestWithParam<goal_of> {};

TEST_P(tuning_strategies, reach_known_optima_with_every_seed) {
  const goal_of g = GetParam();
  if (!available(g.how)) GTEST_SKIP() << "without NLopt";
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(std::string(name_of(g.how)) + ", seed " + std::to_string(seed));
    const tuning_options o{.name = "t", .space = plane(), .how = g.how, .budget = g.budget, .seed = seed, .grid = 21};
    EXPECT_LE(least_found(o, sphere), g.sphere);
    if (g.rosenbrock < never) {
      EXPECT_LE(least_found(o, rosenbrock), g.rosenbrock);
    }
    if (g.rastrigin < never) {
      EXPECT_LE(least_found(o, rastrigin), g.rastrigin);
    }
    if (g.mixed < never) {
      auto m = o;
      m.space = mixture();
      EXPECT_LE(least_found(m, mixed), g.mixed);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(all, tuning_strategies,
                         ::testing::Values(goal_of{strategy::exhaustive, 441, 0.01, 3, 6, 0},
                                           goal_of{strategy::random, 500, 0.05, 3, 6, 1},
                                           goal_of{strategy::nelder_mead, 200, 1e-6, 1e-4, never, never},
                                           goal_of{strategy::subplex, 400, 1e-6, 1e-2, never, never},
                                           goal_of{strategy::bobyqa, 200, 1e-8, 1e-4, never, never},
                                           goal_of{strategy::direct, 400, 1e-3, 0.2, 1.5, never},
                                           goal_of{strategy::evolution, 300, 0.1, 4, 8, 2}),
                         [](const auto& p) {
                           std::string name(name_of(p.param.how));
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(tuning, maximises_too) {
  const tuning_options o{
      .name = "t", .space = plane(), .how = strategy::exhaustive, .aim = goal::maximise, .budget = 441, .grid = 21};
  EXPECT_GE(least_found(o, [](const tuning_point& p) { return 5 - sphere(p); }), 5 - 0.01);
}

TEST(tuning, nlopt_searches_integers) {
  if (!available(strategy::nelder_mead)) GTEST_SKIP() << "without NLopt";
  const tuning_options o{.name = "t",
                         .space = {parameter::integer("a", 1, 100, 90), parameter::integer("b", 1, 100, 5)},
                         .how = strategy::nelder_mead};
  EXPECT_LE(least_found(o,
                        [](const tuning_point& p) {
                          return std::pow(static_cast<double>(p.integer("a")) - 33, 2) +
                                 std::pow(static_cast<double>(p.integer("b")) - 66, 2);
                        }),
            2);
}

TEST(tuning, the_seed_determines_the_points) {
  for (const strategy how : {strategy::random, strategy::noise_aware, strategy::nelder_mead, strategy::evolution}) {
    if (!available(how)) continue;
    const auto path = [how](std::uint64_t seed) {
      auto s = tuning_session::begin({.name = "t", .space = plane(), .how = how, .budget = 60, .seed = seed}).value();
      std::string all;
      while (const auto p = s.next()) {
        all += p->text() + "; ";
        s.report(rastrigin(*p));
      }
      return all;
    };
    EXPECT_EQ(path(7), path(7)) << name_of(how);
    if (how != strategy::nelder_mead) {
      EXPECT_NE(path(7), path(8)) << name_of(how);
    }
  }
}

TEST(tuning, measures_no_point_twice_and_begins_at_the_start) {
  for (const strategy how : {strategy::random, strategy::evolution}) {
    if (!available(how)) continue;
    auto s = tuning_session::begin({.name = "t", .space = mixture(), .how = how, .budget = 500}).value();
    std::set<std::string> seen;
    while (const auto p = s.next()) {
      EXPECT_TRUE(seen.insert(p->text()).second) << name_of(how) << " measures " << p->text() << " again";
      s.report(mixed(*p));
    }
    EXPECT_LE(seen.size(), 16u * 8u * 3u);
    EXPECT_TRUE(seen.contains("edge=8, depth=7, how=small")) << name_of(how);
  }
}

TEST(tuning, next_returns_the_same_point_until_it_is_reported) {
  auto s = tuning_session::begin({.name = "t", .space = plane(), .how = strategy::random}).value();
  EXPECT_TRUE(std::isnan(s.best_value()));
  EXPECT_EQ(s.best().text(), "x=-1.5, y=1.5");
  EXPECT_EQ(s.next()->text(), s.next()->text());
}

TEST(tuning, values_that_are_not_finite_count_as_worst) {
  for (const strategy how : {strategy::nelder_mead, strategy::evolution}) {
    if (!available(how)) continue;
    tuning_options o{.name = "t", .space = plane(), .how = how, .budget = 300};
    auto s = tuning_session::begin(o).value();
    while (const auto p = s.next()) s.report(p->real("x") > 0.5 ? std::nan("") : sphere(*p));
    EXPECT_LT(s.best_value(), 0.1) << name_of(how);
    EXPECT_LE(s.best().real("x"), 0.5);
  }
  auto s = tuning_session::begin({.name = "t", .space = plane(), .how = strategy::random, .budget = 3}).value();
  while (s.next()) s.report(std::nan(""));
  EXPECT_FALSE(std::isfinite(s.best_value()));
  EXPECT_EQ(s.best().text(), "x=-1.5, y=1.5") << "the start";
}

TEST(tuning, invalid_options_are_errors) {
  const auto fault = [](tuning_options o) { return tuning_session::begin(std::move(o)).error().message; };
  EXPECT_EQ(fault({.name = "t"}), "tuning 't': the space has no parameter");
  EXPECT_THAT(fault({.name = "t", .space = {plane()[0], plane()[0]}}), HasSubstr("two parameters are called 'x'"));
  EXPECT_THAT(fault({.name = "t", .space = plane(), .budget = 0}), HasSubstr("budget is 0"));
  EXPECT_THAT(fault({.name = "t", .space = plane(), .doubt = 1}), HasSubstr("doubt = 1"));
  EXPECT_THAT(fault({.name = "t", .space = mixture(), .how = strategy::nelder_mead}), HasSubstr("'how' is a choice"));
  if (available(strategy::direct)) return;
  EXPECT_THAT(fault({.name = "t", .space = plane(), .how = strategy::direct}), HasSubstr("NLopt"));
}

TEST(tuning, parameters_have_steps_and_text_forms) {
  const parameter edge = parameter::integer("edge", 4, 63, 9, 4);
  EXPECT_EQ(edge.definition(), "integer edge 4..60 by 4");
  EXPECT_EQ(edge.levels(), 15u);
  EXPECT_EQ(edge.start, 8);
  EXPECT_EQ(edge.parse("12").value(), 12);
  EXPECT_FALSE(edge.parse("13").has_value());
  EXPECT_FALSE(edge.parse("64").has_value());
  const parameter how = parameter::choice("how", {"small", "fast"});
  EXPECT_EQ(how.parse("fast").value(), 1);
  EXPECT_EQ(how.parse("fats").error().message,
            "how: expected a value of 'choice how small|fast', found 'fats'; did you mean 'fast'?");
  const parameter x = parameter::real("x", 0.1, 0.7, 0.3);
  EXPECT_EQ(x.parse(x.text_of(0.1 + 0.2)).value(), 0.1 + 0.2) << "to the last bit";
}

}  // namespace
}  // namespace plx::probe
