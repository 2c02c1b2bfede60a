#include "star/problems/plane_riemann.hpp"

#include <algorithm>
#include <cmath>

#include "base/config.hpp"

namespace plx::star {
namespace {
constexpr double vacuum = 1e-100;  // density and pressure in its place: conserved values need a velocity
}

void plane_riemann_options::describe(config_table& t, const std::string& section) {
  const auto key = [&](const char* name) { return section + "." + name; };
  t.add(key("left"), left, {.unit = "code", .help = "density, velocity along the direction, pressure on the left"});
  t.add(key("right"), right, {.unit = "code", .help = "the same on the right"});
  t.add(key("direction"), direction,
        {.unit = "1", .help = "normal of the plane, as wavelengths per box along x, y, z: [1,1,0] is the diagonal"});
  t.add(key("position"), position, {.unit = "code", .help = "distance of the plane from the middle of the box"});
  t.add(key("periodic"), periodic,
        {.help = "two planes, at a quarter of the wavelength on each side of the middle, for periodic boxes"});
  t.add(key("species"), species, {.help = "mark the gas of the two sides as two species"});
}

plane_riemann::plane_riemann(std::string section, std::string title, const plane_riemann_options& defaults)
    : section_(std::move(section)), title_(std::move(title)), options_(defaults) {}

void plane_riemann::describe(config_table& t) {
  t.section(section_, title_);
  options_.describe(t, section_);
}

result<void> plane_riemann::do_prepare() {
  const auto state = [](const std::array<double, 3>& s) { return gas_state{s[0], s[1], s[2]}; };
  for (const auto* side : {&options_.left, &options_.right}) {
    const std::string key = section_ + (side == &options_.left ? ".left" : ".right");
    if ((*side)[0] <= 0 || (*side)[2] <= 0) {
      return error{key + ": expected [density > 0, velocity, pressure > 0], found density " +
                   std::to_string((*side)[0]) + " and pressure " + std::to_string((*side)[2])};
    }
    if (options_.periodic && (*side)[1] != 0) {
      return error{key + ": expected velocity 0 because " + section_ + ".periodic is true, found " +
                   std::to_string((*side)[1])};
    }
  }
  auto direction = plane_direction::make(options_.direction, setting(), (section_ + ".direction").c_str());
  if (!direction) return direction.error();
  direction_ = *direction;
  solution_.emplace(state(options_.left), state(options_.right), setting().gamma);
  return {};
}

plane_riemann::place plane_riemann::locate(const vector& x) const {
  if (!options_.periodic) return {direction_.distance(x) - options_.position, false};
  const double phase = direction_.phase(x), folded = phase - std::nearbyint(phase);
  return {(std::abs(folded) - 0.25) * direction_.wavelength(), folded < 0};
}

primitive plane_riemann::at(const vector& x, double t) const {
  const auto [distance, mirrored] = locate(x);
  const auto& side = distance < 0 ? options_.left : options_.right;
  const gas_state s = t > 0 ? solution_->at(distance / t) : gas_state{side[0], side[1], side[2]};
  primitive w;
  w.density = std::max(s.rho, vacuum);
  w.pressure = std::max(s.pressure, vacuum);
  for (int axis = 0; axis < 3; ++axis) {
    w.velocity[axis] = (mirrored ? -s.velocity : s.velocity) * direction_.normal()[axis];
  }
  const bool from_left = t > 0 ? distance < solution_->star_velocity() * t : distance < 0;
  w.fraction[from_left ? 0 : 1] = 1;
  return w;
}

bool plane_riemann::has_exact(double t) const {
  if (t == 0 || !options_.periodic) return true;
  const wave_fan& fan = solution_->fan();
  return std::max(std::abs(fan.left_head), std::abs(fan.right_head)) * t < 0.25 * direction_.wavelength();
}

// At the start the state is uniform but in the cells that a plane cuts.
std::array<int, 3> plane_riemann::samples(const cell& c, double t) const {
  const bool along_axis = direction_.samples(2)[0] * direction_.samples(2)[1] * direction_.samples(2)[2] == 2;
  if (t > 0) return direction_.samples(along_axis ? 16 : 8);
  const double quarter = 0.25 * direction_.wavelength();
  const bool cut = options_.periodic ? direction_.cuts(c, quarter) || direction_.cuts(c, -quarter)
                                     : direction_.cuts(c, options_.position);
  return direction_.samples(cut ? 16 : 1);
}

profile_table plane_riemann::exact_profile(double t) const {
  profile_table table{{"x", "rho", "vel", "press"}, {}};
  if (!has_exact(t)) return {};
  constexpr int n = 1000;
  const double length = direction_.wavelength();
  for (int i = 0; i < n; ++i) {
    const double s = ((i + 0.5) / n - 0.5) * length;
    vector x = box_centre();
    for (int axis = 0; axis < 3; ++axis) x[axis] += s * direction_.normal()[axis];
    const primitive w = at(x, t);
    double along = 0;
    for (int axis = 0; axis < 3; ++axis) along += w.velocity[axis] * direction_.normal()[axis];
    table.rows.push_back({s, w.density, along, w.pressure});
  }
  return table;
}

std::vector<named_value> plane_riemann::references(double t) const {
  if (!has_exact(t)) return {};
  return {{"star_pressure", "code", solution_->star_pressure()}, {"star_velocity", "code", solution_->star_velocity()}};
}

}  // namespace plx::star
