// Start and end of a scheduler: its workers end when no task can continue. Finding work is in scheduler_search.cpp,
// timers and pollers in scheduler_events.cpp, the loop and suspending in worker_loop.cpp, the deterministic mode in
// deterministic.cpp.
#include "rt/core/scheduler.hpp"

#include <fmt/format.h>
#include <sched.h>
#if defined(__linux__)
#include <unistd.h>
#endif

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "probe/monitor/monitors.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/work.hpp"
#include "rt/any_executor.hpp"
#include "rt/core/pool.hpp"
#include "rt/core/topology.hpp"
#include "rt/explain/explain.hpp"
#include "rt/measure/origin.hpp"
#include "rt/runtime_options.hpp"
#include "rt/sync/wait.hpp"

namespace plx::detail {
namespace {

std::atomic<scheduler*> default_scheduler{nullptr};

// Every living scheduler, oldest first; the oldest is the default. Never destroyed: runtimes may be static objects.
struct scheduler_list {
  spinlock lock;
  std::mutex explaining;  // held while a thread that does not own a scheduler inspects it
  std::vector<scheduler*> living;
  void oldest_is_default() noexcept {
    // release: pairs with the acquire in current_scheduler(); the scheduler is complete before it is seen.
    default_scheduler.store(living.empty() ? nullptr : living.front(), std::memory_order_release);
  }
};
[[gnu::used]] scheduler_list* living_schedulers = nullptr;  // for tools/gdb/plx_gdb.py
scheduler_list& schedulers() {
  static auto* all = living_schedulers = new scheduler_list;
  return *all;
}

}  // namespace

worker::worker(scheduler& s, unsigned i) : home(s), index(i), rng(i * 0x9e3779b97f4a7c15u + 1) {}
worker::~worker() = default;

[[gnu::noinline]] scheduler* find_current_scheduler() noexcept {
  if (worker* w = worker_of_this_thread) return &w->home;
  return default_scheduler.load(std::memory_order_acquire);
}

[[gnu::noinline]] scheduler& current_scheduler() {
  scheduler* s = find_current_scheduler();
  PLX_ASSERT(s != nullptr && "no runtime: make a plx::runtime before tasks");
  return *s;
}

scheduler::reachable::reachable(scheduler& s) : link(*new home_link) {
  static std::atomic<home_link*> newest{nullptr};  // keeps them reachable for leak checkers
  link.home = &s;
  link.older = newest.load(std::memory_order_relaxed);
  while (!newest.compare_exchange_weak(link.older, &link, std::memory_order_relaxed)) {
  }
}

void scheduler::reachable::end() noexcept {
  spin_guard guard(link.lock);
  link.takes_tasks = false;
  link.home = nullptr;
}

static bool is_home_of_caller(const home_link& home) noexcept {
  const worker* w = this_worker();
  return w != nullptr && &w->home.link() == &home;
}

// Runs use(scheduler); stop() waits until it returns. False when the scheduler has ended or takes no more tasks.
template <class Use>
static bool visit(home_link& home, bool with_task, Use use) {
  scheduler* s = nullptr;
  {
    spin_guard guard(home.lock);
    s = home.home;
    if (s == nullptr || (with_task && !home.takes_tasks)) return false;
    s->begin_visit();
  }
  use(*s);
  s->end_visit();
  return true;
}

bool submit_to(home_link& home, task* t) {
  if (is_home_of_caller(home)) {
    this_worker()->home.submit(t);
    return true;
  }
  return visit(home, true, [t](scheduler& s) { s.submit(t); });
}

void submit_late(home_link* home, task* t) {
  if (home != nullptr && submit_to(*home, t)) return;
  if (const worker* w = this_worker()) return w->home.submit(t);
  scheduler* oldest = nullptr;
  {
    scheduler_list& all = schedulers();
    spin_guard guard(all.lock);
    if (!all.living.empty()) {
      oldest = all.living.front();
      oldest->begin_visit();
    }
  }
  if (oldest == nullptr) return run_here(t);
  oldest->submit(t);
  oldest->end_visit();
}

// The fiber outlives its scheduler if its task is abandoned.
void resume(fiber& f) {
  const worker* w = this_worker();
  const auto submit = [&f](scheduler& home) {
    f.resume.info.where = f.info.where;
    f.ready.store(true, std::memory_order_relaxed);
    home.submit(&f.resume);
  };
  if (w != nullptr && &w->home.link() == f.link) return submit(w->home);
  visit(*f.link, false, submit);
}

struct scheduler::threads {
  std::vector<std::thread> list;
};

scheduler::scheduler(const runtime_options& options, std::vector<unsigned> cores, probe::recorder& recorder)
    : deterministic_(options.deterministic),
      conductor_(options.conducted_by),
      needs_fence_(!membarrier_available()),
      seed_(options.seed),
      shutdown_deadline_s_(options.shutdown_deadline_s),
      warm_stacks_(options.warm_stacks),
      guard_pages_(options.guard_pages),
      explain_overflow_(options.explain_overflow),
      choice_state_(options.seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du),
      overflow_watch_(options.explain_overflow),
      stacks_(options.stack_bytes, options.guard_pages),
      cores_(std::move(cores)),
      threads_(std::make_unique<threads>()),
      cap_(options.workers),
      balance_(recorder.balance()) {
  PLX_ASSERT(conductor_ == nullptr || deterministic_);
  for (unsigned i = 0; i < options.workers; ++i) {
    workers_.push_back(std::make_unique<worker>(*this, i));
    workers_.back()->log = &recorder.worker(i);
    workers_.back()->waits = &recorder.waits_of(i);
    workers_.back()->singles.resize(options.workers);
  }
  probe::detail::counts_of_running_task.store(
      []() noexcept -> probe::slice_counts* {
        const worker* w = this_worker();
        return w != nullptr && w->in_task ? w->log->counts() : nullptr;
      },
      std::memory_order_relaxed);
  rank_victims();
  sleeping_.reserve(workers_.size());
  parked_.reserve(workers_.size());
  if (deterministic_)
    deterministic_schedulers.fetch_add(1, std::memory_order_relaxed);
  else
    start_threads();
  scheduler_list& all = schedulers();
  spin_guard guard(all.lock);
  all.living.push_back(this);
  all.oldest_is_default();
}

// Workers that share a core or a cache steal from each other first. Unbound workers are all equally distant.
void scheduler::rank_victims() {
  const bool bound = cores_.size() == workers_.size();
  for (auto& w : workers_) {
    std::vector<std::pair<unsigned, unsigned>> ranked;  // distance, worker
    for (const auto& other : workers_)
      if (other != w)
        ranked.emplace_back(bound ? processor_distance(cores_[w->index], cores_[other->index]) : 0, other->index);
    std::sort(ranked.begin(), ranked.end());
    for (std::size_t i = 0; i < ranked.size(); ++i) {
      w->victims.push_back(ranked[i].second);
      if (i + 1 == ranked.size() || ranked[i + 1].first != ranked[i].first)
        w->groups.push_back(static_cast<unsigned>(i + 1));
    }
  }
}

std::vector<unsigned> scheduler::processors_of(unsigned i) const {
  if (cores_.size() == workers_.size()) return {cores_[i]};
  return cores_;
}

std::size_t scheduler::processors() const {
  return cores_.empty() ? usable_processors() : std::set(cores_.begin(), cores_.end()).size();
}

void scheduler::start_threads() {
  try {
    // The threads themselves could not report a failure, and tasks of the first worker could take the others' stacks.
    stacks_.reserve(workers_.size());
    for (auto& w : workers_) keep_loop_fiber(*w, new_fiber(stacks_, loop_entry));
    for (unsigned i = 0; i < workers_.size(); ++i) threads_->list.emplace_back([this, i] { thread_main(i); });
  } catch (...) {  // no memory, or no more threads: end the started ones and report the error to the caller
    end_threads();
    free_fibers();
    throw;
  }
}

void scheduler::end_threads() {
  stop_.store(true, std::memory_order_seq_cst);
  full_fence();  // pairs with the sleeper's heavy_fence(): it sees stop_, or is seen on the list here
  while (n_sleeping_.load(std::memory_order_relaxed) != 0) wake_one();
  unpark_all();
  for (auto& t : threads_->list) t.join();
  threads_->list.clear();
}

void scheduler::thread_main(unsigned index) {
  worker& w = *workers_[index];
  const pool_of_thread blocks;
  if (!cores_.empty()) bind_this_thread(processors_of(index));
  set_this_worker(&w);
#if defined(__linux__)
  w.thread_id.store(static_cast<int>(::gettid()), std::memory_order_relaxed);
#endif
  w.boundary = now_ticks();
  w.log->join(balance_, w.boundary);
  const signal_stack for_overflows(explain_overflow_);
  fiber thread_itself;
  fiber_adopt_thread(thread_itself);
  w.thread_fiber = &thread_itself;
  w.exceptions = exceptions_of_this_thread();
  w.current = take_loop_fiber(w);
  fiber_switch(thread_itself, *w.current);
  run_after_switch();
  set_this_worker(nullptr);
  w.log->leave(now_ticks());
  end_of_thread(w);
}

// The operating system discards the data of an ended thread and may reuse its id.
void scheduler::end_of_thread(worker& w) noexcept {
  if (keeps_usage_.load(std::memory_order_relaxed)) {
    try {
      if (const auto usage = probe::usage_of_thread(w.thread_id.load(std::memory_order_relaxed)))
        w.last_usage = std::make_unique<const probe::thread_usage>(*usage);
    } catch (...) {  // no memory
    }
  }
  w.thread_id.store(worker::thread_has_ended, std::memory_order_release);  // pairs with the readers' acquire
}

unsigned scheduler::active_workers() const noexcept {
  if (deterministic_) {
    const worker* w = this_worker();
    return w != nullptr && &w->home == this ? 1 : 0;
  }
  const unsigned away = n_searching_.load(std::memory_order_relaxed) + n_sleeping_.load(std::memory_order_relaxed) +
                        n_parked_.load(std::memory_order_relaxed);
  return away < worker_count() ? worker_count() - away : 0;
}

std::size_t scheduler::ready_again() const noexcept {
  std::size_t n = 0;
  for (const fiber* f = fibers(); f != nullptr; f = f->next_in_registry)
    n += f->waits_on.load(std::memory_order_relaxed) != nullptr && f->ready.load(std::memory_order_relaxed);
  return n;
}

std::vector<int> scheduler::thread_ids() const {
  std::vector<int> ids;
  if (!deterministic_)
    for (const auto& w : workers_) ids.push_back(std::max(0, w->thread_id.load(std::memory_order_relaxed)));
  return ids;
}

std::size_t scheduler::placed() const noexcept {
  std::size_t n = high_.size() + low_.size();
  for (const auto& w : workers_) n += w->inbox.size();
  return n;
}

void scheduler::stop() {
  const worker* caller = this_worker();
  PLX_ASSERT((caller == nullptr || &caller->home != this) && "a runtime cannot be destroyed by one of its own tasks");
  if (deterministic_) {
    const std::atomic<bool> never{false};
    run_until(never);
  } else {
    wait_until_quiet(shutdown_deadline_s_);
  }
  {
    scheduler_list& all = schedulers();
    const std::lock_guard none_explains(all.explaining);
    spin_guard guard(all.lock);
    std::erase(all.living, this);
    all.oldest_is_default();
  }
  {
    spin_guard guard(link().lock);
    link().takes_tasks = false;
  }
  wait_for_visitors();
  home_.end();  // from here on no other thread resumes a task of this scheduler
  wait_for_visitors();
  end_threads();
}

// Tasks that visitors have submitted still run.
void scheduler::wait_for_visitors() {
  while (visitors_.load(std::memory_order_acquire) != 0) sched_yield();  // acquire: pairs with end_visit()
  if (!deterministic_ && !quiet(true)) wait_until_quiet(shutdown_deadline_s_);
}

scheduler::~scheduler() {
  if (!stop_.load(std::memory_order_relaxed)) stop();
  if (deterministic_) deterministic_schedulers.fetch_sub(1, std::memory_order_relaxed);
  if (suspended_tasks() != 0) {
    if (log_wants(log_level::error))
      log_explanation(log_level::error,
                      "the runtime ends while tasks still wait; they are abandoned:\n" + explain_waits());
    stacks_.abandon();
    for (auto& s : sized_)
      if (s != nullptr) s->stacks.abandon();
  }
  if (!workers_.empty()) forget_seen(*workers_.front());
  for (auto& w : workers_) free_spare_origins(*w);
  free_fibers();
}

// Fibers of abandoned tasks are kept: a late resume() then finds that the fiber's scheduler has ended.
void scheduler::free_fibers() noexcept {
  static std::atomic<fiber*> abandoned{nullptr};  // never freed; reachable for leak checkers
  while (all_fibers_ != nullptr) {
    fiber* f = std::exchange(all_fibers_, all_fibers_->next_in_registry);
    forget_origin(f->resume);
    if (f->waits_on.load(std::memory_order_relaxed) != nullptr) {
      f->home = nullptr;
      f->next_in_registry = abandoned.load(std::memory_order_relaxed);
      while (!abandoned.compare_exchange_weak(f->next_in_registry, f, std::memory_order_relaxed)) {
      }
      continue;
    }
    fiber_release(*f);
    delete f;
  }
}

void scheduler::wait_until_quiet(double deadline_s) {
  const double begin = monotonic_seconds();
  double last_report = begin;
  for (std::int64_t pause_us = 20;; pause_us = std::min<std::int64_t>(pause_us * 2, 1000)) {
    if (quiet()) {
      if (suspended_tasks() == 0) return;
      if (monotonic_seconds() - last_report > deadline_s) return;  // only an external thread could still wake them
    } else if (monotonic_seconds() - begin > deadline_s && quiet(true)) {
      log_error(
          "the runtime ends while a poller still answers `pending` after {:.1f} s, and nothing else is left to do",
          deadline_s);
      return;
    } else if (monotonic_seconds() - last_report > deadline_s) {
      if (log_wants(log_level::warning))
        log_explanation(
            log_level::warning,
            fmt::format("the runtime is asked to end and waits for running tasks since {:.1f} s\n", deadline_s) +
                explain_waits());
      last_report = monotonic_seconds();
    }
    // A task of another runtime releases its worker meanwhile: the tasks that this runtime waits for may need it.
    if (const worker* caller = this_worker(); caller != nullptr && !caller->home.deterministic())
      sleep_until_ticks(deadline_in(1e-6 * static_cast<double>(pause_us)));
    else
      std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
  }
}

bool scheduler::quiet(bool whatever_is_polled_for) const noexcept {
  // While the lock is held no worker can wake, and no listed worker holds a task.
  spin_guard guard(sleep_lock_);
  if (sleeping_.size() + parked_.size() != workers_.size()) return false;
  return !any_work() && !any_inbox() && earliest_deadline() == timer_queue::never &&
         (whatever_is_polled_for || !polls_pending_.load(std::memory_order_relaxed));
}

std::string explain_all_waits() {
  std::vector<wait_report> reports;
  {
    scheduler_list& all = schedulers();
    const std::lock_guard none_ends(all.explaining);
    std::vector<scheduler*> living;
    {
      spin_guard guard(all.lock);
      living = all.living;
    }
    for (scheduler* s : living) reports.push_back(look_at_waits(*s));
  }
  std::string text;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const std::string waits = text_of(reports[i], true);
    if (reports.size() > 1) text += fmt::format("runtime {} of {}: ", i + 1, reports.size());
    const std::size_t n = reports[i].tasks.size() + reports[i].unseen;
    text += waits.empty() ? "no task waits\n" : fmt::format("{} {}\n", plural(n, "task"), n == 1 ? "waits" : "wait");
    text += waits;
  }
  return text.empty() ? "no runtime\n" : text;
}

std::uint64_t scheduler::progress() const noexcept {
  std::uint64_t n = 0;
  for (const auto& w : workers_) n += w->executed.get() + w->resumed.get();
  return n;
}

std::uint64_t scheduler::suspended_tasks() const noexcept {
  std::uint64_t suspended = 0, resumed = 0;
  for (const auto& w : workers_) {
    suspended += w->suspended.get();
    resumed += w->resumed.get();
  }
  return suspended - resumed;
}

}  // namespace plx::detail
