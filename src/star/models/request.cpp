// Checks of a request before the first iteration, and the first guess.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "star/models/self_consistent.hpp"
#include "star/models/solver.hpp"
#include "star/units/code_units.hpp"

namespace plx::star::models {

double roche_radius(double q) {
  const double third = std::cbrt(q);
  return 0.49 * third * third / (0.6 * third * third + std::log1p(third));
}

namespace {

std::string of_star(const request& q, const char* key, std::size_t s) {
  return q.stars.size() == 1 ? fmt::format("{}.{}", q.section, key) : fmt::format("{}.{}[{}]", q.section, key, s);
}
std::string key_of_mass(const request& q, std::size_t s) {
  return of_star(q, q.stars.size() == 1 ? "mass" : "masses", s);
}

double box_width(const request& q) {
  double least = q.box.upper[0] - q.box.lower[0];
  for (int a = 1; a < 3; ++a) least = std::min(least, q.box.upper[a] - q.box.lower[a]);
  return least;
}

// The separation of a Kepler orbit with this angular momentum or period; otherwise as requested.
double separation_of(const request& q, double total_mass, double product_of_masses) {
  const double constant = q.gravity.constant;
  if (q.period > 0.0) return std::cbrt(constant * total_mass * std::pow(q.period / (2.0 * std::numbers::pi), 2));
  if (!(q.angular_momentum > 0.0)) return q.separation;
  const double j = q.angular_momentum * total_mass / product_of_masses;
  return j * j / (constant * total_mass);
}

result<void> check_units(const request& q) {
  for (std::size_t s = 0; s < q.stars.size(); ++s)
    if (auto fine = expect_code_mass(key_of_mass(q, s), q.stars[s].mass); !fine) return fine;
  const std::string key = fmt::format("{}.{}", q.section, q.separation > q.radius ? "separation" : "radius");
  if (auto fine = expect_code_length(key, std::max(q.separation, q.radius), box_width(q)); !fine) return fine;
  // With none or several of them, check_orbit() reports it.
  if (q.stars.size() != 2 || (q.separation > 0.0) + (q.angular_momentum > 0.0) + (q.period > 0.0) != 1) return {};
  double total = 0.0, product = 1.0;
  for (const star_request& r : q.stars) total += r.mass, product *= r.mass;
  if (!(product > 0.0)) return {};  // check_matter() reports it
  const double separation = separation_of(q, total, product);
  if (q.separation == 0.0 && separation > 2.0 * box_width(q))
    return error{
        fmt::format("{0}.{1} = {2:g}: expected code units, found that of an orbit with the separation {3:.4g} in a box "
                    "{4:.4g} wide; divide a value in CGS by the unit of [units], or enlarge the box",
                    q.section, q.period > 0.0 ? "period" : "angular_momentum",
                    q.period > 0.0 ? q.period : q.angular_momentum, separation, box_width(q))};
  return {};
}

result<void> check_matter(const request& q, std::size_t s) {
  const star_request& r = q.stars[s];
  if (!(r.mass > 0.0)) return error{fmt::format("{} = {:g}: expected a mass above 0", key_of_mass(q, s), r.mass)};
  if (r.gas.kind == matter_kind::white_dwarf) {
    const double limit = largest_mass(r.gas, q.gravity.constant);
    if (!(r.mass < 0.995 * limit))
      return error{fmt::format(
          "{} = {:g}: expected less than the largest mass of a white dwarf with this equation of state, {:.5g} "
          "(Chandrasekhar); lower the mass, or check eos.electron_pressure and eos.electron_density, in code units",
          key_of_mass(q, s), r.mass, limit)};
    if (r.filling > 0.0 || q.radius > 0.0)
      return error{fmt::format("{} = {:g}: expected 0 for a white dwarf, whose radius follows from its mass",
                               q.stars.size() == 1 ? q.section + ".radius" : of_star(q, "filling", s),
                               q.stars.size() == 1 ? q.radius : r.filling)};
    return {};
  }
  if (q.stars.size() == 1) {
    if (q.radius > 0.0) return {};
    return error{fmt::format("{}.radius = {:g}: expected the equatorial radius, above 0", q.section, q.radius)};
  }
  if (q.fillout > 0.0) return {};
  if (r.has_free_core())
    return error{
        fmt::format("{} = 0: expected a number above 0; only a core below a common envelope, {}.fillout above "
                    "0, has a mass that follows",
                    of_star(q, "core_fraction", s), q.section)};
  if (r.filling > 0.0 && r.filling <= 1.0) return {};
  if (r.filling > 1.0)
    return error{fmt::format(
        "{} = {:g}: expected at most 1, a star that fills its Roche lobe; stars that touch share an envelope: use "
        "{}.fillout",
        of_star(q, "filling", s), r.filling, q.section)};
  const star_request& other = q.stars[1 - s];
  if (r.filling == 0.0 && r.gas.is_polytrope() && other.gas.is_polytrope() && other.gas.index == r.gas.index &&
      other.filling > 0.0 && r.gas.index != 3.0)
    return {};
  return error{
      fmt::format("{} = {:g}: expected a number above 0 and up to 1, or 0 for one of two polytropes of the same index, "
                  "not 3, which "
                  "then has the K of the other one",
                  of_star(q, "filling", s), r.filling)};
}

// A common envelope, between whose stars neither matter nor rotation differs.
result<void> check_contact(const request& q) {
  const std::string key = fmt::format("{}.fillout = {:g}", q.section, q.fillout);
  if (!(q.fillout <= 1.0))
    return error{
        fmt::format("{}: expected at most 1: the surface reaches the outer Lagrange point L2, through which an "
                    "envelope that is larger leaves",
                    key)};
  if (!q.synchronous)
    return error{fmt::format("{}: expected {}.synchronous = true: stars with a common envelope rotate with the orbit",
                             key, q.section)};
  for (std::size_t s = 0; s < 2; ++s) {
    if (q.stars[s].gas.kind == matter_kind::white_dwarf)
      return error{
          fmt::format("{}: expected a polytrope or core_envelope for {}, found a white dwarf, whose radius "
                      "follows from its mass",
                      key, of_star(q, "matter", s))};
    if (q.stars[s].filling > 0.0)
      return error{fmt::format("{} = {:g}: expected 0, since {} gives the common surface of both stars",
                               of_star(q, "filling", s), q.stars[s].filling, key)};
  }
  if (q.stars[0].gas.index != q.stars[1].gas.index)
    return error{fmt::format("{0}.index = [{1:g}, {2:g}]: expected the same index for both parts of a common envelope",
                             q.section, q.stars[0].gas.index, q.stars[1].gas.index)};
  if (q.stars[0].has_free_core() == q.stars[1].has_free_core())
    return error{fmt::format(
        "{}: expected {}.core_fraction = 0 for one star, a core_envelope, whose core then follows from its mass and "
        "the K of the common envelope; two stars of the same K and different masses do not fill one surface otherwise",
        key, q.section)};
  return {};
}

result<void> check_orbit(const request& q) {
  if ((q.separation > 0.0) + (q.angular_momentum > 0.0) + (q.period > 0.0) != 1)
    return error{
        fmt::format("{0}.separation = {1:g}, {0}.angular_momentum = {2:g}, {0}.period = {3:g}: expected one of them "
                    "above 0, and the others 0",
                    q.section, q.separation, q.angular_momentum, q.period)};
  if (q.fillout > 0.0) return check_contact(q);
  const first_guess g = guess(q);
  for (std::size_t s = 0; s < 2; ++s) {
    const double lobe = roche_radius(q.stars[s].mass / q.stars[1 - s].mass) * g.separation;
    // With a filling the radius is a part of that of the lobe.
    if (q.stars[s].filling == 0.0 && g.spheres[s].radius > 1.05 * lobe)
      return error{
          fmt::format("{}: a star of mass {:g} has the radius {:.5g}; expected at most that of its Roche lobe, {:.5g} "
                      "at a separation "
                      "of {:.5g} (Eggleton); increase the separation to {:.4g} or more, or the mass",
                      key_of_mass(q, s), q.stars[s].mass, g.spheres[s].radius, lobe, g.separation,
                      g.separation * g.spheres[s].radius / lobe)};
  }
  return {};
}

result<void> check_box(const request& q) {
  const first_guess g = guess(q);
  for (std::size_t s = 0; s < q.stars.size(); ++s)
    for (int a = 0; a < 3; ++a) {
      const double room = std::min(q.box.upper[a], -q.box.lower[a]);
      double needed = (a < 2 ? std::abs(g.places[s][0]) : 0.0) + g.spheres[s].radius;
      // Farther out than the outer Lagrange points, of which the common surface must stay inside.
      if (q.fillout > 0.0 && a == 0) needed = std::max(needed, 1.3 * g.separation);
      if (needed > room)
        return error{fmt::format(
            "mesh.lower, mesh.upper: expected a box that reaches to {:.4g} on both sides of the origin along {}, the "
            "{} of {}, found {:.4g}; enlarge the box, or reduce {}.{}",
            needed, "xyz"[a], q.stars.size() == 1 ? "radius" : "orbit", key_of_mass(q, s), room, q.section,
            q.stars.size() == 1 ? "radius" : "separation")};
    }
  const double width = q.box.cell_width(q.level);
  for (std::size_t s = 0; s < q.stars.size(); ++s)
    if (g.spheres[s].radius < 2.0 * width)
      return error{fmt::format(
          "mesh.max_level: expected at least 2 cells per radius of a star, found {:.2g} for {}, radius {:.4g}, with "
          "cells of {:.3g}; increase mesh.max_level (or {}.level) by {}",
          g.spheres[s].radius / width, key_of_mass(q, s), g.spheres[s].radius, width, q.section,
          static_cast<int>(std::ceil(std::log2(6.0 * width / g.spheres[s].radius))))};
  return {};
}

}  // namespace

result<void> check(const request& q) {
  if (auto fine = check_units(q); !fine) return fine;
  for (std::size_t s = 0; s < q.stars.size(); ++s)
    if (auto fine = check_matter(q, s); !fine) return fine;
  if (q.stars.size() == 2) {
    if (auto fine = check_orbit(q); !fine) return fine;
  } else if (q.omega < 0.0 && !(q.axis_ratio > 0.0 && q.axis_ratio <= 1.0)) {
    return error{fmt::format("{}.axis_ratio = {:g}: expected a number above 0 and up to 1", q.section, q.axis_ratio)};
  }
  return check_box(q);
}

first_guess guess(const request& q) {
  first_guess g;
  const double constant = q.gravity.constant;
  double total = 0.0;
  for (const star_request& r : q.stars) total += r.mass;
  g.separation = q.stars.size() == 2 ? separation_of(q, total, q.stars[0].mass * q.stars[1].mass) : q.separation;
  g.spheres.resize(q.stars.size());
  for (const bool with_filling : {true, false})
    for (std::size_t s = 0; s < q.stars.size(); ++s) {
      const star_request& r = q.stars[s];
      const double filling = q.fillout > 0.0 ? 1.0 : r.filling;
      if ((filling > 0.0) != with_filling) continue;
      if (r.gas.kind == matter_kind::white_dwarf) {
        g.spheres[s] = white_dwarf_of(r.gas, r.mass, constant);
        continue;
      }
      double radius = q.radius * (q.omega < 0.0 ? std::cbrt(q.axis_ratio) : 1.0);
      if (q.stars.size() == 2 && with_filling)
        radius = 0.9 * filling * roche_radius(r.mass / q.stars[1 - s].mass) * g.separation;
      if (q.stars.size() == 2 && !with_filling) {
        const polytrope other(r.gas.index, q.stars[1 - s].mass, g.spheres[1 - s].radius, constant);
        radius = radius_of_polytrope(r.gas.index, r.mass, other.k, constant);
      }
      g.spheres[s] = polytrope_of(r.gas.index, r.mass, radius, constant);
    }
  g.places.resize(q.stars.size());
  if (q.stars.size() == 2) {
    g.places[0] = {g.separation * q.stars[1].mass / total, 0.0, 0.0};
    g.places[1] = {-g.separation * q.stars[0].mass / total, 0.0, 0.0};
    g.omega = std::sqrt(constant * total / (g.separation * g.separation * g.separation));
  }
  return g;
}

}  // namespace plx::star::models
