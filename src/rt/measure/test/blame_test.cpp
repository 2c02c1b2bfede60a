// Blame for idle time and for waits on locks, in runs whose answer follows from their structure.
//
// Tasks hold their worker in a sleep of the operating system, so that other programs on the cores change little; the
// expected values are made of times that the same run measured.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>

#include "base/test/timeout_test.hpp"
#include "control/actuator.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"
#include "rt/event.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/runtime.hpp"
#include "rt/shared_mutex.hpp"
#include "rt/task_group.hpp"
#include "rt/thread.hpp"

namespace blame_test {
namespace {

using plx::probe::task_statistics;
using namespace std::chrono_literals;

plx::task_info named(std::string_view name) { return {plx::probe::register_name(name)}; }

/// Occupies the worker.
void hold(std::chrono::milliseconds t) { std::this_thread::sleep_for(t); }

/// A runtime of four workers, all of which have begun and sleep.
struct sleeping_workers {
  sleeping_workers() { EXPECT_TRUE(all_sleep()); }

  /// The workers that are idle throughout 2 ms.
  unsigned asleep() {
    const auto before = times();
    std::this_thread::sleep_for(2ms);
    const auto after = times();
    unsigned n = 0;
    for (unsigned i = 0; i < 4; ++i) n += after[i].idle_s > before[i].idle_s ? 1 : 0;
    return n;
  }
  bool all_sleep() {
    return plx::comes_true([&] { return asleep() == 4; });
  }
  std::array<plx::probe::worker_times, 4> times() {
    std::array<plx::probe::worker_times, 4> all;
    for (unsigned i = 0; i < 4; ++i) all[i] = rt.recorder().times(i);
    return all;
  }
  double idle_s() {
    double sum = 0;
    for (const auto& t : times()) sum += t.idle_s;
    return sum;
  }
  task_statistics of(std::string_view name) {
    for (const task_statistics& t : rt.recorder().tasks())
      if (t.name == name) return t;
    return {};
  }
  /// Charges, and what is charged to none, sum to the idle time, except for 1 % of the present idle time. A worker that
  /// has lost its core before it sleeps may still have idle time that is not charged.
  void expect_identity() {
    ASSERT_TRUE(all_sleep());
    const double allowed_s = 0.01 * idle_s();
    EXPECT_TRUE(plx::comes_true([&] {
      const double before = idle_s();
      const plx::probe::idle_blame b = rt.recorder().blame();
      const double after = idle_s(), sum = b.blamed_s + b.unattributed_s;
      return sum >= before - allowed_s && sum <= after + allowed_s;
    }));
  }

  plx::runtime rt{{.workers = 4}};
};

std::atomic<int> polls{0};

TEST(blame, a_serial_part_is_blamed_for_three_idle_workers) {
  sleeping_workers r;
  r.rt.run(named("blame/setup"), [] { hold(60ms); });
  r.expect_identity();
  const task_statistics t = r.of("blame/setup");
  EXPECT_GE(t.blamed_s, 2.7 * t.total_s);
  EXPECT_LE(t.blamed_s, 3.01 * t.total_s);
}

TEST(blame, the_longest_of_four_tasks_is_blamed_for_the_end) {
  sleeping_workers r;
  r.rt.run(named("blame/main"), [] {
    plx::latch all(4);
    plx::task_group g;
    for (int i = 0; i < 4; ++i)
      g.run(named(i == 0 ? "blame/long" : "blame/short"), [&all, i] {
        all.count_down();
        while (!all.try_wait()) hold(1ms);  // so that each has a worker of its own
        hold(i == 0 ? 200ms : 20ms);
      });
    g.wait();
  });
  r.expect_identity();
  const task_statistics longest = r.of("blame/long"), other = r.of("blame/short");
  EXPECT_GE(longest.blamed_s, 3 * 0.7 * (longest.total_s - other.max_s));
  // More only while they gather, or lose their cores: at most three idle workers then.
  EXPECT_LE(other.blamed_s, 0.3 * longest.blamed_s + 3 * (other.total_s - 3 * 20e-3));
}

TEST(blame, two_tasks_share_the_idle_time_of_two_workers) {
  sleeping_workers r;
  r.rt.run(named("blame/main"), [] {
    plx::task_group g;
    for (int i = 0; i < 2; ++i) g.run(named("blame/one of two"), [] { hold(100ms); });
    g.wait();
  });
  r.expect_identity();
  const task_statistics t = r.of("blame/one of two");
  EXPECT_EQ(t.calls, 2u);
  // 1 s per second of each if they ran at the same time, 3 if one after the other.
  EXPECT_GE(t.blamed_s, 0.9 * t.total_s);
  EXPECT_LE(t.blamed_s, 3.01 * t.total_s);
}

TEST(blame, idle_time_without_a_task_is_unattributed) {
  sleeping_workers r;
  const double before_s = r.rt.recorder().blame().unattributed_s;
  r.rt.run(named("blame/sleeps"), [] { plx::this_thread::sleep_for(50ms); });
  hold(50ms);  // the program does something else than tasks
  r.expect_identity();
  EXPECT_LE(r.of("blame/sleeps").blamed_s, 0.1 * r.rt.recorder().blame().unattributed_s);
  EXPECT_GT(r.rt.recorder().blame().unattributed_s, before_s + 4 * 0.1);
}

TEST(blame, parked_workers_are_charged_to_none) {
  sleeping_workers r;
  auto cap = r.rt.actuators().find_as<std::int64_t>("worker-cap").value();
  ASSERT_TRUE(cap->set(1, "test", "").has_value());
  const auto parked = [&r] { return r.rt.counters().query("/scheduler/workers/parked").value().at(0).value; };
  ASSERT_TRUE(plx::comes_true([&] { return parked() == 3; }));
  r.rt.run(named("blame/alone"), [] { hold(100ms); });
  r.expect_identity();
  EXPECT_LE(r.of("blame/alone").blamed_s, 0.1 * r.of("blame/alone").total_s) << "3 times the total if they were idle";
}

/// Polling is background work, also within a search, and no idle time.
TEST(blame, pollers_do_not_change_the_sum) {
  sleeping_workers r;
  const auto id = r.rt.add_poller(
      [](void* n) {
        return ++*static_cast<std::atomic<int>*>(n) % 50 == 0 ? plx::poll_result::progressed
                                                              : plx::poll_result::pending;
      },
      &polls);
  for (int step = 0; step < 3; ++step) {
    r.rt.run(named("blame/main"), [] {
      plx::task_group g;
      for (int i = 0; i < 3; ++i) g.run(named("blame/part"), [i] { hold(5ms * i); });
      g.wait();
      plx::this_thread::sleep_for(5ms);
    });
    hold(5ms);
  }
  r.rt.remove_poller(id);
  r.expect_identity();
  EXPECT_GT(polls, 0);
}

/// Three tasks wait for a lock while its holder runs; then each of them has it for a moment.
struct convoy {
  explicit convoy(sleeping_workers& workers) : r(workers) {}

  template <class Lock, class Wait>
  void run(Lock lock, Wait wait) {
    r.rt.run(named("blame/main"), [&] {
      plx::event held;
      plx::task_group g;
      g.run(named("blame/holder"), [&] {
        const auto guard = lock();
        held.set();
        // All guests wait when the other workers are idle, and do so until the lock is released.
        ASSERT_TRUE(plx::comes_true([&] { return about_to_wait == 3 && r.asleep() == 3; }));
        const double idle_before_s = r.idle_s();
        const plx::ticks begin = plx::now_ticks();
        hold(100ms);
        held_s = plx::seconds(plx::now_ticks() - begin);
        idle_s = r.idle_s() - idle_before_s;
      });
      held.wait();
      for (int i = 0; i < 3; ++i) g.run(named("blame/guest"), [&] { wait(); });
      g.wait();
    });
  }

  template <class Guard, class Mutex>
  void wait_for(Mutex& m) {
    const plx::ticks begin = plx::now_ticks();
    ++about_to_wait;
    Guard guard(m);
    waited += plx::now_ticks() - begin;
  }

  /// A wait that gives up, then one that does not. In between none waits: a lock counts one that gives up as a mean
  /// one.
  template <class Mutex>
  void lock_at_the_second_try(Mutex& m) {
    EXPECT_FALSE(m.try_lock_for(1ms)) << "the holder waits for the second try";
    all_gave_up.arrive_and_wait();
    wait_for<std::lock_guard<Mutex>>(m);
  }

  void expect_the_holder_blamed() {
    r.expect_identity();
    const task_statistics holder = r.of("blame/holder"), guest = r.of("blame/guest");
    EXPECT_LE(holder.lock_waits_s + guest.lock_waits_s, plx::seconds(waited));
    EXPECT_GE(holder.lock_waits_s, 3 * held_s);
    EXPECT_GT(idle_s, 0);
    EXPECT_GE(holder.blamed_s, 0.95 * idle_s) << "the others had nothing else to do";
  }

  sleeping_workers& r;
  std::atomic<int> about_to_wait{0};
  std::atomic<plx::ticks> waited{0};  // by all guests, until they have the lock
  plx::latch all_gave_up{3};
  double held_s = 0;  // while all guests waited
  double idle_s = 0;  // of the other workers, meanwhile
};

TEST(blame, waits_for_a_mutex_go_to_its_holder) {
  sleeping_workers r;
  convoy c(r);
  plx::mutex m;
  c.run([&] { return std::unique_lock(m); }, [&] { c.wait_for<std::lock_guard<plx::mutex>>(m); });
  c.expect_the_holder_blamed();
}

TEST(blame, waits_for_a_recursive_mutex_go_to_its_holder) {
  sleeping_workers r;
  convoy c(r);
  plx::recursive_timed_mutex m;
  c.run([&] { return std::unique_lock(m); }, [&] { c.lock_at_the_second_try(m); });
  c.expect_the_holder_blamed();
}

TEST(blame, waits_for_a_shared_mutex_go_to_its_writer) {
  sleeping_workers r;
  convoy c(r);
  plx::shared_mutex m;
  c.run([&] { return std::unique_lock(m); }, [&] { c.wait_for<plx::shared_lock<plx::shared_mutex>>(m); });
  c.expect_the_holder_blamed();
}

TEST(blame, waits_for_readers_go_to_the_last_of_them) {
  sleeping_workers r;
  convoy c(r);
  plx::shared_timed_mutex m;
  c.run([&] { return plx::shared_lock(m); }, [&] { c.lock_at_the_second_try(m); });
  c.expect_the_holder_blamed();
}

/// The last of 20 waiters waits for 19 holders: each is blamed for its own part.
TEST(blame, a_queue_of_equal_tasks_is_blamed_for_what_they_wait) {
  sleeping_workers r;
  plx::mutex m;
  std::atomic<int> about_to_wait{0};
  plx::ticks waited = 0;  // until they have the lock; guarded by m
  double expected_s = 0;  // of the waits while one holds the lock; guarded by m
  int holders = 0;        // so far; guarded by m
  r.rt.run(named("blame/main"), [&] {
    plx::task_group g;
    for (int i = 0; i < 20; ++i)
      g.run(named("blame/deposit"), [&] {
        const plx::ticks asked = plx::now_ticks();
        ++about_to_wait;
        std::lock_guard guard(m);
        waited += plx::now_ticks() - asked;
        if (holders == 0) {
          ASSERT_TRUE(plx::comes_true([&] { return about_to_wait == 20 && r.asleep() == 3; }));
        }
        const plx::ticks begin = plx::now_ticks();
        plx::this_thread::sleep_for(2ms);  // suspended: no task runs
        expected_s += (19 - holders++) * plx::seconds(plx::now_ticks() - begin);
      });
    g.wait();
  });
  r.expect_identity();
  EXPECT_LE(r.of("blame/deposit").lock_waits_s, plx::seconds(waited));
  EXPECT_GE(r.of("blame/deposit").lock_waits_s, expected_s);
}

}  // namespace
}  // namespace blame_test
