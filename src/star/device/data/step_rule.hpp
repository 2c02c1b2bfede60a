// The length of the next time step, computed by the host and by a device's kernel from the same text.
//
// Thread safety: pure. Cost: one division.
// Example: star/test/time_step_test.cpp
#pragma once

#include <cstdint>

#include "star/hydro/parameters.hpp"

namespace plx::star::device {

/// The limits of a time step; see the options run.dt_... and hydro.cfl.
struct step_rule {
  double cfl = 0.9;
  double t_end = 0.0;         ///< met exactly; the last two steps have equal length instead of one being tiny
  double first_factor = 1.0;  ///< of the first step
  double growth = 0.0;        ///< largest ratio of a step to the one before; 0: no limit
  double shortest = 0.0;      ///< shorter steps end the run, except for the last ones before t_end
  double longest = 0.0;       ///< 0: no limit
};

/// The state that the next step depends on.
struct step_state {
  double time = 0.0, last_dt = 0.0;
  double signal_rate = 0.0;  ///< largest sum over axes of (|v| + c) / dx
  std::int64_t steps = 0;
};

/// The time step by all rules but t_end and `shortest`.
[[gnu::always_inline]] PLX_DEVICE static inline double free_dt(const step_rule& r, const step_state& s) {
  double dt = s.signal_rate > 0.0 ? r.cfl / s.signal_rate : r.t_end - s.time;
  if (s.steps == 0) dt = dt * r.first_factor;
  if (r.growth > 0.0 && s.last_dt > 0.0 && dt > r.growth * s.last_dt) dt = r.growth * s.last_dt;
  return r.longest > 0.0 && dt > r.longest ? r.longest : dt;
}

/// The time step; 0 if it would be shorter than `shortest` or would not advance the time.
[[gnu::always_inline]] PLX_DEVICE static inline double next_dt(const step_rule& r, const step_state& s) {
  const double remaining = r.t_end - s.time, free = free_dt(r, s);
  if (free < r.shortest) return 0.0;
  const double dt = free >= remaining ? remaining : 2.0 * free > remaining ? 0.5 * remaining : free;
  return dt > 0.0 && s.time + dt > s.time ? dt : 0.0;
}

}  // namespace plx::star::device
