// The localities of the job, and which one is the caller's.
//
// Thread safety: everything, from tasks and, if the process has one runtime, from external threads. Cost: a few loads;
// the lists allocate. Example: net/core/test/action_test.cpp
#pragma once

#include <cstdint>
#include <vector>

namespace plx {

/// The number of a locality, which is a process of the job: 0 to locality_count() - 1. The root is 0.
using locality_id = std::uint32_t;
/// The number of no locality.
inline constexpr locality_id no_locality = ~locality_id{0};

/// The locality of the caller's runtime. Requires: it belongs to a job; this holds for all functions below.
[[nodiscard]] locality_id find_here();
/// The root: locality 0, which starts with the others and ends after them.
[[nodiscard]] locality_id find_root_locality();
/// The number of localities, including lost ones and spares.
[[nodiscard]] unsigned locality_count();
/// All living members of the job, ascending: the localities that are neither lost nor spares, and the spares that have
/// been taken (replace_lost() in net/collectives.hpp).
[[nodiscard]] std::vector<locality_id> find_all_localities();
/// The same without this locality.
[[nodiscard]] std::vector<locality_id> find_remote_localities();
/// The living spares that have not been taken, as far as this locality knows, ascending.
[[nodiscard]] std::vector<locality_id> find_spare_localities();

}  // namespace plx
