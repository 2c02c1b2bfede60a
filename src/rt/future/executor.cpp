#include "rt/executor.hpp"

#include <new>

#include "base/assert.hpp"
#include "rt/core/pool.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/runtime.hpp"

namespace plx {

executor::executor() : executor(detail::current_scheduler()) {}
executor::executor(detail::scheduler& home) noexcept : home_(&home.link()) {}

executor executor::with_priority(priority p) const noexcept {
  executor e = *this;
  e.info_.where.priority = p;
  return e;
}
executor executor::with_stack_size(std::size_t bytes) const noexcept {
  PLX_ASSERT(bytes > 0 && bytes <= detail::bytes_of_stack_class(31), bytes);
  executor e = *this;
  e.info_.where.stack = detail::stack_class(bytes);
  return e;
}
executor executor::with_affinity(unsigned worker) const noexcept {
  PLX_ASSERT(worker < worker_count(), worker, worker_count());
  executor e = *this;
  e.info_.where.worker = static_cast<std::uint16_t>(worker + 1);
  return e;
}
executor executor::with_name(std::string_view name) const {
  executor e = *this;
  e.info_.name = probe::register_name(name);
  return e;
}
executor executor::with_key(std::uint64_t key) const noexcept {
  executor e = *this;
  e.info_.key = key;
  return e;
}

unsigned executor::worker_count() const {
  detail::spin_guard guard(home_->lock);
  PLX_ASSERT(home_->home != nullptr && "the runtime of this executor has ended");
  return home_->home->worker_count();
}

void executor::execute(detail::task* t) const {
  const bool alive = detail::submit_to(*home_, t);
  PLX_ASSERT(alive && "the runtime of this executor has ended");
}
void executor::execute_late(detail::task* t) const {
  if (!detail::submit_to(*home_, t)) detail::run_here(t);
}

namespace detail {

// ------------------------------------------------------------------------------------------------------- limits

namespace {

/// A task of a limiting executor: waits in the limit's queue, then in the runtime's, then runs its call.
struct limited_task final : task {
  task* inner = nullptr;
  limit* of = nullptr;
  std::size_t units = 0;
};

}  // namespace

/// Invariant, guarded by the lock: free_ plus the units of the started tasks equals the limit; the first queued task
/// needs more than free_.
struct limit {
  limit(const executor& ex, std::size_t n) : inner(ex), all(n), free_(n) {}

  /// `late`: a continuation, which the caller runs inline if the runtime has ended.
  void submit(task* t, std::size_t units, bool late) {
    auto* mine = ::new (pool_get(sizeof(limited_task))) limited_task;
    mine->run = run;
    mine->inner = t;
    mine->of = this;
    mine->units = units;
    mine->info = t->info;
    mine->from = std::exchange(t->from, nullptr);
    add_ref();
    {
      spin_guard guard(lock_);
      if (first_ != nullptr || units > free_) {
        (last_ != nullptr ? last_->next : first_) = mine;
        last_ = mine;
        return;
      }
      free_ -= units;
    }
    if (late)
      inner.execute_late(mine);
    else
      inner.execute(mine);
  }

  void add_ref() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    // acq_rel: the last holder sees what the others did before they released theirs.
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  const executor inner;
  const std::size_t all;

 private:
  static void run(task* t, run_mode mode) {
    auto* self = static_cast<limited_task*>(t);
    self->inner->run(self->inner, mode);
    limit& of = *self->of;
    const std::size_t units = self->units;
    pool_put(self, sizeof *self);
    of.give_back(units);
    of.release();
  }

  void give_back(std::size_t units) {
    task* fits = nullptr;
    task** link = &fits;
    {
      spin_guard guard(lock_);
      free_ += units;
      while (first_ != nullptr && static_cast<limited_task*>(first_)->units <= free_) {
        free_ -= static_cast<limited_task*>(first_)->units;
        *link = first_;
        link = &first_->next;
        first_ = first_->next;
      }
      if (first_ == nullptr) last_ = nullptr;
      *link = nullptr;
    }
    while (fits != nullptr) inner.execute_late(std::exchange(fits, fits->next));
  }

  std::atomic<std::size_t> refs_{1};
  spinlock lock_;
  std::size_t free_;
  task* first_ = nullptr;
  task* last_ = nullptr;
};

limit_ref::limit_ref(const executor& ex, std::size_t units) : limit_(new limit(ex, units)) {
  PLX_ASSERT(units > 0 && "a limit of 0 units would never run a task");
}
limit_ref::limit_ref(const limit_ref& o) noexcept : limit_(o.limit_) { limit_->add_ref(); }
limit_ref& limit_ref::operator=(const limit_ref& o) noexcept {
  limit_ref copy(o);
  std::swap(limit_, copy.limit_);
  return *this;
}
limit_ref::~limit_ref() { limit_->release(); }

}  // namespace detail

limiting_executor limiting_executor::with_units(std::size_t per_task) const {
  PLX_ASSERT(per_task <= limit_.get()->all && "a task that needs more than the whole limit would never run", per_task,
             limit_.get()->all);
  limiting_executor e = *this;
  e.per_task_ = per_task;
  return e;
}
task_info limiting_executor::info() const noexcept { return limit_.get()->inner.info(); }
void limiting_executor::execute(detail::task* t) const { limit_.get()->submit(t, per_task_, false); }
void limiting_executor::execute_late(detail::task* t) const { limit_.get()->submit(t, per_task_, true); }

}  // namespace plx
