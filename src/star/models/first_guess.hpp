// The stars with which the iteration of a model begins: spheres in Kepler's orbit.
//
// Thread safety: pure. Cost: some 10 ms for white dwarfs. Example: star/models/request.cpp
#pragma once

#include <vector>

#include "star/exact/lane_emden.hpp"
#include "star/models/self_consistent.hpp"

namespace plx::star::models {

struct first_guess {
  std::vector<sphere> spheres;
  std::vector<point> places;
  double separation = 0.0, omega = 0.0;
};

/// Requires: masses above 0, and those of white dwarfs below the largest.
first_guess guess(const request& q);

}  // namespace plx::star::models
