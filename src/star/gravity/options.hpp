// Options of self-gravity: section [gravity] of an input.
//
// Thread safety: values. Cost: negligible. Example: star/test/gravity_test.cpp
#pragma once

#include <cstdint>

namespace plx {
class config_table;
}

namespace plx::star::gravity {

/// Section [gravity].
struct gravity_options {
  bool self = false;       ///< the gas attracts itself
  double constant = 0.0;   ///< G, code units; 0: that of [units], or 1 without
  double theta = 0.35;     ///< cells closer than 1/theta cells are not separated
  std::int64_t order = 5;  ///< of the expansions

  void describe(config_table& table);
};

}  // namespace plx::star::gravity
