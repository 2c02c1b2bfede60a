#include "rt/coroutine.hpp"

#include <array>
#include <atomic>

#include "probe/record/wait_log.hpp"
#include "rt/any_executor.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/measure/origin.hpp"
#include "rt/sync/wait.hpp"

namespace plx::detail {

void coroutine_chain::run_from(std::coroutine_handle<> first, bool is_task, bool in_loop) {
  runner here{first, is_task, in_loop};
  runner* address = &here;
  asm volatile("" : "+r"(address));  // avoids a GCC warning: the chain does not use it after this call returns
  runner_ = address;
  // A coroutine that suspends or ends without a next one leaves null here; another worker may then run the chain.
  while (here.next) std::exchange(here.next, nullptr).resume();
}

void coroutine_chain::begin(std::coroutine_handle<> first) {
  if (!stack_is_low() || find_current_scheduler() == nullptr) return run_from(first);
  suspend_at(first);
  submit();
}

void coroutine_chain::run_as_task(task* t, run_mode mode) {
  auto& self = *static_cast<coroutine_chain*>(t);
  worker* w = this_worker();
  const bool is_task = w != nullptr && w->task_id == t;
  if (is_task) w->earlier = self.earlier;
  if (w != nullptr && self.waits_for != nullptr) {
    if (self.since != 0) w->waits->add({self.waits_for}, w->boundary > self.since ? w->boundary - self.since : 0);
    self.waits_for = nullptr;
  }
  self.run_from(self.at, is_task, is_task && mode == run_mode::scheduled);
}

void coroutine_chain::suspend_at(std::coroutine_handle<> where) noexcept {
  at = where;
  worker* w = this_worker();
  if (w != nullptr) {
    home = &w->home.link();
    info = w->info;
    info.where.stack = static_cast<std::uint8_t>(w->current->stack_class);  // it resumes on a stack of the same class
    since = 0;
    if (runner_ != nullptr && runner_->is_task) {
      earlier = end_part(*w);
      since = w->boundary;
      if (w->id != 0) note_suspended(*w, *this);
    }
  } else {
    home = nullptr;
  }
  if (name != probe::unnamed) info.name = name;
}

void coroutine_chain::not_suspended() noexcept {
  waits_for = nullptr;
  if (worker* w = this_worker()) w->part_ended = false;
  forget_origin(*this);
}

void coroutine_chain::submit() { submit_late(home, this); }

task* take_from_deque(const void* owner) {
  worker* w = this_worker();
  if (w == nullptr) return nullptr;
  if (w->home.deterministic() ? w->home.choose(2) == 0 : w->home.boundary_due(*w)) return nullptr;
  task* t = w->deque.pop();
  if (t == nullptr) return nullptr;
  if (t->owner != owner) {
    w->home.put_back(*w, t);
    return nullptr;
  }
  w->ran_inline.add();
  if (t->from != nullptr) [[unlikely]]
    forget_origin(*t);
  return t;
}

// ---------------------------------------------------------------------------------------------- when_all, yield, sleep

std::coroutine_handle<> fork::start(child* children, std::size_t n, coroutine_chain& parent,
                                    std::coroutine_handle<> parent_at) noexcept {
  parent_ = &parent;
  parent_at_ = parent_at;
  const worker* w = this_worker();
  // The second child is on top of the deque, where its sibling or this worker's loop finds it next.
  for (std::size_t i = n; --i > 0;) {
    if (w != nullptr) {
      children[i].info = w->info;
      w->home.submit(&children[i], meant_for::sleepers);
    } else {
      submit_late(nullptr, &children[i]);  // without a runtime it runs here, and is not the last one to end
    }
  }
  // The first child has not ended, so the parent and this fork still exist.
  children[0].runner_ = parent.runner_;
  return children[0].go_on_in(children[0].at);
}

std::coroutine_handle<> fork::child_ended(coroutine_chain& c) noexcept {
  auto* const siblings = const_cast<fork*>(static_cast<const fork*>(c.owner));
  coroutine_chain::runner* const here = c.runner_;
  // acq_rel: the last child sees the writes of all others.
  if (siblings->missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    siblings->parent_->runner_ = here;
    if (here->is_task) {  // the child may be destroyed now
      this_worker()->task_id = siblings->parent_;
      this_worker()->task_owner = siblings->parent_->owner;
    }
    return siblings->parent_->go_on_in(siblings->parent_at_);
  }
  task* t = here->in_loop ? take_from_deque(siblings) : nullptr;
  if (t == nullptr) return std::noop_coroutine();
  auto& sibling = static_cast<coroutine_chain&>(*t);
  sibling.runner_ = here;
  return sibling.go_on_in(sibling.at);
}

// As in scheduler::submit_last(): a pinned or low-priority task keeps its queue.
void yield_awaiter::wait(coroutine_chain& c, std::coroutine_handle<> at) {
  c.suspend_at(at);
  const worker* w = this_worker();
  const task_placement where = c.info.where;
  if (w == nullptr || where.worker != 0 || where.priority == priority::low)
    c.submit();
  else
    w->home.inject(&c);
}

// Without a runtime there is no other task to run first.
bool yield_awaiter::await_ready() noexcept { return find_current_scheduler() == nullptr; }

sleep_awaiter::sleep_awaiter(double s) : seconds_(s) {}

bool sleep_awaiter::await_ready() {
  if (seconds_ <= 0) return true;
  if (this_worker() != nullptr) return false;
  sleep_until_ticks(deadline_in(seconds_));
  return true;
}

void sleep_awaiter::wait(coroutine_chain& c, std::coroutine_handle<> at) {
  alarm_.deadline = deadline_in(seconds_ * (1 + 2e-5));  // allows for the error of the measured clock rate
  alarm_.fire = [](void* chain) { static_cast<coroutine_chain*>(chain)->submit(); };
  alarm_.context = &c;
  c.suspend_at(at);
  c.waits_for = "sleep";
  arm_timer(alarm_);
}

void sleep_awaiter::await_resume() noexcept { timer_queue::cancel(alarm_); }

// ------------------------------------------------------------------------------------- coroutines of other libraries

namespace {

/// The chain through which a coroutine of another library awaits one of the runtime. The awaiter and the end of the
/// awaited coroutine race: the second one frees the chain; if that is the end, it also resumes the awaiter.
struct external_chain final : coroutine_chain {
  explicit external_chain(std::coroutine_handle<> w) noexcept : coroutine_chain(end), waiting_(w) {}
  bool second() noexcept { return one_came.exchange(true, std::memory_order_acq_rel); }
  static std::coroutine_handle<> end(coroutine_chain& c) noexcept {
    auto& self = static_cast<external_chain&>(c);
    if (!self.second()) return std::noop_coroutine();
    self.runner_->next = self.waiting_;  // not a tail call: the awaiter destroys the awaited coroutine
    destroy(self);
    return std::noop_coroutine();
  }
  static void destroy(external_chain& c) noexcept {
    c.~external_chain();
    pool_put(&c, sizeof c);
  }

  std::coroutine_handle<> waiting_;
  std::atomic<bool> one_came{false};
};

/// A coroutine of another library while it waits for a future.
struct external_wait final : coroutine_chain, continuation {
  explicit external_wait(std::coroutine_handle<> waiting) noexcept : coroutine_chain(nullptr) {
    suspend_at(waiting);
    run = [](task* t, run_mode) {
      auto& self = static_cast<external_wait&>(*t);
      self.at.resume();
      destroy(self);  // after resume(): its address identifies the running slice
    };
    fire = [](continuation* c) { static_cast<external_wait&>(*c).submit(); };
  }
  static void destroy(external_wait& w) noexcept {
    w.~external_wait();
    pool_put(&w, sizeof w);
  }
};

}  // namespace

bool await_externally(std::coroutine_handle<> first, chain_link& link, std::coroutine_handle<> waiting) {
  auto* c = ::new (pool_get(sizeof(external_chain))) external_chain(waiting);
  link.chain = c;
  c->begin(first);
  if (!c->second()) return true;
  external_chain::destroy(*c);
  return false;
}

bool attach_externally(future_state_base& s, std::coroutine_handle<> waiting) {
  auto* w = ::new (pool_get(sizeof(external_wait))) external_wait(waiting);
  if (s.attach_unless_ready(*w)) return true;
  external_wait::destroy(*w);
  return false;
}

// ------------------------------------------------------------------------------------------------------------- names

namespace {

// Coroutines by the address of their name, which the compiler keeps once per function. Entries are never replaced.
struct named_place {
  std::atomic<const char*> text{nullptr};
  std::atomic<probe::name_id> id{probe::unnamed};
};
constexpr std::size_t n_places = 1024;
constinit std::array<named_place, n_places> places;

}  // namespace

probe::name_id name_of_coroutine(const std::source_location& where) {
  const char* text = where.function_name();
  std::size_t i = (reinterpret_cast<std::uintptr_t>(text) * 0x9e3779b97f4a7c15u) >> 54;
  for (int probes = 0; probes < 8; ++probes, i = (i + 1) % n_places) {
    const char* there = places[i].text.load(std::memory_order_relaxed);
    if (there == nullptr && places[i].text.compare_exchange_strong(there, text, std::memory_order_relaxed))
      there = text;
    if (there != text) continue;
    probe::name_id id = places[i].id.load(std::memory_order_relaxed);
    if (id == probe::unnamed) {
      id = probe::register_name(text);
      places[i].id.store(id, std::memory_order_relaxed);
    }
    return id;
  }
  return probe::register_name(text);
}

}  // namespace plx::detail
