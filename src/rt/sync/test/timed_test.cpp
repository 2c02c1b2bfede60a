// Timed waits on clocks other than the scheduler's, and at the ends of the clocks' ranges.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <ratio>

#include "rt/coroutine.hpp"
#include "rt/event.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/patterns/sliding_semaphore.hpp"
#include "rt/runtime.hpp"
#include "rt/shared_mutex.hpp"
#include "rt/thread.hpp"

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

/// Runs at a quarter of the rate of steady_clock.
struct slow_clock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<slow_clock>;
  static constexpr bool is_steady = true;
  static time_point now() {
    return time_point(std::chrono::duration_cast<duration>(steady::now().time_since_epoch()) / 4);
  }
};

/// Set back by 3 ms at its first reading after arm(). That reading is the time of arm(), however late it happens, so
/// that a time point after arm() has not been reached.
struct reset_clock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<reset_clock>;
  static constexpr bool is_steady = false;
  static inline std::atomic<std::int64_t> armed_ns{0};
  static inline std::atomic<std::int64_t> offset_ns{0};
  static void arm() { armed_ns = now().time_since_epoch().count(); }
  static time_point now() {
    const std::int64_t offset = offset_ns.load();
    if (const std::int64_t armed = armed_ns.exchange(0)) {
      offset_ns.fetch_add(std::chrono::nanoseconds(3ms).count());
      return time_point(duration(armed));
    }
    return time_point(steady::now().time_since_epoch() - std::chrono::nanoseconds(offset));
  }
};

/// Calls `wait(type name, time point)` with each type that has timed waits; `wait` returns whether it succeeded.
/// Each object is in a state in which the wait does not succeed.
template <class Check>
void each_timed_wait(Check check) {
  plx::promise<int> promise;
  plx::future<int> future = promise.get_future();
  check("future", [&](const auto& t) { return future.wait_until(t) == plx::future_status::ready; });
  plx::counting_semaphore<> semaphore(0);
  check("semaphore", [&](const auto& t) { return semaphore.try_acquire_until(t); });
  plx::event event;
  check("event", [&](const auto& t) { return event.wait_until(t); });
  plx::sliding_semaphore window(1);
  check("sliding_semaphore", [&](const auto& t) { return window.wait_until(5, t); });
  plx::mutex mutex;
  plx::condition_variable condition;
  check("condition_variable", [&](const auto& t) {
    std::unique_lock lock(mutex);
    while (condition.wait_until(lock, t) != plx::cv_status::timeout) {
    }
    return false;
  });
  check("condition_variable with a predicate", [&](const auto& t) {
    std::unique_lock lock(mutex);
    return condition.wait_until(lock, t, [] { return false; });
  });
  check("condition_variable with a stop_token", [&](const auto& t) {
    std::unique_lock lock(mutex);
    const plx::stop_source source;
    return condition.wait_until(lock, source.get_token(), t, [] { return false; });
  });
  plx::timed_mutex timed;
  plx::shared_timed_mutex shared;
  plx::latch locked(2), done(1);
  plx::thread holder([&] {
    const std::lock_guard first(timed);
    const std::lock_guard second(shared);
    locked.count_down();
    done.wait();
  });
  locked.arrive_and_wait();
  check("timed_mutex", [&](const auto& t) { return timed.try_lock_until(t); });
  check("shared_timed_mutex", [&](const auto& t) { return shared.try_lock_until(t); });
  check("shared_timed_mutex, shared", [&](const auto& t) { return shared.try_lock_shared_until(t); });
  done.count_down();
  holder.join();
}

template <class F>
void on_workers_and_outside(F f) {
  plx::runtime rt({.workers = 2, .bind = false});
  f();
  rt.run(f);
}

template <class Clock, class Before>
void reaches_the_time_point(Before before) {
  each_timed_wait([&](const char* kind, auto wait) {
    const auto t = Clock::now() + 1ms;
    before();
    EXPECT_FALSE(wait(t)) << kind;
    EXPECT_GE(Clock::now(), t) << kind;
  });
  const auto t = Clock::now() + 1ms;
  before();
  plx::this_thread::sleep_until(t);
  EXPECT_GE(Clock::now(), t);
  const auto later = Clock::now() + 1ms;
  before();
  plx::sync_wait([](auto until) -> plx::task<> { co_await plx::this_task::sleep_until(until); }(later));
  EXPECT_GE(Clock::now(), later);
}

TEST(timed, waits_end_after_the_time_point_of_a_slow_clock) {
  on_workers_and_outside([] { reaches_the_time_point<slow_clock>([] {}); });
}

TEST(timed, waits_end_after_the_time_point_of_a_clock_that_is_set_back) {
  on_workers_and_outside([] {
    // The reading at the beginning of the wait disarms the clock: it is set back during the wait.
    reaches_the_time_point<reset_clock>([] { reset_clock::arm(); });
  });
}

TEST(timed, waits_are_not_shorter_by_rounding) {
  on_workers_and_outside([] {
    for (int i = 0; i < 20; ++i) {
      const auto t = steady::now() + 200us;
      plx::this_thread::sleep_until(t);
      EXPECT_GE(steady::now(), t);
      const auto begin = steady::now();
      plx::this_thread::sleep_for(200us);
      EXPECT_GE(steady::now() - begin, 200us);
    }
  });
}

// steady_clock::now() - time_point::min() overflows.
TEST(timed, the_smallest_time_point_has_passed) {
  on_workers_and_outside([] {
    each_timed_wait([&](const char* kind, auto wait) {
      EXPECT_FALSE(wait(steady::time_point::min())) << kind;
      EXPECT_FALSE(wait(std::chrono::system_clock::time_point::min())) << kind;
      EXPECT_FALSE(wait(std::chrono::time_point<steady, std::chrono::hours>::min())) << kind;
      EXPECT_FALSE(wait(steady::now() - std::chrono::hours(24 * 365 * 291))) << kind;
      using real = std::chrono::time_point<steady, std::chrono::duration<double>>;
      EXPECT_FALSE(wait(real(std::chrono::duration<double>(-std::numeric_limits<double>::infinity())))) << kind;
      EXPECT_FALSE(wait(real(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN())))) << kind;
    });
    plx::this_thread::sleep_until(steady::time_point::min());
    EXPECT_TRUE(plx::make_ready_future_at(steady::time_point::min(), 3).get() == 3);
  });
}

TEST(timed, the_largest_time_point_is_far) {
  on_workers_and_outside([] {
    plx::counting_semaphore<> semaphore(0);
    plx::thread releasing([&] {
      plx::this_thread::sleep_for(1ms);
      semaphore.release(3);
    });
    EXPECT_TRUE(semaphore.try_acquire_until(steady::time_point::max()));
    EXPECT_TRUE(semaphore.try_acquire_until(std::chrono::time_point<steady, std::chrono::hours>::max()));
    EXPECT_TRUE(semaphore.try_acquire_for(std::chrono::hours::max()));
    releasing.join();
  });
}

// The deterministic mode has one clock: a wait takes no real time, whatever the clock of its end.

TEST(timed, virtual_time_passes_at_once) {
  plx::runtime rt({.workers = 3, .deterministic = true, .seed = 1});
  rt.run([] {
    const auto begin = steady::now();
    plx::counting_semaphore<> semaphore(0);
    EXPECT_FALSE(semaphore.try_acquire_until(slow_clock::now() + 1h));
    plx::this_thread::sleep_for(1h);
    EXPECT_LT(steady::now() - begin, 30min);
  });
}

struct lock_that_throws {
  void lock() { throw 1; }
  void unlock() {}
};

TEST(timed_death, a_wait_that_cannot_lock_again_ends_the_program) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        plx::condition_variable_any condition;
        lock_that_throws lock;
        condition.wait_for(lock, 1us);
      },
      "");
}

}  // namespace
