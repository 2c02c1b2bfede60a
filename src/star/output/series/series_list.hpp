// The [[output.series]] of an input: their options (series_options), which files are due, and which numbers they get. A
// series is files of one kind with chosen variables.
//
// A series is due at the first step that reaches a multiple of its time or step, or when its wall time has passed; a
// run also writes all at its start and end. Numbers continue after a resume.
//
// Thread safety: none. Cost: negligible. Example: star/output/series/test/series_test.cpp, series_options_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "star/output/series/variables.hpp"

namespace plx {
class config_table;
}
namespace plx::mesh {
struct checkpoint_state;
struct domain;
}  // namespace plx::mesh

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

/// Checks all series, and names those without a name. `self_gravity`: gravity.self. Errors: one line with the number of
/// the series and its name.
result<void> check_series(std::vector<series_options>& all, const mesh::domain& box, const species_list& species,
                          double t_end, bool self_gravity = false);

struct output_series {
  series_options options;
  std::vector<output_variable> variables;
  std::int64_t next = 0;   ///< number of the next file
  std::int64_t step = -1;  ///< of the last one
  double wall_s = 0.0;     ///< of the last one
  double interval = 0.0;   ///< options.every_time in code time

  /// The ending of its files.
  const char* ending() const;
};

class series_list {
 public:
  /// Requires: check_series().
  series_list(const std::vector<series_options>& all, const species_list& species, double time_unit = 1.0);

  bool empty() const { return all_.empty(); }
  std::vector<output_series>& all() { return all_; }
  const std::vector<output_series>& all() const { return all_; }

  /// The series that are due by time or step after a step that led from time `before` to `time`.
  std::vector<std::size_t> due(double before, double time, std::int64_t step) const;
  std::vector<std::size_t> due_by_wall_time(double wall_s) const;

  /// Adds the numbers that a checkpoint must hold.
  void append_to(std::vector<std::pair<std::string, std::vector<double>>>& numbers) const;
  /// Restores them; series that the checkpoint does not know begin at 0. `in_place`: the folder has the earlier files.
  void restore(const mesh::checkpoint_state& state, bool in_place, double wall_s);

 private:
  std::vector<output_series> all_;
};

}  // namespace plx::star
