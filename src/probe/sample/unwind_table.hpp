// The unwind tables that compilers write for exceptions (.eh_frame), read in a signal handler: where the caller's
// registers are while an instruction is executed.
//
// The format: "DWARF Debugging Information Format", version 5, section 6.4 (call frame information), and "Linux
// Standard Base Core Specification", chapter 10.6 (.eh_frame, .eh_frame_hdr and pointer encodings).
// Thread safety: all functions; async-signal-safe: no heap, no lock. A damaged table gives no rules, and no read is
// outside of the part of the file that holds it. Cost: some 1 us, mostly cache misses.
// Example: probe/sample/test/unwind_table_test.cpp
#pragma once

#include "probe/sample/stack_walk.hpp"

namespace plx::probe {

#if defined(__aarch64__)
constexpr unsigned n_registers = 33, sp_register = 31, fp_register = 29, ra_register = 30;
#else
/// The number of registers in the tables.
constexpr unsigned n_registers = 17;
/// The number of the stack pointer.
constexpr unsigned sp_register = 7;
/// The number of the frame pointer.
constexpr unsigned fp_register = 6;
/// The number of the return address.
constexpr unsigned ra_register = 16;
#endif

/// Finds the rules at the instruction at `pc`. False if none are known; always unless walks_stacks().
bool find_rules(std::uintptr_t pc, walk_cache::rules& out) noexcept;

/// The same by the entry of a function (FDE) at `entry`, in a table that lies within [begin, end). Supports the
/// processors of walks_stacks().
bool rules_of_entry(const std::byte* entry, const std::byte* begin, const std::byte* end, std::uintptr_t pc,
                    walk_cache::rules& out) noexcept;

}  // namespace plx::probe
