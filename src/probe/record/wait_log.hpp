// The time for which one worker's tasks were suspended: number, sum and maximum by kind of wait ("mutex", "future",
// ...) and by object.
//
// Thread safety: one writer (the worker), any number of readers. Cost: add() takes a table look-up and a few stores, no
// lock; the first call allocates the table (64 KiB), later ones do not allocate.
// Invariant: a cell, once assigned, keeps its identity; when three quarters of the cells are assigned to objects, waits
// for further objects are recorded under their kind and name without the object.
// Memory order: `kind` is released after the rest of a new cell's identity is written, and acquired by readers. Counts
// are relaxed, as in worker_log. Example: probe/record/test/wait_log_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "base/clock.hpp"
#include "probe/record/names.hpp"

namespace plx::probe {

/// The kind and the object of a wait. An object without a name is identified by its address, which several objects may
/// use in turn; named objects are distinguished.
struct wait_kind {
  const char* kind = "";         // lives as long as the process
  const void* object = nullptr;  // null: none, or one of many short-lived ones, such as futures
  name_id name = unnamed;        // of the object
};

class wait_log {
 public:
  wait_log() = default;
  ~wait_log();
  wait_log(const wait_log&) = delete;
  wait_log& operator=(const wait_log&) = delete;

  /// Records one wait. Requires: called by this log's worker only.
  void add(const wait_kind& what, ticks waited) noexcept {
    cell* c = cell_of(what);
    if (c == nullptr) [[unlikely]]
      return;  // no memory for the table
    c->waits.store(c->waits.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    c->total.store(c->total.load(std::memory_order_relaxed) + waited, std::memory_order_relaxed);
    if (waited > c->longest.load(std::memory_order_relaxed)) c->longest.store(waited, std::memory_order_relaxed);
  }

  /// Calls visit(wait_kind, waits, total ticks, longest ticks) for everything that was waited for, in no particular
  /// order. Thread-safe.
  template <class Visitor>
  void for_each(Visitor&& visit) const {
    const cell* cells = cells_.load(std::memory_order_acquire);  // pairs with the release in make_table()
    if (cells == nullptr) return;
    for (std::size_t i = 0; i < places; ++i) {
      const cell& c = cells[i];
      const char* kind = c.kind.load(std::memory_order_acquire);  // pairs with the release in take_place()
      if (kind == nullptr) continue;
      visit(wait_kind{kind, c.object, c.name}, c.waits.load(std::memory_order_relaxed),
            c.total.load(std::memory_order_relaxed), c.longest.load(std::memory_order_relaxed));
    }
    if (const std::uint64_t waits = rest_.waits.load(std::memory_order_relaxed); waits != 0)
      visit(wait_kind{"other", nullptr, unnamed}, waits, rest_.total.load(std::memory_order_relaxed),
            rest_.longest.load(std::memory_order_relaxed));
  }

  static constexpr std::size_t places = 1024;  // cells of the table
  static constexpr std::size_t for_objects = places - places / 4;

 private:
  struct alignas(64) cell {
    std::atomic<const char*> kind{nullptr};  // null: free
    const void* object = nullptr;            // set before `kind`, never changed
    name_id name = unnamed;                  // the same
    std::atomic<std::uint64_t> waits{0};
    std::atomic<ticks> total{0};
    std::atomic<ticks> longest{0};
  };

  cell* cell_of(const wait_kind& what) noexcept;
  [[gnu::cold]] cell* make_table() noexcept;
  [[gnu::cold]] cell* take_place(cell& free, const wait_kind& what) noexcept;

  std::atomic<cell*> cells_{nullptr};
  std::size_t used_ = 0;  // used by the writer only
  cell rest_;             // `kind` stays null: waits whose kind has no cell either
};

/// Names an object for reports of waits. The name stays with the address until it is replaced; "" removes it. An object
/// with a name of its own (plx::mutex m("forces")) keeps that. Thread-safe; takes a lock.
void name_object(const void* object, std::string_view name);
/// The name of the object at this address; `unnamed` if it has none.
name_id object_name(const void* object);

}  // namespace plx::probe
