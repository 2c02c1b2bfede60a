#include "star/units/code_units.hpp"

#include <fmt/format.h>

namespace plx::star {

result<void> expect_code_mass(const std::string& key, double mass) {
  constexpr double most = 1e25;
  if (!(mass > most)) return {};
  return error{
      fmt::format("{} = {:g}: expected code units, found a value that looks like grams; divide it by the unit of "
                  "[units], as in 0.6 with units.mass = \"Msun\"",
                  key, mass)};
}

result<void> expect_code_length(const std::string& key, double length, double box_width) {
  constexpr double most = 1e6;  // of the box
  if (!(length > most * box_width)) return {};
  return error{
      fmt::format("{} = {:g}: expected code units, as mesh.lower and mesh.upper, found a value that looks like "
                  "centimetres; divide it by the unit of [units]",
                  key, length)};
}

}  // namespace plx::star
