// The section [frame] of an input.
//
// Thread safety: values. Cost: none. Example: star/driver/options.cpp
#pragma once

namespace plx {
class config_table;
}

namespace plx::star {

struct frame_options {
  double omega = 0.0;       ///< angular velocity of the mesh about the z axis; code units
  bool of_problem = false;  ///< that of the problem instead, problem::frame_velocity()

  void describe(config_table& table);
};

}  // namespace plx::star
