// The section [tracers] of an input: points that move with the gas.
//
// Thread safety: values. Cost: none. Example: star/driver/options.cpp
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace plx {
class config_table;
}

namespace plx::star {

class problem;

struct tracer_options {
  std::int64_t number = 0;         ///< 0: none
  std::string placement = "mass";  ///< or "stars", "volume"

  void describe(config_table& table);
  /// Errors: one line: a placement by stars of a problem without stars.
  result<void> check(const problem& p) const;
};

}  // namespace plx::star
