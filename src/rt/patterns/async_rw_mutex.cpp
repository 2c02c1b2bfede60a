#include "rt/patterns/async_rw_mutex.hpp"

#include <memory>
#include <utility>

#include "rt/core/scheduler.hpp"

namespace plx::detail {
namespace {

// Resumes all waiting requests in order. Requires: the caller has a reference to the turn.
void grant(rw_turn& t) noexcept {
  rw_request* r = nullptr;
  {
    spin_guard guard(t.guard);
    t.granted = true;
    r = std::exchange(t.first_waiting, nullptr);
  }
  while (r != nullptr) {
    rw_request* granted = std::exchange(r, r->next);  // which the call may destroy
    granted->grant(granted, &t);
  }
}

}  // namespace

// A loop instead of recursion: grant() drops accesses without a reader, and there may be many in a row.
void rw_turn::release() noexcept {
  // acq_rel: the thread that ends the turn sees the writes of all its accesses, and passes them on to the next.
  for (rw_turn* t = this; t != nullptr && t->refs.fetch_sub(1, std::memory_order_acq_rel) == 1;) {
    rw_turn* following = t->next;
    rw_core& shared = t->core;
    delete t;
    if (following != nullptr) {
      following->add_ref();
      grant(*following);
    }
    shared.release();
    t = following;
  }
}

void rw_core::request(rw_request& r, bool write) {
  choice_point();
  std::unique_ptr<rw_turn> fresh;
  if (write) fresh = std::make_unique<rw_turn>(*this, true);
  guard.lock();
  if (!write && (last == nullptr || last->write)) {
    guard.unlock();  // no allocation under a spinlock
    fresh = std::make_unique<rw_turn>(*this, false);
    guard.lock();
  }
  rw_turn* before = nullptr;
  if (write || last == nullptr || last->write) {
    before = std::exchange(last, fresh.release());
    if (before != nullptr)
      before->next = last;
    else
      last->granted = true;
  } else {
    last->add_ref();
  }
  rw_turn* mine = last;
  bool now = false;
  {
    spin_guard turn(mine->guard);
    now = mine->granted;
    if (!now) {
      (mine->first_waiting != nullptr ? mine->last_waiting->next : mine->first_waiting) = &r;
      mine->last_waiting = &r;
    }
  }
  guard.unlock();
  if (fresh != nullptr) {  // another read created one meanwhile
    fresh.reset();
    refs.fetch_sub(1, std::memory_order_relaxed);  // never the last one: the mutex holds a reference
  }
  if (now) r.grant(&r, mine);
  if (before != nullptr) before->release();
}

void rw_core::close() noexcept {
  rw_turn* open = nullptr;
  {
    spin_guard lock(guard);
    open = std::exchange(last, nullptr);
  }
  if (open != nullptr) open->release();
  release();
}

}  // namespace plx::detail
