// Timed waits until a time point of the program's own clock, without sleep_until and shared_timed_mutex: those of GCC
// 12's library return before such a time point, or lock the mutex too early.
#include <chrono>
#include <cstdint>

#include PLX_CONFORMITY_HEADER
#include "report.hpp"

namespace conformity::PLX_CONFORMITY_PROGRAM {
namespace {

using namespace std::chrono_literals;

/// Runs at a quarter of the rate of steady_clock.
struct slow_clock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<slow_clock>;
  static constexpr bool is_steady = true;
  static time_point now() {
    return time_point(std::chrono::duration_cast<duration>(std::chrono::steady_clock::now().time_since_epoch()) / 4);
  }
};

/// Reports whether `wait(t)` succeeded, and whether the clock had reached `t` afterwards: for a future and for a past
/// time point.
template <class Wait>
void waits(report& r, const char* name, Wait wait) {
  const auto t = slow_clock::now() + 2ms;
  const bool success = wait(t);
  r.add({name, success, slow_clock::now() >= t, wait(slow_clock::now() - 1h)});
}

template <class Mutex>
void locking(report& r, const char* name) {
  Mutex m;
  names::latch locked(2), done(1);
  names::thread holder([&] {
    const names::lock_guard<Mutex> lock(m);
    locked.count_down();
    done.wait();
  });
  locked.arrive_and_wait();
  waits(r, name, [&m](auto t) { return m.try_lock_until(t); });
  done.count_down();
  holder.join();
}

}  // namespace

void timed_waits(report& r) {
  names::promise<int> p;
  auto f = p.get_future();
  waits(r, "future", [&f](auto t) { return f.wait_until(t) == names::future_status::ready; });
  names::mutex m;
  names::condition_variable condition;
  names::unique_lock<names::mutex> lock(m);
  waits(r, "condition_variable", [&](auto t) {
    while (condition.wait_until(lock, t) != names::cv_status::timeout) {
    }
    return lock.owns_lock();
  });
  waits(r, "condition_variable, predicate",
        [&](auto t) { return condition.wait_until(lock, t, [] { return false; }); });
  names::condition_variable_any any;
  const names::stop_source source;
  waits(r, "condition_variable_any, stop_token",
        [&](auto t) { return any.wait_until(lock, source.get_token(), t, [] { return false; }); });
  names::counting_semaphore<> semaphore(0);
  waits(r, "semaphore", [&semaphore](auto t) { return semaphore.try_acquire_until(t); });
  locking<names::timed_mutex>(r, "timed_mutex");
  locking<names::recursive_timed_mutex>(r, "recursive_timed_mutex");
}

}  // namespace conformity::PLX_CONFORMITY_PROGRAM
