// Who has a transport in hand: a lock that nobody waits for. What cannot be sent now is left to who has the turn.
//
// Messages that come while another thread has the turn lie on a stack, which that thread takes before it gives the turn
// back. Invariant: when nobody has the turn, the stack is empty, or somebody who has just put a message there is about
// to take the turn.
//
// Thread safety: that is its purpose. Cost: one exchange to take the turn, one to give it back.
// Example: net/transport/test/turn_test.cpp
#pragma once

#include <atomic>

#include "net/transport/transport.hpp"

namespace plx::net::detail {

class turn {
 public:
  /// This thread has the turn.
  [[nodiscard]] bool mine() const noexcept {
    return holder_.load(std::memory_order_relaxed) == me();  // only this thread ever writes its own mark
  }
  bool try_take() noexcept {
    const void* nobody = nullptr;
    // acquire: pairs with the release of who had it before.
    return holder_.load(std::memory_order_relaxed) == nullptr &&
           holder_.compare_exchange_strong(nobody, me(), std::memory_order_acquire, std::memory_order_relaxed);
  }
  /// Has m sent by this thread, or leaves it to the one that has the turn: issue(outgoing&) is called by who has it,
  /// for one message at a time, and may be the end of that message.
  template <class Issue>
  void send(outgoing& m, Issue&& issue) noexcept {
    if (mine()) return issue(m);  // called by what issue(), or who has the turn, called
    if (try_take()) {
      issue(m);
    } else {
      put(m);
      if (!try_take()) return;  // who has the turn sends it
    }
    end(issue);
  }
  /// Sends what others have left meanwhile, and gives the turn back. Requires: mine().
  template <class Issue>
  void end(Issue&& issue) noexcept {
    do {
      while (outgoing* m = take())
        while (m != nullptr) {
          outgoing* following = m->next;  // issue() may be the end of *m
          issue(*m);
          m = following;
        }
      give_back();
    } while (any() && try_take());
  }
  /// Sequentially consistent: either who put a message on the stack sees the turn free, or who looks at the stack
  /// after this sees the message.
  void give_back() noexcept { holder_.exchange(nullptr); }

  void put(outgoing& m) noexcept {
    m.next = waiting_.load(std::memory_order_relaxed);
    while (!waiting_.compare_exchange_weak(m.next, &m)) {
    }
  }
  [[nodiscard]] bool any() const noexcept { return waiting_.load() != nullptr; }
  /// All that lie there, the oldest first, linked by `next`.
  outgoing* take() noexcept {
    if (waiting_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    outgoing* newest = waiting_.exchange(nullptr);
    outgoing* oldest = nullptr;
    while (newest != nullptr) {
      outgoing* following = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = following;
    }
    return oldest;
  }

 private:
  static const void* me() noexcept {
    static thread_local char mark;
    return &mark;
  }
  std::atomic<const void*> holder_{nullptr};
  std::atomic<outgoing*> waiting_{nullptr};
};

}  // namespace plx::net::detail
