// Two stars with a common envelope: one surface of the effective potential around both.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "star/models/root.hpp"
#include "star/models/solver.hpp"

namespace plx::star::models {

// The plane between the stars, their outer ends, and the constants. The enthalpy is that of the common surface at L1,
// for both stars, so it is continuous there.
void solver::find_common_surface() {
  const double square = m_.omega * m_.omega;
  const auto on_x = [&](double x) { return m_.field->at({x, 0.0, 0.0}) - 0.5 * square * x * x; };
  const double inner = largest_at(on_x, m_.stars[1].place[0], m_.stars[0].place[0], 96), at_inner = on_x(inner);
  double at_outer = std::numeric_limits<double>::infinity();
  for (std::size_t s = 0; s < 2; ++s) {
    star& one = m_.stars[s];
    one.side = inner;
    at_outer = std::min(at_outer, on_x(one.place[0] + outer_end(s)));
  }
  m_.neck_enthalpy = q_.fillout * (at_outer - at_inner);
  for (std::size_t s = 0; s < 2; ++s) m_.stars[s].constant = m_.neck_enthalpy + potential_on_x(s, inner);
}

// Distance of the common surface from L1, along a direction in the plane between the stars.
double solver::neck_radius(const point& along) const {
  const star& one = m_.stars[0];
  const auto enthalpy = [&](double d) {
    const point x{one.side, d * along[1], d * along[2]};
    return one.constant + m_.depth(0, x, m_.field->at(x));
  };
  const double step = q_.box.cell_width(q_.level), most = m_.separation();
  double out = step;
  while (out < most && enthalpy(out) > 0.0) out += step;
  return root_between(enthalpy, out - step, out, 1e-9 * out);
}

// The force between the stars of the pressure in the plane between them.
double solver::neck_force() const {
  constexpr int angles = 16, rings = 16;
  const star& one = m_.stars[0];
  double force = 0.0;
  for (int i = 0; i < angles; ++i) {
    const double angle = 2.0 * std::numbers::pi * i / angles;
    const point along{0.0, std::cos(angle), std::sin(angle)};
    const double radius = neck_radius(along);
    for (int k = 0; k < rings; ++k) {  // of equal area
      const double d = radius * std::sqrt((k + 0.5) / rings);
      const point x{one.side, d * along[1], d * along[2]};
      force += std::numbers::pi * radius * radius / (angles * rings) *
               one.gas.pressure(one.constant + m_.depth(0, x, m_.field->at(x)));
    }
  }
  return force;
}

// One star has a given core, or none, from which K follows; the core of the other one follows from its mass.
result<void> solver::fit_common() {
  const std::size_t free = q_.stars[0].has_free_core() ? 0 : 1, given = 1 - free;
  if (auto fine = fit_scale(given); !fine) return fine;
  const matter& gas = m_.stars[given].gas;
  if (gas.has_core() && gas.enthalpy_unit < m_.neck_enthalpy)
    return error{
        fmt::format("{}.core_fraction[{}] = {:g}: the core would reach beyond the plane between the stars; expected a "
                    "smaller core, or a smaller {}.fillout",
                    q_.section, given, gas.core_fraction, q_.section)};
  fit_core_to_mass(free, gas.constant());
  return {};
}

// The core with which a star of this K has its mass.
void solver::fit_core_to_mass(std::size_t s, double k) {
  star& one = m_.stars[s];
  matter& gas = one.gas;
  const double central = one.constant + largest_depth(s), least = std::max(m_.neck_enthalpy, 1e-3 * central);
  const auto excess = [&](double unit) {
    gas.set_constant(k, unit);
    return masses_with(s, one.constant).all / one.mass - 1.0;
  };
  const double most = excess(least), fewest = excess(central);
  if (most < 0.0 || fewest > 0.0) {
    gas.set_constant(k, most < 0.0 ? least : central);
    overflow(s, (1.0 + (most < 0.0 ? most : fewest)) * one.mass);
  } else {
    if (overflowing_ == s) overflows_ = 0;
    factor_[s] = 1.0;
    gas.set_constant(k, root_between(excess, least, central, 1e-13 * central));
  }
  const star_masses found = masses_with(s, one.constant);
  gas.core_fraction = found.core / found.all;
}

}  // namespace plx::star::models
