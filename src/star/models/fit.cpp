// The regions of stars in the effective potential, and the constants, cores and scales that follow from their masses.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "star/models/solver.hpp"

namespace plx::star::models {

double solver::potential_on_x(std::size_t s, double x) const {
  const point at{x, 0.0, 0.0};
  return -m_.depth(static_cast<int>(s), at, m_.field->at(at));
}

// The distance along x from a star of the largest effective potential on its outer side.
double solver::outer_end(std::size_t s) {
  star& one = m_.stars[s];
  const double outward = s == 0 ? 1.0 : -1.0, from = one.place[0];
  const double edge = outward > 0.0 ? q_.box.upper[0] - from : from - q_.box.lower[0];
  const double size = count_ == 2 ? m_.separation() : std::max(q_.radius, guess_.spheres[0].radius);
  const auto on_axis = [&](double d) { return potential_on_x(s, from + d); };
  const double out = largest_at(on_axis, 0.0, outward * std::min(edge, 2.0 * size), 96);
  one.reach = std::abs(out);
  return out;
}

// The largest effective potential on both sides of each star.
void solver::find_regions() {
  barrier_.assign(count_, std::numeric_limits<double>::infinity());
  for (std::size_t s = 0; s < count_; ++s) {
    star& one = m_.stars[s];
    const double from = one.place[0];
    const auto on_axis = [&](double d) { return potential_on_x(s, from + d); };
    barrier_[s] = on_axis(outer_end(s));
    if (count_ == 1) continue;
    const double in = largest_at(on_axis, 0.0, m_.stars[1 - s].place[0] - from, 96);
    one.side = from + in;
    barrier_[s] = std::min(barrier_[s], on_axis(in));
  }
}

void solver::list_cells() {
  for_all("star.models.cells", blocks_.size(), [&](std::size_t i) {
    for (std::size_t s = 0; s < count_; ++s) {
      auto& list = rows_[s][i];
      list.clear();
      const star& one = m_.stars[s];
      const double *phi = m_.field->block(blocks_[i]), width = mesh_->cell_width(blocks_[i]);
      for (std::size_t c = 0; c < cells_; ++c) {
        const point x = m_.field->centre(blocks_[i], static_cast<int>(c));
        if (!m_.contains(static_cast<int>(s), x)) continue;
        double base = -phi[c], slope2 = 0.0;
        for (std::size_t a = 1; a < 4; ++a) slope2 += phi[a * cells_ + c] * phi[a * cells_ + c];
        for (std::size_t a = 0; a < 3; ++a) base += one.pull[a] * (x[a] - one.place[a]);
        const double turn = m_.synchronous ? 0.5 * (x[0] * x[0] + x[1] * x[1]) : one.place[0] * x[0];
        list.push_back({static_cast<int>(c), base, turn, width * std::sqrt(slope2)});
      }
    }
  });
}

// The masses of a star with this constant.
star_masses solver::masses_with(std::size_t s, double constant) const {
  const matter& gas = m_.stars[s].gas;
  const double square = m_.omega * m_.omega;
  const auto sums = sum_all<2>("star.models.mass", blocks_.size(), [&](std::size_t i) {
    std::array<double, 2> sum{};
    for (const cell_depth& c : rows_[s][i]) {
      const double h = constant + (c.base + square * c.turn);
      if (!(h > 0.0)) continue;
      sum[0] += gas.density(h);
      if (gas.has_core()) sum[1] += gas.core_density(h);
    }
    for (double& one : sum) one *= volume(i);
    return sum;
  });
  return {sums[0], sums[1]};
}

// Largest enthalpy less the constant.
double solver::largest_depth(std::size_t s) const {
  const double square = m_.omega * m_.omega;
  double largest = -std::numeric_limits<double>::infinity();
  for (const auto& row : rows_[s])
    for (const cell_depth& c : row) largest = std::max(largest, c.base + square * c.turn);
  return largest;
}

// The constant, and what follows from it and the mass.
result<void> solver::fit(std::size_t s) {
  star& one = m_.stars[s];
  if (count_ == 1) return fit_single();
  const bool filled = q_.stars[s].filling > 0.0;
  if (!filled) {
    const double k = m_.stars[1 - s].gas.constant();
    if (one.gas.has_scale()) one.gas.set_constant(k, one.gas.enthalpy_unit);
    if (auto fine = fit_constant(s); !fine) return fine;
    if (one.gas.has_core()) fit_core(s, k);
    return {};
  }
  const double surface = one.place[0] + q_.stars[s].filling * (one.side - one.place[0]);
  one.constant = potential_on_x(s, surface);
  return fit_scale(s);
}

result<void> solver::fit_single() {
  star& one = m_.stars[0];
  const bool by_ratio = q_.omega < 0.0;
  if (!by_ratio) m_.omega = q_.omega;
  if (by_ratio && q_.axis_ratio == 1.0) m_.omega = 0.0;
  const bool is_round = by_ratio && q_.axis_ratio == 1.0;
  const auto polar = [&](double r) { return m_.field->at({0.0, 0.0, q_.axis_ratio * r}); };
  const auto turn_with = [&](double r) {  // sets omega from the axis ratio
    if (is_round || !by_ratio) return;
    const double square = 2.0 * (m_.field->at({r, 0.0, 0.0}) - polar(r)) / (r * r);
    m_.omega = std::sqrt(std::max(square, 0.0));
  };
  if (one.gas.has_scale()) {
    turn_with(q_.radius);
    find_regions();
    if (one.reach < q_.radius)
      return error{
          fmt::format("{}: mass shedding: with the radius {:g} the star would rotate faster ({:.4g}) than gravity "
                      "can hold at its equator, beyond {:.4g}; expected a larger axis ratio or a smaller omega",
                      q_.section, q_.radius, m_.omega, one.reach)};
    list_cells();
    one.constant = potential_on_x(0, q_.radius);
    return fit_scale(0);
  }
  if (is_round || !by_ratio) return fit_constant(0);
  // A white dwarf with an axis ratio: the radius for which the mass is right.
  const double guess = one.outer > 0.0 ? one.outer : guess_.spheres[0].radius;
  const auto excess = [&](double r) {
    turn_with(r);
    return masses_with(0, -m_.depth(0, {r, 0.0, 0.0}, m_.field->at({r, 0.0, 0.0}))).all / one.mass - 1.0;
  };
  const double r = root_between(excess, 0.6 * guess, 1.5 * guess, 1e-12 * guess);
  turn_with(r);
  find_regions();
  list_cells();
  one.constant = potential_on_x(0, r), one.outer = r;
  if (one.reach < r)
    return error{
        fmt::format("{}.axis_ratio = {:g}: mass shedding: gravity holds the star up to {:.4g} of its radius "
                    "{:.4g} only; expected a larger axis ratio",
                    q_.section, q_.axis_ratio, one.reach, r)};
  return {};
}

// The constant for which the mass is right; the relation of density and enthalpy is given.
result<void> solver::fit_constant(std::size_t s) {
  star& one = m_.stars[s];
  const double low = -largest_depth(s), high = barrier_[s];
  const auto excess = [&](double c) { return masses_with(s, c).all / one.mass - 1.0; };
  const double most = excess(high);
  if (!(most > 0.0)) {
    one.constant = high;
    overflow(s, (1.0 + most) * one.mass);
    return {};
  }
  if (overflowing_ == s) overflows_ = 0;
  factor_[s] = 1.0;
  one.constant = root_between(excess, low, high, 1e-13 * (high - low));
  return {};
}

// Notes that a star can only have the mass `held`.
void solver::overflow(std::size_t s, double held) {
  ++overflows_, overflowing_ = s, held_ = held;
  factor_[s] = m_.stars[s].mass / held_;  // a star that lost mass would expand and lose more
}

// Sets the enthalpy of the core's surface so that the core has its part of the mass; with this K, or, if it is 0, with
// the present unit of density.
void solver::fit_core(std::size_t s, double k) {
  star& one = m_.stars[s];
  const double central = one.constant + largest_depth(s);
  const auto set = [&](double unit) {
    if (k > 0.0)
      one.gas.set_constant(k, unit);
    else
      one.gas.enthalpy_unit = unit;
  };
  const auto excess = [&](double unit) {
    set(unit);
    const star_masses masses = masses_with(s, one.constant);
    return one.gas.core_fraction - masses.core / masses.all;
  };
  set(root_between(excess, 1e-3 * central, central, 1e-7 * central));
}

// Core and envelope mix over what a cell spans at the core's surface, as the last iteration has found it.
void solver::blend_core(std::size_t s) {
  star& one = m_.stars[s];
  if (!one.gas.has_core()) return;
  const double square = m_.omega * m_.omega;
  const auto sums = sum_all<2>("star.models.blend", blocks_.size(), [&](std::size_t i) {
    std::array<double, 2> sum{};
    for (const cell_depth& c : rows_[s][i]) {
      const double off = std::abs(one.constant + (c.base + square * c.turn) - one.gas.enthalpy_unit);
      const double weight = std::max(0.0, 1.0 - off / (c.across + 1e-300));
      sum[0] += weight, sum[1] += weight * c.across;
    }
    return sum;
  });
  if (sums[0] > 0.0) one.gas.blend = 1.5 * sums[1] / sums[0];
}

// The scale of the density for which the mass is right, and the core's surface for which its mass is.
result<void> solver::fit_scale(std::size_t s) {
  star& one = m_.stars[s];
  matter& gas = one.gas;
  const double central = one.constant + largest_depth(s);
  if (!(central > 0.0))
    return error{fmt::format("{}: star {} vanishes: no cell is inside of its surface; a higher mesh.max_level may help",
                             q_.section, s + 1)};
  gas.density_unit = 1.0, gas.enthalpy_unit = central;
  if (gas.has_core()) fit_core(s, 0.0);
  gas.density_unit = one.mass / masses_with(s, one.constant).all;
  return {};
}

// ---- Two stars with a common envelope: one surface of the effective potential around both.

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
