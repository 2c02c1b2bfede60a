// Where functions of two particles that stay with their walkers are kept between two parts of an iteration.
//
// Thread safety: one task per locality. Errors: one line each. Example: qmc/dca/test/function_parts_test.cpp
#pragma once

#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "io/checkpoint_parts.hpp"
#include "qmc/solver/monte_carlo.hpp"

namespace plx::qmc {

class function_store {
 public:
  virtual ~function_store() = default;
  /// Writes the functions of the walkers of a locality, as part `rank` of those with this mark; returns its checksum.
  virtual result<std::uint64_t> write(std::uint64_t mark, unsigned rank, std::span<const walker_functions> all) = 0;
  /// Those of a walker, which any locality may have written. The items of the parts are walkers.
  virtual result<walker_functions> read(const checkpoint_parts& parts, std::size_t walker) = 0;
};

}  // namespace plx::qmc
