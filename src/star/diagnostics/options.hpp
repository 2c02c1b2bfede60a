// The section [diagnostics] of an input: which numbers about the stars are written, and what counts as a star.
//
// Thread safety: values. Cost: none. Example: star/diagnostics/star_diagnostics.cpp
#pragma once

#include <cstdint>

namespace plx {
class config_table;
}

namespace plx::star {

struct diagnostics_options {
  std::int64_t stars = 0;        ///< number of stars; 0: no diagnostics
  std::int64_t interval = 10;    ///< steps between rows
  double star_density = 1e-5;    ///< of a star's cells, at least, over the largest density of the star
  double star_reach = 1.5;       ///< largest distance of a star's cells from its centre, in Roche radii
  double disrupted_below = 0.5;  ///< share of its first mass below which a star counts as disrupted
  double distance_pc = 10000.0;  ///< of the observer of gravitational waves

  void describe(config_table& table);
};

}  // namespace plx::star
