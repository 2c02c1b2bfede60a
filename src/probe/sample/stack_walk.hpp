// The call stack of an interrupted thread, read in a signal handler.
//
// It interprets the unwind tables that compilers write for exceptions (unwind_table.hpp): programs need neither frame
// pointers nor debug information. Reads outside of the given part of the stack end the walk, so a wrong table cannot
// cause a fault. docs/decisions/0032-sampled-stacks.md compares it with frame pointers and the C++ runtime's unwinder.
// Thread safety: all functions; async-signal-safe: no heap, no lock. Cost: some 20 ns per frame in the cache, 1 us
// otherwise. Supported: x86-64 and AArch64 on Linux with glibc 2.35, whose _dl_find_object() finds a table without a
// lock; elsewhere a walk has one frame. Example: probe/sample/test/stack_walk_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>

namespace plx::probe {

/// True if walk_stack() finds callers here.
constexpr bool walks_stacks() noexcept {
#if defined(__linux__) && defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))
  return __GLIBC__ > 2 || __GLIBC_MINOR__ >= 35;
#else
  return false;
#endif
}

/// The rules for the addresses that one thread has met, so that few tables are read again. All bytes 0: empty. If code
/// is unloaded and other code loaded at its addresses, stacks through it may be wrong.
class walk_cache {
 public:
  /// Where a caller's register is found: where it is, at `offset` from the frame's address, or from a register.
  struct rule {
    enum : std::uint8_t { same, undefined, saved, saved_near, unsupported } kind = same;
    std::uint8_t from = 0;  // saved_near: the register
    std::int32_t offset = 0;
  };
  /// The rules at one instruction. The frame's address (CFA) is the value of a register plus an offset, or, if
  /// `loaded`, the word stored there.
  struct rules {
    std::uint8_t base = 255;
    bool loaded = false;
    bool signal = false;  // of the function that a signal handler returns to
    std::int32_t offset = 0;
    rule fp, ra;
  };
  /// The rules at one address.
  struct entry {
    std::uintptr_t pc;
    rules found;
  };
  /// The place for the rules at `pc`, which may hold those at another address.
  entry& of(std::uintptr_t pc) noexcept { return entries_[(pc ^ pc >> 10) % size]; }

 private:
  static constexpr std::size_t size = 512;
  entry entries_[size]{};
};

/// How much of a stack was found.
struct walked_stack {
  std::size_t frames = 0;
  bool whole = false;  // the walk has reached `top`, or the outermost function of the thread
};

/// The memory of a stack. Zeros: not known.
struct stack_bounds {
  std::uintptr_t low = 0, top = 0;
};

/// Writes the address at which `context` (a ucontext_t, as a signal handler receives it) was interrupted, then the
/// return addresses of its callers, innermost first, at most `most`. The walk ends at frames at or above the top.
/// Unless the interrupted stack pointer lies within the bounds, or below them by the size of a guard (64 KiB, where an
/// overflow ends), only one address is written. Nothing below `low` is read. Requires: most > 0; the memory from `low`,
/// or from 128 bytes below the interrupted stack pointer if that is higher, to the top is readable.
walked_stack walk_stack(const void* context, stack_bounds stack, std::uintptr_t* out, std::size_t most,
                        walk_cache& cache) noexcept;

}  // namespace plx::probe
