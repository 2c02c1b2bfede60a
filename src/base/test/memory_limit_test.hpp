// Limits the address space of a process, in tests of exhausted memory. Each is a process of its own, and omitted under
// sanitizers (base/sanitizers.hpp), which reserve address space.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace plx {

/// Limits the address space to what the process has and `more_bytes`. Ends the process with 77 if that fails.
inline void limit_address_space(std::size_t more_bytes) {
  unsigned long pages = 0;
  std::FILE* const f = std::fopen("/proc/self/statm", "r");
  if (f == nullptr || std::fscanf(f, "%lu", &pages) != 1) std::_Exit(77);
  std::fclose(f);
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(77);
  limit.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + more_bytes;
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(77);
}

}  // namespace plx
