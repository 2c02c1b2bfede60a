// Where objects were first waited for, so that a mutex that nobody named is told by its variable or by who locked it.
//
// Thread safety: everything. Cost of see(): a search in a hash table, some ns; the first time of an object some
//   microseconds, for its call stack. No lock, no heap. Memory: 3 MiB of addresses, touched as used; what finds no
//   place there has no name. Invariant: a cell's object is set once and never goes.
// Memory order: relaxed; a name that is asked for while the call stack is being stored may be taken from half of it.
// Example: tests/exec/plx_exec_test.cpp
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace plx::probe {

class wait_sites {
 public:
  wait_sites();
  ~wait_sites();
  wait_sites(const wait_sites&) = delete;
  wait_sites& operator=(const wait_sites&) = delete;

  /// The object is waited for by the functions that call this one.
  void see(const void* object) noexcept;
  /// Gives every object without a name (name_object() of probe/wait_log.hpp) one: its variable's, or "in f" with the
  /// function that waited first. Cost: reads symbol tables. Before a library is unloaded, and at the end.
  void name_all();

 private:
  static constexpr std::size_t n_cells = 1u << 15;
  static constexpr std::size_t longest_search = 256;
  static constexpr int n_frames = 11;
  struct cell {
    std::atomic<std::uintptr_t> object;  // 0: free
    std::atomic<void*> frames[n_frames];
  };
  cell* cells_;  // zeroed pages
};

}  // namespace plx::probe
