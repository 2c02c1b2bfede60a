// The exact volume of the part of a ball inside a box.
//
// Thread safety: pure functions. Cost: about 1 us where the sphere cuts the box, some ns elsewhere.
// Read star/exact/test/ball_box_test.cpp as an example.
#pragma once

#include <array>

namespace plx::star {

/// Volume of the ball of `radius` around the origin inside the box of `centre` and `width`, over the box's volume.
/// Boxes that tile the ball sum to its volume to rounding; mirrored and permuted boxes give the same bits.
/// Requires: radius > 0, width > 0.
/// Source: the octant minus caps plus pairs of caps that overlap, integrated in closed form.
double ball_fraction(double radius, const std::array<double, 3>& centre, const std::array<double, 3>& width);

}  // namespace plx::star
