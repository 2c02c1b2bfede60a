// The number of a locality: a process of the job, 0 to locality_count() - 1. The root is 0.
#pragma once

#include <cstdint>

namespace plx {

/// Of a process of the job.
using locality_id = std::uint32_t;
/// Is none.
inline constexpr locality_id no_locality = ~locality_id{0};

}  // namespace plx
