// Stack overflow and other faults; a shutdown that abandons tasks.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <thread>

#include "base/log.hpp"
#include "base/test/timeout_test.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/event.hpp"
#include "rt/executor.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "rt/thread.hpp"

namespace {

using namespace std::chrono_literals;

#if !defined(PLX_ASAN) && !defined(PLX_TSAN)  // these report an overflow in their own way

[[gnu::noinline]] int too_deep(int n) {
  volatile char frame[512] = {};
  frame[0] = static_cast<char>(n);
  return n == 0 ? 0 : too_deep(n - 1) + frame[0];
}

TEST(overflow_death, an_overflow_of_a_guarded_stack_names_the_task) {
  EXPECT_EXIT(
      {
        plx::runtime rt({.workers = 2, .bind = false, .stack_bytes = 64 << 10});
        rt.run([] { return plx::async({plx::probe::register_name("deep task"), 5}, too_deep, 1 << 20).get(); });
      },
      testing::KilledBySignal(SIGSEGV),
      "stack overflow: task \"deep task\" \\(key 5\\) has used up its stack of 64 KiB.*runtime_options.stack_bytes");
}

TEST(overflow_death, an_overflow_in_the_deterministic_mode) {
  EXPECT_EXIT(
      {
        plx::runtime rt({.workers = 2, .deterministic = true});
        rt.run([] { return plx::async(too_deep, 1 << 20).get(); });
      },
      testing::KilledBySignal(SIGSEGV), "task \"too_deep\\(int\\)\" has used up its stack of 256 KiB");
}

// A frame that is smaller than the guard, and used from its lower end, as in numerical code: the whole guard stops it.
[[gnu::noinline]] double large_frames(int depth) {
  double tile[6848];  // 53.5 KiB
  for (int i = 0; i < 768; ++i) tile[i] = depth;
  asm volatile("" ::"r"(tile) : "memory");
  return depth == 0 ? tile[3] : large_frames(depth - 1) + tile[5];
}

// A frame that is larger than the guard: each of its pages is touched on the way.
[[gnu::noinline]] double very_large_frame() {
  double tile[32 * 1024];  // 256 KiB
  tile[0] = 1;
  asm volatile("" ::"r"(tile) : "memory");
  return tile[0];
}

// With other tasks' stacks around it.
void overflow_among_others(double (*overflow)()) {
  plx::runtime rt({.workers = 1, .bind = false});
  rt.run([overflow] {
    plx::latch go(1);
    std::vector<plx::future<void>> others;
    for (int t = 0; t < 14; ++t) others.push_back(plx::async([&go] { go.wait(); }));
    plx::this_thread::sleep_for(1ms);
    auto over = plx::async({plx::probe::register_name("large frames")}, overflow);
    while (!over.is_ready()) plx::this_thread::sleep_for(1ms);
    std::_Exit(0);
  });
}

TEST(overflow_death, frames_of_tens_of_kilobytes_do_not_step_over_the_guard) {
  EXPECT_EXIT(overflow_among_others([] { return large_frames(4); }), testing::KilledBySignal(SIGSEGV),
              "stack overflow: task \"large frames\" has used up its stack of 256 KiB");
}

TEST(overflow_death, a_frame_larger_than_the_guard_does_not_step_over_it) {
  EXPECT_EXIT(overflow_among_others([] { return very_large_frame(); }), testing::KilledBySignal(SIGSEGV),
              "stack overflow: task \"large frames\" has used up its stack of 256 KiB");
}

#if defined(__linux__)
std::size_t mapped_bytes() {
  long pages = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%ld", &pages) != 1) pages = 0;
    std::fclose(f);
  }
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Tasks that wait, each in another way, until there is no address space for one more stack. The workers are held until
// every task exists, so that only stacks are allocated under the limit; the controlling thread is none of the workers.
struct waits_without_memory {
  static constexpr int n = 3000;
  plx::latch gate{1};
  plx::event opened;
  plx::mutex mutex;
  plx::condition_variable open_changed;
  bool open = false;
  plx::promise<void> promise;
  plx::shared_future<void> future = promise.get_future().share();
  std::atomic<bool> go{false};
  std::atomic<int> passed{0}, failed{0}, unlocked{0};

  void in_a_group() {
    plx::task_group g;
    g.run([&] { gate.wait(); });
    g.wait();
  }

  void wait(int how) {
    if (how == 0) return gate.wait();
    if (how == 1) return future.wait();
    if (how == 2) return (void)future.wait_for(1h);
    if (how == 3) return opened.wait();
    if (how == 4) return in_a_group();
    std::unique_lock lock(mutex);
    try {
      open_changed.wait(lock, [this] { return open; });
    } catch (const std::bad_alloc&) {
      unlocked += lock.owns_lock() ? 0 : 1;
      throw;
    }
  }

  int run() {
    plx::runtime rt({.workers = 2, .bind = false});
    std::vector<plx::future<void>> all;
    for (int i = 0; i < 2; ++i)
      all.push_back(plx::async([this] {
        while (!go) {
        }
      }));
    for (int i = 0; i < n; ++i)
      all.push_back(plx::async([this, how = i % 6] {
        try {
          wait(how);
          ++passed;
        } catch (const std::bad_alloc&) {
          ++failed;
        }
      }));
    const rlimit limit{mapped_bytes() + (std::size_t{100} << 20), RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
    go = true;
    while (failed < 100) sched_yield();
    {
      std::lock_guard lock(mutex);
      open = true;
    }
    open_changed.notify_all();
    promise.set_value();
    opened.set();
    gate.count_down();
    for (auto& f : all) f.wait();
    std::fprintf(stderr, "passed %d, failed %d, without the lock %d\n", passed.load(), failed.load(), unlocked.load());
    return passed + failed == n && unlocked == 0 ? 0 : 1;
  }
};

TEST(overflow_death, a_wait_without_memory_for_a_stack_throws_and_leaves_nothing_behind) {
  EXPECT_EXIT(std::_Exit(waits_without_memory().run()), testing::ExitedWithCode(0), "passed");
}

void spin(std::chrono::microseconds time, const std::atomic<bool>& end) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (!end && std::chrono::steady_clock::now() < until) {
  }
}

// Calls `then` in a task when no further task can wait, because there is no address space for stacks.
void after_stacks_are_used_up(unsigned workers, const std::function<void()>& then) {
  plx::runtime rt({.workers = workers, .bind = false});
  for (const std::size_t bytes : {std::size_t{16} << 10, std::size_t{1} << 20})  // one such stack each stays free
    plx::async(rt.get_executor().with_stack_size(bytes), [] {}).wait();
  const rlimit limit{mapped_bytes() + (std::size_t{2} << 20), RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
  constexpr int n = 500;
  plx::latch gate(1);
  std::atomic<int> begun{0};
  std::vector<plx::future<void>> all;
  for (int i = 0; i < n; ++i)
    all.push_back(plx::async([&] {
      ++begun;
      try {
        gate.wait();
      } catch (const std::bad_alloc&) {
      }
    }));
  while (begun < n) sched_yield();
  plx::async(then).wait();
  gate.count_down();
  for (auto& f : all) f.wait();
}

// The children run elsewhere while their parent, which cannot suspend, waits in the destructor of the group.
int leave_groups_without_memory() {
  int stolen = 0, left = 0;
  std::atomic<int> ended{0};
  after_stacks_are_used_up(2, [&] {
    for (; left < 300 || (stolen < 10 && left < 100'000); ++left) {
      std::atomic<bool> begun{false};
      plx::task_group g;
      g.run([&] {
        begun = true;
        spin(200us, false);
        ++ended;
      });
      spin(1ms, begun);
      if (begun) ++stolen;
    }
  });
  return stolen >= 10 && ended == left ? 0 : 1;
}

TEST(overflow_death, a_group_waits_for_stolen_children_without_memory_for_a_stack) {
  EXPECT_EXIT(std::_Exit(leave_groups_without_memory()), testing::ExitedWithCode(0), "");
}

// Tasks with a larger stack, pinned ones included, do not begin while there is no memory for it; others run meanwhile.
int start_large_tasks_without_memory() {
  std::atomic<int> large{0};
  bool waited = false;
  after_stacks_are_used_up(1, [&] {
    const auto ex = plx::executor().with_stack_size(8 << 20);
    for (const auto& e : {ex, ex.with_priority(plx::priority::high), ex.with_affinity(0)})
      e.post([&large] { ++large; });
    plx::post([&] {
      waited = large == 0;
      const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
      setrlimit(RLIMIT_AS, &none);
    });
  });
  return waited && large == 3 ? 0 : 1;
}

TEST(overflow_death, a_task_without_memory_for_a_larger_stack_waits_for_it) {
  EXPECT_EXIT(std::_Exit(start_large_tasks_without_memory()), testing::ExitedWithCode(0), "");
}

// Memory comes from a low-priority task, and from one that a timer makes ready: both precede the task that waits for
// it.
int free_memory_later(bool by_timer) {
  std::atomic<int> large{0};
  bool waited = false;
  plx::future<void> later;
  after_stacks_are_used_up(1, [&] {
    const auto frees = [&] {
      waited = large == 0;
      const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
      setrlimit(RLIMIT_AS, &none);
    };
    plx::executor().with_stack_size(8 << 20).post([&large] { ++large; });
    if (by_timer)
      later = plx::make_ready_future_after(20ms).then([frees](plx::future<void>) { frees(); });
    else
      plx::executor().with_priority(plx::priority::low).post(frees);
  });
  return waited && large == 1 ? 0 : 1;
}

TEST(overflow_death, tasks_that_free_memory_precede_the_one_that_waits_for_it) {
  EXPECT_EXIT(std::_Exit(free_memory_later(false)), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::_Exit(free_memory_later(true)), testing::ExitedWithCode(0), "");
}

// There is memory for some stacks of a size, not for the number that is usually allocated at once.
int start_a_large_task_in_little_memory() {
  plx::runtime rt({.workers = 1, .bind = false});
  const auto large = rt.get_executor().with_stack_size(2 << 20);
  const rlimit limit{mapped_bytes() + (std::size_t{10} << 20), RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
  return plx::async(large, [] { return 0; }).get();
}

TEST(overflow_death, fewer_stacks_are_allocated_at_once_if_memory_is_short) {
  EXPECT_EXIT(std::_Exit(start_a_large_task_in_little_memory()), testing::ExitedWithCode(0), "");
}

// Children with a stack of their own, of which one is free, while their parent cannot suspend; and those that wait.
int use_a_large_stack_again() {
  std::atomic<int> ended{0};
  after_stacks_are_used_up(1, [&ended] {
    for (const std::size_t bytes : {std::size_t{16} << 10, std::size_t{1} << 20})
      for (int i = 0; i < 10; ++i) {
        plx::task_group g;
        g.run(plx::executor().with_stack_size(bytes), [&ended] {
          plx::this_thread::yield();
          ++ended;
        });
        g.wait();
      }
  });
  return ended == 20 ? 0 : 1;
}

TEST(overflow_death, a_group_runs_children_with_stacks_of_their_own_without_memory_for_another) {
  EXPECT_EXIT(std::_Exit(use_a_large_stack_again()), testing::ExitedWithCode(0), "");
}

// Tasks of the first worker take every stack before the last of the threads runs.
int start_workers_late() {
  after_stacks_are_used_up(64, [] {});
  return 0;
}

TEST(overflow_death, workers_that_start_late_have_a_stack) {
  EXPECT_EXIT(std::_Exit(start_workers_late()), testing::ExitedWithCode(0), "");
}

// The C library would end the program if the thread registered a destructor at its first block.
void free_the_first_block_without_memory() {
  void* block = plx::detail::pool_get(64);
  std::thread([block] {
    const plx::detail::pool_of_thread blocks;
    const rlimit limit{mapped_bytes(), RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
    for (std::size_t bytes : {std::size_t{1} << 20, std::size_t{1} << 12, std::size_t{16}})
      for (void* p = std::malloc(bytes); p != nullptr; p = std::malloc(bytes)) asm volatile("" ::"r"(p));
    plx::detail::pool_put(block, 64);
    std::_Exit(0);
  }).join();
}

TEST(overflow_death, the_pool_of_a_worker_needs_no_memory_to_free_blocks) {
  EXPECT_EXIT(free_the_first_block_without_memory(), testing::ExitedWithCode(0), "");
}
#endif

// Just over the end, where the guard would be: seen when the task waits, and when it ends.
[[gnu::noinline]] void grow_to(std::uintptr_t end) {
  volatile char frame[128];
  for (auto& c : frame) c = 1;
  if (reinterpret_cast<std::uintptr_t>(&frame[0]) > end) grow_to(end);
  asm volatile("" ::: "memory");
}

void overflow_a_little() {
  const auto& s = plx::detail::this_worker()->current->memory;
  grow_to(reinterpret_cast<std::uintptr_t>(s.bottom) - 128);
}

TEST(overflow_death, an_overflow_without_guard_pages_is_seen_when_the_task_ends) {
  EXPECT_EXIT(
      {
        plx::runtime rt({.workers = 1, .bind = false, .stack_bytes = 64 << 10, .guard_pages = false});
        rt.run({plx::probe::register_name("ends")}, overflow_a_little);
        rt.run([] {});
      },
      testing::KilledBySignal(SIGABRT), "stack overflow: task \"ends\" has used up its stack of 64 KiB");
}

TEST(overflow_death, an_overflow_without_guard_pages_is_seen_when_the_task_waits) {
  EXPECT_EXIT(
      {
        plx::runtime rt({.workers = 1, .bind = false, .stack_bytes = 64 << 10, .guard_pages = false});
        rt.run({plx::probe::register_name("waits")}, [] {
          overflow_a_little();
          plx::this_thread::sleep_for(1ms);
          std::_Exit(0);
        });
      },
      testing::KilledBySignal(SIGABRT), "stack overflow: task \"waits\" has used up");
}

void former_handler(int, siginfo_t*, void*) { _exit(77); }

TEST(overflow_death, other_faults_go_to_the_handler_that_was_there) {
  EXPECT_EXIT(
      {
        struct sigaction mine {};
        mine.sa_sigaction = former_handler;
        mine.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &mine, nullptr);
        plx::runtime rt({.workers = 1, .bind = false});
        rt.run([] { *reinterpret_cast<volatile int*>(64) = 1; });
      },
      testing::ExitedWithCode(77), "");
  EXPECT_EXIT(
      {
        plx::runtime rt({.workers = 1, .bind = false});
        rt.run([] { *reinterpret_cast<volatile int*>(64) = 1; });
      },
      testing::KilledBySignal(SIGSEGV), "");
}

TEST(overflow, the_handler_of_faults_goes_with_the_last_runtime) {
  struct sigaction before {
  }, during{}, after{};
  sigaction(SIGSEGV, nullptr, &before);
  {
    plx::runtime a({.workers = 1, .bind = false});
    plx::runtime b({.workers = 1, .bind = false});
    sigaction(SIGSEGV, nullptr, &during);
  }
  sigaction(SIGSEGV, nullptr, &after);
  EXPECT_NE(during.sa_sigaction, before.sa_sigaction);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

#endif

// A task that must wait without memory for a stack calls it.
TEST(let_another_run, runs_new_tasks_on_top_and_resumes_suspended_ones_in_place) {
  plx::runtime rt({.workers = 2, .bind = false});
  rt.run([] {
    constexpr int n = 50;
    plx::latch gate(1);
    std::atomic<int> waiting{0}, resumed{0}, new_ones{0};
    std::vector<plx::future<void>> all;
    for (int i = 0; i < n; ++i)
      all.push_back(plx::async([&] {
        ++waiting;
        gate.wait();
        plx::this_thread::yield();
        ++resumed;
      }));
    while (waiting < n) plx::this_thread::yield();
    for (int i = 0; i < n; ++i) all.push_back(plx::async([&new_ones] { ++new_ones; }));
    gate.count_down();
    while (resumed < n || new_ones < n) plx::detail::let_another_run();
    for (auto& f : all) f.get();
  });
}

TEST(overflow, stacks_without_guard_pages_are_used_again) {
  plx::runtime rt({.workers = 2, .bind = false, .stack_bytes = 32 << 10, .guard_pages = false});
  for (int round = 0; round < 3; ++round)
    rt.run([] {
      plx::latch go(1);
      std::vector<plx::future<void>> all;
      for (int i = 0; i < 300; ++i) all.push_back(plx::async([&go] { go.wait(); }));
      go.count_down();
      for (auto& f : all) f.get();
    });
}

TEST(shutdown, a_deadline_says_where_tasks_wait) {
  static std::string text;
  text.clear();
  plx::log_to_function([](void*, plx::log_level, std::string_view line) { (text += line) += '\n'; }, nullptr,
                       plx::log_level::error);
  auto* a = new plx::mutex;  // never freed, like the tasks that wait for them
  auto* b = new plx::mutex;
  {
    plx::runtime rt({.workers = 2, .bind = false, .shutdown_deadline_s = 0.05});
    auto* both = new plx::latch(2);
    plx::post({plx::probe::register_name("one")}, [=] {
      a->lock();
      both->arrive_and_wait();
      b->lock();
    });
    plx::post({plx::probe::register_name("other")}, [=] {
      b->lock();
      both->arrive_and_wait();
      a->lock();
    });
    EXPECT_TRUE(plx::comes_true([&] { return rt.explain_waits().find("DEADLOCK") != text.npos; }));
  }
  plx::log_to_function(nullptr, nullptr, plx::log_level::none);
  EXPECT_NE(text.find("they are abandoned"), text.npos) << text;
  EXPECT_NE(text.find("DEADLOCK: 2 tasks"), text.npos) << text;
  EXPECT_NE(text.find("held by task \"one\""), text.npos) << text;
}

}  // namespace
