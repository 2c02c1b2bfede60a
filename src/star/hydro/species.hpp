// The species of a gas: their names in files and tables, and the weights of their particles.
//
// Thread safety: const functions, any thread. Cost: some ns per species. Example: star/hydro/test/species_list_test.cpp
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace plx {
class config_table;
}

namespace plx::star {

/// The species of a run.
struct species_list {
  std::vector<std::string> names;  ///< one per species
  std::vector<double> weights;     ///< atomic masses per particle, one per species; none: not known

  /// Names species_0, species_1, ..., without weights.
  static species_list numbered(int count);
  /// Atomic masses per particle of a mixture: 1 / sum_s (fraction[s] / weights[s]). Shapes: fraction: by species.
  /// Requires: weights.
  double mean_weight(const double* fraction) const;
};

/// Section [species].
struct species_options {
  std::vector<std::string> names;
  std::vector<double> weights;

  void describe(config_table& table);
  /// The species of a problem with that number of them. Errors: one line: another number of names or weights, a name
  /// that is no identifier or occurs twice, a weight that is not above 0.
  result<species_list> make(int count) const;
};

}  // namespace plx::star
