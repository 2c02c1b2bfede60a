// Who takes part in the job, and which of them this is.
//
// Thread safety: everything, from tasks and, where one runtime is there, from foreign threads. Cost: a few loads; the
// lists allocate. Example: net/action_test.cpp
#pragma once

#include <vector>

#include "net/locality_id.hpp"

namespace plx {

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
