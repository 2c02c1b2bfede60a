// The scheduler of a runtime, and how a task is suspended and resumed.
//
// Thread safety: submit(), resume() and this_worker() may be called from any thread, suspend() only from a task.
// Cost: see docs/runtime.md. The invariants of sleeping are stated at `scheduler::sleep_until_work`.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "rt/core/worker.hpp"
#include "rt/explain/explain.hpp"
#include "rt/runtime_options.hpp"

namespace plx {
struct runtime_options;
namespace probe {
class idle_balance;
class recorder;
}  // namespace probe
}  // namespace plx

namespace plx::detail {

class scheduler;
class future_state_base;
class loop_tuning;
class conductor;

/// See rt/any_executor.hpp. Invariant, guarded by the lock: `home` may be used until the lock is released, or until
/// end_visit() after a begin_visit() under it.
struct home_link {
  spinlock lock;
  bool takes_tasks = true;    // false once stop() has begun: then only suspended tasks are resumed
  scheduler* home = nullptr;  // null when it has ended
  home_link* older = nullptr;
};

/// How other workers should react to a new task. anyone: its creator may run it inline immediately, so a single task
/// wakes no worker and is not stolen for a moment. sleepers: a sleeping worker should wake for it. thieves: the task is
/// half of a loop; another worker should take it as soon as possible.
enum class meant_for : std::uint8_t { anyone, sleepers, thieves };

using poll_function = poll_result (*)(void*);

class scheduler {
 public:
  /// `cores`: the CPUs to bind to; empty: none.
  explicit scheduler(const runtime_options& options, std::vector<unsigned> cores, probe::recorder& recorder);
  ~scheduler();
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  /// Waits until no task can continue, or until the deadline if tasks still wait, and ends the workers. The destructor
  /// calls it if it has not been called.
  void stop();

  /// Schedules `t`. A submission from a worker of this scheduler goes to that worker's deque, unless the placement of
  /// `t` names a priority, a worker or a stack size.
  void submit(task* t, meant_for takers = meant_for::anyone);
  /// submit() by worker `w` of this scheduler. Requires: the caller runs on `w`.
  void submit_here(worker& w, task* t, meant_for takers);
  /// Resumes the task that is suspended on `f` after all tasks that are ready now.
  void submit_last(fiber& f);
  /// resume(), on worker `to` if it is searching for work: its caches still hold the task's data.
  void hand_over(fiber& f, worker& to);
  /// Appends `t` to the injection queue.
  void inject(task* t);
  /// Brackets a submit() from outside during which nothing else keeps this scheduler alive: stop() waits for visitors.
  void begin_visit() noexcept { visitors_.fetch_add(1, std::memory_order_relaxed); }
  void end_visit() noexcept { visitors_.fetch_sub(1, std::memory_order_release); }
  [[nodiscard]] home_link& link() const noexcept { return home_.link; }
  /// Polls briefly on behalf of the running task of `w`, which waits for `awaited`. Returns true when `awaited` is
  /// ready, and false immediately if there is other work.
  bool poll_for(worker& w, const future_state_base& awaited);
  /// Deterministic mode: runs tasks on the calling thread until `done` is set. Returns false if no task can continue
  /// before that.
  bool run_until(const std::atomic<bool>& done);
  [[nodiscard]] bool deterministic() const noexcept { return deterministic_; }
  std::uint64_t choose(std::uint64_t n) noexcept;  // the seed's decision among n, deterministic mode only

  /// Restricts the workers that take tasks to 0 .. n-1. Each other worker finishes the task it runs, with the children
  /// that task runs inline, and is then parked: it runs only tasks pinned to it, and the tasks in its deque are stolen.
  /// A larger cap wakes parked workers. n is clamped to 1 .. worker_count(). Applies to the deterministic mode as well.
  void set_worker_cap(unsigned n) noexcept;
  /// The tuner of this scheduler's loops, or null. Set at most once; must live as long as the workers.
  void tune_loops(loop_tuning* t) noexcept { tuned_loops_.store(t, std::memory_order_release); }
  [[nodiscard]] loop_tuning* tuned_loops() const noexcept { return tuned_loops_.load(std::memory_order_acquire); }
  /// The number of workers that take tasks now.
  [[nodiscard]] unsigned worker_cap() const noexcept { return cap_.load(std::memory_order_relaxed); }
  [[nodiscard]] unsigned parked_workers() const noexcept { return n_parked_.load(std::memory_order_relaxed); }

  /// The clock of timers, in ticks. In the deterministic mode it is virtual and advances only when nothing else can
  /// happen.
  [[nodiscard]] ticks now() const noexcept { return deterministic_ ? virtual_now_ : now_ticks(); }
  /// `s` seconds on that clock. A virtual tick is a nanosecond, so that a seed means the same in every process.
  [[nodiscard]] ticks span_of(double s) const noexcept;
  /// The conductor that decides when this deterministic scheduler continues; null if it decides itself.
  [[nodiscard]] const conductor* conducted_by() const noexcept { return conductor_; }

  /// The object that a library above attaches to this runtime (net's node); null if none.
  void attach(void* what) noexcept { attached_.store(what, std::memory_order_release); }
  [[nodiscard]] void* attached() const noexcept { return attached_.load(std::memory_order_acquire); }

  /// How a poller uses worker::poll_clock: at its call that is the clock just before, or 0. `keeps`: at its end it has
  /// left the clock as of then, or 0 if it has not read the clock; unchanged if it took some nanoseconds only.
  enum class poll_clock_use : std::uint8_t { ignores, keeps };
  std::uint64_t add_poller(poll_function f, void* arg, poll_clock_use use = poll_clock_use::ignores);
  void remove_poller(std::uint64_t id);
  void ask_pollers() noexcept;  // soon, by any free worker; callable from any thread

  // A task that runs its children inline, or the chunks of a loop, passes boundaries within itself. There, as between
  // tasks, urgent and pinned tasks go first, and timers and pollers are checked every 10 us.
  /// True when the running task of `w` should be suspended in favor of urgent tasks.
  [[nodiscard]] bool urgent_for(const worker& w) const noexcept {
    return (!high_.empty() && w.info.where.priority != priority::high) ||
           (!w.inbox.empty() && w.info.where.worker == 0);
  }
  /// True when pass_boundary() has something to do. Reads the clock rarely where boundaries are close together.
  [[nodiscard]] bool boundary_due(worker& w) const noexcept {
    if (urgent_for(w)) [[unlikely]]
      return true;
    return --w.until_clock == 0 && clock_says_due(w);
  }
  /// Fires due timers and calls pollers, within the running task of `w`.
  void attend_events(worker& w, ticks now);
  /// The same between tasks.
  void attend_events_between_tasks(worker& w, ticks now);
  /// Called by a poller that returns pending, to request the next call after `gap` or slightly later. By default a
  /// sleeper polls about every 50 us, which is also the longest interval; with a request, one worker keeps polling, and
  /// naps only where its naps have been shorter than the gap. Valid until the pollers are called again.
  void ask_again_after(ticks gap) noexcept { wanted_gap_ = wanted_gap_ == 0 ? gap : std::min(wanted_gap_, gap); }

  /// Describes the suspended tasks and what they wait for, see explain.hpp. Empty when no task is suspended.
  [[nodiscard]] std::string explain_waits();
  /// Between these two calls no suspended task is resumed, so that its stack can be read. One inspector at a time; it
  /// must not wait meanwhile. Running tasks continue; a worker that would resume a suspended task waits.
  void stop_resuming() noexcept;
  void allow_resuming() noexcept;
  /// The newest of all fibers, linked by `next_in_registry`; all live as long as the scheduler.
  [[nodiscard]] const fiber* fibers() const noexcept;
  /// True while an inspector reads the stacks of suspended tasks, which must then stay suspended. A worker that resumes
  /// one calls this after setting its `waits_on` to null. Either this returns true, or the inspector sees the null:
  /// each side has a fence between its two steps; the inspector's is heavy_fence(), which makes every running thread
  /// execute one.
  [[nodiscard]] bool inspected() const noexcept {
    light_fence();
    // acquire: pairs with the inspector's release, so that its reads come before the stack changes.
    return inspecting_.load(std::memory_order_acquire);
  }
  void wait_for_inspector() const noexcept;
  [[nodiscard]] std::uint64_t suspended_tasks() const noexcept;
  /// True when nothing can proceed without outside input: all workers sleep, no timer is armed, no poll is pending.
  [[nodiscard]] bool quiet(bool whatever_is_polled_for = false) const noexcept;
  /// Grows whenever a task starts or resumes.
  [[nodiscard]] std::uint64_t progress() const noexcept;
  /// Free stacks in the common lists: warm ones keep the memory they touched, cold ones have returned it.
  [[nodiscard]] unsigned warm_stacks() const noexcept { return n_common_fibers_.load(std::memory_order_relaxed); }
  [[nodiscard]] unsigned cold_stacks() const noexcept { return n_cold_fibers_.load(std::memory_order_relaxed); }

  [[nodiscard]] unsigned worker_count() const noexcept { return static_cast<unsigned>(workers_.size()); }
  [[nodiscard]] worker& worker_at(unsigned i) noexcept { return *workers_[i]; }
  [[nodiscard]] const worker& worker_at(unsigned i) const noexcept { return *workers_[i]; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] const stack_pool& stacks() const noexcept { return stacks_; }
  /// The operating system's ids of the workers' threads, 0 for one that does not run; empty in the deterministic mode.
  [[nodiscard]] std::vector<int> thread_ids() const;
  /// From now on each worker keeps its thread's resource usage when the thread ends.
  void keep_usage() noexcept { keeps_usage_.store(true, std::memory_order_relaxed); }
  /// The CPUs that worker `i` is bound to; empty when the operating system decides.
  [[nodiscard]] std::vector<unsigned> processors_of(unsigned i) const;
  /// The number of CPUs that the workers may run on; 0 if unknown.
  [[nodiscard]] std::size_t processors() const;
  /// Workers that run a task or are about to: all except those that search, sleep or are parked.
  [[nodiscard]] unsigned active_workers() const noexcept;
  /// Suspended tasks that are ready to resume and wait for a worker. Cost: O(stacks).
  [[nodiscard]] std::size_t ready_again() const noexcept;
  /// The number of registered pollers.
  [[nodiscard]] unsigned pollers() const noexcept { return n_pollers_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t injected() const noexcept { return injected_.size(); }
  /// Ready tasks with a priority or a worker of their own.
  [[nodiscard]] std::size_t placed() const noexcept;

  // Used by suspend() and the worker loop.
  [[nodiscard]] std::size_t stack_bytes() const noexcept { return stacks_.stack_bytes(); }
  /// Ensures that w.free_fibers is not empty. Returns false if the operating system has no memory for another stack.
  bool reserve_loop_fiber(worker& w) noexcept { return w.free_fibers != nullptr || find_loop_fiber(w); }
  fiber* take_loop_fiber(worker& w) {
    if (!reserve_loop_fiber(w)) throw std::bad_alloc();
    --w.n_free_fibers;
    return std::exchange(w.free_fibers, w.free_fibers->next_free);
  }
  void keep_loop_fiber(worker& w, fiber* f) noexcept {
    f->next_free = std::exchange(w.free_fibers, f);
    if (++w.n_free_fibers == 2 * fiber_batch) [[unlikely]]
      give_common_fibers(w);
  }
  /// Pushes a task back that was popped from the worker's own deque, and wakes a worker if needed: one that was about
  /// to sleep may have missed the task.
  void put_back(worker& w, task* t);
  /// Null if the operating system has no memory for another stack of this size.
  fiber* take_sized_fiber(unsigned stack_class) noexcept;
  void keep_sized_fiber(fiber* f) noexcept;
  void deadline_changed(ticks deadline) noexcept;  // there is a new timer
  task* next_task(worker& w);                      // null: leave the loop
  /// The newest task of the worker's own deque. Null if something else goes first; then the loop decides.
  task* next_resumed(worker& w) noexcept;
  /// A task that is ready now, or null. Runs timers and pollers if there is none. Never sleeps.
  task* try_next_task(worker& w);
  /// Moves a task that was taken from a queue behind all others.
  void requeue(task* t);
  /// The same for a task without memory for its stack. Tasks of other queues precede it: they may free a stack.
  void put_off(worker& w, task* t);

 private:
  struct threads;  // hides <thread>
  struct poller {
    std::uint64_t id;
    poll_function function;
    void* arg;
    poll_clock_use use;
  };

  static constexpr unsigned fiber_batch =
      32;  // moved together between a worker and the common list; a worker keeps < 2
  bool find_loop_fiber(worker& w) noexcept;
  void give_common_fibers(worker& w) noexcept;
  void take_common_fibers(worker& w) noexcept;
  static void cool(fiber* first) noexcept;
  fiber* take_cold_fiber();

  fiber* new_fiber(stack_pool& stacks, void (*entry)());
  void free_fibers() noexcept;
  void end_threads();
  void start_threads();
  void thread_main(unsigned index);
  void end_of_thread(worker& w) noexcept;
  void wait_until_quiet(double deadline_s);
  void wait_for_visitors();
  // Work that any worker may take; tasks in the workers' inboxes.
  [[nodiscard]] bool any_work() const noexcept { return any_but_low() || !low_.empty(); }
  [[nodiscard]] bool any_but_low() const noexcept;
  [[nodiscard]] bool any_inbox() const noexcept;

  void submit_from_outside(task* t);
  void place(task* t);  // submit() of a task with a priority, a worker or a stack size
  void rank_victims();
  task* take_placed(worker& w) noexcept;
  task* steal(worker& w, ticks now) noexcept;
  static constexpr std::int64_t most_stolen = 64;  // in one steal, besides the first
  static task* take_half(worker& w, worker& victim) noexcept;
  task* steal_from(worker& w, worker& victim, ticks now) noexcept;
  task* next_task_chosen(worker& w);  // deterministic mode
  bool pass_time();
  bool nothing_to_do();
  task* search(worker& w);
  void end_idling(worker& w, ticks begin, ticks end, ticks polled_before) noexcept;
  [[nodiscard]] bool above_cap(const worker& w) const noexcept { return w.index >= worker_cap(); }
  task* next_task_while_parked(worker& w);
  void park(worker& w);
  bool unpark(const worker& w) noexcept;
  worker* take_misplaced() noexcept;
  void unpark_all() noexcept;
  task* take_chosen(worker& w);  // deterministic mode
  task* look_for_work(worker& w, ticks now);
  task* take_injected(worker& w) noexcept;
  task* take_others(worker& w) noexcept;
  void stop_watching() noexcept;
  task* stop_searching(worker& w) noexcept;
  [[nodiscard]] bool worth_staying(const worker& w) const noexcept;
  bool sleep_until_work(worker& w, ticks close_nap = 0);
  bool sleep_as_listed(worker& w, bool naps, ticks close_nap);
  [[nodiscard]] ticks close_gap(const worker& w) const noexcept;
  [[nodiscard]] ticks nap_cost() const noexcept;
  [[nodiscard]] ticks close_deadline(ticks now) const noexcept;
  bool nap_closely(worker& w, ticks nap);
  void wake_for_work() noexcept;
  void wake_one() noexcept;
  void wake(worker& w) noexcept;
  static bool membarrier_available() noexcept;
  void sleepers_changed() noexcept;
  [[nodiscard]] bool sleepers_miss_something() const noexcept;
  bool clock_says_due(worker& w) const noexcept;
  /// `begin`: the clock now; 0: it has not been read.
  bool run_pollers(worker& w, ticks begin = 0);
  [[nodiscard]] bool another_polls(const worker& w) const noexcept;
  struct poll_outcome {
    bool progressed;
    ticks end;  // the clock afterwards
  };
  poll_outcome ask_pollers(worker& w, ticks begin) noexcept;
  task* poll_until(worker& w, ticks until);
  void record_polling(worker& w, ticks begin, ticks now) noexcept;
  void let_another_poll() noexcept;
  unsigned fire_timers(ticks now);
  [[nodiscard]] ticks earliest_deadline() const noexcept;
  /// Orders the store of a new task before the loads of n_sleeping_ and n_searching_. heavy_fence(), on the sleeper's
  /// side, enforces that on every running thread, so here only the compiler needs to be held.
  void light_fence() const noexcept {
    if (needs_fence_)
      full_fence();
    else
      std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void heavy_fence() noexcept;

  struct spans {
    ticks spin = ticks_from(40e-6);          // how long a worker searches for work before it sleeps
    ticks check = ticks_from(10e-6);         // how often a busy one checks timers and pollers
    ticks idle = ticks_from(2e-6);           // a shorter search is accounted as overhead, a longer one as idle time
    ticks answer = ticks_from(4e-6);         // how long a waiting task polls before it is suspended
    ticks poll = ticks_from(50e-6);          // how long a worker sleeps while a poll is pending
    ticks close_nap = ticks_from(20e-6);     // upper bound on the same when a poller has requested an early call
    ticks minimum_age = ticks_from(300e-9);  // minimum age of a victim's only task before it is stolen
    ticks glance = ticks_from(1e-6);         // how long the watcher searches after a nap
    ticks shortest_nap = ticks_from(10e-6), longest_nap = ticks_from(100e-6);
    ticks shortest_pause = ticks_from(150e-9), longest_pause = ticks_from(2e-6);  // between search rounds
  };

  // The first member, so that no fiber or executor finds a scheduler whose constructor has failed.
  struct reachable {
    explicit reachable(scheduler& s);
    ~reachable() { end(); }
    void end() noexcept;
    home_link& link;
  };
  reachable home_{*this};
  const spans spans_;
  const bool deterministic_;
  conductor* const conductor_;
  std::atomic<loop_tuning*> tuned_loops_{nullptr};  // published with release; readers acquire
  std::atomic<void*> attached_{nullptr};            // the same
  std::atomic<bool> keeps_usage_{false};
  bool needs_fence_ = true;
  std::atomic<bool> inspecting_{false};
  spinlock inspector_lock_;  // held by the thread that may set inspecting_
  const std::uint64_t seed_;
  const double shutdown_deadline_s_;
  const std::size_t warm_stacks_;
  const bool guard_pages_, explain_overflow_;
  std::uint64_t choice_state_;
  ticks virtual_now_ = 0;  // nanoseconds
  const std::atomic<bool>* run_done_ = nullptr;

  // Stacks of a size that tasks requested, and the fibers that no longer use them.
  struct sized_stacks {
    sized_stacks(std::size_t bytes, bool guards) : stacks(bytes, guards) {}
    stack_pool stacks;
    fiber* free = nullptr;
    unsigned n_free = 0;
    fiber* cold = nullptr;  // free ones whose memory was returned
  };
  static constexpr unsigned n_stack_classes = 32;

  overflow_watch overflow_watch_;
  stack_pool stacks_;
  std::array<std::unique_ptr<sized_stacks>, n_stack_classes> sized_;  // guarded by fibers_lock_
  const std::vector<unsigned> cores_;  // the CPUs that the workers are bound to: one each, or all of them
  std::vector<std::unique_ptr<worker>> workers_;
  std::unique_ptr<threads> threads_;
  mutable spinlock fibers_lock_;
  fiber* all_fibers_ = nullptr;
  fiber* common_fibers_ = nullptr;  // free ones of no worker
  std::atomic<unsigned> n_common_fibers_{0};
  fiber* cold_fibers_ = nullptr;  // free ones whose memory was returned
  std::atomic<unsigned> n_cold_fibers_{0};

  // Read at every push, and written when a worker falls asleep or wakes up. Searchers and visitors write at every
  // round, each on a line of their own.
  alignas(cache_line_bytes) std::atomic<unsigned> n_sleeping_{0};
  std::atomic<bool> watched_{false};  // a watcher takes naps, see sleep_until_work()
  std::atomic<bool> stop_{false};
  alignas(cache_line_bytes) std::atomic<unsigned> n_searching_{0};
  alignas(cache_line_bytes) std::atomic<unsigned> visitors_{0};
  alignas(cache_line_bytes) mutable spinlock sleep_lock_;
  std::vector<worker*> sleeping_;
  std::vector<worker*> parked_;  // parked workers that sleep; guarded by sleep_lock_
  std::atomic<unsigned> n_parked_{0};
  std::atomic<unsigned> cap_;                         // written under sleep_lock_
  std::atomic<worker*> watcher_{nullptr};             // written under sleep_lock_
  std::atomic<ticks> next_wake_{timer_queue::never};  // the earliest deadline of the sleeping workers

  task_queue high_, injected_, low_;

  alignas(cache_line_bytes) spinlock poll_lock_;  // held by the one worker that polls
  std::vector<poller> pollers_;
  std::uint64_t next_poller_id_ = 1;
  std::atomic<unsigned> n_pollers_{0};
  std::atomic<bool> polls_pending_{false};
  std::atomic<const worker*> last_polled_{nullptr};  // the worker that polled last: its caches hold the pollers' data
  std::atomic<bool> pollers_asked_{false};           // since their last call
  ticks wanted_gap_ = 0;            // smallest requested gap in this round; 0: none. Guarded by poll_lock_
  std::atomic<ticks> poll_gap_{0};  // result of the last round
  std::atomic<ticks> nap_lateness_{ticks_from(5e-6)};  // how late a close nap ends, a running mean
  probe::idle_balance& balance_;
};

/// The scheduler that submissions from the calling thread go to: on a worker its own, otherwise the oldest one of the
/// process.
scheduler& current_scheduler();
/// The same; null if no scheduler exists.
scheduler* find_current_scheduler() noexcept;

/// Suspends the running task. `after(arg)` is called on another stack as soon as the task can be resumed; it publishes
/// the task to the code that will resume it. Returns after resume() has been called for the fiber.
///
/// Suspending takes a free loop fiber of the worker. The loop reserves one before it starts a task, and resuming a task
/// frees the loop's own fiber, so suspend() neither allocates nor fails as long as the operating system has memory. If
/// it has none, the task starts without a reserved fiber, and suspend() throws std::bad_alloc before it changes
/// anything. A caller that changes state before it suspends must call require_stack() first.
void suspend(const wait_reason& waits_on, void (*after)(void*), void* arg);
/// Throws std::bad_alloc when suspend() would.
inline void require_stack(worker& w) {
  if (!w.home.reserve_loop_fiber(w)) throw std::bad_alloc();
}
/// Makes a suspended task ready to run again. Call exactly once per suspend().
void resume(fiber& f);
/// Moves the running task to the end of the injection queue.
void yield_task();
/// For a task that must wait although there is no memory for a stack to switch to: another task runs on top of the
/// caller's stack, or a suspended one resumes in the caller's place. Returns at once if no task is ready.
void let_another_run();
/// Called by a task between two children that it runs inline. Returns the worker that the caller is on afterwards,
/// which may be another one.
worker* pass_slowly(worker& w);
inline worker* pass_boundary(worker* w) { return w->home.boundary_due(*w) ? pass_slowly(*w) : w; }
/// Called by a task between two chunks of a loop, at time `now`. True when other tasks have run meanwhile.
bool pass_between_pieces(ticks now);
/// A point where the seed may let other tasks run in the deterministic mode; otherwise does nothing.
inline std::atomic<unsigned> deterministic_schedulers{0};  // of the process
void choose_here();
inline void choice_point() {
  if (deterministic_schedulers.load(std::memory_order_relaxed) != 0) [[unlikely]]
    choose_here();
}
/// Arms `t` on the caller's worker and ensures that a worker is awake in time. Requires: called by a task.
void arm_timer(timer& t);

/// The class of the smallest stack of at least `bytes` bytes: class c has 4096 << c.
constexpr std::uint8_t stack_class(std::size_t bytes) noexcept {
  return static_cast<std::uint8_t>(std::max(2, static_cast<int>(std::bit_width((bytes - 1) >> 12))));
}
constexpr std::size_t bytes_of_stack_class(unsigned c) noexcept { return std::size_t{4096} << c; }

/// Ends the slice of the running coroutine as it is suspended and accounts its time; the code that runs it as a task
/// then does not account it again. Returns its total run time so far.
ticks end_part(worker& w) noexcept;

/// True when less than a quarter of the caller's stack is left. Checked before a task that could also have a stack of
/// its own runs in the caller's frame: then the stack size limits neither chains of waiting tasks nor chains of
/// continuations, and a task that runs in the frame has at least a quarter of a stack.
bool stack_is_low() noexcept;

/// Runs a task inline, in the frame of its waiter. Requires: !stack_is_low().
/// `as_caller`: with the caller's identity, as for a deferred function.
void run_inline(worker& w, task* t, bool as_caller = false);

}  // namespace plx::detail
