#include "star/problems/plane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <optional>
#include <string>

#include "base/config.hpp"
#include "num/symmetric.hpp"
#include "star/exact/waves.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {

result<plane_direction> plane_direction::make(const std::array<int, 3>& turns, const problem_setting& box,
                                              const char* key) {
  if (turns[0] == 0 && turns[1] == 0 && turns[2] == 0) {
    return error{std::string(key) + ": expected a direction, found [0, 0, 0]; [1, 0, 0] is the x axis"};
  }
  plane_direction d;
  for (int axis = 0; axis < 3; ++axis) {
    d.centre_[axis] = 0.5 * (box.lower[axis] + box.upper[axis]);
    d.phase_slope_[axis] = turns[axis] / (box.upper[axis] - box.lower[axis]);
  }
  d.wavelength_ = 1 / std::sqrt(symmetric_norm2(d.phase_slope_[0], d.phase_slope_[1], d.phase_slope_[2]));
  for (int axis = 0; axis < 3; ++axis) d.normal_[axis] = d.phase_slope_[axis] * d.wavelength_;
  return d;
}

double plane_direction::phase(const vector& x) const noexcept {
  vector term{};
  for (int axis = 0; axis < 3; ++axis) term[axis] = phase_slope_[axis] * (x[axis] - centre_[axis]);
  return symmetric_sum(term[0], term[1], term[2]);
}

std::array<int, 3> plane_direction::samples(int n) const noexcept {
  std::array<int, 3> s{};
  for (int axis = 0; axis < 3; ++axis) s[axis] = phase_slope_[axis] != 0 ? n : 1;
  return s;
}

// The volume under a plane in a unit cube, by inclusion and exclusion of the pyramids beyond its far corners; powers
// and factorial are those of the number of axes that are not parallel to the plane.
double plane_direction::part_on_left(const vector& width, double distance) const {
  std::array<double, 3> extent{};
  for (int axis = 0; axis < 3; ++axis) extent[axis] = std::abs(normal_[axis]) * width[axis];
  std::sort(extent.begin(), extent.end(), std::greater<>());
  const int n = extent[2] > 0 ? 3 : extent[1] > 0 ? 2 : 1;
  const double reach = extent[0] + extent[1] + extent[2];
  const double depth = 0.5 * reach - std::abs(distance);  // of the plane inside, from the nearer corner
  if (depth <= 0) return distance > 0 ? 0 : 1;
  double volume = 0, scale = 1;
  for (int axis = 0; axis < n; ++axis) scale *= (axis + 1) * extent[axis];
  for (int corner = 0; corner < 1 << n; ++corner) {
    double left = depth;
    for (int axis = 0; axis < n; ++axis) left -= (corner >> axis) % 2 != 0 ? extent[axis] : 0;
    if (left > 0) volume += (std::popcount(static_cast<unsigned>(corner)) % 2 != 0 ? -1 : 1) * std::pow(left, n);
  }
  const double part = volume / scale;
  return distance > 0 ? part : 1 - part;
}

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

// ---- einfeldt
//
// Einfeldt's problem 1-2-0-3, named after its conserved values (1, -2, 0, 3): two rarefactions move apart and leave
// nearly a vacuum between them, in which simple schemes produce negative densities or pressures.

std::unique_ptr<problem> make_einfeldt() {
  plane_riemann_options options;
  options.left = {1, -2, 0.4};  // total energy 3 for gamma = 1.4
  options.right = {1, 2, 0.4};
  return std::make_unique<plane_riemann>("einfeldt", "Double rarefaction, near vacuum (exact Riemann solution known)",
                                         options);
}

// ---- sod
//
// Sod's shock tube: rarefaction, contact and shock at once, along any direction.

std::unique_ptr<problem> make_sod() {
  return std::make_unique<plane_riemann>("sod", "Shock tube (exact Riemann solution known)", plane_riemann_options{});
}

// ---- linear_wave
//
// A plane wave of small amplitude on a uniform background, periodic along every axis.

namespace {

class linear_wave_problem final : public problem {
 public:
  void describe(config_table& t) override {
    t.section("linear_wave", "Linear wave (exact to first order in the amplitude)");
    t.add("linear_wave.wave", wave_,
          {.help = "which wave; the two shear waves are transverse to each other",
           .choices = {"sound", "entropy", "shear1", "shear2"}});
    t.add("linear_wave.sign", sign_,
          {.unit = "1", .help = "1 runs along the direction, -1 against it", .min = -1, .max = 1});
    t.add("linear_wave.direction", direction_,
          {.unit = "1", .help = "wavelengths per box along x, y, z: [1,0,0] is the x axis, [1,1,1] is oblique"});
    t.add("linear_wave.amplitude", amplitude_,
          {.unit = "1", .help = "relative to density (sound, entropy) or sound speed (shear)", .max = 0.5, .above = 0});
    t.add("linear_wave.density", density_, {.unit = "code", .help = "of the background", .above = 0});
    t.add("linear_wave.pressure", pressure_, {.unit = "code", .help = "of the background", .above = 0});
    t.add("linear_wave.flow", flow_,
          {.unit = "code",
           .help = "speed of the background along sign * direction; entropy and shear waves move with it"});
  }

  primitive at(const vector& x, double t) const override {
    const wave_state s = wave().at(plane_.phase(x), t);
    primitive w;
    w.density = s.rho;
    w.velocity = s.velocity;
    w.pressure = s.pressure;
    return w;
  }

  bool has_exact(double) const override { return true; }

  profile_table exact_profile(double t) const override {
    profile_table table{{"x", "rho", "vel1", "vel2", "vel3", "press"}, {}};
    constexpr int n = 256;
    for (int i = 0; i < n; ++i) {
      const double phase = (i + 0.5) / n - 0.5;
      const wave_state s = wave().at(phase, t);
      table.rows.push_back(
          {phase * plane_.wavelength(), s.rho, s.velocity[0], s.velocity[1], s.velocity[2], s.pressure});
    }
    return table;
  }

  std::vector<named_value> references(double) const override {
    std::vector<named_value> values{{"wave_speed", "code", wave().speed()}};
    if (wave().speed() != 0) values.push_back({"wave_period", "code", wave().period()});
    return values;
  }

 protected:
  result<void> do_prepare() override {
    if (sign_ == 0) return error{"linear_wave.sign: expected 1 or -1, found 0"};
    const auto plane = plane_direction::make(direction_, setting(), "linear_wave.direction");
    if (!plane) return plane.error();
    plane_ = *plane;
    const wave_kind kind = wave_ == "sound"     ? wave_kind::sound
                           : wave_ == "entropy" ? wave_kind::entropy
                           : wave_ == "shear1"  ? wave_kind::shear_first
                                                : wave_kind::shear_second;
    if (const double least = eos().least_pressure(density_); !(pressure_ > least))
      return error{
          fmt::format("linear_wave.pressure = {:g}: expected more than {:g}, the pressure of cold gas of "
                      "linear_wave.density = {:g}",
                      pressure_, least, density_)};
    const double sound = eos().sound_speed(density_, pressure_);
    solution_.emplace(linear_wave_parameters{kind, sign_, amplitude_, density_, pressure_, sound, flow_,
                                             plane_.normal(), plane_.wavelength()});
    return {};
  }

  std::array<int, 3> samples(const cell&, double) const override { return plane_.samples(2); }

 private:
  const linear_wave& wave() const { return *solution_; }

  std::string wave_ = "sound";
  int sign_ = 1;
  std::array<int, 3> direction_{1, 0, 0};
  double amplitude_ = 1e-6, density_ = 1, pressure_ = 0.6, flow_ = 0;
  plane_direction plane_;
  std::optional<linear_wave> solution_;
};

}  // namespace

std::unique_ptr<problem> make_linear_wave() { return std::make_unique<linear_wave_problem>(); }

}  // namespace plx::star
