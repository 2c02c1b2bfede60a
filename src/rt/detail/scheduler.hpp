// Workers, the loop they run, and how a task gives up its place and gets it back.
//
// Thread safety: submit(), resume() and this_worker() from anywhere; suspend() from a task only. Cost: see
// docs/runtime.md. The invariants of sleeping are stated at `scheduler::sleep_until_work`.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "rt/detail/deque.hpp"
#include "rt/detail/fiber.hpp"
#include "rt/detail/parker.hpp"
#include "rt/detail/task.hpp"
#include "rt/detail/timer_queue.hpp"
#include "rt/poll_result.hpp"

namespace plx {
struct runtime_options;
namespace probe {
class recorder;
class worker_log;
}  // namespace probe
}  // namespace plx

namespace plx::detail {

class scheduler;

/// A number that one thread writes and anyone reads.
class owned_count {
 public:
  void add(std::uint64_t n = 1) noexcept {
    n_.store(n_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get() const noexcept { return n_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> n_{0};
};

struct worker {
  explicit worker(scheduler& s, unsigned i) : home(s), index(i), rng(i * 0x9e3779b97f4a7c15u + 1) {}

  work_deque deque;
  scheduler& home;
  const unsigned index;

  fiber* current = nullptr;  // what runs now
  task_info info{};          // of the running task
  const void* task_id = nullptr;
  ticks earlier = 0;     // what the running task took before it was suspended
  ticks boundary = 0;    // the clock at the last task boundary: the start of what runs now
  ticks next_check = 0;  // when timers and pollers are looked at again
  probe::worker_log* log = nullptr;

  void (*after_switch)(void*) = nullptr;  // what the place that was left still wanted done
  void* after_switch_arg = nullptr;

  fiber* free_fibers = nullptr;  // idle loops, ready to take over
  unsigned n_free_fibers = 0;
  /// What this worker saw of another one's deque when it held a single task.
  struct single_task {
    std::int64_t oldest = -1;
    ticks since = 0;
  };
  std::vector<single_task> singles;  // by victim
  std::uint64_t rng;
  unsigned turn = 0;  // counts loop rounds, so that the injection queue is looked at now and then

  timer_queue timers;
  parker sleep;
  ticks sleeps_until = timer_queue::never;  // guarded by the scheduler's sleep_lock_
  bool polling = false;
  fiber* thread_fiber = nullptr;  // the operating-system thread's own stack

  owned_count executed, taken_back, spawned, suspended, resumed, steals, failed_steals, sleeps;
};

/// The worker that the caller runs on; null on a thread that is no worker's. Never inlined: after a point where a task
/// can wait, the answer may be another one.
worker* this_worker() noexcept;

using poll_function = poll_result (*)(void*);

class scheduler {
 public:
  explicit scheduler(const runtime_options& options, probe::recorder& recorder);
  ~scheduler();
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  /// Waits until nothing can go on any more, or for the deadline if tasks still wait then, and ends the workers. The
  /// destructor calls it when nobody did.
  void stop();

  /// Makes `t` run some time. From a worker of this scheduler it goes to that worker's deque.
  void submit(task* t);
  /// Behind everything that waits in the injection queue.
  void inject(task* t);
  /// In the deterministic mode: runs tasks on the calling thread until `done` or nothing can go on any more; the second
  /// gives false.
  bool run_until(const std::atomic<bool>& done);
  [[nodiscard]] bool deterministic() const noexcept { return deterministic_; }
  std::uint64_t choose(std::uint64_t n) noexcept;  // the seed's decision among n, deterministic mode only

  /// The clock of timers: ticks; in the deterministic mode virtual ones that pass only when nothing else can happen.
  [[nodiscard]] ticks now() const noexcept { return deterministic_ ? virtual_now_ : now_ticks(); }

  std::uint64_t add_poller(poll_function f, void* arg);
  void remove_poller(std::uint64_t id);

  /// One line per suspended task: its name and what it waits on.
  [[nodiscard]] std::string explain_waits() const;
  [[nodiscard]] std::uint64_t suspended_tasks() const noexcept;

  [[nodiscard]] unsigned worker_count() const noexcept { return static_cast<unsigned>(workers_.size()); }
  [[nodiscard]] worker& worker_at(unsigned i) noexcept { return *workers_[i]; }
  [[nodiscard]] const worker& worker_at(unsigned i) const noexcept { return *workers_[i]; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] const stack_pool& stacks() const noexcept { return stacks_; }
  [[nodiscard]] std::size_t injected() const noexcept { return n_injected_.load(std::memory_order_relaxed); }

  // Used by suspend() and the worker loop.
  fiber* take_loop_fiber(worker& w);
  void keep_loop_fiber(worker& w, fiber* f) noexcept;
  void deadline_changed(ticks deadline) noexcept;  // there is a new timer
  task* next_task(worker& w);                      // null: leave the loop

 private:
  struct threads;  // hides <thread>
  struct poller {
    std::uint64_t id;
    poll_function function;
    void* arg;
  };

  static constexpr unsigned fiber_batch = 32;  // what moves between a worker and the common list at once; it keeps < 2
  void give_common_fibers(worker& w) noexcept;
  void take_common_fibers(worker& w) noexcept;

  void start_threads(bool bind);
  void thread_main(unsigned index, bool bind);
  void wait_until_quiet(double deadline_s);
  [[nodiscard]] bool quiet() const noexcept;
  [[nodiscard]] bool any_work() const noexcept;

  task* take_injected() noexcept;
  task* steal(worker& w, ticks now) noexcept;
  task* next_task_chosen(worker& w);  // deterministic mode
  task* search(worker& w);
  void sleep_until_work(worker& w);
  bool sleep_as_listed(worker& w);
  void wake_for_work() noexcept;
  void wake_one() noexcept;
  void sleepers_changed() noexcept;
  [[nodiscard]] bool sleepers_miss_something() const noexcept;
  bool run_pollers(worker& w);
  unsigned fire_timers(ticks now);
  [[nodiscard]] ticks earliest_deadline() const noexcept;
  void light_fence() const noexcept;  // the pusher's half of the pair with heavy_fence()
  void heavy_fence() noexcept;        // the sleeper's half

  const bool deterministic_;
  const std::uint64_t seed_;
  const double shutdown_deadline_s_;
  std::uint64_t choice_state_;
  ticks virtual_now_ = 0;
  const std::atomic<bool>* run_done_ = nullptr;

  stack_pool stacks_;
  std::vector<std::unique_ptr<worker>> workers_;
  std::unique_ptr<threads> threads_;
  mutable spinlock fibers_lock_;
  fiber* all_fibers_ = nullptr;
  fiber* common_fibers_ = nullptr;  // free ones of no worker
  std::atomic<unsigned> n_common_fibers_{0};

  alignas(cache_line_bytes) std::atomic<unsigned> n_sleeping_{0};
  std::atomic<unsigned> n_searching_{0};
  std::atomic<bool> stop_{false};
  bool needs_fence_ = true;
  alignas(cache_line_bytes) mutable spinlock sleep_lock_;
  std::vector<worker*> sleeping_;
  std::atomic<ticks> next_wake_{timer_queue::never};  // when the first of them gets up by itself

  alignas(cache_line_bytes) spinlock inject_lock_;
  task* injected_first_ = nullptr;
  task* injected_last_ = nullptr;
  std::atomic<std::size_t> n_injected_{0};

  alignas(cache_line_bytes) spinlock poll_lock_;  // held by the one worker that polls
  std::vector<poller> pollers_;
  std::uint64_t next_poller_id_ = 1;
  std::atomic<bool> has_pollers_{false};
  std::atomic<bool> polls_pending_{false};
};

/// The scheduler that submissions from the calling thread go to: its own on a worker, else the oldest one of the
/// process.
scheduler& current_scheduler();

/// Suspends the running task. `after(arg)` is called as soon as the task can be resumed, on another stack; it is the
/// place to make the task known to whoever will resume it. Returns when resume() was called for the fiber.
void suspend(const char* waits_on, void (*after)(void*), void* arg);
/// Makes a suspended task run again. Exactly once per suspend().
void resume(fiber& f);
/// The running task goes to the end of the injection queue.
void yield_task();
/// In the deterministic mode the seed may let others run here; otherwise nothing happens.
void choice_point();
/// Arms `t` on the caller's worker and sees to it that some worker is awake in time. Requires: called by a task.
void arm_timer(timer& t);

/// Runs a task that its waiter took back, in the waiter's own frame.
void run_taken_back(worker& w, task* t);

}  // namespace plx::detail
