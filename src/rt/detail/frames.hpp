// The call stack of a fiber that was left, read from outside: nothing runs on the fiber and nothing is written to it.
//
// Thread safety: the fiber must stay where it is meanwhile, see scheduler::inspect(). Cost: about 1 us per frame, no
// allocation. Example: explain_test.cpp.
#pragma once

#include <cstddef>

namespace plx::detail {

/// Writes the addresses that the functions on the stack left at `context` (from Boost.Context) will return to,
/// innermost first, and gives how many there are, at most `most`. 0 on processors it does not know.
std::size_t frames_of(void* context, const void** out, std::size_t most) noexcept;

}  // namespace plx::detail
