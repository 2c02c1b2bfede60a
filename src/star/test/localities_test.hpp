// Test fixtures: one run on several localities, which are runtimes of this process connected by queues.
//
// Thread safety: none. Cost: that of small runs. Example: star/test/localities_test.cpp
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "net/error.hpp"
#include "net/test/threads_test.hpp"
#include "rt/runtime.hpp"
#include "star/driver/simulation.hpp"

namespace plx::star::test {

/// Options of a blast off the centre, or of the problem that `more` names.
inline std::vector<std::string> blast_sets(const std::vector<std::string>& more) {
  std::vector<std::string> sets{
      "mesh.root_blocks=[2,2,2]", "mesh.lower=[-0.5,-0.5,-0.5]", "mesh.upper=[0.5,0.5,0.5]",
      "mesh.max_level=2",         "refinement.interval=2",       "run.max_steps=12",
      "run.t_end=0.08",           "refinement.coarsen_after=1",  "refinement.gradient_of=[\"press\"]",
      "hydro.pressure_floor=1e-6"};
  const auto names_problem = [](const std::string& s) { return s.starts_with("problem.name="); };
  if (std::none_of(more.begin(), more.end(), names_problem)) sets.emplace_back("sedov.centre=[0.11,-0.07,0.2]");
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}
inline std::unique_ptr<input> blast(const std::vector<std::string>& more) {
  auto in = input::from_text("[problem]\nname = \"sedov\"\n", "t", blast_sets(more));
  if (!in) ADD_FAILURE() << in.error().message;
  return *std::move(in);
}

/// The results of a run, from all localities.
struct outcome {
  std::vector<mesh::location> blocks;       // along the curve
  std::vector<std::vector<double>> values;  // in the same order
  std::vector<double> totals, numbers;
  std::string error;

  void take(simulation& sim) {
    const gas& g = sim.state();
    blocks.resize(g.mesh.block_count());
    values.resize(g.mesh.block_count());
    for (const mesh::slot_id slot : g.own()) {
      const int at = g.mesh.position(slot);
      blocks[at] = g.mesh.where(slot);
      const double* u = g.now.block(slot);
      values[at].assign(u, u + g.now.variable_count() * g.now.cells());
    }
  }
};

inline void expect_same(const outcome& a, const outcome& b) {
  EXPECT_EQ(a.blocks, b.blocks);
  ASSERT_EQ(a.values.size(), b.values.size());
  for (std::size_t p = 0; p < a.values.size(); ++p) {
    ASSERT_EQ(a.values[p].size(), b.values[p].size()) << p;
    ASSERT_EQ(std::memcmp(a.values[p].data(), b.values[p].data(), a.values[p].size() * sizeof(double)), 0) << p;
  }
  EXPECT_EQ(a.totals, b.totals);
  EXPECT_EQ(a.numbers, b.numbers);
  EXPECT_EQ(a.error, b.error);
}

/// Runs the simulation to its end on one locality, on the device that its options name, and records its results.
inline void run_here(simulation& sim, outcome& out, const std::function<void(simulation&)>& prepare,
                     const gpu::backend* on = nullptr) {
  if (auto r = sim.take_device(on); !r) {
    out.error = r.error().message;
    return;
  }
  sim.start();
  prepare(sim);
  while (!sim.finished())
    if (auto r = sim.step(); !r) {
      out.error = r.error().message;
      sim.fetch();
      return;
    }
  sim.fetch();
  out.totals = sim.totals();
  for (const auto& [name, list] : sim.numbers()) out.numbers.insert(out.numbers.end(), list.begin(), list.end());
  out.numbers.push_back(sim.dt());
}

/// Calls f(locality, its exchange, its runtime) as a task on each of n localities, concurrently.
inline void on_each(unsigned n, unsigned workers, const std::function<void(int, step::exchange&, runtime&)>& f) {
  net::test::localities job(n, workers);
  job.run_all([&] {
    net::node& here = net::node_here();
    step::exchange net(here);
    f(static_cast<int>(here.here()), net, here.home());
  });
}

/// The same run on `n` localities; each has its own input, as separate processes would. `modules`: in place of those of
/// the input, if there are any.
inline outcome run_on(
    unsigned n, unsigned workers, const std::vector<std::string>& sets,
    const std::function<void(simulation&)>& prepare = [](simulation&) {}, const gpu::backend* on = nullptr,
    const std::vector<const step_module*>& modules = {}) {
  outcome all;
  std::vector<outcome> each(n);
  std::mutex lock;
  on_each(n, workers, [&](int i, step::exchange& net, runtime& rt) {
    const auto in = blast(sets);
    setup s = in->prepare().value();
    if (!modules.empty()) s.modules = modules;
    simulation sim(*in, s, rt, n == 1 ? step::exchange::alone() : net);
    run_here(sim, each[i], prepare, on);
    const std::lock_guard guard(lock);
    all.take(sim);
  });
  for (const outcome& o : each) {
    EXPECT_EQ(o.totals, each[0].totals);
    EXPECT_EQ(o.numbers, each[0].numbers);
    EXPECT_EQ(o.error, each[0].error);
  }
  all.totals = each[0].totals;
  all.numbers = each[0].numbers;
  all.error = each[0].error;
  return all;
}

/// Runs three localities on a long problem and ends number 1 after `steps` steps of all together; the others must
/// report the loss and end.
inline void expect_notified_of_a_loss(std::vector<std::string> sets, int steps) {
  sets.insert(sets.end(), {"run.max_steps=100000", "run.t_end=100"});
  net::test::localities job(3, 2);
  std::vector<std::string> errors(3);
  std::atomic<int> made{0};
  job.run_all([&] {
    net::node& here = net::node_here();
    step::exchange net(here);
    const auto in = blast(sets);
    const setup s = in->prepare().value();
    simulation sim(*in, s, here.home(), net);
    try {
      ASSERT_TRUE(sim.take_device());
      sim.start();
      while (sim.step())
        if (++made == steps) job.lose(1);
    } catch (const locality_lost& e) {
      errors[here.here()] = e.what();
    }
  });
  for (const int i : {0, 2}) EXPECT_NE(errors[i].find("locality 1 is lost"), std::string::npos) << errors[i];
  EXPECT_NE(errors[1].find("is lost"), std::string::npos) << errors[1];
}

/// A run of `others` on 1, 2 and 3 localities gives the bits of one of `sets` on one locality.
inline void expect_same_on_localities(const std::vector<std::string>& sets, const std::vector<std::string>& others) {
  const outcome one = run_on(1, 2, sets);
  ASSERT_EQ(one.error, "");
  ASSERT_GT(one.blocks.size(), 20u);
  for (const unsigned n : {1u, 2u, 3u}) {
    SCOPED_TRACE(n);
    expect_same(run_on(n, 1, others), one);
  }
}

}  // namespace plx::star::test
