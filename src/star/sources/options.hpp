// Options of the source terms: sections [frame] and [driving] of an input.
//
// Thread safety: values. Cost: none. Example: star/driver/options.cpp
#pragma once

#include "base/result.hpp"
#include "star/hydro/parameters.hpp"

namespace plx {
class config_table;
}

namespace plx::star {

/// The rotating frame.
struct frame_options {
  double omega = 0.0;       ///< angular velocity of the mesh about the z axis; code units
  bool of_problem = false;  ///< that of the problem instead, problem::frame_velocity()

  void describe(config_table& table);
};

/// Angular momentum that is taken out of the gas, and heat that is added to it, at a rate, for a limited time.
struct driving_options {
  double angular_momentum = 0.0;  ///< share that is removed per period
  double heating = 0.0;           ///< share of the thermal energy that is added per period; negative: removed
  double period = 0.0;            ///< run.time_unit; of the module: code time
  double start = 0.0;             ///< the same
  double periods = 2.0;           ///< how many periods it lasts
  double least_density = 0.0;     ///< gas of a lower density is left alone

  void describe(config_table& table);
  bool present() const { return angular_momentum != 0.0 || heating != 0.0; }
  /// Errors: one line: no period, or heat for a gas whose thermal energy is not its internal energy.
  result<void> check(const eos_parameters& eos) const;
};

}  // namespace plx::star
