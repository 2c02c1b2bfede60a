// Gas under its own gravity or that of a point mass: evrard, spheroid, kepler_disk.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/config.hpp"
#include "num/symmetric.hpp"
#include "star/exact/spheroid.hpp"
#include "star/problems/model_problem.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {

namespace {

// Errors: images of a body whose collapse is known without them.
result<void> check_isolated(const problem_setting& s, const char* name) {
  if (!has_images(s)) return {};
  return error{
      fmt::format("{}: expected boundaries of an isolated domain with gravity.self = true, such as \"outflow\", found "
                  "\"periodic\" in mesh.sides; the numbers known of this problem are those without images",
                  name)};
}

}  // namespace

// ---- evrard
//
// Evrard's collapse: a cold sphere of gas with rho ~ 1 / r at rest. With gravity.self it falls inward, a shock forms
// near the centre and runs outward through the falling gas, and the star behind it settles to equilibrium.
// Gravitational energy becomes kinetic, then thermal energy: a test of the total energy.
//
// rho = M / (2 pi R^2 r), u = 0.05 G M / R. In units of R, M and G, by a fine computation in one dimension: kinetic
// energy is largest, 0.450, at t = 0.88, thermal energy, 1.76, at t = 1.07, the potential energy is lowest, -2.55, at t
// = 1.05; their sum is -0.617.
//
// Source: Evrard (1988), Mon. Not. R. Astron. Soc. 235, 911.

namespace {

class evrard_problem final : public problem {
 public:
  bool needs_ideal_gas() const override { return true; }
  void describe(config_table& t) override {
    t.section("evrard", "Evrard's collapse of a cold sphere of gas");
    t.add("evrard.mass", mass_, {.unit = "mass", .help = "of the sphere", .above = 0});
    t.add("evrard.radius", radius_, {.unit = "length", .help = "of the sphere", .above = 0});
    t.add("evrard.centre", centre_, {.unit = "length", .help = "of the sphere"});
    t.add("evrard.internal_energy", heat_, {.unit = "1", .help = "per mass, over G M / R", .max = 10, .above = 0});
    t.add("evrard.surroundings", thin_,
          {.unit = "1",
           .help = "density around the sphere, of the same temperature, over that at its surface",
           .max = 0.1,
           .above = 0});
  }

  primitive at(const vector& x, double) const override {
    const double r = std::sqrt(symmetric_norm2(x[0] - centre_[0], x[1] - centre_[1], x[2] - centre_[2]));
    const double at_surface = mass_ / (2.0 * std::numbers::pi * radius_ * radius_ * radius_);
    const double energy = heat_ * constant() * mass_ / radius_;
    primitive w;
    // Finite in the centre, where no sample of a cell's average is.
    w.density = r < radius_ ? at_surface * radius_ / std::max(r, 1e-6 * radius_) : thin_ * at_surface;
    w.pressure = (eos().gamma() - 1.0) * energy * w.density;
    return w;
  }

  std::vector<named_value> references(double) const override {
    const double unit = constant() * mass_ * mass_ / radius_;
    return {{"potential_energy_at_start", "energy", -2.0 / 3.0 * unit},
            {"total_energy", "energy", (heat_ - 2.0 / 3.0) * unit}};
  }

 protected:
  // More near the centre, where the density diverges.
  std::array<int, 3> samples(const cell& c, double) const override {
    double far = 0.0;
    for (int a = 0; a < 3; ++a) far = std::max(far, std::abs(c.centre[a] - centre_[a]) / c.width[a]);
    const int n = far < 1.0 ? 16 : far < 4.0 ? 8 : 4;
    return {n, n, n};
  }

  result<void> do_prepare() override {
    const vector width = box_width();
    const double shortest = std::min({width[0], width[1], width[2]});
    if (2.0 * radius_ > shortest)
      return error{fmt::format("evrard.radius = {:g}: expected at most half the box, {:g}", radius_, 0.5 * shortest)};
    return check_isolated(setting(), "evrard");
  }

 private:
  double constant() const { return setting().gravity > 0 ? setting().gravity : 1.0; }

  double mass_ = 1.0, radius_ = 0.25, heat_ = 0.05, thin_ = 1e-4;
  vector centre_{0, 0, 0};
};

}  // namespace

std::unique_ptr<problem> make_evrard() { return std::make_unique<evrard_problem>(); }

// ---- spheroid
//
// A homogeneous sphere or spheroid of cold gas at rest, in thin gas. With gravity.self its potential and acceleration
// are known in closed form, and a sphere collapses to a point within one free-fall time, homogeneous at all times: a
// test of gravity alone, since pressure does nothing.
//
// Source: Chandrasekhar (1969), Ellipsoidal Figures of Equilibrium, chapter 3; Truelove et al. (1998), Astrophys. J.
// 495, 821, section 5.1 (the collapse).

namespace {

class spheroid_problem final : public problem {
 public:
  bool needs_ideal_gas() const override { return true; }
  void describe(config_table& t) override {
    t.section("spheroid", "Homogeneous sphere or spheroid of cold gas (exact potential and collapse)");
    t.add("spheroid.mass", mass_, {.unit = "mass", .help = "of the spheroid", .above = 0});
    t.add("spheroid.equatorial_radius", equatorial_, {.unit = "length", .help = "along x and y", .above = 0});
    t.add("spheroid.polar_radius", polar_,
          {.unit = "length", .help = "along z; 0: the equatorial radius, a sphere", .min = 0});
    t.add("spheroid.centre", centre_, {.unit = "length", .help = "of the spheroid at the start"});
    t.add("spheroid.velocity", velocity_, {.unit = "velocity", .help = "of all gas"});
    t.add("spheroid.pressure", pressure_,
          {.unit = "1",
           .help = "everywhere, over G M rho / equatorial_radius of the spheroid; small: a collapse",
           .max = 10,
           .above = 0});
    t.add("spheroid.surroundings", thin_,
          {.unit = "1", .help = "density around the spheroid over that inside", .max = 0.1, .above = 0});
  }

  // The surroundings and the small pressure are omitted of the exact solution, which ends before the density diverges.
  bool has_exact(double t) const override {
    return t == 0 || (setting().gravity > 0 && polar_axis() == equatorial_ && t <= 0.99 * fall().time());
  }

  primitive at(const vector& x, double t) const override {
    const vector d = from_centre(x, t);
    const double ratio = t > 0 ? fall().at(t).ratio : 1.0, a = ratio * equatorial_, c = ratio * polar_axis();
    const double inside = (d[0] * d[0] + d[1] * d[1]) / (a * a) + d[2] * d[2] / (c * c);
    return state(d, t, inside <= 1.0 ? 1.0 : 0.0);
  }

  void average(const cell& c, double t, double* u, std::ptrdiff_t stride) const override {
    const vector d = from_centre(c.centre, t);
    const double ratio = t > 0 ? fall().at(t).ratio : 1.0;
    const vector axes{ratio * equatorial_, ratio * equatorial_, ratio * polar_axis()};
    vector scaled{}, width{};  // in which the spheroid is a unit ball
    for (int a = 0; a < 3; ++a) scaled[a] = d[a] / axes[a], width[a] = c.width[a] / axes[a];
    to_conserved(eos(), state(d, t, ball_fraction(1.0, scaled, width)), species_count(), u, stride);
  }

  std::vector<named_value> references(double t) const override {
    const double g = setting().gravity;
    if (!(g > 0)) return {};
    const double ratio = t > 0 && has_exact(t) ? fall().at(t).ratio : 1.0;
    std::vector<named_value> all{{"free_fall_time", "time", fall().time()}};
    if (has_exact(t)) {
      all.push_back({"radius", "length", ratio * equatorial_});
      all.push_back({"density", "density", body().density() / (ratio * ratio * ratio)});
      all.push_back({"potential_energy", "energy", body().potential_energy() / ratio});
    }
    return all;
  }

  profile_table exact_profile(double t) const override {
    if (!has_exact(t)) return {};
    profile_table table{{"r", "rho", "vel", "press"}, {}};
    constexpr int n = 400;
    for (int i = 0; i < n; ++i) {
      const double r = 1.5 * equatorial_ * (i + 0.5) / n;
      vector x{};
      for (int a = 0; a < 3; ++a) x[a] = centre_[a] + velocity_[a] * t;
      x[0] += r;
      const primitive w = at(x, t);
      table.rows.push_back({r, w.density, w.velocity[0] - velocity_[0], w.pressure});
    }
    return table;
  }

 protected:
  result<void> do_prepare() override {
    const vector width = box_width();
    for (int a = 0; a < 3; ++a) {
      const double radius = a == 2 ? polar_axis() : equatorial_;
      if (2.0 * radius > width[a])
        return error{fmt::format("spheroid.{}_radius = {:g}: expected at most half the box, {:g}",
                                 a == 2 && polar_ > 0 ? "polar" : "equatorial", radius, 0.5 * width[a])};
    }
    return check_isolated(setting(), "spheroid");
  }

 private:
  double polar_axis() const { return polar_ > 0 ? polar_ : equatorial_; }
  double constant() const { return setting().gravity > 0 ? setting().gravity : 1.0; }
  spheroid body() const { return {equatorial_, polar_axis(), mass_, constant()}; }
  free_fall fall() const { return {equatorial_, mass_, constant()}; }

  vector from_centre(const vector& x, double t) const {
    vector d{};
    for (int a = 0; a < 3; ++a) d[a] = (x[a] - centre_[a]) - velocity_[a] * t;
    return d;
  }

  /// A mixture: `inside` of it is gas of the spheroid.
  primitive state(const vector& d, double t, double inside) const {
    const double density = body().density(), thin = thin_ * density;
    primitive w;
    w.velocity = velocity_;
    w.pressure = pressure_ * constant() * mass_ * density / equatorial_;
    w.density = inside * density + (1.0 - inside) * thin;
    if (t == 0) return w;
    const free_fall::state now = fall().at(t);
    const double denser = 1.0 / (now.ratio * now.ratio * now.ratio);
    w.density = inside * density * denser + (1.0 - inside) * thin;
    w.pressure *= inside > 0.5 ? std::pow(denser, eos().gamma()) : 1.0;
    if (inside > 0.0)
      for (int a = 0; a < 3; ++a) w.velocity[a] += d[a] * now.rate / now.ratio;
    return w;
  }

  double mass_ = 1.0, equatorial_ = 0.25, polar_ = 0.0, pressure_ = 1e-5, thin_ = 1e-5;
  vector centre_{0, 0, 0}, velocity_{0, 0, 0};
};

}  // namespace

std::unique_ptr<problem> make_spheroid() { return std::make_unique<spheroid_problem>(); }

// ---- kepler_disk
//
// A thick disk of gas in orbit about a point mass (gravity.point_mass) in exact equilibrium: angular velocity
// W(R) = W0 (R / R0)^-a with the Kepler value at R0, pressure p = K rho^gamma, enthalpy h = gamma / (gamma - 1) p /
// rho:
//
//   h(R, z) = h0 + phi(R0, 0) - phi(R, z) + W0^2 R0^2 / (2 - 2 a) ((R / R0)^(2 - 2 a) - 1)
//
// The disk ends where h = 0; around it is thin gas in hydrostatic equilibrium. It stays as it is while its own
// instability grows from rounding. A test of rotation about a point: conservation of angular momentum and energy.
//
// Source: Papaloizou & Pringle (1984), Mon. Not. R. Astron. Soc. 208, 721.

namespace {

class kepler_disk_problem final : public problem {
 public:
  bool needs_ideal_gas() const override { return true; }
  void describe(config_table& t) override {
    t.section("kepler_disk", "A disk in orbit about a point mass (exact: stays as it is)");
    t.add("kepler_disk.radius", radius_, {.unit = "length", .help = "of the circle of largest density", .above = 0});
    t.add("kepler_disk.density", density_, {.unit = "density", .help = "there", .above = 0});
    t.add("kepler_disk.sound_speed", sound_,
          {.unit = "1", .help = "there, over the orbital speed; larger: a thicker disk", .max = 0.5, .above = 0});
    t.add("kepler_disk.exponent", exponent_,
          {.unit = "1",
           .help = "a of the angular velocity ~ R^-a; nearer to 1.5: a wider disk",
           .max = 1.99,
           .above = 1.5});
    t.add("kepler_disk.atmosphere", thin_,
          {.unit = "1", .help = "density around the disk over the largest", .max = 0.1, .above = 0});
    t.add(
        "kepler_disk.ripple", ripple_,
        {.unit = "1", .help = "amplitude of a relative perturbation of the density, cos(2 phi)", .min = 0, .max = 0.5});
  }

  bool has_exact(double t) const override { return t == 0 || ripple_ == 0; }

  primitive at(const vector& x, double) const override {
    const point_mass& m = setting().attractor;
    const double gamma = eos().gamma();
    const vector d{x[0] - m.position[0], x[1] - m.position[1], x[2] - m.position[2]};
    const double r = std::hypot(d[0], d[1]), floor = thin_ * density_;
    primitive w;
    w.density = floor;
    w.pressure = -floor * m.potential(d[0], d[1], d[2]);
    if (!(r > 0.0)) return w;
    const double power = 2.0 - 2.0 * exponent_, ratio = r / radius_;
    const double h = enthalpy() + m.potential(radius_, 0, 0) - m.potential(d[0], d[1], d[2]) +
                     speed() * speed() / power * (std::pow(ratio, power) - 1.0);
    if (!(h > 0.0)) return w;
    const double polytropic = std::pow(h / enthalpy(), 1.0 / (gamma - 1.0));  // density over the largest
    if (density_ * polytropic < floor) return w;
    w.pressure = std::max(w.pressure, (gamma - 1.0) / gamma * density_ * polytropic * h);
    w.density = density_ * polytropic * (1.0 + ripple_ * (d[0] * d[0] - d[1] * d[1]) / (r * r));
    const double turn = speed() / radius_ * std::pow(ratio, -exponent_);
    w.velocity = {-turn * d[1], turn * d[0], 0.0};
    return w;
  }

  std::vector<named_value> references(double) const override {
    return {{"orbital_period", "time", 2.0 * std::numbers::pi * radius_ / speed()},
            {"orbital_speed", "velocity", speed()}};
  }

 protected:
  std::array<int, 3> samples(const cell&, double) const override { return {4, 4, 4}; }

  result<void> do_prepare() override {
    if (!(setting().attractor.strength > 0.0))
      return error{"kepler_disk: expected a point mass to orbit, found none; set gravity.point_mass"};
    return {};
  }

 private:
  /// On the circle of largest density: v^2 = r dphi/dr.
  double speed() const { return radius_ * std::sqrt(-setting().attractor.pull(radius_, 0, 0)); }
  double enthalpy() const {
    const double c = sound_ * speed();
    return c * c / (eos().gamma() - 1.0);
  }

  double radius_ = 1.0, density_ = 1.0, sound_ = 0.2, exponent_ = 1.75, thin_ = 1e-5, ripple_ = 0.0;
};

}  // namespace

std::unique_ptr<problem> make_kepler_disk() { return std::make_unique<kepler_disk_problem>(); }

}  // namespace plx::star
