// Small runs on one or several localities of a simulated job, and what their observers have seen.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "net/collectives.hpp"
#include "net/simulation.hpp"
#include "qmc/dca/dca.hpp"
#include "rt/runtime.hpp"

namespace plx::qmc::test {

struct recorder : dca_observer {
  std::vector<dca_iteration> iterations;
  std::vector<dca_temperature> temperatures;
  std::vector<dca_state> states;
  std::unique_ptr<std::atomic<bool>> stop = std::make_unique<std::atomic<bool>>(false);
  std::atomic<bool>* stop_elsewhere = nullptr;
  bool stops_in_the_last = false;   // iteration of a temperature, at its start
  bool stops_in_functions = false;  // at the first state within an iteration that measures them
  bool disk_is_full = false;        // at that state, which it cannot write
  bool failed = false;
  std::shared_ptr<function_store> store;
  std::optional<error> failure;  // of a checkpoint
  void began(const dca_iteration& now, int) override {
    if (stops_in_the_last && now.last) *stop = true;
  }
  void iterated(const dca_iteration& now) override {
    iterations.push_back(now);
    if (stop_elsewhere != nullptr) *stop_elsewhere = true;
  }
  void cooled(const dca_temperature& t) override { temperatures.push_back(t); }
  void reached(const dca_state& s) override {
    states.push_back(s);
    // The first one is that from which it continues.
    const bool in_functions = states.size() > 1 && s.iteration == 1 && !s.walkers.empty();
    if (stops_in_functions && in_functions) *stop = true;
    if (disk_is_full && in_functions) failed = true;
  }
  bool stop_requested() override { return failed; }
  std::shared_ptr<function_store> functions() override { return store; }
  void checkpoint_failed(const error& e) override { failure = e; }
  std::shared_ptr<monte_carlo_progress> walkers = std::make_shared<monte_carlo_progress>();
  std::shared_ptr<monte_carlo_progress> progress() override { return walkers; }
  const std::atomic<bool>* stop_flag() const override { return stop.get(); }
};

inline dca_options small() {
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

inline dca_outcome solve_on(unsigned localities, const dca_options& o, std::vector<recorder>& observers,
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

inline void expect_same_bits(const recorder& a, const recorder& b) {
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

inline recorder solve_alone(const dca_options& o, const dca_state* from = nullptr) {
  recorder observer;
  runtime rt({.workers = 2, .bind = false});
  rt.run([&] { EXPECT_TRUE(run_dca(o, observer, from).has_value()); });
  return observer;
}

inline dca_options with_functions() {
  auto o = small();
  o.walkers = 4;
  o.channels = {"magnetic", "charge", "particle_particle"};
  o.all_transfers = true;
  o.transfer_frequency = 1;
  o.four_point_frequencies = 2;
  return o;
}

inline void expect_same_functions(const recorder& a, const recorder& b) {
  expect_same_bits(a, b);
  for (std::size_t t = 0; t < a.temperatures.size(); ++t) {
    const auto &x = a.temperatures[t].four_points, &y = b.temperatures[t].four_points;
    ASSERT_EQ(x.size(), 24u);
    ASSERT_EQ(y.size(), x.size());
    for (std::size_t f = 0; f < x.size(); ++f) {
      const int size = x[f].mean.rows();
      ASSERT_EQ(size, 16);
      EXPECT_TRUE(std::equal(x[f].mean.data(), x[f].mean.data() + size * size, y[f].mean.data()));
      for (const auto& [p, q] : {std::pair(x[f].cluster, y[f].cluster),
                                 {x[f].lattice, y[f].lattice},
                                 {x[f].bubble, y[f].bubble},
                                 {x[f].leading, y[f].leading}}) {
        EXPECT_EQ(p.value, q.value);
        EXPECT_EQ(p.error, q.error);
        EXPECT_GT(p.error, 0);
      }
    }
  }
}

}  // namespace plx::qmc::test
