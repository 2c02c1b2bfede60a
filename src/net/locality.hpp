// Who takes part in the job, and which of them this is.
//
// Thread safety: everything, from tasks and, where one runtime is there, from foreign threads. Cost: a few loads; the
// lists allocate. Example: net/core/test/action_test.cpp
#pragma once

#include <cstdint>
#include <vector>

namespace plx {

// The number of a locality: a process of the job, 0 to locality_count() - 1. The root is 0.

/// Of a process of the job.
using locality_id = std::uint32_t;
/// Is none.
inline constexpr locality_id no_locality = ~locality_id{0};

/// The locality of the runtime that the caller belongs to. Requires: it belongs to a job; likewise below.
[[nodiscard]] locality_id find_here();
/// The first one, which started with the others and ends after them.
[[nodiscard]] locality_id find_root_locality();
/// How many there are, those that were lost included.
[[nodiscard]] unsigned locality_count();
/// All that were not lost, this one included, ascending.
[[nodiscard]] std::vector<locality_id> find_all_localities();
/// The same without this one.
[[nodiscard]] std::vector<locality_id> find_remote_localities();

}  // namespace plx
