// The call sites of waits. A site combines the object and the call stack of a wait, so that a mutex without a name is
// reported by its variable or by the function that locks it, and different objects at one address are distinguished.
//
// Thread safety: all functions; a recent_sites belongs to one thread. Cost: a call stack of some microseconds, taken
//   before the thread sleeps, for a thread's first waits for an object and for long ones; otherwise a lookup in a table
//   of the thread. No lock, no heap. Memory: 3 MiB of addresses, touched on use; further sites have no name.
// Invariant: a cell's key is set once and never changes.
// Memory order: the object is stored with release after the frames, and loaded with acquire by readers.
// Example: tests/exec/plx_exec_test.cpp
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace plx::probe {

/// The latest sites at which one thread waited, and whether their waits were long.
class recent_sites {
 public:
  struct entry {
    const void* object = nullptr;
    const void* caller = nullptr;
    const void* site = nullptr;
    unsigned waits = 0;
    bool long_ones = false;  // the last wait was long: a call stack adds little to the next
  };
  /// The entry of this pair, which may hold another one.
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

  /// Called before a wait: returns the site of `object` and the current call stack; `caller`, a return address in it,
  /// marks its first relevant frame. Null if after() may determine the site.
  const void* before(recent_sites& recent, const void* object, const void* caller) noexcept;
  /// Called after the wait: returns the site to record. `site` is the result of before().
  const void* after(recent_sites& recent, const void* object, const void* caller, const void* site,
                    ticks waited) noexcept;
  /// As after() for the release of a lock by the code that returns to `caller`, taken by that which returns to
  /// `taken_in`: the first frame of the site.
  const void* of_hold(recent_sites& recent, const void* object, const void* taken_in, const void* caller,
                      ticks held) noexcept;
  /// The code of a site: the address in its first frame that identifies the program's code, and the name of the
  /// function. Null and "" for other addresses.
  struct code {
    const void* address = nullptr;
    std::string function{};
  };
  [[nodiscard]] code code_of(const void* site) const;
  /// Whether a function does not identify the program's code: between it and the system, or our own.
  static bool is_between(std::string_view function);
  /// Names every site (name_object() of probe/record/wait_log.hpp): by the object's own name, its variable, or "in f"
  /// with the waiting function. Cost: reads symbol tables. Called before a library is unloaded, and at the end.
  void name_all();
  /// The object of a site; other addresses are returned unchanged.
  [[nodiscard]] const void* object_of(const void* site) const noexcept;

 private:
  static constexpr std::size_t n_cells = 1u << 15;
  static constexpr std::size_t longest_search = 256;
  static constexpr int n_frames = 9;
  static constexpr int n_identifying = 6;  // frames that identify a site
  struct cell {
    std::atomic<std::uint64_t> key;  // hash of the object and its call stack; 0: free
    std::atomic<const void*> object;
    std::atomic<void*> frames[n_frames];
  };
  const void* find(const void* object, const void* caller, const void* first_frame = nullptr) noexcept;

  cell* cells_;  // zeroed pages
};

}  // namespace plx::probe
