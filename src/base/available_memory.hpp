// The memory that this process can still take, for programs that refuse a run which does not fit.
//
// Thread safety: any thread. Cost: reading some files of /proc and /sys. Example: base/test/available_memory_test.cpp
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace plx {

/// Bytes that the machine has available, or those that are left to the process's control group if they are fewer;
/// infinite if the system does not say.
double available_memory_bytes();

/// The same from the text of /proc/meminfo.
double available_in_meminfo(std::string_view meminfo);
/// The same from the numbers of a control group: its limit ("max": none), its use, and its memory.stat, for caches that
/// can be dropped.
double left_in_group(std::string_view limit, std::string_view used, std::string_view stat);

/// Checks that the process can take the address space for that many bytes of data, with workers that call OpenBLAS:
/// 208 MiB for each (its buffer of 128 MiB, malloc's arena, stacks) and 256 MiB for the rest. OpenBLAS never returns
/// from a call for which it finds no buffer. Error: one line with the limit (ulimit -v, ulimit -d,
/// vm.overcommit_memory).
result<void> check_address_space(double bytes, unsigned workers);

}  // namespace plx
