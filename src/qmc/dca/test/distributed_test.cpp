// The loop on several localities of a simulated job beside the loop on one.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "net/collectives.hpp"
#include "net/simulation.hpp"
#include "qmc/dca/dca.hpp"
#include "rt/runtime.hpp"

namespace plx::qmc {
namespace {

struct recorder : dca_observer {
  std::vector<dca_iteration> iterations;
  std::vector<dca_temperature> temperatures;
  std::vector<dca_state> states;
  std::unique_ptr<std::atomic<bool>> stop = std::make_unique<std::atomic<bool>>(false);
  std::atomic<bool>* stop_elsewhere = nullptr;
  void iterated(const dca_iteration& now) override {
    iterations.push_back(now);
    if (stop_elsewhere != nullptr) *stop_elsewhere = true;
  }
  void cooled(const dca_temperature& t) override { temperatures.push_back(t); }
  void reached(const dca_state& s) override { states.push_back(s); }
  const std::atomic<bool>* stop_flag() const override { return stop.get(); }
};

dca_options small() {
  dca_options o;
  o.u = 4;
  o.temperatures = {1, 0.5};
  o.first_iterations = 2;
  o.iterations = 1;
  o.measurements = 60;
  o.walkers = 3;
  o.bins = 2;
  o.warm_up = 500;
  o.frequencies = 32;
  o.pair_frequencies = 2;
  o.checkpoint_interval_s = 0;
  return o;
}

dca_outcome solve_on(unsigned localities, const dca_options& o, std::vector<recorder>& observers,
                     const dca_state* from = nullptr) {
  dca_outcome outcome;
  net::simulation job({.localities = localities, .seed = 5});
  job.run([&] {
    const team members{communicator("dca")};
    auto done = run_dca(o, observers[members.rank()], from, members).value();
    if (members.rank() == 0) outcome = std::move(done);
  });
  return outcome;
}

void expect_same_bits(const recorder& a, const recorder& b) {
  ASSERT_EQ(a.iterations.size(), b.iterations.size());
  for (std::size_t i = 0; i < a.iterations.size(); ++i) {
    EXPECT_EQ(a.iterations[i].density.error, b.iterations[i].density.error);
    EXPECT_EQ(a.iterations[i].autocorrelation_time, b.iterations[i].autocorrelation_time);
  }
  ASSERT_EQ(a.temperatures.size(), b.temperatures.size());
  for (std::size_t i = 0; i < a.temperatures.size(); ++i) {
    EXPECT_EQ(a.temperatures[i].green, b.temperatures[i].green);
    EXPECT_EQ(a.temperatures[i].self_energy, b.temperatures[i].self_energy);
    EXPECT_EQ(a.temperatures[i].d_wave->value, b.temperatures[i].d_wave->value);
    EXPECT_EQ(a.temperatures[i].d_wave->error, b.temperatures[i].d_wave->error);
    EXPECT_EQ(a.temperatures[i].correlations->double_occupancy.value,
              b.temperatures[i].correlations->double_occupancy.value);
  }
}

recorder solve_alone(const dca_options& o, const dca_state* from = nullptr) {
  recorder observer;
  runtime rt({.workers = 2, .bind = false});
  rt.run([&] { EXPECT_TRUE(run_dca(o, observer, from).has_value()); });
  return observer;
}

TEST(DcaDistributed, BitsDoNotDependOnLocalities) {
  const auto o = small();
  const auto alone = solve_alone(o);
  EXPECT_EQ(alone.iterations[0].exchanged_mb, 0);
  for (const unsigned localities : {2u, 4u}) {  // one has no walker
    std::vector<recorder> all(localities);
    EXPECT_FALSE(solve_on(localities, o, all).stopped);
    expect_same_bits(all[0], alone);
    EXPECT_TRUE(all[1].iterations.empty() && all[1].states.empty());
    EXPECT_GT(all[0].iterations[0].exchanged_mb, 0);
  }
}

// Paused after each measurement, and continued from a state within an iteration on other numbers of localities.
TEST(DcaDistributed, StatesContinueOnAnotherNumber) {
  auto o = small();
  const auto alone = solve_alone(o);
  o.checkpoint_interval_s = 1e-6;
  std::vector<recorder> paused(2);
  EXPECT_FALSE(solve_on(2, o, paused).stopped);
  expect_same_bits(paused[0], alone);
  const auto& states = paused[0].states;
  const auto within = std::find_if(states.begin(), states.end(), [](const dca_state& s) {
    return s.temperature == 0 && s.iteration == 1 && !s.walkers.empty() && s.walkers[0].size() > 1;
  });
  ASSERT_NE(within, states.end());
  o.checkpoint_interval_s = 0;
  const auto one = solve_alone(o, &*within);
  ASSERT_EQ(one.temperatures.size(), 2u);
  EXPECT_EQ(one.temperatures[1].self_energy, alone.temperatures[1].self_energy);
  std::vector<recorder> three(3);
  solve_on(3, o, three, &*within);
  expect_same_bits(three[0], one);
}

TEST(DcaDistributed, AStopOnOneLocalityReachesAll) {
  auto o = small();
  o.measurements = 3000;
  std::vector<recorder> all(3);
  all[0].stop_elsewhere = all[2].stop.get();
  EXPECT_TRUE(solve_on(3, o, all).stopped);
  EXPECT_EQ(all[0].iterations.size(), 1u);
  const dca_state last = all[0].states.back();
  EXPECT_EQ(last.iteration, 1);
  std::vector<recorder> again(2);
  EXPECT_FALSE(solve_on(2, o, again, &last).stopped);
  const auto alone = solve_alone(o);
  ASSERT_EQ(again[0].temperatures.size(), 2u);
  EXPECT_EQ(again[0].temperatures[1].self_energy, alone.temperatures[1].self_energy);
}

}  // namespace
}  // namespace plx::qmc
