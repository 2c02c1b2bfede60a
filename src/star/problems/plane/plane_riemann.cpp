#include "star/problems/plane/plane_riemann.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/config.hpp"

namespace plx::star {
namespace {
constexpr double vacuum = 1e-100;  // density and pressure of vacuum, since conserved values need a velocity
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
  t.add(key("species"), species, {.help = "mark the gas on each side as a species"});
}

plane_riemann::plane_riemann(std::string section, std::string title, const plane_riemann_options& defaults)
    : section_(std::move(section)), title_(std::move(title)), options_(defaults) {}

void plane_riemann::describe(config_table& t) {
  t.section(section_, title_);
  options_.describe(t, section_);
}

result<void> plane_riemann::do_prepare() {
  const double offset = eos().pressure_offset();  // p + p_inf of a stiffened gas is as p of an ideal one
  const auto state = [&](const std::array<double, 3>& s) { return gas_state{s[0], s[1], s[2] + offset}; };
  for (const auto* side : {&options_.left, &options_.right}) {
    const std::string key = section_ + (side == &options_.left ? ".left" : ".right");
    const double least = (*side)[0] > 0 ? eos().least_pressure((*side)[0]) : 0.0;
    if ((*side)[0] <= 0 || (*side)[2] <= least) {
      return error{
          fmt::format("{}: expected [density > 0, velocity, pressure > {:g}], found density {:g} and pressure {:g}",
                      key, least, (*side)[0], (*side)[2])};
    }
    if (options_.periodic && (*side)[1] != 0) {
      return error{key + ": expected velocity 0 because " + section_ + ".periodic is true, found " +
                   fmt::format("{:g}", (*side)[1])};
    }
  }
  auto direction = plane_direction::make(options_.direction, setting(), (section_ + ".direction").c_str());
  if (!direction) return direction.error();
  direction_ = *direction;
  if (eos().has_gamma_law()) solution_.emplace(state(options_.left), state(options_.right), eos().gamma());
  return {};
}

plane_riemann::place plane_riemann::locate(const vector& x) const {
  if (!options_.periodic) return {direction_.distance(x) - options_.position, false};
  const double phase = direction_.phase(x), folded = phase - std::nearbyint(phase);
  return {(std::abs(folded) - 0.25) * direction_.wavelength(), folded < 0};
}

primitive plane_riemann::side(bool is_left, bool mirrored) const {
  const auto& s = is_left ? options_.left : options_.right;
  return turned({s[0], s[1], s[2] + eos().pressure_offset()}, is_left, mirrored);
}

primitive plane_riemann::turned(const gas_state& s, bool from_left, bool mirrored) const {
  primitive w;
  w.density = std::max(s.rho, vacuum);
  const double offset = eos().pressure_offset();
  w.pressure = std::max(s.pressure, std::max(vacuum, 1e-12 * offset)) - offset;
  for (int axis = 0; axis < 3; ++axis) {
    w.velocity[axis] = (mirrored ? -s.velocity : s.velocity) * direction_.normal()[axis];
  }
  w.fraction[from_left ? 0 : 1] = 1;
  return w;
}

primitive plane_riemann::at(const vector& x, double t) const {
  const auto [distance, mirrored] = locate(x);
  if (t == 0) return side(distance < 0, mirrored);
  return turned(solution_->at(distance / t), distance < solution_->star_velocity() * t, mirrored);
}

bool plane_riemann::has_exact(double t) const {
  if (t == 0) return true;
  if (!solution_ || !options_.periodic) return solution_.has_value();
  const wave_fan& fan = solution_->fan();
  return std::max(std::abs(fan.left_head), std::abs(fan.right_head)) * t < 0.25 * direction_.wavelength();
}

std::array<int, 3> plane_riemann::samples(const cell&, double) const {
  const std::array<int, 3> varies = direction_.samples(2);
  return direction_.samples(varies[0] * varies[1] * varies[2] == 2 ? 16 : 8);
}

// The initial state consists of two states: their parts in the cell are known in closed form. (Periodic: for cells
// shorter than a quarter of the wavelength, so that at most one plane cuts them.)
void plane_riemann::average(const cell& c, double t, double* u, std::ptrdiff_t stride) const {
  if (t > 0) return problem::average(c, t, u, stride);
  const auto [distance, mirrored] = locate(c.centre);
  const double part = direction_.part_on_left(c.width, distance);
  const int n_var = variable_count(species_count());
  std::array<double, variable_count(2)> left{}, right{};
  to_conserved(eos(), side(true, mirrored), species_count(), left.data(), 1);
  to_conserved(eos(), side(false, mirrored), species_count(), right.data(), 1);
  for (int v = 0; v < n_var; ++v) u[v * stride] = part * left[v] + (1 - part) * right[v];
  u[i_tracer * stride] = eos().tracer(u[i_density * stride], internal_energy(u, stride));
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
  if (!has_exact(t) || !solution_) return {};
  return {{"star_pressure", "code", solution_->star_pressure() - eos().pressure_offset()},
          {"star_velocity", "code", solution_->star_velocity()}};
}

}  // namespace plx::star
