// How long mutexes are held while other threads wait for them, and where they were taken.
//
// A hold counts if a thread waits for the mutex at its end; its length is that of the part during which one waited:
// from the begin of the first wait, or from the moment the lock was taken if others waited already, to the release. So
// a lock without a waiting thread costs no read of the clock: its place is put on a list of the thread, and it is
// looked up among the mutexes that were ever waited for, when it is taken and when it is released. A hold is recorded
// after the release. The inner locks of a recursive mutex belong to the hold of the outermost one. Thread safety: all
// functions; the list belongs to one thread. Cost: docs/probe.md. Memory: 96 KiB for the first 4096 mutexes that were
// waited for, by address, and 64 KiB per thread that releases one; holds of further ones are not measured. Invariant: a
// cell of `contended`, once assigned to a mutex, keeps it. Example: tests/exec/plx_exec_test.cpp
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "attach/core/program.hpp"
#include "attach/core/wait_sites.hpp"
#include "base/clock.hpp"

namespace plx::probe {

/// A mutex that was waited for.
struct contended_mutex {
  std::atomic<const void*> mutex{nullptr};  // null: free
  std::atomic<unsigned> waiting{0};         // threads
  std::atomic<ticks> since{0};              // the begin of what counts of the current hold, while `waiting` > 0
};

class lock_holds {
 public:
  /// A release of which released() records the hold.
  struct release {
    const void* taken_in = nullptr;  // null: nothing to record
    ticks held = 0;
  };

  /// The calling thread has taken the mutex, in the code that returns to `caller`.
  static void took(const void* mutex, const void* caller) noexcept {
    taken_locks& all = mine_;
    // Relaxed: if a wait that begins now is missed, `since` is that of waits() or of the last release.
    if (contended_mutex* c = find(mutex); c != nullptr && c->waiting.load(std::memory_order_relaxed) != 0) [[unlikely]]
      if (!holds(mutex)) c->since.store(now_ticks(), std::memory_order_relaxed);
    if (all.n == most) [[unlikely]]
      forget_oldest();
    all.locks[all.n++] = {mutex, caller};
  }
  /// The thread is about to release the mutex.
  [[nodiscard]] static release releases(const void* mutex, const void* caller) noexcept {
    taken_locks& all = mine_;
    const void* taken_in = nullptr;
    unsigned i = all.n;
    while (i > 0 && all.locks[i - 1].mutex != mutex) --i;
    if (i > 0) {
      taken_in = all.locks[i - 1].caller;
      for (--all.n; i <= all.n; ++i) all.locks[i - 1] = all.locks[i];
    }
    // Pairs with the release in waits(): a thread that waits has written `since`.
    contended_mutex* c = find(mutex);
    if (c == nullptr || c->waiting.load(std::memory_order_acquire) == 0 || holds(mutex)) [[likely]]
      return {};
    const ticks now = now_ticks(), since = c->since.load(std::memory_order_relaxed);
    c->since.store(now, std::memory_order_relaxed);
    return {.taken_in = taken_in != nullptr ? taken_in : caller, .held = now > since ? now - since : 0};
  }
  /// The mutex has been released, by the code that returns to `caller`.
  static void released(const release& r, const void* mutex, const void* caller) noexcept {
    if (r.taken_in != nullptr) [[unlikely]]
      record(r, mutex, caller);
  }

  /// The thread begins to wait for the mutex. Null if it is not measured.
  static contended_mutex* waits(const void* mutex) noexcept;
  /// The wait has ended; `taken`: the thread has the lock.
  static void waited(contended_mutex* c, bool taken) noexcept {
    if (c == nullptr) return;
    c->waiting.fetch_sub(1, std::memory_order_relaxed);
    if (taken) c->since.store(now_ticks(), std::memory_order_relaxed);
  }

  static constexpr std::size_t most_mutexes = 4096;

 private:
  static constexpr unsigned most = 16, longest_search = 8;
  struct taken_lock {
    const void* mutex;
    const void* caller;
  };
  struct taken_locks {
    unsigned n = 0;
    std::array<taken_lock, most> locks{};
  };

  static std::size_t place_of(const void* mutex) noexcept {
    return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(mutex) >> 3) * 0x9e3779b97f4a7c15ull >> 52);
  }
  /// Null if it was never waited for.
  static contended_mutex* find(const void* mutex) noexcept {
    for (std::size_t i = place_of(mutex), end = i + longest_search; i < end; ++i) {
      contended_mutex& c = contended_[i % most_mutexes];
      const void* there = c.mutex.load(std::memory_order_relaxed);
      if (there == mutex) return &c;
      if (there == nullptr) return nullptr;
    }
    return nullptr;
  }
  /// Whether the mutex is on the list of the thread.
  static bool holds(const void* mutex) noexcept {
    for (unsigned i = 0; i < mine_.n; ++i)
      if (mine_.locks[i].mutex == mutex) return true;
    return false;
  }
  [[gnu::cold]] static void forget_oldest() noexcept;
  [[gnu::noinline]] static void record(const release& r, const void* mutex, const void* released_in) noexcept;

  static constinit std::array<contended_mutex, most_mutexes> contended_;
  PLX_DETAIL_STATIC_TLS static constinit thread_local taken_locks mine_;
};

/// The file holds.csv: object,name,function,file,line,holds,total_s,max_s. `logs`: of all threads, with sites of
/// `sites`; `lines`: starts addr2line for the source lines of the places with the longest totals, for at most some 5 s.
std::string holds_csv(std::span<const wait_log* const> logs, const wait_sites& sites, bool lines);

}  // namespace plx::probe
