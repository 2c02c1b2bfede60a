// The aggregating executor and the aggregator that its copies share.
//
// Invariants: an item is in exactly one batch. A batch is in exactly one of: `open_` (at most one per operation), the
// thread that launches it, its stream's queue, the finisher. Only the holder of lock_ adds to an open batch.
// `in_flight_` counts the batches that were removed from open_ and are not finished; each of them holds a reference.
// All handles together hold one reference, released after a final flush().
#include "gpu/aggregating_executor.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "base/log.hpp"
#include "gpu/core/completion.hpp"
#include "gpu/core/device_core.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/runtime.hpp"
#include "rt/runtime_options.hpp"

namespace plx::gpu {

namespace detail {

class stream_core;

class aggregator {
 public:
  aggregator(device_core& d, aggregation_options o);
  aggregator(const aggregator&) = delete;
  aggregator& operator=(const aggregator&) = delete;
  void add_ref() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  /// Must not be called by the poller.
  void release() noexcept {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  /// `state` is completed when the item's launch is done or has failed; null: the item has no future.
  void add(const any_operation& op, const void* item, plx::detail::future_state<void>* state);
  void flush();
  void set_most(unsigned most) noexcept { most_.store(most == 0 ? 1 : most, std::memory_order_relaxed); }
  [[nodiscard]] aggregation_counts counts() const noexcept;

 private:
  ~aggregator();
  enum class reason : std::uint8_t { full, idle_device, late, no_task };
  struct batch;

  static poll_result poll(void* self) { return static_cast<aggregator*>(self)->poll(); }
  poll_result poll();
  bool due(const batch& b, bool no_task, reason& why);
  std::unique_ptr<batch> take_due(bool no_task);
  void launch_soon(std::unique_ptr<batch> b);
  void launch(std::unique_ptr<batch> b) noexcept;
  bool launch_all(batch& b) noexcept;
  void launch_one_by_one(std::unique_ptr<batch> b) noexcept;
  std::unique_ptr<batch> new_batch(const any_operation& op);
  void keep(std::unique_ptr<batch> b) noexcept;
  void took_out(const batch& b, reason why) noexcept;  // under lock_

  device_core& home_;
  const ticks deadline_;
  std::atomic<unsigned> most_;
  mutable plx::detail::spinlock lock_;
  std::vector<std::unique_ptr<batch>> open_;
  std::vector<std::unique_ptr<batch>> spare_;
  aggregation_counts counts_;
  std::atomic<unsigned> n_open_{0}, in_flight_{0}, refs_{1};
  std::uint64_t poller_ = 0;
};

using plx::detail::spin_guard;

struct aggregator::batch final : completion {
  const any_operation* op = nullptr;
  std::vector<std::byte> items;
  std::vector<plx::detail::future_state<void>*> states;
  std::vector<std::exception_ptr> errors;
  struct giver {
    probe::task_id task;
    ticks when;
  };
  std::vector<giver> givers;  // tasks that added items; recorded only for traces
  ticks since = 0;
  aggregator* home = nullptr;

  [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(states.size()); }

  void note_giver() {
    const plx::detail::worker* const w = plx::detail::this_worker();
    if (w == nullptr || !w->in_task || w->id == 0 || (!givers.empty() && givers.back().task == w->id)) return;
    givers.push_back({w->id, now_ticks()});
  }
  void notify_givers(probe::task_id to) noexcept {
    const plx::detail::worker* const w = plx::detail::this_worker();
    if (w == nullptr) return;
    for (const giver& g : givers) w->log->edge(g.task, to, g.when);
  }

  /// Completes item `i`.
  void notify(unsigned i, const std::exception_ptr& of_batch) noexcept {
    const std::exception_ptr& e = errors[i] != nullptr ? errors[i] : of_batch;
    plx::detail::future_state<void>* const s = states[i];
    if (s == nullptr) {
      if (e != nullptr) warn(e);
      return;
    }
    if (e != nullptr) {
      s->complete_with(e);
    } else {
      s->emplace();
      s->complete();
    }
    s->release();
  }
  void warn(const std::exception_ptr& e) const noexcept {
    try {
      std::rethrow_exception(e);
    } catch (const std::exception& x) {
      log_warning("gpu: a posted item of '{}' failed: {}", op->name, x.what());
    } catch (...) {
      log_warning("gpu: a posted item of '{}' failed", op->name);
    }
  }
};

aggregator::aggregator(device_core& d, aggregation_options o)
    : home_(d), deadline_(ticks_from(o.deadline_s)), most_(std::max(1u, o.most)) {
  poller_ = d.rt.add_poller(poll, this);
}

// Each batch in flight holds a reference, so there is none.
aggregator::~aggregator() { home_.rt.remove_poller(poller_); }

std::unique_ptr<aggregator::batch> aggregator::new_batch(const any_operation& op) {
  std::unique_ptr<batch> b;
  if (spare_.empty()) {
    b = std::make_unique<batch>();
  } else {
    b = std::move(spare_.back());
    spare_.pop_back();
  }
  b->op = &op;
  b->home = this;
  b->since = home_.rt.get_scheduler().now();
  return b;
}

void aggregator::keep(std::unique_ptr<batch> b) noexcept {
  constexpr std::size_t most_spare = 64;
  b->items.clear();
  b->states.clear();
  b->errors.clear();
  b->givers.clear();
  b->operation = 0;
  b->failed = nullptr;
  b->next = nullptr;
  const spin_guard guard(lock_);
  if (spare_.size() < most_spare) spare_.push_back(std::move(b));
}

void aggregator::took_out(const batch& b, reason why) noexcept {
  n_open_.fetch_sub(1, std::memory_order_relaxed);
  in_flight_.fetch_add(1, std::memory_order_relaxed);
  add_ref();
  counts_.items += b.size();
  ++counts_.launches;
  counts_.largest = std::max<std::uint64_t>(counts_.largest, b.size());
  ++(why == reason::full          ? counts_.full
     : why == reason::idle_device ? counts_.idle_device
     : why == reason::late        ? counts_.late
                                  : counts_.no_task);
}

void aggregator::add(const any_operation& op, const void* item, plx::detail::future_state<void>* state) {
  std::unique_ptr<batch> full;
  bool first = false;
  {
    const spin_guard guard(lock_);
    auto it = std::find_if(open_.begin(), open_.end(), [&op](const auto& b) { return b->op == &op; });
    if (it == open_.end()) {
      open_.push_back(new_batch(op));
      it = open_.end() - 1;
      first = n_open_.fetch_add(1) == 0;
    }
    batch& b = **it;
    const auto* bytes = static_cast<const std::byte*>(item);
    b.items.insert(b.items.end(), bytes, bytes + op.item_bytes);
    b.states.push_back(state);
    if (plx::detail::origins_wanted()) [[unlikely]]
      b.note_giver();
    if (b.size() >= most_.load(std::memory_order_relaxed)) {
      full = std::move(*it);
      *it = std::move(open_.back());
      open_.pop_back();
      took_out(*full, reason::full);
    }
  }
  if (full != nullptr)
    launch(std::move(full));
  else if (first)
    home_.rt.ask_pollers();
}

void aggregator::flush() {
  for (;;) {
    std::unique_ptr<batch> b;
    {
      const spin_guard guard(lock_);
      if (open_.empty()) return;
      b = std::move(open_.back());
      open_.pop_back();
      took_out(*b, reason::no_task);
    }
    launch(std::move(b));
  }
}

// ----------------------------------------------------------------------------------------------------------- launching

// Launches the batch as one launch. False: nothing was launched, and b.failed holds the reason. True: the batch may
// already be finished.
bool aggregator::launch_all(batch& b) noexcept {
  try {
    home_.launch_for(b, *b.op, b.items.data(), b.size(), b.errors.data(), true);
    return true;
  } catch (...) {
    b.failed = std::current_exception();
    return false;
  }
}

void aggregator::launch(std::unique_ptr<batch> b) noexcept {
  b->errors.resize(b->size());
  b->operation = 0;
  b->launched = [](completion& self, probe::task_id to) noexcept { static_cast<batch&>(self).notify_givers(to); };
  b->finish = [](completion& self) noexcept {
    std::unique_ptr<batch> done(&static_cast<batch&>(self));
    aggregator* const home = done->home;
    home->in_flight_.fetch_sub(1, std::memory_order_relaxed);
    for (unsigned i = 0; i < done->size(); ++i) done->notify(i, done->failed);
    home->keep(std::move(done));
    home->release();
  };
  batch* const on_its_way = b.release();
  if (launch_all(*on_its_way)) return;
  b.reset(on_its_way);
  if (b->size() == 1 || home_.lost() != nullptr) return b->finish(*b.release());
  launch_one_by_one(std::move(b));
}

// The device refused the batch as a whole; only the items that it also refuses individually fail.
void aggregator::launch_one_by_one(std::unique_ptr<batch> b) noexcept {
  for (unsigned i = 0; i < b->size(); ++i) {
    auto one = std::make_unique<batch>();
    one->op = b->op;
    one->home = this;
    const std::byte* item = b->items.data() + std::size_t{b->op->item_bytes} * i;
    one->items.assign(item, item + b->op->item_bytes);
    one->states.push_back(b->states[i]);
    add_ref();
    in_flight_.fetch_add(1, std::memory_order_relaxed);
    launch(std::move(one));
  }
  in_flight_.fetch_sub(1, std::memory_order_relaxed);
  keep(std::move(b));
  release();
}

// ------------------------------------------------------------------------------------------------------------- waiting

bool aggregator::due(const batch& b, bool no_task, reason& why) {
  auto& s = home_.rt.get_scheduler();
  if (s.deterministic()) {  // the seed decides the order
    why = reason::late;
    return s.choose(8) == 0;
  }
  why = in_flight_.load(std::memory_order_relaxed) == 0 ? reason::idle_device
        : no_task                                       ? reason::no_task
                                                        : reason::late;
  return why != reason::late || s.now() - b.since >= deadline_;
}

std::unique_ptr<aggregator::batch> aggregator::take_due(bool no_task) {
  const spin_guard guard(lock_);
  for (auto& b : open_) {
    reason why{};
    if (!due(*b, no_task, why)) continue;
    std::unique_ptr<batch> taken = std::move(b);
    b = std::move(open_.back());
    open_.pop_back();
    took_out(*taken, why);
    return taken;
  }
  return nullptr;
}

// Launches in a task: a launch takes too long for the poller, and if it is refused, continuations of the items run.
void aggregator::launch_soon(std::unique_ptr<batch> b) {
  b->finish = [](completion& self) noexcept {
    auto& me = static_cast<batch&>(self);
    me.home->launch(std::unique_ptr<batch>(&me));
  };
  home_.finish_soon(*b.release());
}

poll_result aggregator::poll() {
  if (n_open_.load() == 0) return poll_result::idle;
  const plx::detail::scheduler& s = home_.rt.get_scheduler();
  const plx::detail::worker* me = plx::detail::this_worker();
  // A worker that polls while searching has no task; it is not counted as active.
  const bool no_task = me != nullptr && me->searching.load(std::memory_order_relaxed) && s.active_workers() == 0;
  bool any = false;
  while (auto b = take_due(no_task)) {
    launch_soon(std::move(b));
    any = true;
  }
  return any ? poll_result::progressed : poll_result::pending;
}

aggregation_counts aggregator::counts() const noexcept {
  const spin_guard guard(lock_);
  return counts_;
}

}  // namespace detail

namespace {

using item_state = plx::detail::future_state<void>;

}  // namespace

aggregating_executor::aggregating_executor(device& d, aggregation_options o)
    : shared_(new detail::aggregator(d.core(), o), [](detail::aggregator* a) {
        a->flush();
        a->release();
      }) {}

void aggregating_executor::flush() const { shared_->flush(); }
void aggregating_executor::set_most(unsigned most) const noexcept { shared_->set_most(most); }
aggregation_counts aggregating_executor::counts() const noexcept { return shared_->counts(); }

plx::future<void> aggregating_executor::launch(const any_operation& op, const void* item) const {
  auto* s = plx::detail::make_state<item_state>(plx::detail::destroy_state<item_state>, 2u);
  auto result = plx::detail::adopt_state<void>(s);
  shared_->add(op, item, s);
  return result;
}

void aggregating_executor::launch_unheard(const any_operation& op, const void* item) const noexcept {
  shared_->add(op, item, nullptr);
}

}  // namespace plx::gpu
