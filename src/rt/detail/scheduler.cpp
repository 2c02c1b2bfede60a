#include "rt/detail/scheduler.hpp"

#include <cxxabi.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <thread>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "probe/recorder.hpp"
#include "rt/detail/topology.hpp"
#include "rt/runtime_options.hpp"

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace plx::detail {
namespace {

thread_local worker* this_worker_ = nullptr;

std::atomic<scheduler*> default_scheduler{nullptr};

// Every living scheduler, the oldest first: that one is the default. Never destroyed: runtimes may be static objects.
struct scheduler_list {
  spinlock lock;
  std::vector<scheduler*> living;
  void oldest_is_default() noexcept {
    // release: pairs with the acquire in current_scheduler(); the scheduler is complete before it is seen.
    default_scheduler.store(living.empty() ? nullptr : living.front(), std::memory_order_release);
  }
};
scheduler_list& schedulers() {
  static auto* all = new scheduler_list;
  return *all;
}

// How long a worker looks for work before it sleeps, and how often a busy one looks at timers and pollers.
const ticks spin_span = ticks_from(40e-6);
const ticks check_span = ticks_from(10e-6);
// Finding work faster than this counts as the scheduler's overhead, slower as idling.
const ticks idle_span = ticks_from(2e-6);
// How long a worker sleeps while something that is polled for is outstanding.
const ticks poll_interval = ticks_from(50e-6);
const ticks patience = ticks_from(300e-9);  // how old a victim's only task must be before it is stolen
const ticks shortest_pause = ticks_from(150e-9), longest_pause = ticks_from(2e-6);  // between looks for work

bool membarrier_available() noexcept {
#if defined(__linux__) && defined(SYS_membarrier)
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#else
  return false;
#endif
}

// What the C++ runtime keeps per thread about the exceptions that are being handled (the first two members of the
// Itanium ABI's __cxa_eh_globals). It belongs to the task: a handler that waits may go on on another thread, and other
// tasks handle exceptions of their own meanwhile. Loops handle none, so theirs is empty.
struct handled_exceptions {
  void* caught = nullptr;
  unsigned uncaught = 0;
};

// Both never inlined: __cxa_get_globals is declared to give the same answer always, and here it does not.
[[gnu::noinline]] handled_exceptions take_handled_exceptions() noexcept {
  handled_exceptions mine;
  void* here = abi::__cxa_get_globals();
  std::memcpy(&mine, here, sizeof mine);
  if (mine.caught != nullptr || mine.uncaught != 0) {
    const handled_exceptions none;
    std::memcpy(here, &none, sizeof none);
  }
  return mine;
}

[[gnu::noinline]] void put_handled_exceptions(const handled_exceptions& mine) noexcept {
  if (mine.caught != nullptr || mine.uncaught != 0) std::memcpy(abi::__cxa_get_globals(), &mine, sizeof mine);
}

void run_after_switch() noexcept {
  worker& w = *this_worker();
  auto* f = std::exchange(w.after_switch, nullptr);
  if (f != nullptr) f(w.after_switch_arg);
}

void keep_left_fiber(void* f) noexcept {
  worker& w = *this_worker();
  w.home.keep_loop_fiber(w, static_cast<fiber*>(f));
}

// What ran until now is booked, and what comes next begins.
void end_slice(worker& w, bool finished) noexcept {
  const ticks now = now_ticks();
  w.log->record({w.info.name, w.info.key, w.boundary, now, finished, finished ? w.earlier : 0});
  w.earlier += now - w.boundary;
  w.boundary = now;
}

// The marker by which the loop knows a suspended task that is to go on.
void resume_marker(task*, run_mode) { PLX_ASSERT(false && "a suspended task is resumed by the loop alone"); }

void go_on_in(worker& w, fiber& f) {
  w.info = f.info;
  w.task_id = f.task_id;
  w.earlier = f.earlier;
  f.waits_on.store(nullptr, std::memory_order_relaxed);
  w.resumed.add();
  fiber* loop = std::exchange(w.current, &f);
  w.after_switch = keep_left_fiber;
  w.after_switch_arg = loop;
  fiber_switch(*loop, f);
  run_after_switch();  // this loop was taken from the free list, perhaps by another worker
}

void leave_loop(worker& w) {
  fiber* loop = std::exchange(w.current, w.thread_fiber);
  w.after_switch = keep_left_fiber;
  w.after_switch_arg = loop;
  fiber_switch(*loop, *w.thread_fiber);
  run_after_switch();
}

// What a fiber does that has no task of its own. Everything about "the worker" is asked anew after each task.
void loop_entry() {
  run_after_switch();
  for (;;) {
    worker& asking = *this_worker();
    task* t = asking.home.next_task(asking);
    worker& w = *this_worker();  // the deterministic mode may have chosen another one
    if (t == nullptr) {
      leave_loop(w);
    } else if (t->run == resume_marker) {
      go_on_in(w, *static_cast<fiber*>(const_cast<void*>(t->owner)));
    } else {
      w.info = t->info;
      w.task_id = t;
      w.earlier = 0;
      t->run(t, run_mode::scheduled);
      worker& after = *this_worker();
      after.executed.add();
      end_slice(after, true);
    }
  }
}

}  // namespace

void spinlock::wait_until_free() noexcept {
  for (unsigned i = 0; locked_.load(std::memory_order_relaxed); ++i) {
    if (i < 100)
      cpu_relax();
    else
      sched_yield();
  }
}

[[gnu::noinline]] worker* this_worker() noexcept {
  asm volatile("" ::: "memory");  // keeps the compiler from remembering an earlier answer
  return this_worker_;
}

scheduler& current_scheduler() {
  if (worker* w = this_worker()) return w->home;
  scheduler* s = default_scheduler.load(std::memory_order_acquire);
  PLX_ASSERT(s != nullptr && "no runtime: make a plx::runtime before tasks");
  return *s;
}

// ---------------------------------------------------------------------------------------------- life of the scheduler

struct scheduler::threads {
  std::vector<std::thread> list;
};

scheduler::scheduler(const runtime_options& options, probe::recorder& recorder)
    : deterministic_(options.deterministic),
      seed_(options.seed),
      shutdown_deadline_s_(options.shutdown_deadline_s),
      choice_state_(options.seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du),
      stacks_(options.stack_bytes),
      threads_(std::make_unique<threads>()),
      needs_fence_(!membarrier_available()) {
  for (unsigned i = 0; i < options.workers; ++i) {
    workers_.push_back(std::make_unique<worker>(*this, i));
    workers_.back()->log = &recorder.worker(i);
    workers_.back()->singles.resize(options.workers);
  }
  sleeping_.reserve(workers_.size());
  if (!deterministic_) start_threads(options.bind);
  scheduler_list& all = schedulers();
  spin_guard guard(all.lock);
  all.living.push_back(this);
  all.oldest_is_default();
}

void scheduler::start_threads(bool bind) {
  // With fewer workers than cores, which ones are free is the system's to know: two programs, or two runtimes, that
  // both bind to the first cores would share them while others idle.
  const bool fits = workers_.size() == allowed_cores().size();
  for (unsigned i = 0; i < workers_.size(); ++i)
    threads_->list.emplace_back([this, i, bind, fits] { thread_main(i, bind && fits); });
}

void scheduler::thread_main(unsigned index, bool bind) {
  worker& w = *workers_[index];
  if (bind) bind_this_thread(allowed_cores()[index]);
  this_worker_ = &w;
  w.boundary = now_ticks();
  fiber thread_itself;
  fiber_adopt_thread(thread_itself);
  w.thread_fiber = &thread_itself;
  w.current = take_loop_fiber(w);
  fiber_switch(thread_itself, *w.current);
  run_after_switch();
  this_worker_ = nullptr;
}

void scheduler::stop() {
  PLX_ASSERT(this_worker() == nullptr && "a runtime cannot be destroyed by one of its own tasks");
  if (deterministic_) {
    const std::atomic<bool> never{false};
    run_until(never);
  } else {
    wait_until_quiet(shutdown_deadline_s_);
  }
  {
    scheduler_list& all = schedulers();
    spin_guard guard(all.lock);
    std::erase(all.living, this);
    all.oldest_is_default();
  }
  stop_.store(true, std::memory_order_seq_cst);
  full_fence();  // pairs with the sleeper's heavy_fence(): it sees stop_, or is seen on the list here
  while (n_sleeping_.load(std::memory_order_relaxed) != 0) wake_one();
  for (auto& t : threads_->list) t.join();
  threads_->list.clear();
}

scheduler::~scheduler() {
  if (!stop_.load(std::memory_order_relaxed)) stop();
  if (suspended_tasks() != 0) {
    log_error("the runtime ends while tasks still wait; they are abandoned:\n{}", explain_waits());
    stacks_.abandon();
  }
  while (all_fibers_ != nullptr) {
    fiber* f = std::exchange(all_fibers_, all_fibers_->next_in_registry);
    fiber_release(*f);
    delete f;
  }
}

void scheduler::wait_until_quiet(double deadline_s) {
  double last_report = monotonic_seconds();
  for (std::int64_t pause_us = 20;; pause_us = std::min<std::int64_t>(pause_us * 2, 1000)) {
    if (quiet()) {
      if (suspended_tasks() == 0) return;
      if (monotonic_seconds() - last_report > deadline_s) return;  // only a foreign thread could still wake them
    } else if (monotonic_seconds() - last_report > deadline_s) {
      log_warning("the runtime is asked to end and waits for running tasks since {:.1f} s\n{}", deadline_s,
                  explain_waits());
      last_report = monotonic_seconds();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
  }
}

bool scheduler::quiet() const noexcept {
  // While the lock is held no worker can get up, and none of those on the list has a task in its hands.
  spin_guard guard(sleep_lock_);
  if (sleeping_.size() != workers_.size()) return false;
  return !any_work() && earliest_deadline() == timer_queue::never && !polls_pending_.load(std::memory_order_relaxed);
}

std::uint64_t scheduler::suspended_tasks() const noexcept {
  std::uint64_t suspended = 0, resumed = 0;
  for (const auto& w : workers_) {
    suspended += w->suspended.get();
    resumed += w->resumed.get();
  }
  return suspended - resumed;
}

std::string scheduler::explain_waits() const {
  std::string text;
  spin_guard guard(fibers_lock_);
  for (fiber* f = all_fibers_; f != nullptr; f = f->next_in_registry) {
    const char* what = f->waits_on.load(std::memory_order_acquire);  // pairs with the release in suspend()
    if (what == nullptr) continue;
    // The task may go on and wait anew while this reads; each part is then still one that was true.
    const auto name = probe::name_of(std::atomic_ref(f->info.name).load(std::memory_order_relaxed));
    const std::uint64_t key = std::atomic_ref(f->info.key).load(std::memory_order_relaxed);
    text += "  task ";
    text += name.empty() ? std::string_view("(unnamed)") : name;
    if (key != probe::no_key) text += " key " + std::to_string(key);
    text += " waits on ";
    text += what;
    text += '\n';
  }
  return text;
}

// ------------------------------------------------------------------------------------------------------ loop fibers

fiber* scheduler::take_loop_fiber(worker& w) {
  if (w.free_fibers == nullptr) take_common_fibers(w);
  if (w.free_fibers != nullptr) {
    --w.n_free_fibers;
    return std::exchange(w.free_fibers, w.free_fibers->next_free);
  }
  auto* f = new fiber;
  f->memory = stacks_.get();
  f->home = this;
  f->resume.run = resume_marker;
  f->resume.owner = f;
  fiber_prepare(*f, loop_entry);
  spin_guard guard(fibers_lock_);
  f->next_in_registry = std::exchange(all_fibers_, f);
  return f;
}

void scheduler::keep_loop_fiber(worker& w, fiber* f) noexcept {
  f->next_free = std::exchange(w.free_fibers, f);
  if (++w.n_free_fibers == 2 * fiber_batch) [[unlikely]]
    give_common_fibers(w);
}

// Where tasks are suspended here and resumed there, fibers move from worker to worker. Without a common list the one
// would make new ones for ever and the other hoard them.
void scheduler::give_common_fibers(worker& w) noexcept {
  fiber* last_kept = w.free_fibers;  // the first ones were used last: their stacks may still be in the cache
  for (unsigned i = 1; i < fiber_batch; ++i) last_kept = last_kept->next_free;
  fiber* first = std::exchange(last_kept->next_free, nullptr);
  fiber* last = first;
  while (last->next_free != nullptr) last = last->next_free;
  w.n_free_fibers = fiber_batch;
  spin_guard guard(fibers_lock_);
  last->next_free = std::exchange(common_fibers_, first);
  n_common_fibers_.store(n_common_fibers_.load(std::memory_order_relaxed) + fiber_batch, std::memory_order_relaxed);
}

void scheduler::take_common_fibers(worker& w) noexcept {
  if (n_common_fibers_.load(std::memory_order_relaxed) == 0) return;
  spin_guard guard(fibers_lock_);
  for (; common_fibers_ != nullptr && w.n_free_fibers < fiber_batch; ++w.n_free_fibers) {
    fiber* f = std::exchange(common_fibers_, common_fibers_->next_free);
    f->next_free = std::exchange(w.free_fibers, f);
  }
  n_common_fibers_.store(n_common_fibers_.load(std::memory_order_relaxed) - w.n_free_fibers, std::memory_order_relaxed);
}

// ------------------------------------------------------------------------------------------------ submitting, waking

void scheduler::light_fence() const noexcept {
  // The store of the new task must come before the loads of n_sleeping_ and n_searching_. The sleeper's membarrier
  // enforces that on every running thread, so here only the compiler needs to be held.
  if (needs_fence_)
    full_fence();
  else
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

void scheduler::heavy_fence() noexcept {
#if defined(__linux__) && defined(SYS_membarrier)
  if (!needs_fence_) {
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    return;
  }
#endif
  n_sleeping_.fetch_add(0, std::memory_order_seq_cst);
  full_fence();
}

void scheduler::submit(task* t) {
  worker* w = this_worker();
  if (w == nullptr || &w->home != this) return inject(t);
  w->deque.push(t);
  w->spawned.add();
  light_fence();
  if (n_sleeping_.load(std::memory_order_relaxed) != 0) [[unlikely]]
    wake_for_work();
}

// One searching worker is enough: when it finds something, it wakes the next one. But it is counted on only after a
// read-modify-write on the word that the last one leaves by another: if that one is later, it sees the work.
void scheduler::wake_for_work() noexcept {
  if (n_searching_.load(std::memory_order_relaxed) == 0 || n_searching_.fetch_add(0, std::memory_order_acq_rel) == 0)
    wake_one();
}

void scheduler::inject(task* t) {
  t->next = nullptr;
  {
    spin_guard guard(inject_lock_);
    (injected_last_ != nullptr ? injected_last_->next : injected_first_) = t;
    injected_last_ = t;
    n_injected_.fetch_add(1, std::memory_order_seq_cst);
  }
  full_fence();
  if (n_sleeping_.load(std::memory_order_seq_cst) != 0) wake_for_work();
}

task* scheduler::take_injected() noexcept {
  if (n_injected_.load(std::memory_order_relaxed) == 0) return nullptr;
  spin_guard guard(inject_lock_);
  task* t = injected_first_;
  if (t == nullptr) return nullptr;
  injected_first_ = t->next;
  if (injected_first_ == nullptr) injected_last_ = nullptr;
  n_injected_.fetch_sub(1, std::memory_order_relaxed);
  return t;
}

void scheduler::wake_one() noexcept {
  worker* w = nullptr;
  {
    spin_guard guard(sleep_lock_);
    if (sleeping_.empty()) return;
    // Who would sleep longest, so that somebody goes on watching the timers; of equal ones who lay down last.
    auto chosen = sleeping_.begin();
    for (auto it = chosen + 1; it != sleeping_.end(); ++it)
      if ((*it)->sleeps_until >= (*chosen)->sleeps_until) chosen = it;
    w = *chosen;
    sleeping_.erase(chosen);
    sleepers_changed();
  }
  w->sleep.wake();
}

void scheduler::sleepers_changed() noexcept {
  ticks earliest = timer_queue::never;
  for (const worker* w : sleeping_) earliest = std::min(earliest, w->sleeps_until);
  next_wake_.store(earliest, std::memory_order_relaxed);
  n_sleeping_.store(static_cast<unsigned>(sleeping_.size()), std::memory_order_release);
}

// --------------------------------------------------------------------------------------------------- finding work

task* scheduler::next_task(worker& w) {
  if (deterministic_) return next_task_chosen(w);
  if (w.boundary >= w.next_check) [[unlikely]] {
    w.next_check = w.boundary + check_span;
    fire_timers(w.boundary);
    run_pollers(w);
  }
  // Tasks that keep waking each other must not starve what came from outside, nor what lies at the deque's old end.
  if ((++w.turn & 63u) == 0) [[unlikely]] {
    if (task* t = (w.turn & 64u) != 0 ? take_injected() : w.deque.steal()) return t;
  }
  if (task* t = w.deque.pop()) return t;
  if (task* t = take_injected()) return t;
  return search(w);
}

// A single task is left to its owner for a moment: most likely the owner made it a moment ago and takes it back at
// once, and then stealing it makes both wait.
static bool may_steal(worker& thief, const worker& victim, ticks now) noexcept {
  const std::int64_t size = victim.deque.size();
  if (size != 1) return size > 1;
  auto& seen = thief.singles[victim.index];
  const std::int64_t oldest = victim.deque.oldest();
  if (seen.oldest == oldest) return now - seen.since >= patience;
  seen = {oldest, now};
  return false;
}

task* scheduler::steal(worker& w, ticks now) noexcept {
  const auto n = static_cast<unsigned>(workers_.size());
  if (n == 1) return nullptr;
  w.rng ^= w.rng << 13, w.rng ^= w.rng >> 7, w.rng ^= w.rng << 17;
  unsigned victim = static_cast<unsigned>(w.rng % n);
  for (unsigned i = 0; i < n; ++i, victim = victim + 1 == n ? 0 : victim + 1) {
    if (victim == w.index || !may_steal(w, *workers_[victim], now)) continue;
    if (task* t = workers_[victim]->deque.steal()) {
      w.steals.add();
      return t;
    }
    w.failed_steals.add();
  }
  return nullptr;
}

task* scheduler::search(worker& w) {
  const ticks begin = now_ticks();
  ticks spin_begin = begin;
  n_searching_.fetch_add(1, std::memory_order_seq_cst);
  task* found = nullptr;
  for (;;) {
    const ticks now = now_ticks();
    found = steal(w, now);
    if (found == nullptr) found = take_injected();
    if (found == nullptr && (fire_timers(now) != 0 || run_pollers(w))) found = w.deque.pop();
    if (found != nullptr || stop_.load(std::memory_order_relaxed)) break;
    if (now - spin_begin < spin_span) {
      // Each look takes the victims' cache lines away from them, so the looks become rarer. With more workers than
      // processors, the one with the work may need this one.
      const ticks until = now + std::clamp((now - spin_begin) / 2, shortest_pause, longest_pause);
      if (now - spin_begin > spin_span / 4) sched_yield();
      while (now_ticks() < until) cpu_relax();
    } else {
      n_searching_.fetch_sub(1, std::memory_order_seq_cst);
      sleep_until_work(w);
      n_searching_.fetch_add(1, std::memory_order_seq_cst);
      spin_begin = now_ticks();
    }
  }
  // acq_rel: pairs with wake_for_work(). Whoever counted on this worker's search has made the work visible here.
  if (n_searching_.fetch_sub(1, std::memory_order_acq_rel) == 1 && n_sleeping_.load(std::memory_order_relaxed) != 0 &&
      (any_work() || sleepers_miss_something()))
    wake_one();
  w.boundary = now_ticks();
  if (w.boundary - begin < idle_span)
    w.log->overhead(w.boundary - begin);
  else
    w.log->idle(begin, w.boundary);
  return found;
}

bool scheduler::any_work() const noexcept {
  if (n_injected_.load(std::memory_order_relaxed) != 0) return true;
  return std::any_of(workers_.begin(), workers_.end(), [](const auto& w) { return !w->deque.empty(); });
}

// Two-phase sleep. Invariant: a worker on `sleeping_` has looked for work after its name was there for all to see. Who
// adds work looks at n_sleeping_ after the work is there for all to see. The pair of fences makes that an either-or:
// the sleeper sees the work, or the adder sees the sleeper.
void scheduler::sleep_until_work(worker& w) {
  {
    spin_guard guard(sleep_lock_);
    w.sleeps_until = timer_queue::never;
    sleeping_.push_back(&w);
    sleepers_changed();
  }
  heavy_fence();
  if (!any_work() && !stop_.load(std::memory_order_seq_cst) && sleep_as_listed(w)) return;
  bool still_listed = false;
  {
    spin_guard guard(sleep_lock_);
    const auto it = std::find(sleeping_.begin(), sleeping_.end(), &w);
    still_listed = it != sleeping_.end();
    if (still_listed) {
      sleeping_.erase(it);
      sleepers_changed();
    }
  }
  if (!still_listed) w.sleep.wait();  // somebody took this worker off the list and its token is on the way
}

// True when somebody took this worker off the list; false when it got up by itself.
bool scheduler::sleep_as_listed(worker& w) {
  ticks until = earliest_deadline();
  if (polls_pending_.load(std::memory_order_relaxed)) until = std::min(until, now_ticks() + poll_interval);
  if (until == timer_queue::never) {
    w.sleeps.add();
    w.sleep.wait();
    return true;
  }
  {
    spin_guard guard(sleep_lock_);
    w.sleeps_until = until;
    sleepers_changed();
  }
  const ticks now = now_ticks();
  if (until <= now) return false;
  w.sleeps.add();
  return w.sleep.wait_for(static_cast<std::int64_t>(std::min(seconds(until - now), 3600.0) * 1e9));
}

// The timers, or what is being polled for, want somebody awake before the first sleeper gets up.
bool scheduler::sleepers_miss_something() const noexcept {
  const ticks next_wake = next_wake_.load(std::memory_order_relaxed);
  return earliest_deadline() < next_wake ||
         (polls_pending_.load(std::memory_order_relaxed) && now_ticks() + poll_interval < next_wake);
}

// ------------------------------------------------------------------------------------------------ timers and pollers

ticks scheduler::earliest_deadline() const noexcept {
  ticks earliest = timer_queue::never;
  for (const auto& w : workers_) earliest = std::min(earliest, w->timers.next_deadline());
  return earliest;
}

unsigned scheduler::fire_timers(ticks now) {
  unsigned fired = 0;
  for (const auto& w : workers_)
    if (w->timers.next_deadline() <= now) fired += w->timers.fire_due(now);
  return fired;
}

// A worker is awake now, but may be busy when the time comes: a sleeper has to watch the new deadline. Either it sees
// it before it sleeps, or it is seen here with the later deadline it goes by (pairs with heavy_fence()).
void scheduler::deadline_changed(ticks deadline) noexcept {
  full_fence();
  if (n_sleeping_.load(std::memory_order_relaxed) != 0 && deadline < next_wake_.load(std::memory_order_relaxed))
    wake_one();
}

std::uint64_t scheduler::add_poller(poll_function f, void* arg) {
  const worker* caller = this_worker();
  PLX_ASSERT((caller == nullptr || !caller->polling) && "a poller must not add or remove pollers");
  std::uint64_t id = 0;
  {
    spin_guard guard(poll_lock_);
    id = next_poller_id_++;
    pollers_.push_back({id, f, arg});
    has_pollers_.store(true, std::memory_order_relaxed);
  }
  wake_one();  // somebody has to ask it for the first time
  return id;
}

void scheduler::remove_poller(std::uint64_t id) {
  const worker* caller = this_worker();
  PLX_ASSERT((caller == nullptr || !caller->polling) && "a poller must not add or remove pollers");
  spin_guard guard(poll_lock_);
  std::erase_if(pollers_, [id](const poller& p) { return p.id == id; });
  has_pollers_.store(!pollers_.empty(), std::memory_order_relaxed);
  if (pollers_.empty()) polls_pending_.store(false, std::memory_order_relaxed);
}

bool scheduler::run_pollers(worker& w) {
  if (!has_pollers_.load(std::memory_order_relaxed) || !poll_lock_.try_lock()) return false;
  const ticks begin = now_ticks();
  bool progressed = false, pending = false;
  w.polling = true;
  for (const poller& p : pollers_) {
    const poll_result r = p.function(p.arg);
    progressed |= r == poll_result::progressed;
    pending |= r != poll_result::idle;
  }
  w.polling = false;
  polls_pending_.store(pending, std::memory_order_relaxed);
  poll_lock_.unlock();
  w.log->background(now_ticks() - begin);
  // This worker may be busy for long: an idle one has to go on asking.
  if (pending && n_sleeping_.load(std::memory_order_relaxed) != 0 &&
      n_searching_.load(std::memory_order_relaxed) == 0 && sleepers_miss_something())
    wake_one();
  return progressed;
}

// ------------------------------------------------------------------------------------------------ deterministic mode

std::uint64_t scheduler::choose(std::uint64_t n) noexcept {
  choice_state_ ^= choice_state_ << 13, choice_state_ ^= choice_state_ >> 7, choice_state_ ^= choice_state_ << 17;
  return (choice_state_ * 0x2545f4914f6cdd1du >> 16) % n;
}

// The seed picks which of the virtual workers goes on, where it takes its next task from, and when time passes.
task* scheduler::next_task_chosen(worker& asking) {
  fiber* loop = asking.current;
  for (;;) {
    worker& w = *workers_[choose(workers_.size())];
    w.current = loop;
    w.boundary = std::max(w.boundary, asking.boundary);
    this_worker_ = &w;
    if (run_done_->load(std::memory_order_acquire)) return nullptr;
    run_pollers(w);
    virtual_now_ += choose(64);
    const ticks deadline = earliest_deadline();
    if (deadline <= virtual_now_) fire_timers(virtual_now_);
    const auto n_deques = workers_.size();
    const std::uint64_t source = choose(n_deques + 1);
    if (source == n_deques) {
      if (task* t = take_injected()) return t;
    } else if (source == w.index) {
      if (task* t = choose(8) == 0 ? w.deque.steal() : w.deque.pop()) return t;
    } else if (task* t = workers_[source]->deque.steal()) {
      w.steals.add();
      return t;
    }
    if (any_work() || polls_pending_.load(std::memory_order_relaxed)) continue;
    if (deadline == timer_queue::never) return nullptr;
    virtual_now_ = std::max(virtual_now_, deadline);
  }
}

bool scheduler::run_until(const std::atomic<bool>& done) {
  PLX_ASSERT(deterministic_);
  PLX_ASSERT(this_worker_ == nullptr && "run() inside a task of another runtime");
  run_done_ = &done;
  worker& w = *workers_[0];
  this_worker_ = &w;
  fiber thread_itself;
  fiber_adopt_thread(thread_itself);
  fiber* loop = take_loop_fiber(w);
  for (auto& each : workers_) {
    each->boundary = now_ticks();
    each->thread_fiber = &thread_itself;
  }
  w.current = loop;
  const handled_exceptions of_caller = take_handled_exceptions();
  fiber_switch(thread_itself, *loop);
  run_after_switch();
  put_handled_exceptions(of_caller);
  this_worker_ = nullptr;
  return done.load(std::memory_order_acquire);
}

// ------------------------------------------------------------------------------------------ suspending and resuming

void suspend(const char* waits_on, void (*after)(void*), void* arg) {
  worker& w = *this_worker();
  PLX_ASSERT(!w.polling && "a poller must not wait", waits_on);
  fiber& self = *w.current;
  // Atomic because explain_waits() may look at any time.
  std::atomic_ref(self.info.name).store(w.info.name, std::memory_order_relaxed);
  std::atomic_ref(self.info.key).store(w.info.key, std::memory_order_relaxed);
  self.waits_on.store(waits_on, std::memory_order_release);
  self.task_id = w.task_id;
  w.suspended.add();
  end_slice(w, false);
  self.earlier = w.earlier;
  fiber* loop = w.home.take_loop_fiber(w);
  w.after_switch = after;
  w.after_switch_arg = arg;
  w.current = loop;
  const handled_exceptions of_task = take_handled_exceptions();
  fiber_switch(self, *loop);
  run_after_switch();
  put_handled_exceptions(of_task);
}

void resume(fiber& f) {
  f.resume.info = f.info;
  f.home->submit(&f.resume);
}

void yield_task() {
  worker* w = this_worker();
  if (w == nullptr) {
    sched_yield();
    return;
  }
  suspend(
      "yield", [](void* f) { static_cast<fiber*>(f)->home->inject(&static_cast<fiber*>(f)->resume); }, w->current);
}

void choice_point() {
  worker* w = this_worker();
  if (w == nullptr || !w->home.deterministic() || w->polling) return;
  if (w->home.choose(4) == 0) yield_task();
}

void arm_timer(timer& t) {
  worker& w = *this_worker();
  const ticks deadline = t.deadline;  // once armed, it may fire and be gone
  w.timers.arm(t);
  w.home.deadline_changed(deadline);
}

void run_taken_back(worker& w, task* t) {
  w.taken_back.add();
  if (t->info.name == 0 && t->info.key == probe::no_key) {
    t->run(t, run_mode::taken_back);  // to measurement it is a part of its parent: no clock is read
    return;
  }
  const task_info parent = w.info;
  const void* const parent_id = w.task_id;
  end_slice(w, false);
  const ticks parent_earlier = std::exchange(w.earlier, 0);
  w.info = t->info;
  w.task_id = t;
  t->run(t, run_mode::taken_back);
  worker& after = *this_worker();
  end_slice(after, true);
  after.info = parent;
  after.task_id = parent_id;
  after.earlier = parent_earlier;
}

}  // namespace plx::detail
