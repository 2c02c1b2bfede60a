// Values of an input that were given in CGS where code units are expected, recognized by their size.
//
// Thread safety: pure. Cost: none. Example: star/units/test/units_test.cpp
#pragma once

#include <string>

#include "base/result.hpp"

namespace plx::star {

/// Error: one line with the key: a mass that looks like grams.
result<void> expect_code_mass(const std::string& key, double mass);
/// Error: one line with the key: a length that looks like centimetres, beside the least width of the box.
result<void> expect_code_length(const std::string& key, double length, double box_width);

}  // namespace plx::star
