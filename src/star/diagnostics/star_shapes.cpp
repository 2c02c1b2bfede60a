#include "star/diagnostics/star_shapes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plx::star {

double eggleton_radius(double q) {
  const double third = std::cbrt(q);
  return 0.49 * third * third / (0.6 * third * third + std::log1p(third));
}

star_pair pair_of(std::span<const star_state> stars, int s) {
  const star_state& one = stars[static_cast<std::size_t>(s)];
  star_pair pair;
  pair.roche_radius = std::numeric_limits<double>::infinity();
  for (std::size_t t = 0; t < stars.size(); ++t) {
    const star_state& other = stars[t];
    if (static_cast<int>(t) == s || !other.exists()) continue;
    const vector d = other.centre - one.centre;
    const double radius = norm(d) * eggleton_radius(one.mass / other.mass);
    if (!(radius < pair.roche_radius)) continue;
    const double total = one.mass + other.mass, d2 = dot(d, d);
    pair.partner = static_cast<int>(t), pair.roche_radius = radius;
    pair.centre = (1.0 / total) * (one.mass * one.centre + other.mass * other.centre);
    pair.acceleration = (1.0 / total) * (one.mass * one.acceleration + other.mass * other.acceleration);
    pair.angular_velocity = (1.0 / d2) * cross(d, other.velocity - one.velocity);
  }
  return pair;
}

star_shapes::star_shapes(std::span<const star_state> stars, const diagnostics_options& o) {
  for (std::size_t s = 0; s < stars.size(); ++s) {
    shape& made = shapes_.emplace_back();
    made.exists = stars[s].exists();
    if (!made.exists) continue;
    made.centre = stars[s].centre;
    made.least_density = o.star_density * stars[s].largest_density;
    made.pair = pair_of(stars, static_cast<int>(s));
    const double reach = o.star_reach * made.pair.roche_radius;
    made.reach2 = reach * reach;
  }
}

star_shapes star_shapes::around_peaks(std::span<const star_state> stars, const diagnostics_options& o) {
  star_shapes all;
  for (std::size_t s = 0; s < stars.size(); ++s) {
    shape& made = all.shapes_.emplace_back();
    made.exists = stars[s].largest_density > 0.0;
    made.centre = stars[s].centre;
    made.least_density = o.star_density * stars[s].largest_density;
    made.reach2 = std::numeric_limits<double>::infinity();
    for (std::size_t t = 0; t < stars.size(); ++t) {
      const vector d = stars[t].centre - stars[s].centre;
      if (t != s && stars[t].largest_density > 0.0) made.reach2 = std::min(made.reach2, dot(d, d));
    }
  }
  return all;
}

int star_shapes::star_of(const vector& x, const vector& g, double density, double width) const {
  int best = -1;
  double closest = 0.0;
  for (std::size_t s = 0; s < shapes_.size(); ++s) {
    const shape& star = shapes_[s];
    if (!star.exists || density < star.least_density) continue;
    const vector to = star.centre - x;
    const double d2 = dot(to, to);
    if (d2 > star.reach2) continue;
    const vector& w = star.pair.angular_velocity;
    const vector effective = g - star.pair.acceleration + cross(w, cross(x - star.pair.centre, w));
    const double size2 = dot(effective, effective) * d2;
    // The cosine of the angle between both directions; 2: in the centre, above all others.
    const double cosine = d2 < 4.0 * width * width ? 2.0 : size2 > 0.0 ? dot(effective, to) / std::sqrt(size2) : 0.0;
    if (cosine > closest) closest = cosine, best = static_cast<int>(s);
  }
  return best;
}

}  // namespace plx::star
