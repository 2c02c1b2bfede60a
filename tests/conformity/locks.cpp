// Mutexes of all types, locks, condition variables, semaphores, latch, barrier, call_once.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <system_error>
#include <vector>

#include PLX_CONFORMITY_HEADER
#include "report.hpp"

namespace conformity::PLX_CONFORMITY_PROGRAM {
namespace {

using namespace std::chrono_literals;

template <class F>
void on_threads(int n, F f) {
  std::vector<names::thread> all;
  for (int i = 0; i < n; ++i) all.emplace_back(f, i);
  for (auto& t : all) t.join();
}
/// The result of `f` on another thread.
template <class F>
auto elsewhere(F f) {
  return names::async(names::launch::async, f).get();
}
template <class F>
const char* error_of(F f) {
  try {
    f();
  } catch (const std::system_error& e) {
    return e.code() == std::errc::operation_not_permitted         ? "operation_not_permitted"
           : e.code() == std::errc::resource_deadlock_would_occur ? "resource_deadlock_would_occur"
                                                                  : "another system_error";
  }
  return "nothing";
}

template <class Mutex>
void excludes(report& r, const char* name) {
  Mutex m;
  long counter = 0;
  on_threads(4, [&](int) {
    for (int i = 0; i < 500; ++i) {
      names::lock_guard<Mutex> lock(m);
      ++counter;
    }
  });
  names::unique_lock<Mutex> mine(m);
  const bool taken = elsewhere([&m] { return m.try_lock(); });
  mine.unlock();
  const bool free = elsewhere([&m] {
    const bool got = m.try_lock();
    if (got) m.unlock();
    return got;
  });
  r.add({name, counter, taken, free});
}

template <class Mutex>
void timed(report& r, const char* name) {
  Mutex m;
  names::unique_lock<Mutex> mine(m);
  const bool late = elsewhere([&m] { return m.try_lock_for(1ms); });
  const bool late_too = elsewhere([&m] { return m.try_lock_until(std::chrono::steady_clock::now() + 1ms); });
  auto waiting = names::async(names::launch::async, [&m] {
    // The system clock, because ThreadSanitizer does not intercept the function that GCC 12 uses for the steady clock.
    names::unique_lock<Mutex> lock(m, std::chrono::system_clock::now() + 1h);
    return lock.owns_lock();
  });
  names::this_thread::sleep_for(1ms);
  mine.unlock();
  r.add({name, late, late_too, waiting.get()});
}

template <class Mutex>
void recursive(report& r, const char* name) {
  Mutex m;
  m.lock();
  const bool again = m.try_lock();
  m.unlock();
  const bool other = elsewhere([&m] { return m.try_lock(); });
  m.unlock();
  r.add({name, again, other});
}

template <class Mutex>
void shared(report& r, const char* name) {
  Mutex m;
  long value = 0;
  std::atomic<int> torn{0};
  on_threads(6, [&](int t) {
    for (int i = 0; i < 100; ++i) {
      if (t % 3 == 0) {
        names::scoped_lock lock(m);
        value += 1;
        value += 1;
      } else {
        names::shared_lock lock(m);
        if (value % 2 != 0) torn.fetch_add(1);
      }
    }
  });
  names::shared_lock reading(m);
  const bool also = elsewhere([&m] {
    const bool got = m.try_lock_shared();
    if (got) m.unlock_shared();
    return got;
  });
  const bool writes = elsewhere([&m] { return m.try_lock(); });
  r.add({name, value, torn.load(), also, writes});
}

void shared_timed(report& r) {
  names::shared_timed_mutex m;
  m.lock();
  const bool read = elsewhere([&m] { return m.try_lock_shared_for(1ms); });
  const bool write = elsewhere([&m] { return m.try_lock_until(std::chrono::steady_clock::now() + 1ms); });
  m.unlock();
  const bool later = elsewhere([&m] {
    const bool got = m.try_lock_shared_until(std::chrono::system_clock::now() + 1h);
    if (got) m.unlock_shared();
    return got;
  });
  r.add({"shared_timed_mutex, deadlines", read, write, later});
}

void locks_of_all_kinds(report& r) {
  names::mutex a, b, c;
  long counter = 0;
  on_threads(4, [&](int t) {  // in different orders, without deadlock
    for (int i = 0; i < 100; ++i) {
      if (t % 2 == 0) {
        names::scoped_lock all(a, b, c);
        ++counter;
      } else {
        names::unique_lock z(c, names::defer_lock), x(a, names::defer_lock), y(b, names::defer_lock);
        names::lock(z, x, y);
        ++counter;
      }
    }
  });
  b.lock();
  const int which = elsewhere([&] { return names::try_lock(a, b, c); });
  b.unlock();
  r.add({"several at once", counter, which});
  names::unique_lock<names::mutex> l(a, names::try_to_lock);
  names::unique_lock<names::mutex> none;
  r.add({"unique_lock", l.owns_lock(), none.owns_lock(), error_of([&] { l.lock(); }), error_of([&] { none.lock(); }),
         error_of([&] { none.unlock(); })});
  none = std::move(l);
  r.add({"unique_lock, moved", l.owns_lock(), none.owns_lock(), none.mutex() == &a});
  names::mutex* released = none.release();
  names::lock_guard<names::mutex> adopted(*released, names::adopt_lock);
  r.add({"unique_lock, released", none.owns_lock(), elsewhere([&a] { return a.try_lock(); })});
}

template <class Condition>
void conditions(report& r, const char* name) {
  names::mutex m;
  Condition filled, emptied;
  std::deque<int> queue;
  std::vector<int> received;
  names::thread consumer([&] {
    for (int i = 0; i < 200; ++i) {
      names::unique_lock<names::mutex> lock(m);
      filled.wait(lock, [&] { return !queue.empty(); });
      received.push_back(queue.front());
      queue.pop_front();
      emptied.notify_one();
    }
  });
  for (int i = 0; i < 200; ++i) {
    names::unique_lock<names::mutex> lock(m);
    while (queue.size() >= 3) emptied.wait(lock);
    queue.push_back(i);
    filled.notify_one();
  }
  consumer.join();
  r.add({name, received.size(), std::is_sorted(received.begin(), received.end())});

  names::unique_lock<names::mutex> lock(m);
  const bool late = filled.wait_for(lock, 1ms, [] { return false; });
  const bool early = filled.wait_for(lock, 1h, [] { return true; });
  names::cv_status status = names::cv_status::no_timeout;
  while (status == names::cv_status::no_timeout)  // spurious wake-ups are allowed
    status = filled.wait_until(lock, std::chrono::steady_clock::now() + 1ms);
  r.add({"with a deadline", late, early, status == names::cv_status::timeout, lock.owns_lock()});
  bool go = false;
  int gone = 0;
  std::vector<names::thread> all;
  for (int i = 0; i < 5; ++i)
    all.emplace_back([&] {
      names::unique_lock<names::mutex> mine(m);
      filled.wait(mine, [&] { return go; });
      ++gone;
    });
  go = true;
  lock.unlock();
  filled.notify_all();
  for (auto& t : all) t.join();
  r.add({"notify_all", gone});
}

void counters(report& r) {
  names::counting_semaphore<8> slots(2);
  std::atomic<int> inside{0}, most{0};
  on_threads(6, [&](int) {
    for (int i = 0; i < 20; ++i) {
      slots.acquire();
      const int now = ++inside;
      int seen = most.load();
      while (seen < now && !most.compare_exchange_weak(seen, now)) {
      }
      --inside;
      slots.release();
    }
  });
  r.add({"semaphore", most.load() <= 2, slots.try_acquire(), slots.try_acquire(), slots.try_acquire(),
         slots.try_acquire_for(1ms), slots.try_acquire_until(std::chrono::steady_clock::now() + 1ms)});
  slots.release(2);
  r.add({"semaphore, released", slots.try_acquire_for(1h), slots.try_acquire_for(1h), slots.try_acquire()});
  names::binary_semaphore ping(0), pong(0);
  int rallies = 0;
  names::thread partner([&] {
    for (int i = 0; i < 100; ++i) {
      ping.acquire();
      ++rallies;
      pong.release();
    }
  });
  for (int i = 0; i < 100; ++i) {
    ping.release();
    pong.acquire();
  }
  partner.join();
  r.add({"ping, pong", rallies});

  names::latch start(5);
  std::atomic<int> passed{0};
  names::thread counting([&] { start.count_down(2); });
  on_threads(3, [&](int) {
    start.arrive_and_wait();
    ++passed;
  });
  counting.join();
  start.wait();
  r.add({"latch", passed.load(), start.try_wait(), names::latch(1).try_wait()});
}

void phases(report& r) {
  std::vector<int> arrived_in_phase;
  std::atomic<int> arrived{0};
  auto completion = [&]() noexcept { arrived_in_phase.push_back(arrived.exchange(0)); };
  names::barrier sync(4, completion);
  on_threads(4, [&](int t) {
    for (int p = 0; p < 3; ++p) {
      ++arrived;
      if (t == 3 && p == 1) {
        sync.arrive_and_drop();
        return;
      }
      if (t == 2)
        sync.wait(sync.arrive());
      else
        sync.arrive_and_wait();
    }
  });
  r.add({"barrier", arrived_in_phase.size(), arrived_in_phase.at(0), arrived_in_phase.at(1), arrived_in_phase.at(2)});
}

void once(report& r) {
#if defined(__SANITIZE_THREAD__)
  constexpr int failing_calls = 0;  // std::call_once of GCC 12 hangs under ThreadSanitizer after a call that throws
#else
  constexpr int failing_calls = 2;
#endif
  names::once_flag flag;
  std::atomic<int> calls{0}, failures{0};
  on_threads(6, [&](int) {
    try {
      names::call_once(
          flag,
          [&](int failing) {
            if (++calls <= failing) throw 1;
          },
          failing_calls);
    } catch (int) {
      ++failures;
    }
  });
  r.add({"call_once", calls.load(), failures.load()});
}

}  // namespace

void locks(report& r) {
  excludes<names::mutex>(r, "mutex");
  excludes<names::timed_mutex>(r, "timed_mutex");
  excludes<names::recursive_mutex>(r, "recursive_mutex");
  excludes<names::recursive_timed_mutex>(r, "recursive_timed_mutex");
  excludes<names::shared_mutex>(r, "shared_mutex");
  excludes<names::shared_timed_mutex>(r, "shared_timed_mutex");
  timed<names::timed_mutex>(r, "timed_mutex, deadlines");
  timed<names::recursive_timed_mutex>(r, "recursive_timed_mutex, deadlines");
  timed<names::shared_timed_mutex>(r, "shared_timed_mutex, to write");
  recursive<names::recursive_mutex>(r, "recursive_mutex, again");
  recursive<names::recursive_timed_mutex>(r, "recursive_timed_mutex, again");
  shared<names::shared_mutex>(r, "shared_mutex, both ways");
  shared<names::shared_timed_mutex>(r, "shared_timed_mutex, both ways");
  shared_timed(r);
  locks_of_all_kinds(r);
  conditions<names::condition_variable>(r, "condition_variable");
  conditions<names::condition_variable_any>(r, "condition_variable_any");
  counters(r);
  phases(r);
  once(r);
}

}  // namespace conformity::PLX_CONFORMITY_PROGRAM
