#include "rt/future/future_state.hpp"

#include <stdexcept>
#include <vector>

#include "base/assert.hpp"
#include "rt/any_executor.hpp"
#include "rt/core/parker.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/when.hpp"

namespace plx {

namespace {
const char* message_of(int code) {
  switch (static_cast<future_errc>(code)) {
    case future_errc::broken_promise:
      return "broken promise: the promise was destroyed before it had a value";
    case future_errc::future_already_retrieved:
      return "the future was already retrieved from its promise";
    case future_errc::promise_already_satisfied:
      return "the promise already has a value or an exception";
    case future_errc::no_state:
      return "no state: the future is empty, or get() was already called";
  }
  return "unknown future error";
}

class category_of_futures final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "future"; }
  [[nodiscard]] std::string message(int code) const override { return message_of(code); }
};
}  // namespace

const std::error_category& future_category() noexcept {
  static const category_of_futures the_category;
  return the_category;
}

future_error::future_error(future_errc code)
    : std::logic_error(message_of(static_cast<int>(code))), code_(make_error_code(code)) {}

namespace detail {

void throw_future_error(future_errc code) { throw future_error(code); }

void fork_task(task* t) {
  struct forking {
    fiber* caller;
    task* forked;
  } me{nullptr, t};
  worker* w = this_worker();
  if (w == nullptr || w->polling) return submit_task(t);
  if (!w->home.reserve_loop_fiber(*w)) return submit_task(t);  // no memory for a stack
  me.caller = w->current;
  wait_reason why("fork");
  why.measured = false;
  suspend(
      why,
      [](void* p) {
        const forking f = *static_cast<forking*>(p);  // the caller's frame resumes as soon as a thief takes it
        resume(*f.caller);
        submit_task(f.forked);  // above the caller in the deque: this worker pops it first, thieves take the caller
      },
      &me);
}

home_link* home_of_caller() noexcept {
  const worker* w = this_worker();
  return w != nullptr ? &w->home.link() : nullptr;
}

void run_here(task* t) {
  if (t->from != nullptr) [[unlikely]]
    forget_origin(*t);
  if (origins_wanted()) [[unlikely]]
    note_going_on();
  t->run(t, run_mode::run_inline);
}

bool future_state_base::try_attach(continuation& c) noexcept {
  // acquire: pairs with the release in complete(); its result is visible.
  std::uintptr_t head = word_.load(std::memory_order_acquire);
  do {
    if (head == ready_word) return false;
    c.next = reinterpret_cast<continuation*>(head);
    // release: pairs with the acquire in complete(), which reads the node.
  } while (!word_.compare_exchange_weak(head, reinterpret_cast<std::uintptr_t>(&c), std::memory_order_release,
                                        std::memory_order_acquire));
  return true;
}

namespace {

void fire_each(continuation* in_order) noexcept {
  while (in_order != nullptr) {
    continuation* c = std::exchange(in_order, in_order->next);
    c->fire(c);
  }
}

// Fires continuations in a task of its own, which starts on an empty stack.
struct firing_task final : task {
  explicit firing_task(continuation* first) noexcept : in_order(first) {
    static const probe::name_id continuations = probe::register_name("continuations");
    info.name = continuations;
    run = [](task* t, run_mode) noexcept {
      auto* self = static_cast<firing_task*>(t);
      continuation* c = self->in_order;
      pool_put(self, sizeof *self);
      fire_each(c);
    };
  }
  continuation* in_order;
};
static_assert(std::is_trivially_destructible_v<firing_task>);

// False if there is no memory for the task. Without a runtime the continuations fire in this frame.
bool fire_in_task(continuation* in_order) noexcept {
  firing_task* t = nullptr;
  try {
    t = pool_new<firing_task>(in_order);
  } catch (const std::bad_alloc&) {
    return false;
  }
  submit_late(home_of_caller(), t);
  return true;
}

// A continuation may complete another state, whose continuations fire in its frame, and so on: a chain of N
// continuations would need N frames. When the stack is low the next link fires in a task of its own.
//
// Invariant: a continuation that fires in a task depends on nothing that the completing frame does afterwards, and
// nothing may depend on it having fired when complete() returns. Both hold for every continuation, because another
// thread may complete the state and be interrupted between its exchange on `word_` and the call of fire(). The task is
// in a queue of the runtime before complete() returns, so the caller may suspend, block or end at any point after it.
void fire_in_order(continuation* in_order) noexcept {
  if (stack_is_low() && fire_in_task(in_order)) return;
  fire_each(in_order);
}

// The list is newest first; continuations fire in the order in which they were attached.
void fire_all(continuation* newest) noexcept {
  continuation* in_order = nullptr;
  for (continuation* c = newest; c != nullptr;) {
    continuation* next = std::exchange(c->next, in_order);
    in_order = std::exchange(c, next);
  }
  fire_in_order(in_order);
}

}  // namespace

void future_state_base::fire_now(continuation& c) noexcept {
  const made_ready_by result(made_by_);
  c.next = nullptr;
  fire_in_order(&c);
}

void future_state_base::complete(bool at_end) noexcept {
  origin* const join = made_by_ != nullptr && probe::is_join(made_by_->id) ? made_by_ : nullptr;
  if (origins_wanted()) [[unlikely]]
    note_made(made_by_, at_end);
  // release: publishes the result to readers that load `ready` with acquire. acquire: pairs with the releases in
  // try_attach() and put_back(); the nodes are read.
  const std::uintptr_t head = word_.exchange(ready_word, std::memory_order_acq_rel);
  PLX_ASSERT(head != ready_word && "a future was completed twice");
  if (head == 0) return;  // no waiters
  const made_ready_by result(join);
  fire_all(reinterpret_cast<continuation*>(head));
}

// Nodes cannot be unlinked from a list to which other threads push. So the whole list is taken, as complete() takes it,
// and put back without `c`. If the state completes in between, the remaining nodes are fired here.
bool future_state_base::try_detach(continuation& c) noexcept {
  std::uintptr_t head = word_.load(std::memory_order_relaxed);
  do {
    if (head == 0 || head == ready_word) return false;
    // acquire: pairs with the release in try_attach(); the nodes are read below.
  } while (!word_.compare_exchange_weak(head, 0, std::memory_order_acquire, std::memory_order_relaxed));
  auto* first = reinterpret_cast<continuation*>(head);
  continuation** link = &first;
  while (*link != nullptr && *link != &c) link = &(*link)->next;
  const bool found = *link != nullptr;
  if (found) *link = c.next;
  if (first != nullptr) put_back(first);
  return found;
}

void future_state_base::put_back(continuation* first) noexcept {
  continuation* last = first;
  while (last->next != nullptr) last = last->next;
  std::uintptr_t head = word_.load(std::memory_order_acquire);
  do {
    if (head == ready_word) {
      last->next = nullptr;
      return fire_all(first);
    }
    last->next = reinterpret_cast<continuation*>(head);
    // release: pairs with the acquire in complete() and try_detach(). acquire: with complete(); its result is visible.
  } while (!word_.compare_exchange_weak(head, reinterpret_cast<std::uintptr_t>(first), std::memory_order_release,
                                        std::memory_order_acquire));
}

void future_state_base::submit_deferred() {
  if (!deferred_.exchange(false, std::memory_order_acq_rel)) return;
  add_ref();  // released when it has run
  submit_late(nullptr, own_task_);
}

namespace {

struct task_wait : continuation {
  future_state_base* state;
  fiber* waiting;
};

struct thread_wait : continuation {
  parker* waiting;
};

// A waiter with a deadline. Reference-counted, because after a timeout it may have to stay attached until the state
// completes.
struct timed_wait : continuation {
  std::atomic<int> refs{2};  // the waiter and the state
  spinlock guard;
  bool completed = false;
  wait_list waiting;

  void release(int n = 1) noexcept {
    // acq_rel: the last holder sees what the others did before they released theirs.
    if (refs.fetch_sub(n, std::memory_order_acq_rel) == n) delete this;
  }
  static void state_completed(continuation* c) {
    auto* self = static_cast<timed_wait*>(c);
    waiter* woken = nullptr;
    {
      spin_guard lock(self->guard);
      self->completed = true;
      woken = self->waiting.take_all();
    }
    plx::detail::notify_all(woken);
    self->release();
  }
};

}  // namespace

bool future_state_base::run_own_task_inline() {
  if (deferred_.load(std::memory_order_relaxed)) {
    if (stack_is_low() && find_current_scheduler() != nullptr) {
      submit_deferred();  // it gets its own stack
      return false;
    }
    if (!deferred_.exchange(false, std::memory_order_acq_rel)) return false;
    add_ref();  // released when it has run
    if (worker* w = this_worker())
      run_inline(*w, own_task_, true);
    else
      own_task_->run(own_task_, run_mode::run_inline);
    return true;
  }
  // Only the newest task of the worker's own deque can be taken cheaply, and only the awaited task may run on top of
  // its waiter, which waits for nothing else.
  worker* w = this_worker();
  if (own_task_ == nullptr || w == nullptr) return false;
  w = pass_boundary(w);
  if (w->deque.newest() != own_task_) return false;
  if (low_in(w->current->memory)) return false;  // the waiter suspends, and the task gets its own stack
  if (w->home.deterministic() && w->home.choose(2) == 0) return false;
  task* t = w->deque.pop();
  if (t == nullptr) return false;  // stolen
  PLX_ASSERT(t == own_task_);
  run_inline(*w, t);
  return true;
}

wait_reason future_state_base::why(bool timed) const noexcept {
  wait_reason r("future", this);  // the task that completes it names this state as its owner
  r.for_tasks_of = true;
  r.timed = timed;
  return r;
}

void future_state_base::wait_slowly() {
  run_own_task_inline();
  if (ready()) return;
  worker* w = this_worker();
  if (w == nullptr) {
    thread_wait me;
    me.waiting = &this_thread_parker();
    me.fire = [](continuation* c) { static_cast<thread_wait*>(c)->waiting->wake(); };
    if (try_attach(me)) me.waiting->wait();
    return;
  }
  const ticks boundary = w->boundary;
  if (w->home.poll_for(*w, *this)) return;
  if (w->boundary != boundary) {
    require_stack(*w);
    w->end = w->boundary;  // it suspends now: the slice ends with the poll, which has read the clock
  }
  task_wait me;
  me.state = this;
  me.waiting = w->current;
  me.fire = [](continuation* c) { resume(*static_cast<task_wait*>(c)->waiting); };
  suspend(
      why(false),
      [](void* p) {
        auto* m = static_cast<task_wait*>(p);
        m->state->attach(*m);
      },
      &me);
}

// The task is not run inline here: it may take longer than the deadline, or wait for a later action of its waiter.
bool future_state_base::wait_until(ticks deadline) {
  if (ready()) return true;
  if (deadline <= deadline_in(0)) {  // a poll, which is allowed in pollers and continuations
    choice_point();
    return ready();
  }
  if (worker* w = this_worker()) require_stack(*w);  // before the node is shared
  auto* me = new timed_wait;
  me->fire = timed_wait::state_completed;
  if (!try_attach(*me)) {
    delete me;
    return true;
  }
  bool in_time = true;
  me->guard.lock();
  if (me->completed) {
    me->guard.unlock();
  } else {
    try {
      in_time = wait_on_until(me->waiting, me->guard, why(true), deadline);
    } catch (...) {  // no memory to wait
      me->release(try_detach(*me) ? 2 : 1);
      throw;
    }
  }
  // Repeated waits with a deadline must not accumulate nodes in the state.
  me->release(!in_time && try_detach(*me) ? 2 : 1);
  return in_time || ready();
}

// ------------------------------------------------------------------ waiting for some of many

// Lives until the last node has fired or was detached: a node held by a concurrent try_detach() stays attached.
struct ready_order::shared {
  struct node : continuation {
    shared* owner = nullptr;
    future_state_base* state = nullptr;
    std::size_t index = 0;
  };

  explicit shared(std::size_t n) : nodes(n), refs(n + 1) { order.reserve(n); }

  void release() noexcept {
    // acq_rel: the last holder sees what the others did before they released theirs.
    if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  static void fired(continuation* c) {
    auto& n = *static_cast<node*>(c);
    shared* self = n.owner;
    waiter* woken = nullptr;
    {
      spin_guard guard(self->guard);
      self->order.push_back(n.index);
      if (self->order.size() == self->wanted) woken = self->waiting.take_all();
    }
    plx::detail::notify_all(woken);
    self->release();
  }

  std::vector<node> nodes;
  std::atomic<std::size_t> refs;
  spinlock guard;
  std::vector<std::size_t> order;
  std::size_t wanted = 0;  // the number of ready futures that the waiter waits for
  wait_list waiting;
};

ready_order::ready_order(const std::vector<future_state_base*>& states) : shared_(new shared(states.size())) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    shared::node& n = shared_->nodes[i];
    n.owner = shared_;
    n.index = i;
    n.fire = shared::fired;
    n.state = states[i];
    n.state->add_ref();
    n.state->attach(n);
  }
}

ready_order::~ready_order() {
  for (shared::node& n : shared_->nodes) {
    if (n.state->try_detach(n)) shared_->release();
    n.state->release();
  }
  shared_->release();
}

void ready_order::wait_for(std::size_t n) {
  shared_->guard.lock();
  PLX_ASSERT(n <= shared_->nodes.size(), n, shared_->nodes.size());
  shared_->wanted = n;
  if (shared_->order.size() >= n)
    shared_->guard.unlock();
  else
    wait_on(shared_->waiting, shared_->guard, "one of several futures");
}

std::size_t ready_order::operator[](std::size_t i) const {
  spin_guard guard(shared_->guard);
  return shared_->order[i];
}

std::size_t wait_any_of(const std::vector<future_state_base*>& states) {
  if (states.empty()) return static_cast<std::size_t>(-1);
  ready_order order(states);
  order.wait_for(1);
  return order[0];
}

std::vector<std::size_t> wait_some_of(std::size_t n, const std::vector<future_state_base*>& states) {
  if (n > states.size()) throw std::invalid_argument("wait_some: n is more than the number of futures");
  ready_order order(states);
  order.wait_for(n);
  std::vector<std::size_t> ready(n);
  for (std::size_t i = 0; i < n; ++i) ready[i] = order[i];
  return ready;
}

}  // namespace detail
}  // namespace plx
