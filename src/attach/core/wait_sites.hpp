// The call sites of waits: which object a function waited for, so that a mutex that has no name is reported by its
// variable or by the function that locks it. Two objects that had one address, one after the other, are told apart by
// the functions that waited for them.
//
// Thread safety: everything, but a recent_sites belongs to one thread. Cost: a call stack of some microseconds, taken
//   before the thread sleeps, for the first waits of a thread for an object and for long ones; otherwise a look into
//   the thread's table. No lock, no heap. Memory: 3 MiB of addresses, touched as used; sites beyond it have no name.
//   Invariant: a cell's key is set once and never changes.
// Memory order: the object is released after the frames and acquired by readers.
// Example: tests/exec/plx_exec_test.cpp
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"

namespace plx::probe {

/// The sites that one thread waited at last, and whether their waits were long.
class recent_sites {
 public:
  struct entry {
    const void* object = nullptr;
    const void* caller = nullptr;
    const void* site = nullptr;
    unsigned waits = 0;
    bool long_ones = false;  // the last wait was long: a call stack costs little beside the next
  };
  /// The place of these two, which may hold others.
  entry& of(const void* object, const void* caller) noexcept {
    const auto mixed = (reinterpret_cast<std::uintptr_t>(object) >> 3) ^ reinterpret_cast<std::uintptr_t>(caller);
    return entries_[(mixed * 0x9e3779b97f4a7c15ull) >> 59];
  }

 private:
  std::array<entry, 32> entries_{};
};

class wait_sites {
 public:
  wait_sites();
  ~wait_sites();
  wait_sites(const wait_sites&) = delete;
  wait_sites& operator=(const wait_sites&) = delete;

  /// Before a wait: the site of `object` and the functions that call this one; `caller`, an address that one of them
  /// returns to, is the first that counts. Null when after() may decide.
  const void* before(recent_sites& recent, const void* object, const void* caller) noexcept;
  /// After it: the site, by which the wait is recorded. `site` is what before() returned.
  const void* after(recent_sites& recent, const void* object, const void* caller, const void* site,
                    ticks waited) noexcept;
  /// Gives every site a name (name_object() of probe/record/wait_log.hpp): the object's own, its variable's, or "in f"
  /// with the function that waited. Cost: reads symbol tables. Before a library is unloaded, and at the end.
  void name_all();
  /// The object that a site is about; what is no site is returned as it is.
  [[nodiscard]] const void* object_of(const void* site) const noexcept;

 private:
  static constexpr std::size_t n_cells = 1u << 15;
  static constexpr std::size_t longest_search = 256;
  static constexpr int n_frames = 9;
  static constexpr int n_telling = 6;  // frames that make a site
  struct cell {
    std::atomic<std::uint64_t> key;  // of the object and its call stack; 0: free
    std::atomic<const void*> object;
    std::atomic<void*> frames[n_frames];
  };
  const void* find(const void* object, const void* caller) noexcept;

  cell* cells_;  // zeroed pages
};

}  // namespace plx::probe
