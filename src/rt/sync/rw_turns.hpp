// The order in which the requests to an async_rw_mutex are granted.
//
// Requests form turns: a write is a turn of its own, consecutive reads share one. Each turn counts its references: one
// per request and, once granted, per access, and one of the mutex while the turn is the last, so that reads may still
// join. The turn ends when the count reaches zero, and grants the next one.
// Invariants: only the first remaining turn is granted. `next` is set before the mutex releases its reference, so that
// the thread that ends the turn sees it. The last turn cannot end.
// Thread safety: everything. Cost: one allocation per turn. Example: async_rw_mutex_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "rt/core/spinlock.hpp"

namespace plx::detail {

struct rw_turn;

/// A request that waits for its turn. `grant` must not wait; it takes over the request's reference to the turn.
struct rw_request {
  rw_request* next = nullptr;
  void (*grant)(rw_request*, rw_turn*) = nullptr;
};

/// The part of the mutex that its requests and accesses share; destroyed with the last of them.
struct rw_core {
  using destroy_function = void (*)(rw_core*) noexcept;
  explicit rw_core(destroy_function d) noexcept : destroy(d) {}

  void release() noexcept {
    if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(this);
  }
  /// Grants `r` immediately or in its turn.
  void request(rw_request& r, bool write);
  /// No more requests follow. Releases the mutex' own reference.
  void close() noexcept;

  destroy_function destroy;
  std::atomic<std::size_t> refs{1};  // the mutex, and each turn
  spinlock guard;
  rw_turn* last = nullptr;
};

struct rw_turn {
  rw_turn(rw_core& c, bool w) noexcept : core(c), write(w) { core.refs.fetch_add(1, std::memory_order_relaxed); }

  rw_core& core;
  const bool write;
  std::atomic<std::size_t> holds{2};  // the first request, and the mutex
  rw_turn* next = nullptr;

  spinlock guard;
  bool granted = false;
  rw_request* first_waiting = nullptr;
  rw_request* last_waiting = nullptr;

  void hold() noexcept { holds.fetch_add(1, std::memory_order_relaxed); }
  /// Releases a reference. If it was the last, ends the turn, and those after it that have no references left.
  static void drop(rw_turn* t) noexcept;
};

}  // namespace plx::detail
