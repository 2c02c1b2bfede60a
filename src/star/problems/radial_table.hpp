// A table of values over radius, from a text file: the input of spherically symmetric initial states.
//
//   # any comment
//   r, density, pressure, velocity        names first; columns in any order, separated by commas or blanks
//   0.0, 1.0, 0.6, 0.0
//   0.1, 0.9, 0.5, 0.0
//
// Thread safety: const; any thread. Cost: reading once; a binary search per evaluation. Errors: one line with file and
// line. Example: star/problems/test/profile_test.cpp
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace plx::star {

struct radial_row {
  double r = 0.0, density = 0.0;
  double pressure = 0.0;         ///< or 0, if the table has the internal energy
  double internal_energy = 0.0;  ///< per mass, or 0
  double velocity = 0.0;         ///< outward
};

struct radial_table {
  std::vector<radial_row> rows;  ///< r ascends from 0 or above; at least two
  bool has_pressure = false;     ///< otherwise internal energy

  /// Linear between rows; the first row inside of it. Requires: r <= rows.back().r.
  radial_row at(double r) const;
};

result<radial_table> read_radial_table(const std::string& path);
/// The same for text; messages refer to it as `name`.
result<radial_table> parse_radial_table(std::string_view text, const std::string& name);

}  // namespace plx::star
