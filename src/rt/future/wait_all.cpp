#include "rt/when.hpp"

#include <atomic>

#include "base/assert.hpp"

namespace plx::detail {

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

}  // namespace plx::detail
