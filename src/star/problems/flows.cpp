// Problems of bodies, vortices and shear layers in a flow: advection, gresho, kelvin_helmholtz, blob, moving_body.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "base/config.hpp"
#include "num/symmetric.hpp"
#include "star/exact/spheroid.hpp"
#include "star/exact/waves.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {

// ---- advection
//
// A cube and a ball, each of its own species, carried by a uniform flow through a periodic box. A third species fills
// the rest, so fractions sum to one. Averages are exact at all times: the parts of a cell inside both bodies are known
// in closed form.

namespace {

class advection_problem final : public problem {
 public:
  void describe(config_table& t) override {
    t.section("advection", "Advected cube and ball (exact)");
    t.add("advection.velocity", velocity_, {.unit = "code", .help = "of the flow"});
    t.add("advection.density", density_, {.unit = "code", .help = "of the gas, everywhere", .above = 0});
    t.add("advection.pressure", pressure_, {.unit = "code", .help = "of the gas, everywhere", .above = 0});
    t.add("advection.cube_centre", cube_centre_, {.unit = "code", .help = "at the start"});
    t.add("advection.cube_edge", cube_edge_, {.unit = "code", .help = "of the cube (species 0)", .above = 0});
    t.add("advection.ball_centre", ball_centre_, {.unit = "code", .help = "at the start"});
    t.add("advection.ball_radius", ball_radius_, {.unit = "code", .help = "of the ball (species 1)", .above = 0});
  }

  int species_count() const override { return 3; }
  bool has_exact(double) const override { return true; }

  primitive at(const vector& x, double t) const override {
    const vector c = from(cube_centre_, x, t), b = from(ball_centre_, x, t);
    const double half = 0.5 * cube_edge_;
    const bool in_cube = std::abs(c[0]) < half && std::abs(c[1]) < half && std::abs(c[2]) < half;
    const bool in_ball = symmetric_norm2(b[0], b[1], b[2]) < ball_radius_ * ball_radius_;
    return state(in_cube ? 1 : 0, in_ball ? 1 : 0);
  }

  void average(const cell& cell, double t, double* u, std::ptrdiff_t stride) const override {
    const vector c = from(cube_centre_, cell.centre, t);
    vector part{};
    for (int axis = 0; axis < 3; ++axis) {
      const double half = 0.5 * cell.width[axis], edge = 0.5 * cube_edge_;
      const double inside = std::min(c[axis] + half, edge) - std::max(c[axis] - half, -edge);
      part[axis] = std::clamp(inside / cell.width[axis], 0.0, 1.0);
    }
    std::sort(part.begin(), part.end());
    const double cube = part[0] * part[1] * part[2];
    const double ball = ball_fraction(ball_radius_, from(ball_centre_, cell.centre, t), cell.width);
    to_conserved(eos(), valid(state(cube, ball), cell.centre), species_count(), u, stride);
  }

  std::vector<named_value> references(double) const override {
    return {{"cube_volume", "code", cube_edge_ * cube_edge_ * cube_edge_},
            {"ball_volume", "code", 4.0 / 3 * std::acos(-1.0) * ball_radius_ * ball_radius_ * ball_radius_}};
  }

 protected:
  result<void> do_prepare() override {
    const vector width = box_width();
    const double shortest = std::min({width[0], width[1], width[2]});
    if (cube_edge_ > 0.5 * shortest || 2 * ball_radius_ > 0.5 * shortest) {
      return error{"advection: expected bodies of at most half the box (" + fmt::format("{:g}", 0.5 * shortest) +
                   "), found cube_edge " + fmt::format("{:g}", cube_edge_) + " and ball_radius " +
                   fmt::format("{:g}", ball_radius_)};
    }
    vector gap = from(cube_centre_, ball_centre_, 0);  // from the cube's surface to the ball's centre
    for (double& g : gap) g = std::max(std::abs(g) - 0.5 * cube_edge_, 0.0);
    if (symmetric_norm2(gap[0], gap[1], gap[2]) < ball_radius_ * ball_radius_) {
      return error{"advection: expected cube and ball not to overlap, found an overlap; move advection.ball_centre"};
    }
    return {};
  }

 private:
  primitive state(double cube, double ball) const {
    primitive w;
    w.density = density_;
    w.velocity = velocity_;
    w.pressure = pressure_;
    w.fraction[0] = cube;
    w.fraction[1] = ball;
    w.fraction[2] = 1 - (cube + ball);
    return w;
  }

  // Position relative to a body that moves with the flow, to its nearest image.
  vector from(const vector& body, const vector& x, double t) const {
    const vector width = box_width();
    vector d{};
    for (int axis = 0; axis < 3; ++axis) {
      const double away = (x[axis] - body[axis]) - velocity_[axis] * t;
      d[axis] = away - width[axis] * std::nearbyint(away / width[axis]);
    }
    return d;
  }

  vector velocity_{1, 1, 1};
  double density_ = 1, pressure_ = 1;
  vector cube_centre_{-0.2, -0.2, -0.2}, ball_centre_{0.2, 0.2, 0.2};
  double cube_edge_ = 0.3, ball_radius_ = 0.15;
};

}  // namespace

std::unique_ptr<problem> make_advection() { return std::make_unique<advection_problem>(); }

// ---- gresho
//
// Gresho's vortex: a vortex about an axis along z in which the pressure balances the centrifugal force, alone or
// carried by a uniform flow. It stays as it is: a test of the conservation of angular momentum, and of flow at low Mach
// numbers.
//
// The speed is 5 r for r < 0.2, 2 - 5 r for r < 0.4 and 0 beyond, times gresho.speed. gresho.mach sets the pressure.
//
// Source: Gresho & Chan (1990), Int. J. Numer. Methods Fluids 11, 621; Miczek, Roepke & Edelmann (2015), Astron.
// Astrophys. 576, A50.

namespace {

class gresho_problem final : public problem {
 public:
  bool needs_ideal_gas() const override { return true; }
  void describe(config_table& t) override {
    t.section("gresho", "Gresho's vortex (exact: stays as it is)");
    t.add("gresho.speed", speed_, {.unit = "velocity", .help = "largest speed of rotation", .above = 0});
    t.add("gresho.mach", mach_,
          {.unit = "1", .help = "largest speed over the speed of sound there", .max = 1.5, .above = 0});
    t.add("gresho.density", density_, {.unit = "density", .help = "of the gas", .above = 0});
    t.add("gresho.scale", scale_,
          {.unit = "length", .help = "2.5 radii of the vortex; 1: it ends at r = 0.4", .above = 0});
    t.add("gresho.centre", centre_, {.unit = "length", .help = "a point of the axis at the start"});
    t.add("gresho.velocity", velocity_, {.unit = "velocity", .help = "of the flow that carries the vortex"});
  }

  bool has_exact(double) const override { return true; }

  primitive at(const vector& x, double t) const override {
    const vector width = box_width();
    double d[2];
    for (int a = 0; a < 2; ++a) {  // the nearest image in a periodic box
      d[a] = (x[a] - centre_[a]) - velocity_[a] * t;
      d[a] -= width[a] * std::nearbyint(d[a] / width[a]);
    }
    const double r = std::sqrt(d[0] * d[0] + d[1] * d[1]) / scale_;
    const double spin = r < 0.2 ? 5.0 : r < 0.4 ? 2.0 / r - 5.0 : 0.0;  // speed over r
    // The pressure at r less that in the centre, for unit speed and density.
    const double inner = 12.5 * std::min(r, 0.2) * std::min(r, 0.2), to = std::min(r, 0.4);
    const double outer = r < 0.2 ? 0.0 : 12.5 * (to * to - 0.04) - 20.0 * (to - 0.2) + 4.0 * std::log(to / 0.2);
    const double centre = 1.0 / (eos().gamma() * mach_ * mach_) - 0.5;
    primitive w;
    w.density = density_;
    w.velocity = velocity_;
    w.velocity[0] -= speed_ * spin * d[1] / scale_;
    w.velocity[1] += speed_ * spin * d[0] / scale_;
    w.pressure = density_ * speed_ * speed_ * (centre + inner + outer);
    return w;
  }

 protected:
  std::array<int, 3> samples(const cell&, double) const override { return {4, 4, 1}; }

  result<void> do_prepare() override {
    const double least = 1.0 / (eos().gamma() * mach_ * mach_) - 0.5;
    if (!(least > 0.0))
      return error{
          "gresho.mach: expected below (2 / gamma)^(1/2), above which the pressure in the centre is negative; "
          "lower it"};
    const vector width = box_width();
    if (0.8 * scale_ > std::min(width[0], width[1]))
      return error{"gresho.scale: expected a vortex, 0.4 scales wide, inside the box; lower it, or widen the box"};
    return {};
  }

 private:
  double speed_ = 1.0, mach_ = 0.3, density_ = 1.0, scale_ = 1.0;
  vector centre_{0, 0, 0}, velocity_{0, 0, 0};
};

}  // namespace

std::unique_ptr<problem> make_gresho() { return std::make_unique<gresho_problem>(); }

// ---- kelvin_helmholtz
//
// The Kelvin-Helmholtz instability of a smooth shear layer: flow -U0 below and +U0 above along x, walls below and
// above, started with the growing mode itself, so that the growth rate is exact from the first step.

namespace {

class kelvin_helmholtz_problem final : public problem {
 public:
  bool needs_ideal_gas() const override { return true; }
  void describe(config_table& t) override {
    t.section("kelvin_helmholtz", "Kelvin-Helmholtz instability of a tanh shear layer (growth rate known)");
    t.add("kelvin_helmholtz.speed", speed_,
          {.unit = "code", .help = "flow speed on each side, half the difference", .above = 0});
    t.add("kelvin_helmholtz.mach", mach_, {.unit = "1", .help = "speed over sound speed", .max = 0.95, .above = 0});
    t.add("kelvin_helmholtz.thickness", thickness_, {.unit = "code", .help = "a in tanh(y / a)", .above = 0});
    t.add("kelvin_helmholtz.density", density_, {.unit = "code", .help = "of the gas", .above = 0});
    t.add("kelvin_helmholtz.amplitude", amplitude_,
          {.unit = "1", .help = "largest transverse velocity at the start over speed", .min = 0, .max = 0.5});
    t.add("kelvin_helmholtz.waves", waves_,
          {.unit = "1", .help = "wavelengths per box along x", .min = 1, .max = 1000});
    t.add("kelvin_helmholtz.dye", dye_, {.help = "carry two species that mark the gas below and above"});
  }

  int species_count() const override { return dye_ ? 2 : 0; }
  // The linear solution holds while the perturbation is small.
  bool has_exact(double t) const override { return t == 0 || growth(t) <= 0.02; }

  primitive at(const vector& x, double t) const override {
    const vector centre = box_centre();
    const double y = x[1] - centre[1];
    const shear_layer::mode mode = layer_->at(y);
    const double turns = waves_ * (x[0] - centre[0]) / box_width()[0];
    const double angle = 2 * std::numbers::pi * (turns - std::nearbyint(turns));
    const std::complex<double> wave(std::cos(angle), std::sin(angle));
    const double size = growth(t);
    const auto real = [&](const std::complex<double>& q) {
      return size * (q.real() * wave.real() - q.imag() * wave.imag());
    };
    primitive w;
    w.density = density_ + real(mode.rho);
    w.velocity = {layer_->flow(y) + real(mode.velocity_x), real(mode.velocity_y), 0};
    const double c = speed_ / mach_;
    w.pressure = density_ * c * c / eos().gamma() + real(mode.pressure);
    w.fraction[0] = 0.5 * (1 - std::tanh(y / thickness_));
    w.fraction[1] = 1 - w.fraction[0];
    return w;
  }

  std::vector<named_value> references(double) const override {
    return {{"growth_rate", "code", layer_->growth_rate()}};
  }

 protected:
  result<void> do_prepare() override {
    const vector width = box_width();
    auto layer = shear_layer::solve({speed_, thickness_, width[0] / waves_, 0.5 * width[1], density_, speed_ / mach_});
    if (!layer) return error{"kelvin_helmholtz: " + layer.error().message};
    layer_ = *std::move(layer);
    return {};
  }

  std::array<int, 3> samples(const cell&, double) const override { return {2, 2, 1}; }

 private:
  double growth(double t) const { return amplitude_ * std::exp(layer_->growth_rate() * t); }

  double speed_ = 1, mach_ = 0.5, thickness_ = 0.07, density_ = 1, amplitude_ = 1e-3;
  int waves_ = 1;
  bool dye_ = false;
  std::optional<shear_layer> layer_;
};

}  // namespace

std::unique_ptr<problem> make_kelvin_helmholtz() { return std::make_unique<kelvin_helmholtz_problem>(); }

// ---- blob
//
// The blob test: a dense, cold cloud in pressure equilibrium with a supersonic wind, which compresses it and tears it
// apart by Rayleigh-Taylor and Kelvin-Helmholtz instabilities. Density and speed of sound of the wind are 1.
//
// The growth of the largest Kelvin-Helmholtz mode takes tau = 1.6 (2 R sqrt(contrast) / v), R the cloud's radius and v
// the wind's speed.
//
// Source: Agertz et al. (2007), Mon. Not. R. Astron. Soc. 380, 963: contrast 10, Mach 2.7, gamma 5/3.

namespace {

class blob_problem final : public problem {
 public:
  bool needs_ideal_gas() const override { return true; }
  void describe(config_table& t) override {
    t.section("blob", "Cold cloud in a supersonic wind");
    t.add("blob.contrast", contrast_, {.unit = "1", .help = "density of the cloud over that of the wind", .above = 0});
    t.add("blob.mach", mach_, {.unit = "1", .help = "speed of the wind, along x, over its speed of sound", .min = 0});
    t.add("blob.radius", radius_, {.unit = "code", .help = "of the cloud", .above = 0});
    t.add("blob.centre", centre_, {.unit = "code", .help = "of the cloud at the start"});
  }

  primitive at(const vector& x, double) const override {
    const double r2 = symmetric_norm2(x[0] - centre_[0], x[1] - centre_[1], x[2] - centre_[2]);
    return state_of(r2 < radius_ * radius_);
  }

  void average(const cell& c, double, double* u, std::ptrdiff_t stride) const override {
    const vector from{c.centre[0] - centre_[0], c.centre[1] - centre_[1], c.centre[2] - centre_[2]};
    const double inside = ball_fraction(radius_, from, c.width);
    double cloud[variable_count(0)], wind[variable_count(0)];
    to_conserved(eos(), state_of(true), 0, cloud, 1);
    to_conserved(eos(), state_of(false), 0, wind, 1);
    for (int v = 0; v < variable_count(0); ++v) u[v * stride] = inside * cloud[v] + (1.0 - inside) * wind[v];
    u[i_tracer * stride] = eos().tracer(u[i_density * stride], internal_energy(u, stride));
  }

  primitive inflow(int) const override { return state_of(false); }

  std::vector<named_value> references(double) const override {
    return {{"growth_time", "code", 1.6 * 2.0 * radius_ * std::sqrt(contrast_) / mach_}};
  }

 protected:
  result<void> do_prepare() override {
    const vector width = box_width();
    const double shortest = std::min({width[0], width[1], width[2]});
    if (2.0 * radius_ <= shortest) return {};
    return error{fmt::format("blob.radius = {:g}: expected at most half the box, {:g}", radius_, 0.5 * shortest)};
  }

 private:
  /// The cloud, or the wind.
  primitive state_of(bool cloud) const {
    primitive w;
    w.density = cloud ? contrast_ : 1.0;
    w.pressure = 1.0 / eos().gamma();
    w.velocity[0] = cloud ? 0.0 : mach_;
    return w;
  }

  double contrast_ = 10.0, mach_ = 2.7, radius_ = 0.1;
  vector centre_{0, 0, 0};
};

}  // namespace

std::unique_ptr<problem> make_blob() { return std::make_unique<blob_problem>(); }

// ---- moving_body
//
// A dense body in thin gas, both carried by the same uniform flow through a periodic box. It tests what no problem at
// rest or along an axis does: supersonic flow in any direction, through refinement boundaries, at a large contrast.
// Density and speed of sound in the middle of the body are 1.
//
// Three bodies: `contact`, a ball in pressure equilibrium with its surroundings, which is carried unchanged (exact at
// all times, also as averages); `ball`, a ball as warm as its surroundings, which expands into them; `star`, the
// profile (sin x / x)^(3/2) with p ~ rho^gamma, without the gravity that would hold it together.

namespace {

class moving_body_problem final : public problem {
 public:
  bool needs_ideal_gas() const override { return true; }
  void describe(config_table& t) override {
    t.section("moving_body", "Dense body in a fast uniform flow");
    t.add("moving_body.profile", profile_,
          {.help = "of density and pressure: a ball in pressure equilibrium with its surroundings (contact; exact), a "
                   "ball as warm as they are, or a star-like profile",
           .choices = {"contact", "ball", "star"}});
    t.add("moving_body.mach", mach_,
          {.unit = "1", .help = "speed of the flow over that of sound in the middle of the body", .min = 0});
    t.add("moving_body.direction", direction_, {.unit = "1", .help = "of the flow; any length but zero"});
    t.add("moving_body.contrast", contrast_,
          {.unit = "1", .help = "density in the middle of the body over that of its surroundings", .above = 0});
    t.add("moving_body.radius", radius_, {.unit = "code", .help = "of the body", .above = 0});
    t.add("moving_body.centre", centre_, {.unit = "code", .help = "of the body at the start"});
  }

  bool has_exact(double t) const override { return t == 0 || profile_ == "contact"; }

  primitive at(const vector& x, double t) const override {
    const vector d = from_body(x, t);
    return state(std::sqrt(symmetric_norm2(d[0], d[1], d[2])) / radius_);
  }

  void average(const cell& c, double t, double* u, std::ptrdiff_t stride) const override {
    if (profile_ == "star") return problem::average(c, t, u, stride);
    const double inside = ball_fraction(radius_, from_body(c.centre, t), c.width);
    primitive in = state(0.0);
    const primitive out = state(2.0);
    in.density = inside * in.density + (1.0 - inside) * out.density;
    in.pressure = inside * in.pressure + (1.0 - inside) * out.pressure;
    to_conserved(eos(), in, species_count(), u, stride);
  }

 protected:
  std::array<int, 3> samples(const cell&, double) const override { return {2, 2, 2}; }

  result<void> do_prepare() override {
    const vector width = box_width();
    const double shortest = std::min({width[0], width[1], width[2]});
    if (2.0 * radius_ > shortest)
      return error{
          fmt::format("moving_body.radius = {:g}: expected at most half the box, {:g}", radius_, 0.5 * shortest)};
    const double length = std::sqrt(symmetric_norm2(direction_[0], direction_[1], direction_[2]));
    if (!(length > 0.0) || !std::isfinite(length))
      return error{fmt::format("moving_body.direction = [{:g}, {:g}, {:g}]: expected a finite vector other than zero",
                               direction_[0], direction_[1], direction_[2])};
    for (int a = 0; a < 3; ++a) velocity_[a] = mach_ * (direction_[a] / length);
    return {};
  }

 private:
  /// At a distance of r radii from the middle of the body.
  primitive state(double r) const {
    const double gamma = eos().gamma(), thin = 1.0 / contrast_;
    primitive w;
    w.velocity = velocity_;
    if (profile_ == "star") {
      const double a = std::numbers::pi * r;
      w.density = std::max(r < 1.0 ? std::pow(a < 1e-9 ? 1.0 : std::sin(a) / a, 1.5) : 0.0, thin);
      w.pressure = std::pow(w.density, gamma) / gamma;
    } else {
      w.density = r < 1.0 ? 1.0 : thin;
      w.pressure = (profile_ == "contact" ? 1.0 : w.density) / gamma;
    }
    return w;
  }

  // Position relative to the nearest image of the body.
  vector from_body(const vector& x, double t) const {
    const vector width = box_width();
    vector d{};
    for (int a = 0; a < 3; ++a) {
      const double away = (x[a] - centre_[a]) - velocity_[a] * t;
      d[a] = away - width[a] * std::nearbyint(away / width[a]);
    }
    return d;
  }

  std::string profile_ = "contact";
  double mach_ = 2.0, contrast_ = 1e6, radius_ = 0.25;
  vector direction_{1, 1, 1}, centre_{0, 0, 0}, velocity_{};
};

}  // namespace

std::unique_ptr<problem> make_moving_body() { return std::make_unique<moving_body_problem>(); }

}  // namespace plx::star
