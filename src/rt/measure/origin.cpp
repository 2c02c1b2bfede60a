#include "rt/measure/origin.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "rt/core/pool.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/measure/speedup.hpp"

namespace plx::detail {
namespace {

/// The number that a worker keeps before it returns them to the shared pool. None under sanitizers, so that they detect
/// a use after free.
#if defined(PLX_ASAN) || defined(PLX_TSAN)
constexpr unsigned most_spare_origins = 0;
#else
constexpr unsigned most_spare_origins = 1024;
#endif

void* take_spare(worker& w) noexcept {
  --w.n_spare_origins;
  return std::exchange(w.spare_origins, w.spare_origins->next);
}

origin* make_origin(worker* w) noexcept {
  return ::new (w != nullptr && w->spare_origins != nullptr ? take_spare(*w) : pool_get(sizeof(origin))) origin;
}

/// True if what the worker makes ready, or has produced, originates only from the task that it runs.
bool from_running_task(const worker& w) noexcept { return w.in_task && w.id != 0 && w.ready_by == nullptr; }

void put_origin(worker* w, origin* o) noexcept {
  if (w == nullptr || w->n_spare_origins >= most_spare_origins) [[unlikely]]
    return pool_put(o, sizeof(origin));
  w->spare_origins = ::new (static_cast<void*>(o)) spare_origin{w->spare_origins};
  ++w->n_spare_origins;
}

/// The current time, or the end of the running task's work if that is over. Not before the running slice: that begins
/// when the task became ready, perhaps by the clock of another core, which may be ahead.
ticks time_now(const worker& w) noexcept { return w.end != 0 ? w.end : std::max(w.boundary, now_ticks()); }

/// For an origin that no other thread accesses.
void set_at_least(std::atomic<ticks>& to, ticks value) noexcept {
  if (to.load(std::memory_order_relaxed) < value) to.store(value, std::memory_order_relaxed);
}

/// For an origin that other threads raise concurrently.
void raise(std::atomic<ticks>& to, ticks value) noexcept {
  ticks now = to.load(std::memory_order_relaxed);
  while (now < value && !to.compare_exchange_weak(now, value, std::memory_order_relaxed)) {
  }
}

/// The worker if it runs a task, as opposed to firing a timer or polling between two tasks.
worker* in_task() noexcept {
  worker* w = this_worker();
  return w != nullptr && w->in_task ? w : nullptr;
}

/// With virtual speed-ups the longest path is the virtual time, which has the same rules: the latest input counts.
ticks path_at(const worker& w, ticks now) noexcept {
  if (w.delays != nullptr) [[unlikely]]
    return w.delays->at(now);
  return w.path + (now > w.boundary ? now - w.boundary : 0);
}

/// Where something originates, the longest path of tasks that leads there, and when it happens: not before the result
/// that is passed on, also by the clock of another core.
struct source {
  probe::task_id id = 0;
  ticks path = 0;
  ticks when = 0;
};

/// The last result that this external thread has read: the origin of the tasks that it starts. The thread itself is not
/// a task and makes no path longer.
thread_local source seen_here;

/// The origin of the worker's current action: a result that is passed on, or the running task.
source source_now(const worker& w) noexcept {
  const ticks now = time_now(w);
  if (w.ready_by != nullptr) return {w.ready_by->id, w.ready_by->path, std::max(now, w.ready_by->when)};
  if (!w.in_task || w.id == 0) return {0, 0, now};
  return {w.id, path_at(w, now), now};
}

}  // namespace

[[gnu::noinline]] void free_origin(origin* o) noexcept {
  if (o != nullptr) put_origin(worker_of_this_thread, o);
}

ticks virtual_time_outside(const delay_pool& pool, ticks now) noexcept {
  const ticks without_debt = pool.virtual_time(now);
  if (seen_here.id == 0 || !probe::same_recorder(seen_here.id, pool.some_id)) return without_debt;
  // Not later than the result and the real time since then: delays that ended late are no virtual time.
  return std::max(seen_here.path, std::min(without_debt, seen_here.path + ticks_between(seen_here.when, now)));
}

void forget_seen(worker& w) noexcept {
  if (probe::same_recorder(seen_here.id, w.log->next_id())) seen_here = {};
}

void free_spare_origins(worker& w) noexcept {
  for (spare_origin* o = std::exchange(w.spare_origins, nullptr); o != nullptr;)
    pool_put(std::exchange(o, o->next), sizeof(origin));
}

void forget_origin(task& t) noexcept { free_origin(std::exchange(t.from, nullptr)); }

/// With virtual speed-ups, the virtual time at which a timer or a poller makes a task ready. A sleep or a message takes
/// its time, whatever is faster meanwhile: virtual time passes as real time does.
static ticks path_without_task(const worker& w, const origin& o, ticks when) noexcept {
  const ticks before = o.path.load(std::memory_order_relaxed);
  if (before == 0) return w.delays->pool().virtual_time(when);
  return before + ticks_between(o.when.load(std::memory_order_relaxed), when);
}

void note_ready_outside(const worker& any, task& t) noexcept {
  if (t.from == nullptr) return;
  const ticks when = t.from->when.load(std::memory_order_relaxed);  // virtual and real time of the same moment
  set_at_least(t.from->path, virtual_time_outside(any.delays->pool(), when));
}

[[gnu::noinline]] static void note_ready_otherwise(worker* w, task& t, bool here) noexcept {
  origin* o = t.from;
  if (o == nullptr) o = t.from = make_origin(w);
  if (w == nullptr) {
    set_at_least(o->when, now_ticks());
    if (!origins_wanted() || seen_here.id == 0 || o->id != 0) return;
    o->cause = seen_here.id;
    set_at_least(o->when, seen_here.when);
    set_at_least(o->path, seen_here.path);
    return;
  }
  source s = source_now(*w);
  if (here && w->delays != nullptr && s.id == 0) [[unlikely]]
    s.path = path_without_task(*w, *o, s.when);
  set_at_least(o->when, s.when);
  w->log->notify(probe::task_event_kind::create, t.info.name, t.info.key, 0);
  if (!origins_wanted()) return;
  const bool inputs_known = o->id != 0 && (o->cause == o->id || (o->cause & probe::last_input_bit) != 0);
  if (o->id == 0) o->id = w->log->next_id();
  set_at_least(o->path, s.path);
  if (!inputs_known && s.id != o->id) o->cause = s.id;
  if (inputs_known && s.id != 0 && w->log->links() != nullptr) o->cause = s.id | probe::last_input_bit;
  // A continuation of a result that was available already: it originates from that result and from the task that
  // attached it just now.
  if (w->ready_by != nullptr && w->in_task && !probe::is_join(s.id)) {
    w->log->edge(w->id, o->id, s.when, w->info.name);
    set_at_least(o->path, path_at(*w, s.when));
  }
}

// The common case: a running task creates a new one, and no input of it has been recorded. Inline and without a call,
// because this function and note_made() are most of the cost of a traced task.
void note_ready(worker* w, task& t, bool here) noexcept {
  const unsigned wanted = probe::wanted.load(std::memory_order_relaxed);
  const bool edges_alone = wanted - probe::wants_edges < probe::wants_events - probe::wants_edges;
  if (w == nullptr || t.from != nullptr || !edges_alone || !from_running_task(*w) || w->spare_origins == nullptr)
      [[unlikely]]
    return note_ready_otherwise(w, t, here);
  const ticks now = time_now(*w);
  t.from = ::new (take_spare(*w)) origin{w->log->next_id(), w->id, now, path_at(*w, now)};
}

void note_begin(worker& w, task& t) noexcept {
  if (origin* o = t.from) [[likely]] {
    t.from = nullptr;
    w.id = o->id;
    w.cause = o->cause == o->id ? 0 : o->cause;
    w.ready = o->when.load(std::memory_order_relaxed);
    w.path = o->path.load(std::memory_order_relaxed);
    put_origin(&w, o);
  } else {
    w.cause = 0;
    w.ready = 0;
    w.path = 0;
  }
  if (w.id == 0 && origins_wanted()) w.id = w.log->next_id();
  if (w.cause != 0 && !probe::same_recorder(w.cause, w.id)) {  // a task of another runtime is not in this trace
    w.cause = 0;
    w.path = 0;
  }
}

void note_suspended(worker& w, task& t) noexcept {
  if (w.id == 0) return;
  forget_origin(t);
  t.from = make_origin(&w);
  t.from->id = w.id;
  t.from->when.store(w.boundary, std::memory_order_relaxed);  // it resumes later, also on a core whose clock is behind
  t.from->path.store(w.path, std::memory_order_relaxed);
}

void note_input(origin*& join, bool of_task) noexcept {
  worker* w = this_worker();
  if (w == nullptr) return;
  const source from = source_now(*w);
  if (from.id == 0) return;
  const std::atomic_ref<origin*> place(join);
  origin* o = place.load(std::memory_order_acquire);  // pairs with the release below
  if (o == nullptr) {
    origin* mine = make_origin(w);
    mine->id = w->log->next_id() | (of_task ? 0 : probe::join_bit);
    mine->cause = mine->id;  // the rest is in its edges
    if (place.compare_exchange_strong(o, mine, std::memory_order_acq_rel, std::memory_order_acquire))
      o = mine;
    else
      free_origin(mine);
  }
  w->log->edge(from.id, o->id, from.when, w->in_task ? w->info.name : probe::unnamed);
  raise(o->when, from.when);  // the latest: the task must not begin before one of its edges
  raise(o->path, from.path);
}

void note_inputs_taken(origin*& join) noexcept {
  origin* o = std::exchange(join, nullptr);
  if (o == nullptr) return;
  note_read(*o);
  free_origin(o);
}

[[gnu::noinline]] static void note_made_otherwise(worker* w, origin*& made_by, bool at_end) noexcept {
  if (w == nullptr) return;
  const source from = source_now(*w);
  if (from.id == 0) return;
  if (at_end && w->in_task) w->end = from.when;
  origin* o = made_by = make_origin(w);
  o->id = from.id;
  o->when.store(from.when, std::memory_order_relaxed);
  o->path.store(from.path, std::memory_order_relaxed);
}

[[gnu::noinline]] void note_made(origin*& made_by, bool at_end) noexcept {
  if (made_by != nullptr) return;  // a join: recorded by its inputs
  worker* const w = worker_of_this_thread;
  if (w == nullptr || !from_running_task(*w) || w->spare_origins == nullptr) [[unlikely]]
    return note_made_otherwise(w, made_by, at_end);
  const ticks now = time_now(*w);
  if (at_end) w->end = now;
  made_by = ::new (take_spare(*w)) origin{w->id, 0, now, path_at(*w, now)};
}

bool note_moment() noexcept {
  worker* w = in_task();
  if (w == nullptr || w->id == 0 || w->end != 0) return false;
  w->end = time_now(*w);
  return true;
}

void note_going_on() noexcept {
  if (worker* w = this_worker()) {
    w->end = 0;
    w->ready_by = nullptr;
  }
}

// The reader waits until its virtual time is that of the result.
[[gnu::noinline]] static void read_in_virtual_time(worker& w, ticks when, ticks path) noexcept {
  if (when > w.boundary || path > path_at(w, w.boundary)) {
    w.end = std::max(when, time_now(w));
    split_slice(w);
    w.path = std::max(w.path, path);
    take_delay(w, false);  // the caller may hold a lock that a timer or a poller takes
    w.log->notify(probe::task_event_kind::resume, w.info.name, w.info.key, w.boundary);
  }
}

// An edge enters a slice at its start: a result read within a slice splits it.
static inline void note_result(worker& w, probe::task_id id, ticks when, ticks path) noexcept {
  if (!w.in_task || w.id == 0 || id == w.id) return;
  if (id == w.cause && when <= w.boundary) return;
  if (w.delays != nullptr) [[unlikely]] {
    read_in_virtual_time(w, when, path);
  } else if (when > w.boundary) [[unlikely]] {
    w.end = std::max(when, time_now(w));
    split_slice(w);
    w.log->notify(probe::task_event_kind::resume, w.info.name, w.info.key, w.boundary);
  }
  w.path = std::max(w.path, path);
  w.log->edge(id, w.id, when, w.info.name);
}

[[gnu::noinline]] void note_read(const origin& made_by) noexcept {
  worker* const w = worker_of_this_thread;
  const source result{made_by.id, made_by.path.load(std::memory_order_relaxed),
                      made_by.when.load(std::memory_order_relaxed)};
  if (w == nullptr)
    seen_here = result;
  else
    note_result(*w, result.id, result.when, result.path);
}

// A thread that completes a state through a join may still read that join, so joins are not freed here.
[[gnu::noinline]] void note_taken(origin*& made_by) noexcept {
  worker* const w = worker_of_this_thread;
  origin* const o = made_by;
  const probe::task_id id = o->id;
  if (w == nullptr || probe::is_join(id)) [[unlikely]]
    return note_read(*o);
  const ticks when = o->when.load(std::memory_order_relaxed), path = o->path.load(std::memory_order_relaxed);
  made_by = nullptr;
  put_origin(w, o);
  note_result(*w, id, when, path);
}

caller_origin::caller_origin(worker& w, task& child) noexcept : id_(w.id), path_(w.path) {
  if (child.from != nullptr || id_ != 0) [[unlikely]] {
    w.id = 0;
    note_begin(w, child);
    if (w.cause == 0) w.cause = id_;
    if (w.ready == 0) w.path = path_;
    if (w.delays != nullptr) take_delay(w);
  }
}

void caller_origin::goes_on(worker& w) const noexcept {
  const probe::task_id child = std::exchange(w.id, id_);
  if (id_ == 0) return;
  w.cause = child;
  w.ready = w.boundary;
  w.path = std::max(w.path, path_);
  if (w.delays != nullptr) [[unlikely]]
    take_delay(w);
}

made_ready_by::made_ready_by(const origin* result) noexcept {
  if (result == nullptr) return;
  id = result->id;
  path = result->path.load(std::memory_order_relaxed);
  when = result->when.load(std::memory_order_relaxed);
  worker_ = this_worker();
  if (worker_ != nullptr) before_ = std::exchange(worker_->ready_by, this);
}

// A continuation that ran in this frame may have called user code or suspended: then the object has no effect any more,
// and the caller may be on another worker.
made_ready_by::~made_ready_by() {
  if (worker_ != nullptr && this_worker() == worker_ && worker_->ready_by == this) worker_->ready_by = before_;
}

}  // namespace plx::detail
