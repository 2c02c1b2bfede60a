// The test of results against exact values by chi-squared.
//
// Thread safety: pure. Cost: some 1 us. Example: qmc/solver/test/monte_carlo_test.cpp
#pragma once

#include <boost/math/special_functions/gamma.hpp>

namespace plx::qmc::test {

/// The probability that a chi-squared variable with that many degrees of freedom is larger. Requires: degrees > 0.
inline double chi_squared_p_value(double chi_squared, int degrees) {
  if (!(chi_squared > 0)) return chi_squared == chi_squared ? 1 : chi_squared;
  return boost::math::gamma_q(0.5 * degrees, 0.5 * chi_squared);
}

}  // namespace plx::qmc::test
