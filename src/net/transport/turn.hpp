// The right to call a transport: a lock that no thread waits for. A message that cannot be sent at once is left to the
// thread that has the turn.
//
// Messages that are sent while another thread has the turn are put on a stack, which that thread empties before it
// releases the turn. Invariant: when no thread has the turn, the stack is empty, or a thread that has just put a
// message there is about to take the turn.
//
// Thread safety: everything. Cost: one exchange to take the turn, one to release it.
// Example: net/transport/test/turn_test.cpp
#pragma once

#include <atomic>

#include "net/transport/transport.hpp"

namespace plx::net::detail {

class turn {
 public:
  /// Whether this thread has the turn.
  [[nodiscard]] bool mine() const noexcept {
    return holder_.load(std::memory_order_relaxed) == me();  // only this thread ever writes its own mark
  }
  bool try_take() noexcept {
    const void* nobody = nullptr;
    // acquire: pairs with the release by the previous holder.
    return holder_.load(std::memory_order_relaxed) == nullptr &&
           holder_.compare_exchange_strong(nobody, me(), std::memory_order_acquire, std::memory_order_relaxed);
  }
  /// Sends m, or leaves it to the thread that has the turn, which calls issue(outgoing&) for one message at a time.
  /// issue() may end the lifetime of the message.
  template <class Issue>
  void send(outgoing& m, Issue&& issue) noexcept {
    if (mine()) return issue(m);  // called from within issue(), or by the holder
    if (try_take()) {
      issue(m);
    } else {
      put(m);
      if (!try_take()) return;  // the holder sends it
    }
    end(issue);
  }
  /// Sends the messages that other threads have left, and releases the turn. Requires: mine().
  template <class Issue>
  void end(Issue&& issue) noexcept {
    do {
      while (outgoing* m = take())
        while (m != nullptr) {
          outgoing* following = m->next;  // issue() may end the lifetime of *m
          issue(*m);
          m = following;
        }
      give_back();
    } while (any() && try_take());
  }
  /// Sequentially consistent: either a thread that put a message on the stack sees that the turn is free, or the thread
  /// that reads the stack after this call sees the message.
  void give_back() noexcept { holder_.exchange(nullptr); }

  void put(outgoing& m) noexcept {
    m.next = waiting_.load(std::memory_order_relaxed);
    while (!waiting_.compare_exchange_weak(m.next, &m)) {
    }
  }
  [[nodiscard]] bool any() const noexcept { return waiting_.load() != nullptr; }
  /// Takes all messages from the stack, the oldest first, linked by `next`.
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
