// One [[output.series]] of an input: files of one kind with chosen variables, at chosen times.
//
// Thread safety: values. Cost: negligible. Example: star/output/series/test/series_options_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace plx {
class config_table;
}
namespace plx::mesh {
struct domain;
}

namespace plx::star {

struct series_options {
  std::string name;  ///< of the files; check_series() sets an empty one to <kind>_<number>
  std::string kind = "mesh";
  std::vector<std::string> variables{"density"};
  // How often; exactly one is above 0.
  double every_time = 0.0;  ///< run.time_unit
  std::int64_t every_steps = 0;
  double every_wall_s = 0.0;
  std::string precision = "single";
  // Slices and projections.
  std::string axis = "z";
  std::string position = "middle";  ///< or a number, code units
  std::int64_t level = -1;          ///< of the pixels; -1: the finest level present
  // Projections: none, the integral along the axis, or mass. Profiles: mass or volume.
  std::string weight = "default";
  // Profiles.
  std::array<double, 3> centre{0, 0, 0};
  std::int64_t bins = 64;
  std::array<double, 2> radii{0, 0};  ///< 0, 0: from the centre to the farthest corner of the box
  std::string spacing = "linear";

  void describe(config_table& table);

  int axis_index() const { return axis[0] - 'x'; }
  /// The position of a slice in this box.
  double position_in(const mesh::domain& box) const;
  bool weighted_by_mass() const { return weight == "mass" || (weight == "default" && kind == "profile"); }
  /// The edges of the shells of a profile: [bins + 1].
  std::vector<double> edges_in(const mesh::domain& box) const;
};

/// Checks all series, and names those without a name. Errors: one line with the number of the series and its name.
result<void> check_series(std::vector<series_options>& all, const mesh::domain& box, int n_species, double t_end);

}  // namespace plx::star
