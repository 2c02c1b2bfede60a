#include "control/policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "base/file.hpp"
#include "base/log.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/counters/periodic_thread.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/test/temporary_test.hpp"

namespace plx::probe {
namespace {

using ::testing::HasSubstr;

struct policies : ::testing::Test {
  periodic_thread periodic;
  actuator_registry actuators;
  policy_registry all{periodic, actuators};

  void report(task_event_kind k, name_id name = unnamed) { all.on_event({.kind = k, .name = name}); }
  static void wait_for(const std::atomic<int>& n, int least) {
    while (n.load() < least) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

TEST_F(policies, receive_the_events_that_pass_their_filter) {
  const name_id hydro = register_name("policy_test hydro");
  int any = 0, stops = 0, hydro_starts = 0;
  auto a = all.on_event({.name = "any"}, {}, [&](policy_context& c) {
    ++any;
    EXPECT_NE(c.event(), nullptr);
  });
  auto b =
      all.on_event({.name = "stops"}, event_filter::of({task_event_kind::stop}), [&](policy_context&) { ++stops; });
  auto c = all.on_event({.name = "hydro"}, event_filter::of({task_event_kind::start}, {hydro}),
                        [&](policy_context&) { ++hydro_starts; });
  report(task_event_kind::start);
  report(task_event_kind::start, hydro);
  report(task_event_kind::stop, hydro);
  EXPECT_EQ(any, 3);
  EXPECT_EQ(stops, 1);
  EXPECT_EQ(hydro_starts, 1);
  b.remove();
  report(task_event_kind::stop);
  EXPECT_EQ(any, 4);
  EXPECT_EQ(stops, 1);
}

TEST_F(policies, watch_only_while_event_policies_exist) {
  std::vector<bool> watched;
  policy_registry mine(
      periodic, actuators,
      [](void* arg, task_observer* who) { static_cast<std::vector<bool>*>(arg)->push_back(who != nullptr); }, &watched);
  auto a = mine.on_event({.name = "a"}, {}, [](policy_context&) {});
  auto b = mine.on_event({.name = "b"}, {}, [](policy_context&) {});
  auto c = mine.every({.name = "c"}, 100, [](policy_context&) {});
  a.remove();
  b.remove();
  EXPECT_EQ(watched, (std::vector<bool>{true, false}));
}

TEST_F(policies, periodic_ones_are_called_and_measured) {
  std::atomic<int> calls{0};
  double elapsed = -1;
  auto p = all.every({.name = "clock"}, 0.001, [&](policy_context& c) {
    EXPECT_EQ(c.event(), nullptr);
    elapsed = c.elapsed_s();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    ++calls;
  });
  wait_for(calls, 5);
  p.remove();
  const int then = calls;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(calls, then) << "it ran after remove()";
  EXPECT_GT(elapsed, 0);
  const policy_report r = all.report().at(0);
  EXPECT_EQ(r.calls, static_cast<std::uint64_t>(then));
  EXPECT_GE(r.total_s, 0.0002 * then);
  EXPECT_GE(r.longest_s, 0.0002);
}

TEST_F(policies, a_policy_that_throws_is_disabled_and_reported) {
  std::string logged;
  log_to_function([](void* to, log_level, std::string_view text) { *static_cast<std::string*>(to) += text; }, &logged,
                  log_level::error);
  int calls = 0, others = 0;
  auto n = actuators.add<std::int64_t>({"n"}, 1, {1, 9}, [](std::int64_t) {});
  auto bad = all.on_event({.name = "bad", .resets = true}, {}, [&](policy_context& c) {
    ++calls;
    EXPECT_TRUE(c.set(*n, 4, "a try").has_value());
    throw std::runtime_error("out of ideas");
  });
  auto good = all.on_event({.name = "good"}, {}, [&](policy_context&) { ++others; });
  report(task_event_kind::stop);
  report(task_event_kind::stop);
  log_to_function(nullptr, nullptr, log_level::none);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(others, 2);
  EXPECT_EQ(logged, "policy 'bad' failed and was disabled: out of ideas");
  EXPECT_EQ(n->get(), 1) << "its change is reset";
  EXPECT_TRUE(all.report().at(0).off);
  EXPECT_EQ(all.report().at(0).failure, "out of ideas");

  counter_registry counters;
  const auto keep = add_policy_counters(counters, all, *actuators.log());
  EXPECT_EQ(counters.query("/policies/count/failed").value().at(0).value, 1);
  EXPECT_EQ(counters.query("/policies/count/calls").value().at(0).value, 3);
  EXPECT_EQ(counters.query("/policies/count/decisions").value().at(0).value, 2);
  const std::string path = temporary_path("policies.csv");
  ASSERT_TRUE(all.write_csv(path).has_value());
  EXPECT_THAT(read_file(path).value(), HasSubstr("failed: out of ideas\n"));
}

TEST_F(policies, are_the_authors_of_their_changes_and_reset_them_when_removed) {
  auto mine = actuators.add<std::int64_t>({"mine"}, 1, {1, 9}, [](std::int64_t) {});
  auto shared = actuators.add<std::int64_t>({"shared"}, 1, {1, 9}, [](std::int64_t) {});
  auto p = all.on_event({.name = "p", .resets = true}, {}, [&](policy_context& c) {
    EXPECT_TRUE(c.set(*mine, 5, "why").has_value());
    EXPECT_TRUE(c.set(*shared, 5, "why").has_value());
    EXPECT_FALSE(c.set(*mine, 50, "too much").has_value());
  });
  report(task_event_kind::start);
  EXPECT_TRUE(shared->set(7, "another author", "").has_value());
  EXPECT_EQ(all.report().at(0).decisions, 2u);
  p.remove();
  EXPECT_EQ(mine->get(), 1);
  EXPECT_EQ(shared->get(), 7) << "last changed by another author";
  EXPECT_EQ(actuators.log()->all().back().why, "the policy was removed");
}

TEST_F(policies, may_remove_themselves_and_each_other) {
  policy_handle a, b;
  int a_calls = 0, b_calls = 0;
  a = all.on_event({.name = "a"}, {}, [&](policy_context&) {
    ++a_calls;
    b.remove();
    a.remove();
  });
  b = all.on_event({.name = "b"}, {}, [&](policy_context&) { ++b_calls; });
  report(task_event_kind::start);
  report(task_event_kind::start);
  EXPECT_EQ(a_calls, 1);
  EXPECT_EQ(b_calls, 0);
  std::atomic<int> ticked{0};
  auto n = actuators.add<std::int64_t>({"n"}, 1, {1, 9}, [](std::int64_t) {});
  const auto c = all.every({.name = "c", .resets = true}, 0.001, [&](policy_context& me) {
    EXPECT_TRUE(me.set(*n, 5, "").has_value());
    me.stop();
    EXPECT_FALSE(me.set(*n, 6, "").has_value());
    ++ticked;
  });
  wait_for(ticked, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(ticked, 1);
  EXPECT_EQ(n->get(), 1);
}

TEST_F(policies, events_caused_by_a_policy_are_not_delivered) {
  int calls = 0;
  auto p = all.on_event({.name = "p"}, {}, [&](policy_context&) {
    ++calls;
    report(task_event_kind::create);
  });
  report(task_event_kind::start);
  EXPECT_EQ(calls, 1);
}

TEST_F(policies, remove_destroys_the_closure) {
  auto token = std::make_shared<int>(1);
  auto p = all.on_event({.name = "p"}, {}, [token](policy_context&) {});
  auto q = all.every({.name = "q"}, 100, [token](policy_context&) {});
  EXPECT_EQ(token.use_count(), 3);
  p.remove();
  q.remove();
  EXPECT_EQ(token.use_count(), 1);
}

// Without waiting for readers, remove() fails here: the policy is marked as removed but still runs.
TEST_F(policies, can_be_added_and_removed_during_events) {
  std::atomic<bool> end{false};
  std::atomic<int> after_removal{0}, reported{0};
  std::vector<std::thread> reporters;
  for (int i = 0; i < 3; ++i)
    reporters.emplace_back([&] {
      while (!end.load(std::memory_order_relaxed)) report(task_event_kind::stop), ++reported;
    });
  for (int i = 0; i < 200; ++i) {
    std::atomic<bool> removed{false};
    const int then = reported;
    auto p = all.on_event({.name = "p", .busy = static_cast<when_busy>(i % 3)}, {}, [&](policy_context&) {
      for (int k = 0; k < 50; ++k)
        if (removed.load(std::memory_order_relaxed)) ++after_removal;
    });
    wait_for(reported, then + 3);
    p.remove();
    removed.store(true, std::memory_order_relaxed);
  }
  end = true;
  for (auto& t : reporters) t.join();
  EXPECT_EQ(after_removal, 0);
}

TEST_F(policies, a_busy_policy_waits_skips_or_joins) {
  for (const when_busy busy : {when_busy::wait, when_busy::skip, when_busy::join}) {
    std::atomic<int> inside{0}, calls{0};
    std::atomic<bool> two{false}, reported{false};
    auto p = all.on_event({.name = "p", .busy = busy}, {}, [&](policy_context&) {
      if (++inside == 2) two = true;
      // Until the second event has progressed as far as it can: not at all, to its end, or into this closure.
      if (busy == when_busy::wait) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      while (busy == when_busy::skip && !reported) std::this_thread::yield();
      while (busy == when_busy::join && !two) std::this_thread::yield();
      --inside;
      ++calls;
    });
    std::thread other([&] { report(task_event_kind::stop); });
    while (inside == 0 && calls == 0) std::this_thread::yield();
    report(task_event_kind::stop);
    reported = true;
    other.join();
    EXPECT_EQ(calls, busy == when_busy::skip ? 1 : 2);
    EXPECT_EQ(two, busy == when_busy::join);
    EXPECT_EQ(all.report().at(0).skipped, busy == when_busy::skip ? 1u : 0u);
  }
}

TEST_F(policies, handles_may_outlive_the_registry_and_stop_removes_all) {
  policy_handle left;
  std::atomic<int> calls{0};
  {
    policy_registry mine(periodic, actuators);
    left = mine.every({.name = "p"}, 0.001, [&](policy_context&) { ++calls; });
    wait_for(calls, 1);
    mine.stop();
    const int then = calls;
    auto none = mine.on_event({.name = "late"}, {}, [&](policy_context&) { ++calls; });
    mine.on_event({.kind = task_event_kind::stop});
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    EXPECT_EQ(calls, then);
  }
  left.remove();
}

}  // namespace
}  // namespace plx::probe
