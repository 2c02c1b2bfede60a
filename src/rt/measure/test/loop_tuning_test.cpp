// The built-in policies: worker-cap on programs whose throughput is known, loop-grain on real loops.
#include "rt/measure/loop_tuning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <deque>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <thread>

#include "base/file.hpp"
#include "control/policy.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "probe/settings.hpp"
#include "rt/for_loop.hpp"
#include "rt/runtime.hpp"

namespace plx {
namespace {

using detail::loop_tuning;
using ::testing::HasSubstr;

struct tuned_loops : ::testing::Test {
  tuned_loops() { std::filesystem::remove_all(folder); }
  ~tuned_loops() override { std::filesystem::remove_all(folder); }

  std::shared_ptr<probe::decision_log> log = std::make_shared<probe::decision_log>();
  const std::string folder = probe::temporary_path("tuned_loops");

  /// Runs a loop whose time per index depends on the chunk duration until it is tuned. Returns that duration.
  static std::int64_t tune(loop_tuning& t, double (*ns_per_index)(std::int64_t piece_ns), int* measured = nullptr) {
    constexpr std::int64_t n = 10'000;
    for (int i = 0; i < 1000; ++i) {
      const auto b = t.begin(typeid(int), n);
      if (b.place == nullptr) return b.piece_ns;
      if (measured != nullptr) ++*measured;
      const double noise = 1 + 0.01 * (i * 7919 % 11);
      t.end(b.place, n, 1e-9 * static_cast<double>(n) * noise * ns_per_index(b.piece_ns == 0 ? 2000 : b.piece_ns));
    }
    return -1;
  }
  static double best_at_8us(std::int64_t piece_ns) {
    return 50 * (1 + 0.1 * std::abs(std::log2(static_cast<double>(piece_ns) / 8000)));
  }
};

TEST_F(tuned_loops, the_best_length_is_found_and_logged) {
  loop_tuning t(2, {}, log);
  int measured = 0;
  EXPECT_EQ(tune(t, best_at_8us, &measured), 8000);
  EXPECT_LE(measured, 280 + 4);
  ASSERT_EQ(log->count(), 1u);
  EXPECT_EQ(log->all()[0].to, "8000 ns");
  EXPECT_EQ(t.count().done, 1u);
}

TEST_F(tuned_loops, without_a_difference_it_stays_as_it_is) {
  loop_tuning t(2, {}, log);
  EXPECT_EQ(tune(t, [](std::int64_t) { return 50.0; }), 2000);
}

TEST_F(tuned_loops, short_loops_are_left_alone) {
  loop_tuning t(2, {}, log);
  int measured = 0;
  EXPECT_EQ(tune(
                t, [](std::int64_t) { return 1.0; }, &measured),
            0)
      << "10 us";
  EXPECT_EQ(measured, 4);
}

TEST_F(tuned_loops, results_are_found_again_by_the_next_run) {
  {
    loop_tuning t(2, folder, log);
    tune(t, best_at_8us);
    t.store();
  }
  loop_tuning t(2, folder, log);
  int measured = 0;
  EXPECT_EQ(tune(t, best_at_8us, &measured), 8000);
  EXPECT_EQ(measured, 4);
  EXPECT_EQ(log->all().back().why, "known from an earlier run");
  loop_tuning others(3, folder, log);
  measured = 0;
  tune(others, best_at_8us, &measured);
  EXPECT_GT(measured, 4) << "results for three workers are separate";
}

TEST_F(tuned_loops, one_run_at_a_time_is_measured_and_one_that_throws_is_not) {
  loop_tuning t(2, {}, log);
  const auto first = t.begin(typeid(int), 1000);
  EXPECT_NE(first.place, nullptr);
  EXPECT_EQ(t.begin(typeid(int), 1000).place, nullptr);
  EXPECT_NE(t.begin(typeid(int), 9000).place, nullptr) << "another length is a separate place";
  t.end(first.place, 1000, std::nan(""));
  EXPECT_NE(t.begin(typeid(int), 1000).place, nullptr);
}

std::shared_ptr<probe::settings> settings_with(std::string policies, const std::string& folder) {
  auto s = std::make_shared<probe::settings>();
  s->output = folder + "/run";
  s->tuning_cache = folder;
  s->policies = std::move(policies);
  return s;
}

TEST_F(tuned_loops, real_loops_are_tuned_and_compute_what_they_should) {
  {
    runtime rt({.workers = 2, .bind = false, .measure = settings_with("loop-grain", folder)});
    rt.run([] {
      std::vector<double> x(60'000);
      for (int run = 0; run < 400; ++run) {
        for_loop(0, 60'000, [&](int i) { x[static_cast<std::size_t>(i)] += std::sqrt(static_cast<double>(i + run)); });
        if (run % 50 != 7) continue;
        EXPECT_THROW(for_loop(0, 60'000,
                              [&](int i) {
                                if (i == 7777) throw std::runtime_error("x");
                              }),
                     std::runtime_error);
      }
      double expected = 0;
      for (int run = 0; run < 400; ++run) expected += std::sqrt(static_cast<double>(123 + run));
      EXPECT_EQ(x[123], expected);
    });
  }
  EXPECT_THAT(read_file(folder + "/run/decisions.csv").value(), HasSubstr("loop-grain,"));
  bool kept = false;
  for (const auto& f : std::filesystem::directory_iterator(folder)) kept |= f.path().extension() == ".tuned";
  EXPECT_TRUE(kept);
}

TEST_F(tuned_loops, loops_in_loops_and_many_at_once) {
  runtime rt({.workers = 4, .bind = false, .measure = settings_with("loop-grain", folder)});
  std::atomic<std::int64_t> sum{0};
  rt.run([&] {
    for (int run = 0; run < 20; ++run)
      for_loop(0, 16, [&](int) { for_loop(0, 5000, [&](int k) { sum.fetch_add(k, std::memory_order_relaxed); }); });
  });
  EXPECT_EQ(sum, 20LL * 16 * 4999 * 5000 / 2);
}

// Work is credited when the clock is read: as much per second as the model gives for the cap at that moment.
struct modelled_work {
  explicit modelled_work(double (*per_second)(std::int64_t cap)) : model(per_second) {}
  double read(const probe::actuator_of<std::int64_t>& cap) {
    const auto now = std::chrono::steady_clock::now();
    done += std::chrono::duration<double>(now - last).count() * model(cap.get());
    last = now;
    return done;
  }
  double (*model)(std::int64_t);
  double done = 0;
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};

/// The cap that was in effect for most of the last half second: as soon as that is `expected`, or after five minutes.
std::int64_t cap_after(double (*model)(std::int64_t), std::int64_t expected, const std::string& folder) {
  modelled_work work(model);
  auto measure = settings_with("worker-cap", folder);
  measure->throughput = "/test/work";
  runtime rt({.workers = 4, .bind = false, .measure = measure});
  auto cap = rt.actuators().find_as<std::int64_t>("worker-cap").value();
  auto counter = rt.counters().add({"/test/work", "1", "work", true}, [&] { return work.read(*cap); });
  std::deque<std::int64_t> newest;
  std::int64_t most_seen = -1;
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  for (int looks = 0; (looks < 200 || most_seen != expected) && std::chrono::steady_clock::now() < until; ++looks) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    newest.push_back(cap->get());
    if (newest.size() > 100) newest.pop_front();
    std::map<std::int64_t, int> seen;
    for (const std::int64_t c : newest) ++seen[c];
    most_seen = std::max_element(seen.begin(), seen.end(), [](auto& a, auto& b) { return a.second < b.second; })->first;
    EXPECT_EQ(rt.run([] { return 7; }), 7);
  }
  rt.policies().stop();
  EXPECT_EQ(cap->get(), 4) << "all workers are enabled again when the policy is removed";
  return most_seen;
}

TEST_F(tuned_loops, worker_cap_follows_the_throughput) {
  EXPECT_EQ(cap_after([](std::int64_t) { return 1e6; }, 1, folder), 1) << "bound by memory";
  EXPECT_THAT(read_file(folder + "/run/decisions.csv").value(), HasSubstr("worker-cap,worker-cap,4,2,"));
  EXPECT_EQ(cap_after([](std::int64_t n) { return 1e6 * static_cast<double>(n); }, 4, folder), 4) << "computes";
}

TEST_F(tuned_loops, the_deterministic_mode_leaves_policies_out) {
  runtime rt({.workers = 2, .deterministic = true, .measure = settings_with("worker-cap,loop-grain", folder)});
  EXPECT_TRUE(rt.policies().report().empty());
  EXPECT_EQ(rt.run([] {
    std::atomic<int> n{0};
    for_loop(0, 100, [&](int) { ++n; });
    return n.load();
  }),
            100);
}

}  // namespace
}  // namespace plx
