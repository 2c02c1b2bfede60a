// The [[output.series]] of a run: which files are due, and which numbers they get.
//
// A series is due at the first step that reaches a multiple of its time or step, or when its wall time has passed; a
// run also writes all at its start and end. Numbers continue after a resume.
//
// Thread safety: none. Cost: negligible. Example: star/output/series/test/series_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "star/output/series/series_options.hpp"
#include "star/output/series/variables.hpp"

namespace plx::mesh {
struct checkpoint_state;
}

namespace plx::star {

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
  series_list(const std::vector<series_options>& all, int n_species, double time_unit = 1.0);

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
