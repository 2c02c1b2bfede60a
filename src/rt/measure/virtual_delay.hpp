// Virtual time: how a running program is made to behave as if tasks of one type took less time, by delays in all
// workers that do not run that type (Curtsinger and Berger, "Coz: finding code that counts with causal profiling",
// SOSP 2015).
//
// Each worker has a clock of virtual time, v = t - L: the real time less its account L. While a task of the type runs,
// L grows by `percent` of the time, so that v runs slower. R, the largest account that arises so, is required of
// all: before a slice begins, its worker waits until L >= R. So all clocks show about the same, and what happens
// first is what would happen first in the faster program. Types that run on all workers at once cause no delay.
//
// A slice begins at v = max(F, D) + o: F, when its worker became free (the end of its previous slice), D, when the task
// became ready (the latest virtual time at which an input was delivered), o, the real time since then until a worker
// had found it. It follows:
// - A worker that was idle or whose task waited owes no delay for that time: the wait excuses it.
// - Delay that the delivering worker owed is taken by the receiving one (its D is later); delay that it has taken is
//   not taken twice.
// - A delay that ends late, as a sleep does, does not change v; the surplus counts for the worker's next delays.
// - For a fixed placement and order of slices, v at the end of each slice is exactly the time at which it would end if
//   the type took `percent` less time; delays keep placement and order what they would be (virtual_delay_test.cpp).
//
// Thread safety: an account belongs to its worker, except its parts; a pool to all. Cost: two loads per slice.
// Example: virtual_delay_test.cpp
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/clock.hpp"
#include "probe/record/names.hpp"
#include "probe/record/trace_data.hpp"
#include "rt/core/spinlock.hpp"

namespace plx::detail {

class speedups;

/// Data that the workers of a runtime share.
struct delay_pool {
  /// The largest account. Relaxed: a worker that makes a task ready raises it before, and passes the task on with
  /// release.
  alignas(cache_line_bytes) std::atomic<ticks> required{0};
  /// The type that takes less time, and by how many percent: type << 8 | percent. Relaxed: read when a slice begins.
  alignas(cache_line_bytes) std::atomic<std::uint64_t> faster{0};

  /// The id of some task of the runtime.
  probe::task_id some_id = 0;

  void make_faster(probe::name_id type, unsigned percent) noexcept {
    faster.store(std::uint64_t{type} << 8 | percent, std::memory_order_relaxed);
  }
  /// The virtual time of a worker without debt.
  [[nodiscard]] ticks virtual_time(ticks now) const noexcept {
    return ticks_between(required.load(std::memory_order_relaxed), now);
  }
};

class delay_account {
 public:
  explicit delay_account(delay_pool& pool, speedups* owner = nullptr, probe::name_id counted = ~0u) noexcept
      : pool_(pool), owner_(owner), counted_(counted) {}

  /// The virtual time at which a slice begins that a worker has found at `found`, and whose task became ready at
  /// virtual time `ready` (0: unknown) and real time `ready_real`.
  [[nodiscard]] ticks begins_at(ticks found, ticks ready, ticks ready_real) const noexcept {
    if (ready == 0) return std::max(free_, pool_.virtual_time(found));
    return std::max(free_, ready) + ticks_between(std::max(begin_, ready_real), found);
  }
  /// The real time at which a slice may begin that begins at `virtual_begin`, as far as known now.
  [[nodiscard]] ticks due(ticks virtual_begin) const noexcept {
    return virtual_begin + pool_.required.load(std::memory_order_relaxed);
  }
  /// A slice of `type` begins at `now`, after `waited` ticks of delay. Requires: now >= due(virtual_begin).
  void begin(probe::name_id type, ticks now, ticks virtual_begin, ticks waited = 0) noexcept {
    const std::uint64_t faster = pool_.faster.load(std::memory_order_relaxed);
    percent_ = faster >> 8 == type ? faster & 0xff : 0;
    const ticks before = account(), after = ticks_between(virtual_begin, now);
    begin_ = now;
    virtual_ = virtual_begin;
    base_ = std::min(after, pool_.required.load(std::memory_order_relaxed));
    const ticks taken = std::min(waited, ticks_between(before, after));  // not what the slice had to wait in any case
    account_.store(after, std::memory_order_relaxed);
    inserted_.store(inserted() + taken, std::memory_order_relaxed);
    excused_.store(excused() + (after - before - taken), std::memory_order_relaxed);
  }
  /// The virtual time at `now`, within the slice. Tasks that become ready then may begin on other workers.
  ticks at(ticks now) noexcept {
    const ticks passed = ticks_between(begin_, now), gained = passed * percent_ / 100;
    if (gained != 0) require(base_ + gained);
    return virtual_ + (passed - gained);
  }
  /// The slice ends at `now`; another one of the same task begins, unless begin() is called. Returns the virtual time.
  ticks end(ticks now) noexcept {
    virtual_ = free_ = at(now);
    const ticks gained = ticks_between(begin_, now) * percent_ / 100;
    own_.store(own() + gained, std::memory_order_relaxed);
    account_.store(account() + gained, std::memory_order_relaxed);
    base_ += gained;
    begin_ = now;
    return free_;
  }
  /// Within the slice, the worker did something else until `now`: virtual time passes as real time does. Call end()
  /// when it begins.
  void pause_until(ticks now) noexcept {
    virtual_ += ticks_between(begin_, now);
    begin_ = std::max(begin_, now);
  }

  /// The account, and what it consists of: delays that were inserted; percent of the worker's own time in the type;
  /// delays that the worker owed but did not take, as it was idle meanwhile, modulo 2^64 (a surplus that is given up
  /// counts negative). From any thread.
  [[nodiscard]] ticks account() const noexcept { return account_.load(std::memory_order_relaxed); }
  [[nodiscard]] ticks inserted() const noexcept { return inserted_.load(std::memory_order_relaxed); }
  [[nodiscard]] ticks own() const noexcept { return own_.load(std::memory_order_relaxed); }
  [[nodiscard]] ticks excused() const noexcept { return excused_.load(std::memory_order_relaxed); }

  /// The object that counts finished tasks of `counted()`.
  [[nodiscard]] speedups* owner() const noexcept { return owner_; }
  [[nodiscard]] probe::name_id counted() const noexcept { return counted_; }
  [[nodiscard]] delay_pool& pool() const noexcept { return pool_; }

 private:
  void require(ticks account) noexcept {
    ticks now = pool_.required.load(std::memory_order_relaxed);
    while (now < account && !pool_.required.compare_exchange_weak(now, account, std::memory_order_relaxed)) {
    }
  }

  delay_pool& pool_;
  speedups* const owner_;
  const probe::name_id counted_;
  std::uint64_t percent_ = 0;  // by which the running slice is faster
  ticks begin_ = 0;            // of the running slice, or the end of the last one
  ticks virtual_ = 0;          // its virtual time
  ticks base_ = 0;             // the account then without surplus
  ticks free_ = 0;             // the virtual time at which the previous slice ended
  std::atomic<ticks> account_{0}, inserted_{0}, own_{0}, excused_{0};  // at begin_; written by the worker alone
};

}  // namespace plx::detail
