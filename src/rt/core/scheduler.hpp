// Workers, the loop they run, and how a task gives up its place and gets it back.
//
// Thread safety: submit(), resume() and this_worker() from anywhere; suspend() from a task only. Cost: see
// docs/runtime.md. The invariants of sleeping are stated at `scheduler::sleep_until_work`.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "rt/core/deque.hpp"
#include "rt/core/fiber.hpp"
#include "rt/core/overflow.hpp"
#include "rt/core/parker.hpp"
#include "rt/core/task.hpp"
#include "rt/core/task_queue.hpp"
#include "rt/core/timer_queue.hpp"
#include "rt/runtime_options.hpp"

namespace plx {
struct runtime_options;
namespace probe {
class recorder;
struct thread_usage;
class wait_log;
class worker_log;
}  // namespace probe
}  // namespace plx

namespace plx::detail {

class scheduler;
class future_state_base;
class made_ready_by;
class loop_tuning;
class conductor;
struct spare_origin;  // origin.hpp

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

/// See place.hpp. Invariant, guarded by the lock: `home` may be used until the lock is released, or until end_visit()
/// after a begin_visit() under it.
struct home_link {
  spinlock lock;
  bool takes_tasks = true;    // false from the beginning of stop() on: only suspended tasks are resumed then
  scheduler* home = nullptr;  // null when it has ended
  home_link* older = nullptr;
};

struct worker {
  worker(scheduler& s, unsigned i);
  ~worker();

  work_deque deque;
  task_queue inbox;                          // tasks that only this worker runs
  alignas(cache_line_bytes) spinlock thief;  // held by the one that steals from here
  alignas(cache_line_bytes) scheduler& home;
  const unsigned index;

  fiber* current = nullptr;           // what runs now
  task_info info{};                   // of the running task
  const void* task_id = nullptr;      // its identity: not to be looked into, a coroutine frees itself before it has run
  const void* task_owner = nullptr;   // its task::owner
  const outer_task* outer = nullptr;  // the tasks in whose frames it runs
  at_task_end* at_end = nullptr;      // what it does at its end, see task_end.hpp
  bool part_ended = false;            // the coroutine that ran is suspended, and its time is booked
  ticks earlier = 0;                  // what the running task took before it was suspended
  ticks boundary = 0;                 // the clock at the last task boundary: the start of what runs now
  ticks next_check = 0;               // when timers and pollers are looked at again
  unsigned until_clock = 1;           // at so many boundaries within tasks the clock is read, see boundary_due()
  unsigned clock_stride = 1;
  probe::worker_log* log = nullptr;
  probe::wait_log* waits = nullptr;

  // What the trace wants to know of the running task; all 0 while nobody does. See origin.hpp.
  bool in_task = false;
  std::uint64_t id = 0;
  std::uint64_t cause = 0;                  // who made this piece ready
  ticks ready = 0;                          // and when
  ticks path = 0;                           // the longest path to `boundary`
  const made_ready_by* ready_by = nullptr;  // a result: what is made ready now comes from it
  spare_origin* spare_origins = nullptr;    // of tasks that have begun and results that are gone: for the next ones
  unsigned n_spare_origins = 0;
  unsigned ready_turn = 1;  // of the tasks that begin while all tell when they became ready: see begin_slice()
  ticks end = 0;            // the running task has told its result at that time, and does nothing more

  void (*after_switch)(void*) = nullptr;  // what the place that was left still wanted done
  void* after_switch_arg = nullptr;

  fiber* free_fibers = nullptr;  // idle loops, ready to take over
  unsigned n_free_fibers = 0;
  // Another worker may hand a task to this one while it searches: see scheduler::hand_over().
  alignas(cache_line_bytes) std::atomic<task*> handed{nullptr};
  std::atomic<bool> searching{false};
  std::atomic<bool> looks_for_work{false};  // or sleeps: it is in no task

  /// What this worker saw of another one's deque when it held a single task.
  struct single_task {
    std::int64_t oldest = -1;
    ticks since = 0;
  };
  alignas(cache_line_bytes) std::vector<single_task> singles;  // by victim; from here on the worker's own
  std::vector<unsigned> victims;                               // the other workers, the nearest first
  std::vector<unsigned> groups;                                // where in `victims` each group of equal distance ends
  std::uint64_t rng;
  unsigned turn = 0;  // counts loop rounds, so that the injection queue is looked at now and then

  timer_queue timers;
  parker sleep;
  ticks nap = 0;                            // the next one, as the watcher
  ticks sleeps_until = timer_queue::never;  // guarded by the scheduler's sleep_lock_
  bool polling = false;
  fiber* thread_fiber = nullptr;  // the operating-system thread's own stack
  std::atomic<int> thread_id{0};  // as the system calls the thread, while it runs; for who measures it
  static constexpr int thread_has_ended = -1;
  std::unique_ptr<const probe::thread_usage> last_usage;  // once it has ended, if somebody wants to know
  void* exceptions = nullptr;  // what the C++ runtime keeps per thread about exceptions being handled

  owned_count executed, taken_back, spawned, suspended, resumed, steals, failed_steals, sleeps, yields, poller_calls,
      poller_progress;
};

/// The worker that the caller runs on; null on a thread that is no worker's. Never inlined: after a point where a task
/// can wait, the answer may be another one.
worker* this_worker() noexcept;

/// What the maker of a task expects of others. anyone: perhaps the maker takes it back at once, so a single one wakes
/// nobody and is left alone for a moment. sleepers: somebody who sleeps should get up for it. thieves: it is half of a
/// loop; somebody should take it as soon as possible.
enum class meant_for : std::uint8_t { anyone, sleepers, thieves };

using poll_function = poll_result (*)(void*);

class scheduler {
 public:
  /// `cores`: the processors to bind to; empty: none.
  explicit scheduler(const runtime_options& options, std::vector<unsigned> cores, probe::recorder& recorder);
  ~scheduler();
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  /// Waits until nothing can go on any more, or for the deadline if tasks still wait then, and ends the workers. The
  /// destructor calls it when nobody did.
  void stop();

  /// Makes `t` run some time. From a worker of this scheduler it goes to that worker's deque, unless `t` has a place of
  /// its own: a priority, a worker or a size of stack.
  void submit(task* t, meant_for who = meant_for::anyone);
  /// Makes the task that is suspended on `f` go on behind everything that waits.
  void submit_last(fiber& f);
  /// resume(), on worker `to` if that one looks for work just now: its caches still hold what the task works on.
  void hand_over(fiber& f, worker& to);
  /// Behind everything that waits in the injection queue.
  void inject(task* t);
  /// Around a submit() from outside that nothing else keeps this scheduler alive for: stop() waits for the visitors.
  void begin_visit() noexcept { visitors_.fetch_add(1, std::memory_order_relaxed); }
  void end_visit() noexcept { visitors_.fetch_sub(1, std::memory_order_release); }
  [[nodiscard]] home_link& link() const noexcept { return home_.link; }
  /// Asks what is polled for, for a moment, in the place of the running task of `w`, which waits for `awaited`: true
  /// when that is there. False at once where there is other work.
  bool poll_for(worker& w, const future_state_base& awaited);
  /// In the deterministic mode: runs tasks on the calling thread until `done` or nothing can go on any more; the second
  /// gives false.
  bool run_until(const std::atomic<bool>& done);
  [[nodiscard]] bool deterministic() const noexcept { return deterministic_; }
  std::uint64_t choose(std::uint64_t n) noexcept;  // the seed's decision among n, deterministic mode only

  /// Only workers 0 .. n-1 take tasks from here on. The others end the task they run, with the children it takes back
  /// itself, and then sit on the bench: they run what is pinned to them and nothing else; what lies in their deques is
  /// stolen. A larger cap gets them up. n is brought to 1 .. worker_count(). The deterministic mode obeys.
  void set_worker_cap(unsigned n) noexcept;
  /// Who tunes the loops of this scheduler, or null. What is set must live as long as the workers, and be set once.
  void tune_loops(loop_tuning* t) noexcept { tuned_loops_.store(t, std::memory_order_release); }
  [[nodiscard]] loop_tuning* tuned_loops() const noexcept { return tuned_loops_.load(std::memory_order_acquire); }
  /// How many workers take tasks now.
  [[nodiscard]] unsigned worker_cap() const noexcept { return cap_.load(std::memory_order_relaxed); }

  /// The clock of timers: ticks; in the deterministic mode virtual ones that pass only when nothing else can happen.
  [[nodiscard]] ticks now() const noexcept { return deterministic_ ? virtual_now_ : now_ticks(); }
  /// So many seconds on that clock. A virtual tick is a nanosecond, so that a seed means the same in every process.
  [[nodiscard]] ticks span_of(double s) const noexcept;
  /// Who decides when this deterministic scheduler goes on; null where it decides itself.
  [[nodiscard]] const conductor* conducted_by() const noexcept { return conductor_; }

  /// What a library above belongs to this runtime with (net's node); null while there is none.
  void attach(void* what) noexcept { attached_.store(what, std::memory_order_release); }
  [[nodiscard]] void* attached() const noexcept { return attached_.load(std::memory_order_acquire); }

  std::uint64_t add_poller(poll_function f, void* arg);
  void remove_poller(std::uint64_t id);
  void ask_pollers() noexcept;  // now, by whoever is free; from any thread

  // A task that runs its children inline, or the pieces of a loop, passes boundaries within itself. There, as between
  // tasks, urgent and pinned tasks go first, and each 10 us timers and pollers are looked at.
  /// True when the running task of `w` should be suspended behind what is urgent.
  [[nodiscard]] bool urgent_for(const worker& w) const noexcept {
    return (!high_.empty() && w.info.where.priority != priority::high) ||
           (!w.inbox.empty() && w.info.where.worker == 0);
  }
  /// True when pass_boundary() has something to do. Reads the clock rarely where boundaries are close to each other.
  [[nodiscard]] bool boundary_due(worker& w) const noexcept {
    if (urgent_for(w)) [[unlikely]]
      return true;
    return --w.until_clock == 0 && clock_says_due(w);
  }
  /// Fires due timers and calls pollers, in the place of the running task of `w`.
  void attend_events(worker& w, ticks now);
  /// By a poller that answers pending: it wants to be asked again after `gap` or a little later. Without it, and for
  /// the longest, a sleeper looks every 50 us or so; with it one goes on looking, and naps only where its naps have
  /// been shorter than the gap. Until the pollers are asked again.
  void ask_again_after(ticks gap) noexcept { wanted_gap_ = wanted_gap_ == 0 ? gap : std::min(wanted_gap_, gap); }

  /// Who waits on what, see detail/explain.hpp. Empty when no task is suspended.
  [[nodiscard]] std::string explain_waits();
  /// Between these two no suspended task goes on, so that its stack can be read. One inspector at a time; it must not
  /// wait meanwhile. What runs goes on running; who would go on in a suspended task waits.
  void stop_resuming() noexcept;
  void allow_resuming() noexcept;
  /// The newest of all fibers there are, linked by `next_in_registry`; none goes before the scheduler does.
  [[nodiscard]] const fiber* fibers() const noexcept;
  /// True while suspended tasks must stay where they are: somebody looks at their stacks. Asked by who goes on in one,
  /// after its `waits_on` became null. Either this says so, or the inspector sees the null: between the two steps of
  /// either side stands a fence, the inspector's being heavy_fence(), which lends every running thread one.
  [[nodiscard]] bool inspected() const noexcept {
    if (needs_fence_)
      full_fence();
    else
      std::atomic_signal_fence(std::memory_order_seq_cst);
    // acquire: pairs with the inspector's release; what it read, it has read before the stack changes.
    return inspecting_.load(std::memory_order_acquire);
  }
  void wait_for_inspector() const noexcept;
  [[nodiscard]] std::uint64_t suspended_tasks() const noexcept;
  /// Nothing can go on by itself: all workers sleep, no timer is armed, nothing is polled for.
  [[nodiscard]] bool quiet(bool whatever_is_polled_for = false) const noexcept;
  /// Grows whenever a task begins or goes on.
  [[nodiscard]] std::uint64_t progress() const noexcept;
  /// Stacks without a task: those of all workers that keep what they touched, and those that gave it back.
  [[nodiscard]] unsigned warm_stacks() const noexcept { return n_common_fibers_.load(std::memory_order_relaxed); }
  [[nodiscard]] unsigned cold_stacks() const noexcept { return n_cold_fibers_.load(std::memory_order_relaxed); }

  [[nodiscard]] unsigned worker_count() const noexcept { return static_cast<unsigned>(workers_.size()); }
  [[nodiscard]] worker& worker_at(unsigned i) noexcept { return *workers_[i]; }
  [[nodiscard]] const worker& worker_at(unsigned i) const noexcept { return *workers_[i]; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] const stack_pool& stacks() const noexcept { return stacks_; }
  /// The system's numbers of the workers' threads, 0 for one that does not run; empty in the deterministic mode.
  [[nodiscard]] std::vector<int> thread_ids() const;
  /// From now on workers leave behind what their threads have used.
  void keep_usage() noexcept { keeps_usage_.store(true, std::memory_order_relaxed); }
  /// The processors that worker `i` is bound to; empty when the system decides.
  [[nodiscard]] std::vector<unsigned> processors_of(unsigned i) const;
  /// Workers that run a task now, or are about to: all but those that search, sleep or must not take any.
  [[nodiscard]] unsigned active_workers() const noexcept;
  /// Suspended tasks that may go on and wait for a worker. Cost: a look at every stack.
  [[nodiscard]] std::size_t ready_again() const noexcept;
  /// Functions that are called between tasks.
  [[nodiscard]] unsigned pollers() const noexcept { return n_pollers_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t injected() const noexcept { return injected_.size(); }
  /// Ready tasks with a place of their own: a priority, or a worker.
  [[nodiscard]] std::size_t placed() const noexcept;

  // Used by suspend() and the worker loop.
  fiber* take_loop_fiber(worker& w);  // throws std::bad_alloc
  /// Sees to it that w.free_fibers is not empty. False: the system has no memory for another stack.
  bool reserve_loop_fiber(worker& w) noexcept;
  /// Pushes a task back that was popped from the own deque: a worker that is about to sleep may have missed it.
  void put_back(worker& w, task* t);
  void keep_loop_fiber(worker& w, fiber* f) noexcept;
  fiber* take_sized_fiber(unsigned stack_class);
  void keep_sized_fiber(fiber* f) noexcept;
  void deadline_changed(ticks deadline) noexcept;  // there is a new timer
  task* next_task(worker& w);                      // null: leave the loop
  /// The newest task of the own deque, unless something else goes first: then null, and the loop decides.
  task* next_resumed(worker& w) noexcept;

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
  // Work that any worker may do; and what lies in somebody's inbox.
  [[nodiscard]] bool any_work() const noexcept { return any_but_low() || !low_.empty(); }
  [[nodiscard]] bool any_but_low() const noexcept;
  [[nodiscard]] bool any_inbox() const noexcept;

  void submit_from_outside(task* t);
  void place(task* t);  // submit() of a task with a place of its own
  void rank_victims();
  task* take_placed(worker& w) noexcept;
  task* steal(worker& w, ticks now) noexcept;
  static constexpr std::int64_t most_stolen = 64;  // at once, besides the first
  static task* take_half(worker& w, worker& victim) noexcept;
  task* steal_from(worker& w, worker& victim, ticks now) noexcept;
  task* next_task_chosen(worker& w);  // deterministic mode
  bool pass_time();
  bool nothing_to_do();
  task* search(worker& w);
  void end_idling(worker& w, ticks begin, ticks polled_before) noexcept;
  [[nodiscard]] bool benched(const worker& w) const noexcept { return w.index >= worker_cap(); }
  task* next_task_on_bench(worker& w);
  void sit_on_bench(worker& w);
  bool leave_bench(const worker& w) noexcept;
  worker* take_misplaced() noexcept;
  void empty_bench() noexcept;
  task* take_chosen(worker& w);  // deterministic mode
  task* look_for_work(worker& w, ticks now);
  task* take_injected(worker& w) noexcept;
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
  bool run_pollers(worker& w);
  [[nodiscard]] bool another_polls(const worker& w) const noexcept;
  bool ask_pollers(worker& w);
  task* poll_until(worker& w, ticks until);
  void book_polling(worker& w, ticks begin, ticks now) noexcept;
  unsigned fire_timers(ticks now);
  [[nodiscard]] ticks earliest_deadline() const noexcept;
  void light_fence() const noexcept;  // the pusher's half of the pair with heavy_fence()
  void heavy_fence() noexcept;        // the sleeper's half

  struct spans {
    ticks spin = ticks_from(40e-6);       // how long a worker looks for work before it sleeps
    ticks check = ticks_from(10e-6);      // how often a busy one looks at timers and pollers
    ticks idle = ticks_from(2e-6);        // finding work faster than this is the scheduler's overhead, slower is idling
    ticks answer = ticks_from(4e-6);      // how long a task that waits asks for its answer before it gives up its place
    ticks poll = ticks_from(50e-6);       // how long a worker sleeps while something that is polled for is outstanding
    ticks close_nap = ticks_from(20e-6);  // the same at most, when a poller wants to be asked again soon
    ticks patience = ticks_from(300e-9);  // how old a victim's only task must be before it is stolen
    ticks glance = ticks_from(1e-6);      // how long the watcher looks around after a nap
    ticks shortest_nap = ticks_from(10e-6), longest_nap = ticks_from(100e-6);
    ticks shortest_pause = ticks_from(150e-9), longest_pause = ticks_from(2e-6);  // between looks for work
  };

  // The first member: no fiber or executor finds a scheduler whose constructor has failed.
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
  std::atomic<loop_tuning*> tuned_loops_{nullptr};  // release, acquire: who is seen is complete
  std::atomic<void*> attached_{nullptr};            // the same
  std::atomic<bool> keeps_usage_{false};
  bool needs_fence_ = true;
  std::atomic<bool> inspecting_{false};
  spinlock inspector_lock_;  // held by who may set it
  const std::uint64_t seed_;
  const double shutdown_deadline_s_;
  const std::size_t warm_stacks_;
  const bool guard_pages_, explain_overflow_;
  std::uint64_t choice_state_;
  ticks virtual_now_ = 0;  // nanoseconds
  const std::atomic<bool>* run_done_ = nullptr;

  // Stacks of a size that a task asked for, and the fibers that are done with them.
  struct sized_stacks {
    sized_stacks(std::size_t bytes, bool guards) : stacks(bytes, guards) {}
    stack_pool stacks;
    fiber* free = nullptr;
    unsigned n_free = 0;
    fiber* cold = nullptr;  // free ones whose memory was given back
  };
  static constexpr unsigned n_stack_classes = 32;

  overflow_watch overflow_watch_;
  stack_pool stacks_;
  std::array<std::unique_ptr<sized_stacks>, n_stack_classes> sized_;  // guarded by fibers_lock_
  const std::vector<unsigned> cores_;  // the processors that the workers are bound to: one each, or all of them
  std::vector<std::unique_ptr<worker>> workers_;
  std::unique_ptr<threads> threads_;
  mutable spinlock fibers_lock_;
  fiber* all_fibers_ = nullptr;
  fiber* common_fibers_ = nullptr;  // free ones of no worker
  std::atomic<unsigned> n_common_fibers_{0};
  fiber* cold_fibers_ = nullptr;  // free ones whose memory was given back
  std::atomic<unsigned> n_cold_fibers_{0};

  // Read at every push, and written when a worker falls asleep or wakes up. Searchers and visitors write at every
  // round, each on a line of their own.
  alignas(cache_line_bytes) std::atomic<unsigned> n_sleeping_{0};
  std::atomic<bool> watched_{false};  // somebody takes naps, see sleep_until_work()
  std::atomic<bool> stop_{false};
  alignas(cache_line_bytes) std::atomic<unsigned> n_searching_{0};
  alignas(cache_line_bytes) std::atomic<unsigned> visitors_{0};
  alignas(cache_line_bytes) mutable spinlock sleep_lock_;
  std::vector<worker*> sleeping_;
  std::vector<worker*> bench_;  // who sits there and sleeps; guarded by sleep_lock_
  std::atomic<unsigned> n_benched_{0};
  std::atomic<unsigned> cap_;                         // written under sleep_lock_
  std::atomic<worker*> watcher_{nullptr};             // written under sleep_lock_
  std::atomic<ticks> next_wake_{timer_queue::never};  // when the first of them gets up by itself

  task_queue high_, injected_, low_;

  alignas(cache_line_bytes) spinlock poll_lock_;  // held by the one worker that polls
  std::vector<poller> pollers_;
  std::uint64_t next_poller_id_ = 1;
  std::atomic<unsigned> n_pollers_{0};
  std::atomic<bool> polls_pending_{false};
  std::atomic<const worker*> last_polled_{nullptr};    // who did so last, whose caches have what pollers look at
  std::atomic<bool> pollers_asked_{false};             // since they were called last
  ticks wanted_gap_ = 0;                               // of those that were asked so far; 0: none. Under poll_lock_
  std::atomic<ticks> poll_gap_{0};                     // what came of it
  std::atomic<ticks> nap_lateness_{ticks_from(5e-6)};  // how late a close nap ends, a running mean
};

/// The scheduler that submissions from the calling thread go to: its own on a worker, else the oldest one of the
/// process.
scheduler& current_scheduler();
/// The same; null when there is none.
scheduler* find_current_scheduler() noexcept;

/// Suspends the running task. `after(arg)` is called as soon as the task can be resumed, on another stack; it is the
/// place to make the task known to whoever will resume it. Returns when resume() was called for the fiber.
///
/// Suspending takes a free loop fiber of the worker. The loop reserves one before it begins a task, and a task that is
/// resumed leaves the loop's own one, so suspend() neither allocates nor fails as long as the system has memory. Where
/// it has none, the task begins without, and suspend() throws std::bad_alloc before it changes anything. A caller that
/// changes something before it suspends calls require_stack() before that.
void suspend(const wait_reason& waits_on, void (*after)(void*), void* arg);
/// Throws std::bad_alloc when suspend() would.
void require_stack(worker& w);
/// Makes a suspended task run again. Exactly once per suspend().
void resume(fiber& f);
/// The running task goes to the end of the injection queue.
void yield_task();
/// Called by a task between two children that it runs inline. The caller may be on another worker afterwards: gives it.
worker* pass_slowly(worker& w);
inline worker* pass_boundary(worker* w) { return w->home.boundary_due(*w) ? pass_slowly(*w) : w; }
/// Called by a task between two pieces of a loop, at the time `now`. True when others have run meanwhile.
bool pass_between_pieces(ticks now);
/// In the deterministic mode the seed may let others run here; otherwise nothing happens.
inline std::atomic<unsigned> deterministic_schedulers{0};  // of the process
void choose_here();
inline void choice_point() {
  if (deterministic_schedulers.load(std::memory_order_relaxed) != 0) [[unlikely]]
    choose_here();
}
/// Arms `t` on the caller's worker and sees to it that some worker is awake in time. Requires: called by a task.
void arm_timer(timer& t);

/// The class of the smallest stack that has at least so many bytes: class c has 4096 << c.
constexpr std::uint8_t stack_class(std::size_t bytes) noexcept {
  return static_cast<std::uint8_t>(std::max(2, static_cast<int>(std::bit_width((bytes - 1) >> 12))));
}
constexpr std::size_t bytes_of_stack_class(unsigned c) noexcept { return std::size_t{4096} << c; }

/// Books what the running coroutine took until now, as it is suspended; who runs it as a task books nothing then. Gives
/// what it took so far.
ticks end_part(worker& w) noexcept;

/// True when less than a quarter of the caller's stack is left. What may run in the caller's frame or on a stack of its
/// own asks this before it runs in the frame: then neither chains of waiting tasks nor chains of continuations are
/// limited by the size of a stack, and what runs in the frame has at least a quarter of one.
bool stack_is_low() noexcept;

/// Runs a task that its waiter took back, in the waiter's own frame. Requires: !stack_is_low().
/// `as_caller`: with its identity, as a deferred function has it.
void run_taken_back(worker& w, task* t, bool as_caller = false);

}  // namespace plx::detail
